"""The product under test: many subscriptions and publications at once, by the index or by the evaluator alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tests.properties.generate import Published
from tests.properties.oxigraph import Row
from tests.reference.terms import write_triples
from triplecast.evaluate import Budget, BudgetExceeded, bindings_json, evaluate
from triplecast.index import MemoryIndex, Snapshot
from triplecast.languages import parse_query
from triplecast.match import Matcher
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription

Answer: TypeAlias = list[Row] | str
"""The rows in the order given, or why the pair is undecided."""


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
    return [tuple(sorted(row.items())) for row in json.loads(bindings)]


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


class ByIndex:
    """All pairs of a round through one in-memory index and `Matcher`, as the pipeline does it."""

    def __init__(self, matcher: Matcher) -> None:
        self._matcher = matcher

    def answers(
        self, published: Sequence[Published], texts: Sequence[str], timeline: Timeline
    ) -> dict[tuple[int, int], Answer]:
        snapshot = _indexed(texts, timeline)
        publications = [as_publication(each, at) for each, at in zip(published, timeline.published, strict=True)]
        batch = self._matcher.match(snapshot, publications)
        number = {position: index for index, position in enumerate(timeline.added)}
        found: dict[tuple[int, int], Answer] = {}
        for row in range(len(batch)):
            pair = int(batch.publication[row]), number[int(batch.registration[row])]
            if pair in found:
                raise AssertionError(f"the pair {pair} was answered twice")
            found[pair] = rows_from(batch.bindings_of(row))
        for doubt in batch.undecided:
            found[doubt.publication, number[doubt.registration]] = f"undecided: {doubt.reason}"
        return found


def _indexed(texts: Sequence[str], timeline: Timeline) -> Snapshot:
    """In three steps, so that there are segments to merge and removals of registrations in older segments."""
    registrations = sorted(
        (
            Registration(RegistrationId(added), Subscription(name=f"subscription {at}", text=text))
            for at, (text, added) in enumerate(zip(texts, timeline.added, strict=True))
        ),
        key=lambda registration: registration.added,
    )
    gone = sorted((added, at) for added, at in zip(timeline.added, timeline.removed, strict=True) if at is not None)
    index = MemoryIndex()
    third = len(registrations) // 3 + 1
    for start in range(0, len(registrations), third):
        part = registrations[start : start + third]
        snapshot = index.apply(part, covers=part[-1].added)
    return index.apply((), gone, covers=max(at for _, at in gone)) if gone else snapshot
