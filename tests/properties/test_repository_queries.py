"""Queries over several documents at once: the store's answers are the slow reader's over the merged dataset.

The slow reader is given the triples with the store's blank nodes (`document_lines`, held against another oracle in
``tests/unit/repository``), so that answers are compared row by row.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from tests.conftest import DEFAULT_SEED
from tests.properties.generate import Published, make_round
from tests.properties.oracle import rows_of
from tests.properties.oxigraph import Row
from tests.properties.product import as_publication, as_taxonomy
from tests.reference.solve import Dataset, NotDetermined, answer
from tests.reference.terms import Triple, iri, read_ntriples
from triplecast.errors import QueryRefused, QueryTooLarge
from triplecast.model.publication import Publication
from triplecast.repository.document_lines import document_lines
from triplecast.repository.query import EntailedCopies, query_store
from triplecast.repository.store import Store
from triplecast.taxonomy import Taxonomy

DOCUMENTS, QUERIES = 6, 60
STEPS = 500_000
_NOW = "2026-11-21T08:00:00.000000Z"


@pytest.mark.parametrize("number", range(16))
def test_answers_over_several_documents_are_the_slow_readers(number: int) -> None:
    made = make_round(DEFAULT_SEED, number, DOCUMENTS, QUERIES)
    store = Store.empty(merge_after=number % 2 * 10_000)
    current: dict[str, tuple[Triple, ...]] = {}
    for position, published in enumerate(made.publications[:DOCUMENTS], start=1):
        publication = whole(published, position)
        store.apply(publication)
        current[publication.graph] = read_ntriples(document_lines(publication).decode())
    merged = tuple(dict.fromkeys(triple for triples in current.values() for triple in triples))
    stated = Dataset(merged, {iri(graph): triples for graph, triples in current.items()})
    known = made.publications[-1].known
    datasets = {None: stated, **{each: stated.entailed(known, each == "rdfs") for each in ("taxonomy", "rdfs")}}
    copies = EntailedCopies()
    outcomes: Counter[str] = Counter()
    for asked in made.subscriptions[:QUERIES]:
        try:
            expected = rows_of(answer(asked.query, datasets[asked.entailment]))
        except NotDetermined:
            continue
        got = rows(store, asked.text, asked.entailment, as_taxonomy(known), copies)
        if got is None:
            outcomes["too large"] += 1
        else:
            outcomes["entailed"] += asked.entailment is not None
            outcomes["with rows" if expected else "without"] += 1
            assert sorted(got) == expected, asked.text
    assert outcomes["with rows"] >= 3
    assert outcomes["too large"] <= 3


def whole(published: Published, position: int) -> Publication:
    """A document with its triples whatever their graph, of which the slow reader sees one graph."""
    flat = replace(published, triples=tuple(dict.fromkeys(published.all_triples)), named=None)
    return as_publication(flat, position)._replace(labels="input")


def rows(
    store: Store, text: str, entailment: str | None, taxonomy: Taxonomy, copies: EntailedCopies
) -> list[Row] | None:
    try:
        answered = query_store(store, text, "sparql", STEPS, _NOW, entailment, taxonomy, copies)
    except QueryTooLarge:
        return None
    except QueryRefused as refused:
        raise AssertionError(text) from refused
    if not answered.matched:
        return []
    if answered.form == "ask":
        return [()]
    return [
        tuple(sorted((name, str(term)) for name, term in zip(answered.variables, row, strict=True) if term is not None))
        for row in answered.rows
    ]
