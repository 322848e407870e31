"""Feeds that are polled from a server on this machine: new items once, validators as given, floods withheld."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from queue import SimpleQueue

import pytest

from tests.feed_server import Asked, Said, rss, serve_feeds
from tests.unit.sources.source_samples import DAY, HOUR, world
from triplecast.egress import Egress, EgressRules
from triplecast.sources import NewSource, Polled, Poller

DATES = [f"2026-11-{day:02}T08:00:00Z" for day in range(1, 29)]


def feed(*numbers: int, extra: str = "") -> Said:
    return Said(rss([(f"n{number}", f"T{number}{extra}", DATES[number]) for number in numbers]))


def test_a_new_item_is_told_once_and_an_edited_one_is_a_new_version(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = feed(1, 2)
        assert (w.poll("/feed").new, w.told()) == (2, ["T1", "T2"])
        assert w.poll("/feed").new == 0
        w.server.pages["/feed"] = feed(2, 3)
        assert (w.poll("/feed").new, w.told()) == (1, ["T1", "T2", "T3"])
        w.server.pages["/feed"] = feed(1, 2, 3, extra="!")
        polled = w.poll("/feed")
        assert (polled.new, polled.edited) == (0, 3)
        assert w.told()[3:] == ["T1!", "T2!", "T3!"]


def test_validators_are_sent_back_as_they_came_and_304_changes_nothing(tmp_path: Path) -> None:
    date = "Sun, 06 Nov 1994 08:49:37 GMT"

    def answer(asked: Asked) -> Said:
        if asked.headers.get("if-none-match") == "W/\"odd, 'quoted'\"":
            return Said(b"", 304)
        return feed(1)._replace(headers={"ETag": "W/\"odd, 'quoted'\"", "Last-Modified": date})

    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = answer
        w.poll("/feed")
        assert w.poll("/feed").failed is False
        first, second = w.server.asked
        assert "if-none-match" not in first.headers
        assert second.headers["if-modified-since"] == date
        assert w.told() == ["T1"]


@pytest.mark.parametrize("tag", ['"a\x01b"', '"a\x7fb"', '"a\x0cb"'])
def test_a_validator_that_no_header_can_hold_is_not_kept(tmp_path: Path, tag: str) -> None:
    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = feed(1)._replace(headers={"ETag": tag})
        assert not w.poll("/feed").failed
        w.server.pages["/feed"] = feed(1, 2)
        assert w.poll("/feed").new == 1


def test_an_answer_that_nobody_foresaw_is_a_check_that_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise IndexError("from the depths")

    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = feed(1)
        with monkeypatch.context() as patched:
            patched.setattr("triplecast.sources.crawling.Crawler.crawl", fail)
            assert w.poll("/feed").failed
        assert w.poll("/feed").new == 1


def test_an_old_archive_that_comes_back_is_withheld_until_it_is_released(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = feed(20, 21)
        w.poll("/feed")
        w.server.pages["/feed"] = feed(*range(1, 13), 20, 21, 22)
        polled = w.poll("/feed")
        assert (polled.new, polled.withheld) == (1, 12)
        assert "old archive" in polled.error
        assert w.told() == ["T20", "T21", "T22"]
        assert w.poll("/feed").withheld == 12
        assert len(w.poller.sources.held(w.source("/feed"))) == 12
        assert w.poller.sources.release(w.server.url("/feed"), w.now) == 12
        assert w.poll("/feed").withheld == 0
        assert sorted(w.told()[3:]) == sorted(f"T{number}" for number in range(1, 13))
        assert w.poll("/feed").new == 0


def test_an_item_that_changes_its_name_or_scheme_is_the_same_one(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = Said(rss([("http://a.example/1", "One", DATES[1]), ("x", "Two", DATES[2])]))
        w.poll("/feed")
        w.server.pages["/feed"] = Said(rss([("https://a.example/1", "One", DATES[1]), ("renamed", "Two", DATES[2])]))
        polled = w.poll("/feed")
        assert (polled.new, polled.edited, w.told()) == (0, 0, ["One", "Two"])
        w.server.pages["/feed"] = Said(rss([("renamed", "Two", DATES[2]), ("other", "Two", DATES[2])]))
        assert w.poll("/feed").new == 1  # both are listed: they are two
        w.server.pages["/feed"] = Said(rss([("renamed", "Two, edited", DATES[2])]))
        assert w.poll("/feed").edited == 1


def test_items_may_be_known_by_link_or_content(tmp_path: Path) -> None:
    def said(guid: str, title: str = "One") -> Said:
        return Said(rss([(guid, title, DATES[1])]).replace(f"news.example/{guid}", "news.example/same"))

    with world(tmp_path) as w:
        for identity in ("link", "content"):
            w.add(f"/{identity}", identity=identity)
            for guid in ("a", "b"):
                w.server.pages[f"/{identity}"] = said(guid)
                w.poll(f"/{identity}")
        assert w.told() == ["One", "One"]
        w.server.pages["/link"] = w.server.pages["/content"] = said("a", "Edited")
        assert w.poll("/link").edited == 1
        assert w.poll("/content").new == 1


def test_two_sources_with_one_item_do_not_take_turns(tmp_path: Path) -> None:
    with world(tmp_path, "SELECT ?title { ?i rss:title ?title }") as w:
        for path in ("/a", "/b"):
            w.add(path)
            w.server.pages[path] = Said(rss([("urn:item:1", "One", DATES[1])], title=path))
        for path in ("/a", "/b", "/a", "/b"):
            w.poll(path)
        (receipt,) = {each.version for each in w.poller.sources.provenance("urn:item:1")} - {1}
        assert receipt == 2


def test_a_move_for_good_is_believed_the_third_time(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/old")
        w.server.pages["/old"] = Said(status=301, headers={"Location": "/new"})
        w.server.pages["/new"] = feed(1)
        for _ in range(3):
            assert w.source("/old").location == w.server.url("/old")
            w.poll("/old")
        assert w.source("/old").location == w.server.url("/new")
        w.server.asked.clear()
        w.poll("/old")
        assert [asked.path for asked in w.server.asked] == ["/new"]
        assert w.told() == ["T1"]
        del w.server.pages["/new"]
        assert w.poll("/old").failed
        assert w.source("/old").location == w.server.url("/old")


def test_a_temporary_redirect_is_never_remembered_and_a_circle_is_an_error(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/a")
        w.server.pages["/a"] = Said(status=302, headers={"Location": "/b"})
        w.server.pages["/b"] = feed(1)
        for _ in range(4):
            w.poll("/a")
        assert w.source("/a").location == w.server.url("/a")
        w.server.pages["/b"] = Said(status=301, headers={"Location": "/a"})
        assert "redirected more than 5 times" in w.poll("/a").error


def test_the_interval_follows_the_changes_within_its_bounds(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/feed")
        waits = []
        for number in range(1, 8):
            w.server.pages["/feed"] = feed(number)
            waits.append((w.poll("/feed").next_check - w.now) / 1e6)
        assert waits == [1800, 900, 900, 900, 900, 900, 900]
        waits = [(w.poll("/feed").next_check - w.now) / 1e6 for _ in range(20)]
        assert waits[:3] == [1350, 2025, 3037.5]
        assert waits[-1] == DAY
        w.server.pages["/feed"] = feed(9)._replace(headers={"Cache-Control": "public, max-age=7200"})
        w.wait(DAY)
        for number in range(10, 20):
            w.server.pages["/feed"] = feed(number)._replace(headers={"Cache-Control": "public, max-age=7200"})
            polled = w.poll("/feed")
        assert (polled.next_check - w.now) / 1e6 == 7200


def test_a_source_that_fails_is_tried_ever_more_slowly_and_for_ever(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = Said(status=500)
        waits = []
        for _ in range(30):
            (polled,) = w.poller.poll()
            waits.append((polled.next_check - w.now) / 1e6)
            assert w.poller.poll() == []
            w.wait(waits[-1])
        assert waits[:5] == [HOUR, 2 * HOUR, 4 * HOUR, 8 * HOUR, 16 * HOUR]
        assert set(waits[5:]) == {DAY}
        assert w.source("/feed").failures == 30
        assert w.source("/feed").error == "it answers 500"
        w.server.pages["/feed"] = feed(1)
        assert w.poller.poll()[0].new == 1
        assert w.source("/feed").failures == 0


def test_retry_after_holds_for_the_whole_server(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        for path in ("/a", "/b"):
            w.add(path)
            w.server.pages[path] = Said(status=429, headers={"Retry-After": str(5 * HOUR)})
        w.poller.poll()
        assert len(w.server.asked) == 1
        w.wait(4 * HOUR)
        w.poller.poll()
        assert len(w.server.asked) == 1
        w.wait(HOUR)
        w.server.pages["/a"] = w.server.pages["/b"] = feed(1)
        assert len(w.poller.poll()) == 2


def test_what_is_gone_is_not_asked_again_until_somebody_wants_it(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = Said(status=410)
        w.poller.poll()
        assert w.source("/feed").gone
        w.wait(30 * DAY)
        assert w.poller.poll() == []
        w.server.pages["/feed"] = feed(1)
        assert w.poll("/feed").new == 1
        assert not w.source("/feed").gone


def test_one_server_gets_one_request_at_a_time(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        for number in range(1, 9):
            w.add(f"/{number}")
            w.server.pages[f"/{number}"] = feed(number)
        assert sum(each.new for each in w.poller.poll()) == 8
        assert w.server.most_at_once == 1


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("<html><body>Sorry</body></html>", "html"),
        ("", "empty"),
        ("<rss version='2.0'><channel><item><title>cut o", ""),
        ("\0\1\2", ""),
        ("<!DOCTYPE x [<!ENTITY a 'b'>]><rss version='2.0'/>", "DOCTYPE"),
    ],
)
def test_what_is_no_feed_is_an_error_that_keeps_what_is_known(tmp_path: Path, body: str, found: str) -> None:
    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = feed(1, 2)
        w.poll("/feed")
        w.server.pages["/feed"] = Said(body)
        polled = w.poll("/feed")
        assert polled.failed or not polled.new + polled.edited
        assert found in polled.error
        w.server.pages["/feed"] = feed(1, 2, 3)
        assert w.poll("/feed").new == 1
        assert w.told() == ["T1", "T2", "T3"]


def test_where_a_publication_came_from_is_kept_outside_its_graph(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        url = w.add("/feed")
        w.server.pages["/feed"] = Said(rss([("urn:x:1", "One", "")]), headers={"ETag": '"1"'})
        w.poll("/feed")
        (origin,) = w.poller.sources.provenance("urn:x:1")
        assert (origin.source, origin.version, origin.etag) == (url, 1, '"1"')
        assert origin.fetched_at.startswith("2027-01-15T08:00:00")
        assert w.engine.query(f"ASK {{ GRAPH <urn:x:1> {{ ?s ?p '{url}' }} }}") is False


def test_a_clock_that_was_wrong_does_not_silence_a_source(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/feed")
        w.server.pages["/feed"] = feed(1)
        w.wait(3650 * DAY)
        w.poller.poll()
        w.wait(-3650 * DAY)
        assert len(w.poller.poll()) == 1


def test_an_address_behind_a_redirect_is_vetted_like_one_that_was_added(tmp_path: Path) -> None:
    with world(tmp_path) as w, serve_feeds() as other:
        w.add("/feed")
        w.server.pages["/feed"] = Said(status=302, headers={"Location": other.url("/inside")})
        other.pages["/inside"] = feed(1)
        port = int(w.server.address.rpartition(":")[2])
        send = Egress(EgressRules(private=True, ports=frozenset({port}))).send
        with closing(Poller(w.engine, w.folder, send, w.clock)) as poller:
            (polled,) = poller.poll()
        assert "is not allowed" in polled.error
        assert other.asked == []


def test_a_thread_polls_by_itself_and_a_dead_server_keeps_nobody_waiting(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.poller.sources.add([NewSource("http://127.0.0.1:9/dead"), NewSource("http://127.0.0.1:9/too")], w.now)
        w.add("/feed")
        w.server.pages["/feed"] = feed(1)
        told: SimpleQueue[Polled] = SimpleQueue()
        w.poller.start(told.put)
        found = {polled.url: polled for polled in (told.get(timeout=60), told.get(timeout=60))}
        assert found[w.server.url("/feed")].new == 1
        assert found["http://127.0.0.1:9/dead"].failed
        assert told.empty()  # the other source of the dead server waits
        assert w.poller.fault is None


def test_what_this_machine_refused_is_asked_by_the_next_process_with_other_rules(tmp_path: Path) -> None:
    with world(tmp_path) as w:
        w.add("/a")
        w.server.pages["/a"] = Said(rss([("1", "One", "")]))
        with closing(Poller(w.engine, w.folder, Egress().send, w.clock)) as strict:
            (polled,) = strict.poll()
            assert polled.error.startswith("no request to ")
            assert not strict.poll()
        (polled,) = w.poller.poll()
        assert (polled.new, polled.error) == (1, "")
