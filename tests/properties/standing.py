"""Standing queries over changing documents, against the whole answer by the slow reader after each event."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from tests.properties.generate import Asked, Published, make_round
from tests.properties.oracle import rows_of
from tests.properties.oxigraph import Row
from tests.properties.product import as_publication
from tests.reference.solve import Dataset, NotDetermined, answer
from tests.reference.terms import Triple, iri, read_ntriples
from triplecast.model.publication import Draft, Publication
from triplecast.repository.document_lines import document_lines

GRAPHS = ("https://example.org/one", "https://example.org/two", "https://example.org/three")


class Step(NamedTuple):
    """An event: a new version of a document, or its removal."""

    graph: str
    document: Published | None

    def draft(self) -> Draft:
        assert self.document is not None
        found = as_publication(self.document, 1)
        return Draft(self.graph, found.quads, random.Random(repr(found.quads)).randbytes(32), "input")


class History(NamedTuple):
    queries: Sequence[Asked]
    steps: Sequence[Step]


def make_history(seed: int, number: int, queries: int, events: int) -> History:
    """Queries without a taxonomy or operators, and events of which each changes a part of some document."""
    made = make_round(seed, number, 12, queries)
    source = random.Random(f"{seed} {number}")
    asked = [each for each in made.subscriptions if each.entailment is None]
    pool = [replace(each, triples=tuple(dict.fromkeys(each.all_triples)), named=None) for each in made.publications]
    steps: list[Step] = []
    current: dict[str, Published] = {}
    for _ in range(events):
        graph = source.choice(GRAPHS)
        if graph in current and source.random() < 0.17:
            del current[graph]
            steps.append(Step(graph, None))
            continue
        document = source.choice(pool)
        if graph in current and source.random() < 0.6:
            document = _edited(source, current[graph], document)
        current[graph] = document = replace(document, graph=iri(graph))
        steps.append(Step(graph, document))
    return History(asked, steps)


def _edited(source: random.Random, before: Published, other: Published) -> Published:
    """A few triples of one document exchanged for some of another."""
    kept = [triple for triple in before.triples if source.random() < 0.8]
    more = [triple for triple in other.triples if source.random() < 0.2]
    return replace(before, triples=tuple(dict.fromkeys([*kept, *more])))


class SlowAnswers:
    """The whole answers, evaluated anew at each state of the documents."""

    def __init__(self) -> None:
        self._current: dict[str, tuple[Triple, ...]] = {}

    def apply(self, graph: str, publication: Publication | None) -> None:
        if publication is None:
            del self._current[graph]
        else:
            self._current[graph] = read_ntriples(document_lines(publication).decode())

    def answer(self, asked: Asked) -> Counter[Row] | None:
        """The rows; None where the slow reader does not say."""
        merged = tuple(dict.fromkeys(triple for triples in self._current.values() for triple in triples))
        dataset = Dataset(merged, {iri(graph): triples for graph, triples in self._current.items()})
        try:
            return Counter(rows_of(answer(asked.query, dataset)))
        except NotDetermined:
            return None
