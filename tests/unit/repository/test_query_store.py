"""Queries over the current documents against pyoxigraph's store, which holds the same documents."""

from __future__ import annotations

from collections import Counter
from random import Random

import pyoxigraph as ox
import pytest

from tests.unit.repository.histories import AT, GRAPHS, history, publication
from triplecast.errors import QueryRefused, QueryTooLarge
from triplecast.model.events import Removal
from triplecast.model.publication import Publication
from triplecast.repository.query import QUERY_STEPS, QueryAnswer, query_store
from triplecast.repository.store import MERGE_AFTER, Store

QUERIES = (
    "SELECT * { ?s ?p ?o }",
    "SELECT * { ?s <x:p> ?o . ?o ?q ?r }",
    "SELECT * { ?s <x:p> ?o ; <x:q> ?o }",
    "SELECT * { ?s ?p ?s }",
    "SELECT * { <x:0> ?p ?o }",
    "SELECT * { ?s <x:p> <x:2> }",
    "SELECT * { <x:0> ?p <x:2> }",
    "SELECT * { <x:absent> ?p ?o }",
    'SELECT * { ?s ?p "hut"@fr }',
    "SELECT * { ?s ?p ?o FILTER(?o > 0) }",
    "SELECT * { ?s <x:p> ?o OPTIONAL { ?o <x:q> ?r } }",
    "SELECT * { ?s <x:p> ?o MINUS { ?s <x:q> ?o } }",
    "SELECT * { ?s ?p ?o FILTER NOT EXISTS { ?o ?q ?r } }",
    "SELECT * { { ?s <x:p> ?o } UNION { ?o <x:q> ?s } }",
    "SELECT * { ?s <x:p>+ ?o }",
    "SELECT * { <x:0> (<x:p>|<x:q>)+ ?o }",
    "SELECT * { ?s <x:p>* ?o }",
    "SELECT * { ?s <x:p>/<x:q> ?o }",
    "SELECT DISTINCT ?p { ?s ?p ?o }",
    "SELECT ?p (COUNT(?o) AS ?n) { ?s ?p ?o } GROUP BY ?p",
    "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s ?p ?o }",
    "SELECT * { GRAPH ?g { } }",
    "SELECT * { GRAPH ?g { ?s <x:p> ?o } }",
    f"SELECT * {{ GRAPH <{GRAPHS[0]}> {{ ?s ?p ?o }} }}",
    "SELECT * { GRAPH <x:absent> { ?s ?p ?o } }",
    "SELECT * { GRAPH ?g { ?s <x:p> ?o } GRAPH ?h { ?s <x:q> ?r } FILTER(?g != ?h) }",
    "SELECT * { ?s <x:p> ?o . GRAPH ?g { ?o ?q ?r } }",
    "ASK { ?s <x:p> ?o . ?o <x:q> ?s }",
)


class OxigraphDocuments:
    """The current documents in pyoxigraph's store: merged in the default graph, each in a named one."""

    def __init__(self) -> None:
        self._documents: dict[str, Publication] = {}

    def apply(self, event: object) -> None:
        if isinstance(event, Publication):
            self._documents[event.graph] = event
        elif isinstance(event, Removal):
            self._documents.pop(event.graph, None)

    def store(self) -> ox.Store:
        store = ox.Store()
        for number, (graph, document) in enumerate(self._documents.items()):
            name = ox.NamedNode(graph)
            store.add_graph(name)
            form = ox.RdfFormat.N_QUADS if document.dataset else ox.RdfFormat.N_TRIPLES
            for quad in ox.parse(document.quads, format=form):
                terms = [own(number, term) for term in (quad.subject, quad.predicate, quad.object)]
                store.add(ox.Quad(*terms, name))  # type: ignore[arg-type]
                store.add(ox.Quad(*terms))  # type: ignore[arg-type]
        return store


def own(number: int, term: object) -> object:
    return ox.BlankNode(f"d{number}{term.value}") if isinstance(term, ox.BlankNode) else term


def shown(term: object) -> str:
    """A term, without the label of a blank node."""
    return "" if term is None else "_:" if isinstance(term, ox.BlankNode) else str(term)


def ask(store: Store, text: str, steps: int = QUERY_STEPS) -> QueryAnswer:
    return query_store(store, text, "sparql", steps, AT)


@pytest.mark.parametrize("merge_after", [0, MERGE_AFTER])
@pytest.mark.parametrize("seed", range(6))
def test_answers_are_those_of_oxigraph(seed: int, merge_after: int) -> None:
    store, documents = Store.empty(merge_after), OxigraphDocuments()
    answered = 0
    for event in history(Random(100 + seed), 12):
        store.apply(event)
        documents.apply(event)
        oracle = documents.store()
        for text in QUERIES:
            answer, expected = ask(store, text), oracle.query(text)
            if isinstance(expected, ox.QueryBoolean):
                assert answer.matched == bool(expected)
                continue
            names = sorted(answer.variables)
            assert sorted(variable.value for variable in expected.variables) == names  # type: ignore[union-attr]
            rows = Counter(tuple(shown(row[answer.variables.index(name)]) for name in names) for row in answer.rows)
            assert rows == Counter(tuple(shown(row[name]) for name in names) for row in expected), text  # type: ignore[union-attr,index,call-overload]
            answered += len(answer.rows)
    assert answered > 1_000


def filled(triples: int) -> Store:
    store = Store.empty()
    store.apply(publication(1, GRAPHS[0], [f"<x:{number}> <x:p> <x:{number + 1}> .\n" for number in range(triples)]))
    return store


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * { ?s ?p ?o }",
        "SELECT * { ?s <x:p>* ?o }",
        "SELECT * { GRAPH ?g { ?s ?p ?o } }",
        "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f }",
    ],
)
def test_a_query_beyond_its_steps_has_no_answer(text: str) -> None:
    store = filled(100)
    with pytest.raises(QueryTooLarge) as caught:
        ask(store, text, 90)
    assert (caught.value.steps, caught.value.found) == (90, "more than 90 steps")
    assert "allow more steps" in str(caught.value)


def test_a_bound_query_of_a_large_store_takes_few_steps() -> None:
    store = filled(2_000)
    assert len(ask(store, "SELECT * { <x:7> <x:p> ?o . ?o <x:p> ?r }", 20).rows) == 1
    assert len(ask(store, "SELECT * { ?s <x:p> <x:7> }", 20).rows) == 1
    assert len(ask(store, "SELECT * { <x:absent> ?p ?o }", 20).rows) == 0


def test_long_terms_cost_what_reading_them_takes() -> None:
    store = Store.empty()
    store.apply(publication(1, GRAPHS[0], [f'<x:s> <x:p> "{"a" * 64_000}" .\n']))
    with pytest.raises(QueryTooLarge):
        ask(store, "SELECT * { ?s ?p ?o . ?t ?q ?o }", 500)


def test_operators_and_other_sources_are_refused() -> None:
    for text in ("SELECT * { ?s ?p ?o FILTER(<x:operator>(?o)) }", "SELECT * FROM <x:g> { ?s ?p ?o }"):
        with pytest.raises(QueryRefused):
            ask(filled(1), text)


def test_now_is_the_moment_of_the_query() -> None:
    (row,) = ask(filled(1), "SELECT (NOW() AS ?now) { }").rows
    assert row[0] is not None
    assert row[0].value == AT
