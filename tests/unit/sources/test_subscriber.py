"""The WebSub subscriber, after the tests of websub.rocks for one (their numbers are in the names).

Left out: 101, discovery in HTML, since no page is a source. Hubs are played by the server of this test.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs

import pytest

from tests.feed_server import Asked, FeedServer, Said, rss
from tests.unit.sources.source_samples import DAY, ITEMS, World, world
from triplecast import Engine
from triplecast.sources import Poller
from triplecast.sources.hubs import METHODS, HubRow, find_hub, is_signed

CALLBACKS = "https://reader.example/websub/"
ONE = ("one", "T1", "2026-11-01T08:00:00Z")
TWO = ("two", "T2", "2026-11-02T08:00:00Z")


class Subscribed(World):
    """A world whose poller may be reached, and a hub that notes what it is asked."""

    def __init__(self, folder: Path, server: FeedServer, engine: Engine) -> None:
        super().__init__(folder, server, engine)
        self.poller = Poller(engine, folder, self.send, self.clock, lambda: 0.0, callbacks=CALLBACKS)
        self.forms: list[dict[str, str]] = []
        self.verifies = True

    def send(self, method, url, headers=(), body=None, **limits):
        from tests.feed_server import SEND

        if method == "GET":
            return SEND(method, url, headers, body, **limits)
        self.server.asked.append(Asked(url.removeprefix(self.server.address), dict(headers)))
        answer = SEND("GET", url, headers, None, **limits)
        if answer.status == 202:
            self.forms.append(
                {name.removeprefix("hub."): values[0] for name, values in parse_qs(body.decode()).items()}
            )
            if self.verifies:
                assert self.verify(**self.forms[-1]) == "abc"
        return answer

    def verify(self, callback: str, challenge: str = "abc", **fields: str) -> str | None:
        token = callback.removeprefix(CALLBACKS)
        form = {f"hub.{name}": value for name, value in fields.items()} | {"hub.challenge": challenge}
        assert self.poller.subscriber is not None
        return self.poller.subscriber.verify(token, form, self.now)

    def tend(self) -> None:
        assert self.poller.subscriber is not None
        self.poller.subscriber.tend(self.now)

    def rows(self) -> list[HubRow]:
        with self.poller.sources.writing() as file:
            return [HubRow(*row) for row in file.ask("SELECT * FROM hub ORDER BY leaving, token")]

    def sent(self, body: str, signature: str | None = None) -> bool:
        (row, *_) = self.rows()
        digest = hmac.digest(row.secret.encode(), body.encode(), "sha256").hex()
        return self.poller.receive(row.token, signature or f"sha256={digest}", body.encode(), "application/rss+xml")


@contextmanager
def subscribed(folder: Path, feed: Said | None = None, path: str = "/feed") -> Iterator[Subscribed]:
    with world(folder) as w:
        s = Subscribed(folder, w.server, w.engine)
        s.add(path)
        s.server.pages["/hub"] = Said("", 202)
        s.server.pages["/feed"] = feed or announced(rss([ONE]), s)
        try:
            yield s
        finally:
            s.poller.close()


def announced(body: str, s: World, hub: str = "/hub", self_: str = "/feed") -> Said:
    links = f'<{s.server.url(hub)}>; rel="hub", <{s.server.url(self_)}>; rel="self"'
    return Said(body, headers={"Link": links, "Content-Type": "application/rss+xml"})


def test_100_discovery_in_the_header_and_a_subscription_that_is_asked_for_once(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        assert s.poll("/feed").new == 1
        s.tend()
        (form,) = s.forms
        assert (form["mode"], form["topic"], form["lease_seconds"]) == ("subscribe", s.server.url("/feed"), "864000")
        assert len(form["callback"].removeprefix(CALLBACKS)) >= 43 <= len(form["secret"])
        s.tend()
        assert len(s.forms) == 1
        s.poll("/feed")
        assert s.source("/feed").next_check == s.now + DAY * 1_000_000


def test_a_feed_without_items_is_subscribed_to_and_its_first_item_has_it_asked_for(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.server.pages["/feed"] = announced(rss([]), s)
        assert s.poll("/feed").new == 0
        s.tend()
        (form,) = s.forms
        assert (form["mode"], form["topic"]) == ("subscribe", s.server.url("/feed"))
        s.server.pages["/feed"] = announced(rss([ONE]), s)
        assert s.sent(rss([ONE]))
        assert s.source("/feed").next_check == s.now
        assert s.poll("/feed").new == 1
        s.server.pages["/feed"] = announced(rss([]), s)  # as a feed that shows the last day may be
        s.poll("/feed")
        s.tend()
        assert len(s.forms) == 1


ATOM = '<feed xmlns="http://www.w3.org/2005/Atom">{}<entry><link rel="self" href="/no"/></entry></feed>'
RSS = (
    '<rss xmlns:a="http://www.w3.org/2005/Atom"><channel>{}<item><a:link rel="hub" href="/no"/></item></channel></rss>'
)
HUBS = '"hubs": [{"type": "rssCloud", "url": "/c"}, {"type": "WebSub", "url": "/h"}]}'
HEADER = {"hub": "https://e.org/h2", "self": "https://e.org/s2"}


@pytest.mark.parametrize(
    ("links", "body", "found"),
    [
        ({}, ATOM.format('<link rel="hub" href="/h?a=1&amp;b=2"/><link href=\'/s\' rel=\'self\'/>'),
         ("/h?a=1&b=2", "/s")),
        ({}, RSS.format('<a:link rel="hub" href="/h"/><a:link rel="self" type="x" href="/s"/>'), ("/h", "/s")),
        ({}, RSS.format(""), None),
        ({}, '{"version": "x", "feed_url": "/s", ' + HUBS, ("/h", "/s")),
        ({}, '{"hubs": [{"type": "WebSub", "url": "/\\ud800"}]}', None),
        ({}, '{"hubs": [7]}', None), ({}, '{"hubs": 7}', None), ({}, "{", None),
        (HEADER, ATOM.format('<link rel="hub" href="/h"/>'), ("/h2", "/s2")),
        ({"hub": "https://e.org/h2"}, "", ("/h2", "/f")), ({"self": "https://e.org/s"}, "", None),
    ],
)  # fmt: skip
def test_102_103_104_discovery_in_feeds_and_its_priority(
    links: dict[str, str], body: str, found: tuple[str, str] | None
) -> None:
    wanted = None if found is None else tuple(f"https://e.org{each}" for each in found)
    assert find_hub(links, body.encode(), "https://e.org/f") == wanted


def test_200_the_topic_is_what_the_feed_calls_itself(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.server.pages["/feed"] = announced(rss([ONE]), s, self_="/itself")
        s.poll("/feed")
        s.tend()
        assert s.forms[0]["topic"] == s.server.url("/itself")


@pytest.mark.parametrize("status", [301, 302])
def test_201_202_a_topic_that_redirects(tmp_path: Path, status: int) -> None:
    with subscribed(tmp_path, path="/old") as s:
        s.server.pages["/old"] = Said("", status, {"Location": "/feed"})
        assert s.poll("/old").new == 1
        s.tend()
        assert s.forms[0]["topic"] == s.server.url("/feed")


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_203_204_a_hub_that_redirects(tmp_path: Path, status: int) -> None:
    with subscribed(tmp_path) as s:
        s.server.pages["/feed"] = announced(rss([ONE]), s, hub="/moved")
        s.server.pages["/moved"] = Said("", status, {"Location": "/hub"})
        s.poll("/feed")
        s.tend()
        assert [form["mode"] for form in s.forms] == ["subscribe"]


def test_205_only_what_was_asked_for_is_verified(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.poll("/feed")
        (row,) = s.rows()
        callback = CALLBACKS + row.token
        assert s.verify(callback, mode="subscribe", topic=row.topic) is None  # nothing was asked yet
        s.verifies = False
        s.tend()
        assert s.verify(callback, mode="subscribe", topic="https://other.example/") is None
        assert s.verify(callback, mode="unsubscribe", topic=row.topic) is None
        assert s.verify(callback, mode="nonsense", topic=row.topic) is None
        assert s.verify(CALLBACKS + "guess", mode="subscribe", topic=row.topic) is None
        assert not s.sent(rss([TWO]))
        assert s.verify(callback, mode="subscribe", topic=row.topic, lease_seconds="7") == "abc"
        assert s.rows()[0].expires == s.now + 300 * 1_000_000


def test_300_what_a_hub_sends_is_told_once(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.poll("/feed")
        s.tend()
        assert s.sent(rss([TWO]))
        assert s.told() == ["T1", "T2"]
        assert s.sent(rss([TWO]))
        s.server.pages["/feed"] = announced(rss([ONE, TWO]), s)
        assert (s.poll("/feed").new, s.told()) == (0, ["T1", "T2"])


def test_301_302_what_is_not_signed_rightly_is_not_taken(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.poll("/feed")
        s.tend()
        (row,) = s.rows()
        for signature in (
            "sha256=00",
            "none",
            "md5=00",
            "sha256=" + hmac.digest(b"", b"x", "sha256").hex(),
            "sha256=ä",
        ):
            assert s.sent(rss([TWO]), signature)  # acknowledged, that nobody may guess
        assert s.poller.receive(row.token, "", rss([TWO]).encode(), None)
        assert s.told() == ["T1"]


def test_what_a_hub_sends_that_is_no_feed_has_the_feed_asked_for(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.poll("/feed")
        s.tend()
        s.poll("/feed")
        assert s.sent("changed!")
        assert s.source("/feed").next_check == s.now


def test_an_item_that_a_hub_sends_alone_takes_the_place_of_no_other(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.poll("/feed")
        s.tend()
        assert s.sent(rss([("again", *ONE[1:])]))
        assert s.told() == ["T1", "T1"]


def test_a_lease_is_renewed_and_one_that_ended_has_its_feed_polled(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.poll("/feed")
        s.tend()
        s.poll("/feed")
        s.wait(9 * DAY - 1)
        s.tend()
        assert len(s.forms) == 1
        s.wait(1)
        s.verifies = False
        s.tend()
        assert (len(s.forms), s.forms[1]["callback"]) == (2, s.forms[0]["callback"])
        s.server.pages["/hub"] = Said("", 500)
        with s.poller.sources.writing() as file:
            file.run("UPDATE source SET next_check = ?", [(s.now + 5 * DAY * 1_000_000,)])
        s.wait(DAY)
        s.tend()
        assert s.source("/feed").next_check == s.now
        s.poll("/feed")
        assert s.source("/feed").next_check < s.now + DAY * 1_000_000
        asked = len(s.server.asked)
        s.tend()
        assert len(s.server.asked) == asked  # not at once again
        s.wait(DAY)
        s.server.pages["/hub"], s.verifies = Said("", 202), True
        s.tend()
        assert s.rows()[0].expires > s.now


def test_a_source_that_is_removed_and_a_hub_that_is_named_no_longer_are_unsubscribed(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.poll("/feed")
        s.tend()
        s.server.pages["/feed"] = announced(rss([ONE, TWO]), s, self_="/new")
        s.poll("/feed")
        s.tend()
        assert sorted((form["mode"], form["topic"][-4:]) for form in s.forms[1:]) == [
            ("subscribe", "/new"),
            ("unsubscribe", "feed"),
        ]
        assert [row.topic for row in s.rows()] == [s.server.url("/new")]
        s.poller.sources.remove(s.server.url("/feed"))
        assert not s.sent(rss([TWO]))
        s.tend()
        assert (s.forms[-1]["mode"], s.rows()) == ("unsubscribe", [])


def test_a_hub_that_never_answers_is_dropped_with_its_source(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.server.pages["/hub"] = Said("", 404)
        s.poll("/feed")
        s.tend()
        s.poller.sources.remove(s.server.url("/feed"))
        for _ in range(3):
            s.wait(DAY)
            s.tend()
        assert s.rows() == []


def test_a_hub_that_denies_is_asked_again_after_a_day(tmp_path: Path) -> None:
    with subscribed(tmp_path) as s:
        s.poll("/feed")
        s.tend()
        assert s.verify(s.forms[0]["callback"], mode="denied", topic=s.forms[0]["topic"], challenge="") == ""
        assert not s.sent(rss([TWO]))
        s.wait(DAY)
        s.tend()
        assert len(s.forms) == 2


@pytest.mark.parametrize("method", METHODS)
def test_each_method_of_signature_that_a_hub_may_choose(method: str) -> None:
    said = hmac.digest(b"secret", b"body", method).hex()
    assert is_signed(f"{method}={said}", "secret", b"body")
    assert not is_signed(f"{method}={said}", "secret", b"Body")


def test_without_an_address_no_hub_is_subscribed_to(tmp_path: Path) -> None:
    with world(tmp_path, ITEMS) as w:
        w.add("/feed")
        w.server.pages["/feed"] = announced(rss([ONE]), w)
        w.poll("/feed")
        assert w.poller.subscriber is None
        assert not w.poller.receive("x", "", b"", None)


def test_who_guesses_a_callback_waits_for_no_writer(tmp_path: Path) -> None:
    """Nor has it anything written: no token is asked of who calls back."""
    with subscribed(tmp_path) as s, s.poller.sources.writing():
        assert s.verify("guess", mode="subscribe", topic="https://e.org/f") is None
