"""`Match.graph`: the triples of a CONSTRUCT, made from its solutions."""

from __future__ import annotations

from pathlib import Path

from engine_samples import PREFIX, TITLES
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from triplecast import Engine

GRAPH = "https://example.org/doc/1"
TURTLE = """@prefix ex: <https://example.org/> .
ex:a ex:title "A" ; ex:by ex:ada .
ex:b ex:title "B" .
"""
QUERY = (
    PREFIX
    + """CONSTRUCT { ?item ex:called ?title . _:note ex:about ?item ; ex:by ?who .
    ?title ex:of ?item . ex:x ?title ?item }
WHERE { ?item ex:title ?title OPTIONAL { ?item ex:by ?who } }"""
)


def node(name: str) -> NamedNode:
    return NamedNode(f"https://example.org/{name}")


def test_the_triples_of_a_construct() -> None:
    """Unbound variables and literals where none may stand leave their triple out; each solution has its own nodes."""
    with Engine() as engine:
        engine.subscribe(QUERY, id="notes")
        engine.subscribe(TITLES.replace(" ; ex:topic ex:rail", ""), id="titles")
        notes, titles = engine.publish(TURTLE, "text/turtle", GRAPH).matches
        assert titles.graph == []
        assert [set(solution) for solution in notes.bindings] == [{"item", "title", "who"}, {"item", "title"}]
        assert notes.graph == sorted(notes.graph, key=str)
        assert notes.graph == notes.graph
        labels = {triple.object: triple.subject for triple in notes.graph if triple.predicate == node("about")}
        one, other = labels[node("a")], labels[node("b")]
        assert isinstance(one, BlankNode)
        assert one != other
        assert set(notes.graph) == {
            Triple(node("a"), node("called"), Literal("A")),
            Triple(node("b"), node("called"), Literal("B")),
            Triple(one, node("about"), node("a")),
            Triple(one, node("by"), node("ada")),
            Triple(other, node("about"), node("b")),
        }


def test_a_triple_that_two_solutions_make_stands_once() -> None:
    with Engine() as engine:
        engine.subscribe(PREFIX + "CONSTRUCT { ex:x ex:has ?p } WHERE { ?s ?p ?o }", id="has")
        (match,) = engine.publish(TURTLE, "text/turtle", GRAPH).matches
        assert len(match.bindings) == 3
        assert match.graph == [Triple(node("x"), node("has"), node(name)) for name in ("by", "title")]


def test_blank_nodes_of_another_version_are_others(tmp_path: Path) -> None:
    """After a restart too the query is known."""
    with Engine.open(tmp_path) as engine:
        engine.subscribe(PREFIX + "CONSTRUCT { [] ex:of ?s } WHERE { ?s ex:by ?who }", id="of", notify="every")
        (first,) = engine.publish(TURTLE, "text/turtle", GRAPH).matches
    with Engine.open(tmp_path) as engine:
        (second,) = engine.publish(TURTLE + "ex:c ex:title 'C' .", "text/turtle", GRAPH).matches
    assert first.graph[0].object == second.graph[0].object
    assert first.graph[0].subject != second.graph[0].subject
