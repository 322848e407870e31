"""The product under test: many subscriptions and publications at once, through the index or through the evaluator alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tests.properties.generate import Published
from tests.properties.oxigraph import Row
from tests.reference.terms import write_triples
from triplecast.evaluate import Budget, BudgetExceeded, bindings_json, evaluate
from triplecast.languages import parse_query
from triplecast.model.publication import Publication

Answer: TypeAlias = list[Row] | str
"""The rows as a sorted multiset, or why the pair is undecided."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """Where subscriptions and publications stand in the journal, index by index."""

    added: tuple[int, ...]
    removed: tuple[int | None, ...]
    published: tuple[int, ...]

    def valid(self, publication: int, subscription: int) -> bool:
        position, removed = self.published[publication], self.removed[subscription]
        return self.added[subscription] < position and (removed is None or position < removed)


class Product(Protocol):
    def answers(
        self, published: Sequence[Published], texts: Sequence[str], timeline: Timeline
    ) -> dict[tuple[int, int], Answer]:
        """By (publication, subscription); a pair without an entry does not match."""


def as_publication(published: Published, position: int) -> Publication:
    return Publication(
        position=position,
        graph=published.graph[1],
        version=1,
        accepted_at="2026-11-21T08:00:00.000000Z",
        quads=write_triples(published.triples),
    )


def rows_from(bindings: bytes) -> list[Row]:
    return sorted(tuple(sorted(row.items())) for row in json.loads(bindings))


@dataclass
class ByEvaluator:
    """Every pair by `evaluate`, in this process."""

    steps: int = 1_000_000

    def answers(
        self, published: Sequence[Published], texts: Sequence[str], timeline: Timeline
    ) -> dict[tuple[int, int], Answer]:
        queries = [parse_query(text) for text in texts]
        found: dict[tuple[int, int], Answer] = {}
        for i, each in enumerate(published):
            publication = as_publication(each, timeline.published[i])
            for j, query in enumerate(queries):
                if not timeline.valid(i, j):
                    continue
                try:
                    solutions = evaluate(query, publication, Budget(self.steps))
                except BudgetExceeded as error:
                    found[i, j] = str(error)
                    continue
                if solutions.matched:
                    found[i, j] = rows_from(bindings_json(solutions))
        return found
