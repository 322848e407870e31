"""Collections of activities: the newest page first, each change once, as IIIF Change Discovery 1.0 walks them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.feed_server import Said
from tests.unit.sources.source_samples import DAY, World, world
from triplecast.sources import Polled, following
from triplecast.sources import late_objects as late
from triplecast.sources.activities import is_activities, read_activities
from triplecast.sources.changes import Lead
from triplecast.sources.fetching import Fetched
from triplecast.sources.source import Validators

TITLES = "SELECT ?title { ?m dc:title ?title }"
IIIF = "http://iiif.io/api/discovery/1/context.json"


class Stream:
    """Pages of activities that are appended to, three a page, and the objects that they are about."""

    def __init__(self, w: World, context: str = IIIF) -> None:
        self.w = w
        self.context = context
        self.items: list[dict[str, Any]] = []
        w.add("/all")

    def url(self, thing: str) -> str:
        return self.w.server.url(f"/{thing}")

    def tell(self, verb: str, thing: str, day: int, title: str = "", **more: Any) -> None:
        if verb != "Refresh":
            more["object"] = {"id": self.url(thing), "type": "Manifest"}
        self.items.append({"type": verb, "endTime": f"2026-01-{day:02}T00:00:00Z", **more})
        if title:
            self.w.server.pages[f"/{thing}"] = said(thing, title)
        self.written()

    def written(self) -> None:
        pages = [self.items[start : start + 3] for start in range(0, len(self.items), 3)]
        ends = {"first": self.page(0), "last": self.page(len(pages) - 1)}
        self.serve("/all", {"type": "OrderedCollection", **ends})
        for number, items in enumerate(pages):
            others = {"prev": self.page(number - 1)} if number else {}
            others |= {"next": self.page(number + 1)} if number + 1 < len(pages) else {}
            self.serve(f"/page{number}", {"type": "OrderedCollectionPage", "orderedItems": items, **others})

    def page(self, number: int) -> dict[str, str]:
        return {"id": self.url(f"page{number}"), "type": "OrderedCollectionPage"}

    def serve(self, path: str, document: dict[str, Any]) -> None:
        body = json.dumps({"@context": self.context, "id": self.w.server.url(path), **document})
        self.w.server.pages[path] = Said(body, headers={"Content-Type": "application/json"})

    def asked(self) -> list[str]:
        paths = [each.path for each in self.w.server.asked]
        self.w.server.asked.clear()
        return paths


def said(thing: str, title: str) -> Said:
    return Said(
        f'<urn:{thing}> <http://purl.org/dc/elements/1.1/title> "{title}" .', headers={"Content-Type": "text/turtle"}
    )


def titles(w: World) -> list[str]:
    rows = w.engine.query(TITLES)
    assert isinstance(rows, list)
    return sorted(row["title"].value for row in rows)


def test_what_changed_is_fetched_and_published_once(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        for day, thing in enumerate("abcde", 1):
            stream.tell("Create", thing, day, f"{thing}1")
        stream.tell("Update", "a", 6, "a2")
        stream.tell("Delete", "b", 7)
        polled = w.poll("/all")
        assert (polled.new, polled.edited, polled.removed, polled.error) == (4, 0, 0, "")
        assert w.source("/all").kind == "activities"
        assert stream.asked() == ["/all", "/all", "/page2", "/page1", "/a", "/e", "/d", "/page0", "/c"]
        assert (w.told(), titles(w)) == (["a2", "e1", "d1", "c1"], ["a2", "c1", "d1", "e1"])
        stream.tell("Update", "c", 8, "c2")
        stream.tell("Delete", "d", 9)
        polled = w.poll("/all")
        assert (polled.new, polled.edited, polled.removed) == (0, 1, 1)
        assert stream.asked() == ["/all", "/page2", "/c", "/page1"]
        assert (w.told()[4:], titles(w)) == (["c2"], ["a2", "c2", "e1"])
        w.poll("/all")
        assert stream.asked() == ["/all", "/page2"]


def test_what_moved_is_removed_there_and_published_here(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        stream.tell("Create", "a", 1, "a1")
        w.poll("/all")
        w.server.pages["/b"] = said("b", "b1")
        stream.tell("Move", "a", 2, target={"id": stream.url("b"), "type": "Manifest"})
        polled = w.poll("/all")
        assert (polled.new, polled.removed, titles(w)) == (1, 1, ["b1"])


def test_after_a_refresh_only_removals_count_that_are_older(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        stream.tell("Create", "a", 1, "a1")
        stream.tell("Create", "b", 1, "b1")
        w.poll("/all")
        stream.tell("Delete", "a", 3)
        stream.tell("Create", "gone", 3, "before")
        stream.tell("Refresh", "", 4)
        stream.tell("Update", "b", 5, "b2")
        polled = w.poll("/all")
        assert (polled.new, polled.edited, polled.removed, titles(w)) == (0, 1, 1, ["b2"])
        stream.asked()
        assert (w.poll("/all").new, titles(w)) == (0, ["b2"])
        assert stream.asked() == ["/all", "/page1"]


def test_a_first_walk_ends_at_a_refresh(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        for day in range(1, 8):
            stream.tell("Create", f"old{day}", day, "old")
        stream.tell("Refresh", "", 8)
        stream.tell("Update", "b", 9, "b")
        w.poll("/all")
        assert titles(w) == ["b"]
        assert "/page0" not in stream.asked()


def test_an_object_that_the_page_describes_is_not_fetched_and_a_dataset_is_taken_instead(tmp_path: Path) -> None:
    with world(
        tmp_path,
        "SELECT ?title { { ?m dc:title ?title } UNION { ?m <https://www.w3.org/ns/activitystreams#name> ?title } }",
    ) as w:
        stream = Stream(w, "https://www.w3.org/ns/activitystreams")
        note = {"id": "https://e.org/n", "type": "Note", "name": "N", "content": "text"}
        also = [{"id": stream.url("data"), "type": "Dataset", "format": "text/turtle"}]
        w.server.pages["/data"] = said("c", "C")
        stream.items += [
            {"type": "Create", "id": "https://e.org/1", "published": "2026-01-01T00:00:00Z", "object": note},
            {"type": "Like", "object": "https://e.org/liked"},
            {"type": "Add", "object": "https://e.org/x", "target": "https://elsewhere.org/"},
            {"type": "Create", "object": {"id": "https://e.org/c", "type": "Manifest", "seeAlso": also}},
            {"type": "Update", "object": {"type": "Manifest"}},
            {"type": "Update", "object": stream.url("broken")},
        ]
        stream.written()
        w.server.pages["/broken"] = Said("<html>no RDF</html>", headers={"Content-Type": "text/html"})
        polled = w.poll("/all")
        assert (polled.new, sorted(w.told())) == (2, ["C", "N"])
        assert polled.error.startswith("left out: the object of an activity has no IRI (2 in all)")
        assert (w.poll("/all").new, w.poll("/all").edited) == (0, 0)


def test_a_collection_with_the_newest_first_is_begun_there(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)

        def serve(days: list[int]) -> None:
            stream.items = []
            for day in days:
                stream.tell("Update", f"t{day}", day, f"t{day}")
            stream.items = stream.items[::-1]
            stream.written()

        serve([1, 2, 3, 4, 5])
        w.poll("/all")
        assert titles(w) == ["t1", "t2", "t3", "t4", "t5"]
        serve([1, 2, 3, 4, 5, 6])
        stream.asked()
        assert w.poll("/all").new == 1
        assert stream.asked() == ["/all", "/page0", "/t6", "/page1"]


def test_an_object_that_is_not_there_holds_nothing_up_and_is_asked_for_again(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        for day in range(1, 8):
            stream.tell("Create", f"t{day}", day, f"t{day}")
        w.server.pages["/t5"] = Said("", 500)
        polled = w.poll("/all")
        assert (polled.new, polled.failed) == (6, False)
        assert "/t5: it answers 500; asked for again, 1 of 10 times (1 in all)" in polled.error
        assert w.source("/all").error == polled.error
        stream.asked()
        w.wait(1801)
        due(w)
        w.wait(DAY)
        w.server.pages["/t5"] = said("t5", "t5")
        polled = due(w)
        assert stream.asked() == ["/t5", "/all", "/page2"] * 2
        assert (polled.new, polled.error, len(titles(w))) == (1, "", 7)


def test_an_object_is_left_out_in_the_end_until_something_new_is_told_of_it(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        stream.tell("Create", "a", 1)
        stream.tell("Create", "b", 2, "b1")
        w.server.pages["/a"] = Said("", 503)
        w.poll("/all")
        for _ in range(late.TRIES):
            w.wait(2 * DAY)
            polled = due(w)
        assert "left out after 10 tries" in polled.error
        assert stream.asked().count("/a") == late.TRIES
        stream.tell("Update", "a", 3, "a2")
        w.wait(2 * DAY)
        assert (due(w).error, titles(w)) == ("", ["a2", "b1"])


def test_a_server_that_wants_to_be_left_alone_is_asked_once_a_check(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        for day in range(1, 6):
            stream.tell("Create", f"t{day}", day)
            w.server.pages[f"/t{day}"] = Said("", 429, {"Retry-After": "86400"})
        assert "(5 in all)" in w.poll("/all").error
        assert [each for each in stream.asked() if each.startswith("/t")] == ["/t5"]
        w.wait(7200)
        due(w)
        assert not [each for each in stream.asked() if each.startswith("/t")], "Retry-After"


def test_a_server_that_fails_often_is_left_alone(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        for number in range(15):
            stream.tell("Create", f"t{number}", number + 1)
            w.server.pages[f"/t{number}"] = Said("", 500)
        stream.serve("/all", {"type": "OrderedCollection", "last": stream.page(0)})
        stream.serve("/page0", {"type": "OrderedCollectionPage", "orderedItems": stream.items})
        assert "(15 in all)" in w.poll("/all").error
        assert len([each for each in stream.asked() if each.startswith("/t")]) == late.FAILURES


def test_what_is_no_address_is_left_out(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        stream.tell("Create", "a", 1, "a")
        stream.tell("Create", "b", 2)
        stream.items[1]["object"]["seeAlso"] = {"id": "http://[x/", "format": "text/turtle"}
        ends = {"last": stream.page(0), "first": {"id": "http://[x/", "type": "OrderedCollectionPage"}}
        page = {"type": "OrderedCollectionPage", "orderedItems": stream.items, "prev": "http://[x/"}
        stream.serve("/page0", page)
        stream.serve("/all", {"type": "OrderedCollection", **ends})
        for _ in range(8):
            w.poll("/all")
            w.wait(2 * DAY)
        assert titles(w) == ["a"]
        assert "http://[x/: " in w.source("/all").error


def test_more_objects_than_may_wait_hold_their_page_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(late, "MOST_LATE", 2)
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        for day in range(1, 7):
            stream.tell("Create", f"t{day}", day, f"t{day}")
        gone = {f"/t{day}": w.server.pages.pop(f"/t{day}") for day in (2, 3, 4)}
        w.server.pages |= dict.fromkeys(gone, Said("", 500))
        assert "3 of its objects wait, and 2 may" in w.poll("/all").error
        assert titles(w) == ["t5", "t6"]
        w.server.pages |= gone
        assert not w.poll("/all").failed
        assert titles(w) == [f"t{day}" for day in range(1, 7)]


def due(w: World) -> Polled:
    """What becomes of the one source, whose time has come."""
    (polled,) = w.poller.poll()
    return polled


def test_a_first_walk_that_met_a_page_that_was_gone_goes_to_the_end_later(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        stream = Stream(w)
        for day in range(1, 8):
            stream.tell("Create", f"t{day}", day, f"t{day}")
        there = w.server.pages["/page0"]
        w.server.pages["/page0"] = Said("", 404)
        polled = [w.poll("/all") for _ in range(following.PAGE_TRIES + 1)]
        assert "left out: " in polled[-1].error
        assert titles(w) == ["t4", "t5", "t6", "t7"]
        stream.tell("Create", "t8", 8, "t8")
        w.server.pages["/page0"] = there
        assert (w.poll("/all").new, titles(w)) == (4, [f"t{day}" for day in range(1, 9)])


def test_a_source_that_was_a_document_stays_one(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        w.add("/all")
        w.server.pages["/all"] = said("a", "a")
        w.poll("/all")
        Stream(w, "https://www.w3.org/ns/activitystreams").tell("Create", "a", 1, "a1")
        w.poll("/all")
        assert w.source("/all").kind == "document"


@pytest.mark.parametrize(
    "body", [b"", b"[]", b'{"type": 1}', b'{"type": "OrderedCollection"}', b"{" * 100_000, b'{"a":' * 100_000]
)
def test_what_is_no_collection_is_none(body: bytes) -> None:
    assert not is_activities(body)


def test_times_of_any_form_and_zone() -> None:
    forms = ["2026-01-01T00:00:00Z", "2026-01-01T02:00:00+02:00", "2026-01-01", "9999-99-99", 7, None]
    items = [{"type": "Create", "object": f"urn:{n}", "endTime": form} for n, form in enumerate(forms)]
    body = json.dumps({"type": "OrderedCollection", "items": items}).encode()
    fetched = Fetched(200, "urn:x", "", Validators(), body, None, {}, False, 0.0, None)
    found = read_activities(Lead("urn:x"), fetched, {}).changes
    assert len({each.order for each in found[3:]}) == 1
    assert {each.order for each in found[:3]} == {b""}


HALVES = (
    {"type": "Refresh", "id": "\ud800"},
    {"type": "Create", "object": {"id": "https://e.org/\ud800", "type": "x", "p": 1}},
    {
        "type": "Create",
        "object": {"id": "https://e.org/x", "seeAlso": {"id": "https://e.org/\udfff", "format": "text/turtle"}},
    },
)


@pytest.mark.parametrize("odd", HALVES)
def test_half_a_character_ends_no_polling(tmp_path: Path, odd: object) -> None:
    """It could neither be stored nor said: what a server sends silences no other source."""
    fine = {
        "type": "Create",
        "object": {"id": "https://e.org/a", "type": "x", "http://purl.org/dc/elements/1.1/title": "A \U0001f600"},
    }
    text = json.dumps(
        {"@context": "https://www.w3.org/ns/activitystreams", "type": "OrderedCollection", "orderedItems": [odd, fine]}
    )
    with world(tmp_path, TITLES) as w:
        w.add("/all")
        w.server.pages["/all"] = Said(text, headers={"Content-Type": "application/json"})
        polled = w.poll("/all")
        assert (polled.failed, polled.new) == (False, 1)
        assert w.engine.query("ASK { ?a ?p 'A \U0001f600' }")
