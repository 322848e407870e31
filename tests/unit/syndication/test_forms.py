"""Notifications in the formats that others read, read again by those who did not write them."""

from __future__ import annotations

import json
from collections.abc import Iterator

import feedparser
import pytest
import rdflib
from pyoxigraph import QueryResultsFormat, QuerySolutions, parse_query_results

import triplecast
from triplecast.outbox import Cursor, Notification
from triplecast.syndication import (
    FeedHead,
    atom_feed,
    cloud_event,
    event_frame,
    json_feed,
    notification_row,
    notifications_turtle,
    results_table,
)
from triplecast.syndication.rows import head_row, short_row

PREFIXES = "@prefix dct: <http://purl.org/dc/terms/> . @prefix ex: <https://example.org/> . "
HEAD = FeedHead("urn:triplecast:feed:x", "rail & <sea>", "https://example.org/feed?key=a&b=c", "2026-11-24T09:00:00Z")


@pytest.fixture(scope="module")
def told() -> Iterator[list[Notification]]:
    """Every kind of change, of every form of query, of both scopes; with what formats stumble over."""
    with triplecast.Engine() as engine:
        engine.subscribe("SELECT ?s ?title ?link { ?s dct:title ?title OPTIONAL { ?s dct:source ?link } }", id="titles")
        engine.subscribe("SELECT ?s ?title { ?s dct:title ?title }", id="keyed", key=("s",))
        engine.subscribe("SELECT ?title { ?s dct:title ?title }", id="every/1", notify="every")
        engine.subscribe("ASK { ?s dct:title ?title }", id="ask")
        engine.subscribe(
            "CONSTRUCT { ?s rdfs:label ?t . [] rdfs:seeAlso ?b } { ?s dct:title ?t ; dct:creator ?b }", id="c"
        )
        engine.subscribe("SELECT ?b ?_change { ?s dct:creator ?b ; dct:title ?_change }", id="all", scope="repository")
        engine.subscribe("SELECT (COUNT(*) AS ?n) { ?s dct:title ?t }", id="count", scope="repository")
        for graph, turtle in (
            ("1", 'ex:1 dct:title "A \\u0001 <b> ]]> & \\uFFFE \\"quote\\"\\n2028:\\u2028."@en ; dct:creator [] .'),
            ("2", 'ex:2 dct:title "12"^^<http://www.w3.org/2001/XMLSchema#integer> ; dct:creator [] .'),
            ("1", 'ex:1 dct:title "B" ; dct:source "https://example.org/page" ; dct:creator [] .'),
        ):
            engine.publish(PREFIXES + turtle, "text/turtle", f"https://example.org/doc/{graph}")
        engine.remove("https://example.org/doc/2")
        engine.resync("all")
        found = [*engine.notifications()]
        assert {each.change for each in found} == {"added", "removed", "changed", "present"}
        assert any(each.updated for each in found)
        lines = "".join(text for _, text in engine._outbox.json_lines(definitions=_definitions(engine))).split("\n")[
            :-1
        ]
        assert [json.loads(line) for line in lines] == [notification_row(each) for each in found]
        yield found


def _definitions(engine: triplecast.Engine) -> object:
    return engine.serving._definitions()


def test_atom_is_read_by_feedparser(told: list[Notification]) -> None:
    feed = feedparser.parse(
        atom_feed(HEAD._replace(older="https://example.org/older", hub="https://hub.example/"), told)
    )
    assert not feed.bozo
    assert (feed.feed.id, feed.feed.title, feed.feed.updated) == (HEAD.id, "rail & <sea>", HEAD.updated)
    links = {each.rel: each.href for each in feed.feed.links}
    assert links == {"self": HEAD.address, "next": "https://example.org/older", "hub": "https://hub.example/"}
    assert [each.id for each in feed.entries] == ["urn:triplecast:notification:" + each.id for each in told]
    assert len({each.id for each in feed.entries}) == len(told)
    assert [each.updated for each in feed.entries] == [each.accepted_at for each in told]
    titles = {entry.title: each for entry, each in zip(feed.entries, told, strict=True)}
    assert titles["B"].publication == "https://example.org/doc/1"
    assert any(entry.link == "https://example.org/page" for entry in feed.entries)
    assert any(title.startswith("removed: ") for title in titles)
    assert all(each.content[0].type == "text/html" for each in feed.entries)


def test_json_feed_has_what_its_version_asks_for(told: list[Notification]) -> None:
    feed = json.loads(json_feed(HEAD, told))
    assert feed["version"] == "https://jsonfeed.org/version/1.1"
    assert [each["_triplecast"] for each in feed["items"]] == [notification_row(each) for each in told]
    assert all(each["id"] and each["content_html"] and each["date_published"] for each in feed["items"])
    assert feedparser.parse(atom_feed(HEAD, told)).entries[0].id == feed["items"][0]["id"]


def test_turtle_says_the_rows_to_rdflib(told: list[Notification]) -> None:
    graph = rdflib.Graph().parse(data=notifications_turtle(told), format="turtle")
    query = """
        PREFIX rs: <http://www.w3.org/2001/sw/DataAccess/tests/result-set#>
        PREFIX told: <urn:triplecast:vocabulary:>
        SELECT ?row ?name ?value { ?n ?kind ?rows . ?rows rs:solution ?row . ?row rs:binding ?b .
            ?b rs:variable ?name ; rs:value ?value }"""
    for each in told:
        node = rdflib.URIRef("urn:triplecast:notification:" + each.id)
        change = "present" if each.change == "present" else "added"
        for kind, rows in ((change, each.added), ("removed", each.removed)):
            bound = {"n": node, "kind": rdflib.URIRef("urn:triplecast:vocabulary:" + kind)}
            found: dict[object, dict[str, str]] = {}
            for row, name, value in graph.query(query, initBindings=bound):  # type: ignore[misc]
                found.setdefault(row, {})[str(name)] = "" if isinstance(value, rdflib.BNode) else str(value)
            expected = [
                {name: "" if str(term).startswith("_:") else term.value for name, term in row.items()} for row in rows
            ]
            assert sorted(map(sorted, (row.items() for row in found.values()))) == sorted(
                map(sorted, (row.items() for row in expected if row))
            )
    labels = {each.graph[0].object.value for each in told if each.subscription == "c" and each.graph}
    assert labels


def test_blank_nodes_of_two_documents_stay_two(told: list[Notification]) -> None:
    wanted = [each for each in told if each.subscription == "all" and each.change in ("added", "changed")]
    graph = rdflib.Graph().parse(data=notifications_turtle(wanted), format="turtle")
    values = rdflib.URIRef("http://www.w3.org/2001/sw/DataAccess/tests/result-set#value")
    found = {value for value in graph.objects(None, values) if isinstance(value, rdflib.BNode)}
    assert len(found) == len(
        {term.value for each in wanted for row in each.added + each.removed for term in [row["b"]]}
    )
    made = [each for each in told if each.subscription == "c"]
    alone = sum(len(rdflib.Graph().parse(data=notifications_turtle([each]), format="turtle")) for each in made)
    assert len(rdflib.Graph().parse(data=notifications_turtle(made), format="turtle")) == alone


def test_the_table_is_read_as_sparql_results(told: list[Notification]) -> None:
    table = parse_query_results(json.dumps(results_table(told)).encode(), format=QueryResultsFormat.JSON)
    assert isinstance(table, QuerySolutions)
    names = [each.value for each in table.variables]
    assert names[:6] == ["__sequence", "__id", "__subscription", "__publication", "__version", "__change"]
    rows = [*table]
    expected = sum(len(each.added) + len(each.removed) + len(each.changed) + 2 * len(each.updated) for each in told)
    assert len(rows) == expected
    first = next(each for each in told if each.subscription == "titles")
    row = next(each for each in rows if each["__id"].value == first.id)  # type: ignore[union-attr]
    assert row["title"] == first.added[0]["title"]
    assert results_table([])["results"] == {"bindings": []}


def test_a_cloud_event_has_its_attributes(told: list[Notification]) -> None:
    for each in told:
        event = cloud_event(each, "https://example.org")
        assert (event["specversion"], event["id"], event["subject"]) == ("1.0", each.id, each.publication)
        assert event["type"] == f"triplecast.match.{each.change}"
        assert event["data"] == notification_row(each)
        assert all(name.isalnum() and name == name.lower() for name in event)
    assert cloud_event(next(each for each in told if "/" in each.subscription))["source"] == "/subscriptions/every%2F1"


def test_what_is_too_large_is_sent_without_any_of_its_rows(told: list[Notification]) -> None:
    for each in told:
        short = short_row(notification_row(each), 2_000_000)
        assert "2000000 bytes" in str(short.pop("omitted"))
        assert short == head_row(each)


def test_a_frame_is_one_event() -> None:
    assert event_frame("{}", Cursor(1, 5)) == b"id: 1:5\ndata: {}\n\n"
    assert event_frame("{}", Cursor(1, 5), "resync") == b"id: 1:5\nevent: resync\ndata: {}\n\n"
