"""Linked Data Event Streams: members once, pages that never change once, removals, and walks that break off."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.feed_server import Asked, Said
from tests.unit.sources.source_samples import World, world
from triplecast.sources import following

TITLES = "SELECT ?title { ?m dcterms:title ?title }"
PREFIXES = """@prefix tree: <https://w3id.org/tree#> . @prefix ldes: <https://w3id.org/ldes#> .
@prefix dcterms: <http://purl.org/dc/terms/> . @prefix as: <https://www.w3.org/ns/activitystreams#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
"""
STREAM = "<#s> a ldes:EventStream ; ldes:timestampPath dcterms:created ; ldes:versionOfPath dcterms:isVersionOf ."


def member(thing: str, day: int, title: str) -> str:
    """A version of a thing, by the day."""
    iri = f"<https://e.org/{thing}/{day}>"
    kind = "a as:Delete ; " if not title else f'dcterms:title "{title}" ; dcterms:relation [ dcterms:format "f" ] ; '
    time = f'dcterms:created "2026-01-{day:02}T00:00:00Z"^^xsd:dateTime'
    return f"</ldes#s> tree:member {iri} . {iri} {kind}dcterms:isVersionOf <https://e.org/{thing}> ; {time} .\n"


def page(*members: str, leads: dict[str, int | None] = {}, stream: bool = False, final: bool = False) -> Said:  # noqa: B006
    relations = "".join(
        f"<> tree:relation [ tree:node <{url}>"
        + (
            ""
            if day is None
            else f'; a tree:GreaterThanOrEqualToRelation ; tree:value "2026-01-{day:02}T00:00:00Z"^^xsd:dateTime'
        )
        + " ] .\n"
        for url, day in leads.items()
    )
    text = (
        PREFIXES
        + (f"{STREAM} <#s> tree:view <> .\n" if stream else "<> a tree:Node .\n")
        + relations
        + "".join(members)
    )
    headers = {"Content-Type": "text/turtle", "Cache-Control": "immutable" if final else "max-age=60"}
    return Said(text, headers=headers)


def asked(w: World) -> list[str]:
    paths = [each.path for each in w.server.asked]
    w.server.asked.clear()
    return paths


def test_members_are_told_once_and_pages_that_never_change_are_asked_for_once(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = page(leads={"/p2": 10, "/p1": 1}, stream=True)
        w.server.pages["/p1"] = page(member("a", 2, "A2"), member("b", 1, "B1"), final=True)
        w.server.pages["/p2"] = page(member("a", 10, "A10"), member("c", 11, "C11"))
        polled = w.poll("/ldes")
        assert (polled.new, polled.edited, polled.error) == (3, 1, "")
        assert w.told() == ["B1", "A2", "A10", "C11"]
        assert w.source("/ldes").kind == "ldes"
        assert asked(w) == ["/ldes", "/ldes", "/p1", "/p2"]
        w.server.pages["/p2"] = page(member("a", 10, "A10"), member("c", 11, "C11"), member("b", 12, "B12"))
        assert w.poll("/ldes").edited == 1
        assert asked(w) == ["/ldes", "/p2"]
        assert w.told()[4:] == ["B12"]
        assert w.poll("/ldes").edited == 0
        assert w.engine.query("ASK { <https://e.org/b/12> ?p ?o . FILTER NOT EXISTS { <https://e.org/b/1> ?p ?o } }")


def test_a_version_that_says_so_removes_and_one_that_comes_too_late_is_not_told(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = page(member("a", 2, "A2"), member("b", 3, "B3"), stream=True)
        w.poll("/ldes")
        w.server.pages["/ldes"] = page(member("a", 9, ""), member("b", 2, "B2"), member("x", 4, ""), stream=True)
        polled = w.poll("/ldes")
        assert (polled.new, polled.edited, polled.removed, w.told()) == (0, 0, 1, ["A2", "B3"])
        assert not w.engine.query("ASK { <https://e.org/a/2> ?p ?o }")


def test_only_what_a_source_brought_is_removed(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        w.engine.publish('<urn:x> <http://purl.org/dc/terms/title> "X" .', graph="https://e.org/x")
        w.add("/ldes")
        w.server.pages["/ldes"] = page(member("x", 9, ""), stream=True)
        assert w.poll("/ldes").removed == 0
        assert w.engine.query("ASK { <urn:x> ?p ?o }")


def test_the_graph_of_a_member_is_what_it_says(tmp_path: Path) -> None:
    activity = """<#s> a ldes:EventStream ; ldes:timestampPath as:published ; ldes:versionOfPath as:object ;
      tree:view <> ; tree:member <#1> . <#1> a as:Create ; as:object <https://e.org/d> ;
      as:published "2026-01-02T00:00:00Z"^^xsd:dateTime . GRAPH <#1> { <https://e.org/d> dcterms:title "D" }"""
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = Said(PREFIXES + activity, headers={"Content-Type": "application/trig"})
        assert (w.poll("/ldes").new, w.told()) == (1, ["D"])
        assert w.engine.query("ASK { GRAPH <https://e.org/d> { <https://e.org/d> dcterms:title 'D' } }")
        assert not w.engine.query("ASK { ?a <https://www.w3.org/ns/activitystreams#published> ?t }")


def test_a_member_without_a_version_stands_for_itself_and_one_without_an_iri_is_left_out(tmp_path: Path) -> None:
    plain = '<> tree:relation [ tree:node </p2> ] . <#s> tree:view <> ; tree:member <urn:m>, [ dcterms:title "?" ] .'
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = Said(f'{PREFIXES}{plain} <urn:m> dcterms:title "M" .')
        w.server.pages["/p2"] = page()
        polled = w.poll("/ldes")
        assert (polled.new, w.told(), polled.error) == (1, ["M"], "left out: 1 members have no IRI (1 in all)")
        assert w.engine.query("ASK { GRAPH <urn:m> { ?s ?p ?o } }")


def test_a_walk_that_breaks_off_goes_on_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "MOST_PAGES", 2)
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = page(leads={f"/p{n}": n for n in range(1, 6)}, stream=True)
        for number in range(1, 6):
            w.server.pages[f"/p{number}"] = page(member("a", number, f"A{number}"))
        w.server.pages["/p4"] = Said("", 503)
        assert w.poll("/ldes").next_check == w.now
        assert [w.poll("/ldes").failed for _ in range(2)] == [False, True]
        assert w.told() == ["A1", "A2", "A3"]
        w.server.pages["/p4"] = page(member("a", 4, "A4"))
        assert w.poll("/ldes").next_check > w.now
        assert asked(w) == ["/ldes", "/ldes", "/p1", "/p2", "/p3", "/p4", "/p4", "/p5"]
        assert w.told() == [f"A{number}" for number in range(1, 6)]


def test_pages_that_are_gone_are_looked_for_anew(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = page(leads={"/p1": 1}, stream=True, final=True)
        w.server.pages["/p1"] = page(member("a", 1, "A1"))
        w.poll("/ldes")
        w.server.pages["/ldes"] = page(leads={"/q1": 1}, stream=True)
        w.server.pages["/q1"] = page(member("a", 1, "A1"), member("b", 2, "B2"))
        w.server.pages["/p1"] = Said("", 410)
        polled = w.poll("/ldes")
        assert polled.failed
        assert "/p1: it answers 410" in polled.error
        assert not w.source("/ldes").gone
        assert w.poll("/ldes").new == 1
        assert w.told() == ["A1", "B2"]


@pytest.mark.parametrize("dead", ["/gone", "/failing", "/broken", "http://127.0.0.1:1/p1"])
def test_a_page_that_cannot_be_had_is_waited_for_and_then_left_out(tmp_path: Path, dead: str) -> None:
    """Once it was left out, no other page waits for it any more."""
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = page(leads={dead: 1, "/p2": 2}, stream=True)
        w.server.pages |= {"/failing": Said("", 500), "/broken": Said("<", headers={"Content-Type": "text/turtle"})}
        w.server.pages["/p2"] = page(member("a", 2, "A2"))
        tries = [w.poll("/ldes") for _ in range(following.PAGE_TRIES + 1)]
        assert [each.failed for each in tries] == [True] * following.PAGE_TRIES + [False]
        assert tries[-1].error.startswith(f"left out: {dead if ':' in dead else w.server.url(dead)}: ")
        assert w.told() == ["A2"]
        w.server.pages["/p2"] = page(member("a", 3, "A3"))
        assert not w.poll("/ldes").failed
        w.server.pages |= dict.fromkeys(("/gone", "/failing", "/broken"), page(member("b", 1, "B1")))
        assert w.poll("/ldes").new == dead.startswith("/")


def test_a_page_that_may_not_be_asked_is_left_out_at_once(tmp_path: Path) -> None:
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = page(leads={"http://169.254.169.254/p1": 1, "/p2": 2}, stream=True)
        w.server.pages["/p2"] = page(member("a", 2, "A2"))
        polled = w.poll("/ldes")
        assert (polled.failed, polled.new) == (False, 1)
        assert polled.error.startswith("left out: http://169.254.169.254/p1: ")


def test_pages_in_a_circle_and_validators(tmp_path: Path) -> None:
    def answer(request: Asked) -> Said:
        return Said("", 304) if request.headers.get("if-none-match") == '"1"' else first

    first = page(member("a", 1, "A1"), leads={"/p1": 1}, stream=True)
    first = first._replace(headers={**first.headers, "ETag": '"1"'})
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = answer
        w.server.pages["/p1"] = page(leads={"/ldes": 1, "/p1": 2})
        assert [w.poll("/ldes").new for _ in range(3)] == [1, 0, 0]
        assert w.told() == ["A1"]


def test_pages_that_all_lead_to_all_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page by itself is short enough: together they are not, and what was taken stays."""
    leads = {f"/p{each}": None for each in range(30)}
    monkeypatch.setattr(following, "MOST_LEADS", 3 * sum(len(f"http://127.0.0.1:65535{each}") + 100 for each in leads))
    with world(tmp_path, TITLES) as w:
        w.add("/ldes")
        w.server.pages["/ldes"] = page(member("a", 1, "A1"), leads=leads, stream=True)
        w.server.pages |= {each: page(leads=leads) for each in leads}
        polled = w.poll("/ldes")
        assert polled.failed
        assert "lead to" in polled.error
        assert w.told() == ["A1"]
        w.server.pages |= {each: page() for each in leads}
        assert not w.poll("/ldes").failed
        w.wait(1)
        assert not w.poll("/ldes").failed, "what a page led to before counts no more"
