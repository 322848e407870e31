"""The product under test: many subscriptions and publications at once, by the index or by the evaluator alone."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from tests.properties.generate import UNTAUGHT, Published
from tests.properties.oxigraph import Row
from tests.reference.entailment import Known
from tests.reference.terms import write_quads
from triplecast.compile.compiled import entailment_of
from triplecast.evaluate import Background, Budget, BudgetExceeded, bindings_json, evaluate
from triplecast.index import IndexWriter, Snapshot
from triplecast.languages import parse_query, parse_template
from triplecast.match import Matcher
from triplecast.model.events import TaxonomyVersion
from triplecast.model.publication import Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription
from triplecast.taxonomy import Taxonomies, Taxonomy, read_taxonomy

Answer: TypeAlias = list[Row] | str
"""The rows in the order given, or what else was said of the pair."""
UNDECIDED = "undecided"
"""What a pair that was not decided begins with."""


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
        quads=published.quads,
        dataset=published.named is not None,
    )


def as_taxonomy(known: Known) -> Taxonomy:
    return read_taxonomy([write_quads(((None, known.triples),))], known.broader)


def taxonomies_of(published: Sequence[Published], timeline: Timeline) -> Taxonomies:
    """Each taxonomy stands in the journal just before the first publication that it holds for."""
    versions, last = [], UNTAUGHT
    for position, each in sorted(zip(timeline.published, published, strict=True), key=lambda pair: pair[0]):
        if each.known != last:
            last, taxonomy = each.known, as_taxonomy(each.known)
            versions.append(TaxonomyVersion(position - 1, taxonomy.lines, taxonomy.broader))
    return Taxonomies(tuple(versions))


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
        entailments = [entailment_of(Subscription("s", text), parse_template(text)[0]) for text in texts]
        found: dict[tuple[int, int], Answer] = {}
        for i, each in enumerate(published):
            publication, taxonomy = as_publication(each, timeline.published[i]), as_taxonomy(each.known)
            for j, query in enumerate(queries):
                if not timeline.valid(i, j):
                    continue
                try:
                    solutions = evaluate(
                        query, publication, Budget(self.steps), Background.of(entailments[j], taxonomy)
                    )
                except BudgetExceeded as error:
                    found[i, j] = f"{UNDECIDED}: {error}"
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
        index, log = IndexWriter(), RegistryLog(texts, timeline)
        publications = [as_publication(each, at) for each, at in zip(published, timeline.published, strict=True)]
        number = {position: at for at, position in enumerate(timeline.added)}
        taxonomies = taxonomies_of(published, timeline)
        found: dict[tuple[int, int], Answer] = {}
        for batch in batches_of(timeline):
            last = max(timeline.published[at] for at in batch)
            snapshot = log.advance(index, last, needed_from=min(timeline.published[at] for at in batch) - 1)
            matched = self._matcher.match(snapshot, [publications[at] for at in batch], taxonomies)
            assert not matched.open.pairs, "none of these calls an operator"
            for row in range(len(matched)):
                pair = batch[int(matched.publication[row])], number[int(matched.registration[row])]
                rows = rows_from(matched.bindings_of(row))
                found[pair] = f"answered twice: {found[pair]} and {rows}" if pair in found else rows
            for doubt in matched.undecided:
                found[batch[doubt.publication], number[doubt.registration]] = f"{UNDECIDED}: {doubt.reason}"
        return found


def batches_of(timeline: Timeline) -> list[list[int]]:
    """Publications in order of position: one batch, or two when the registry changes between them."""
    order = sorted(range(len(timeline.published)), key=timeline.published.__getitem__)
    if max(timeline.added) < timeline.published[order[0]]:
        return [order]
    half = (len(order) + 1) // 2
    return [part for part in (order[:half], order[half:]) if part]


class RegistryLog:
    """The registry's changes in order of position, applied in slices so that there are segments to merge."""

    SLICE = 5

    def __init__(self, texts: Sequence[str], timeline: Timeline) -> None:
        self._added = sorted(
            (
                Registration(RegistrationId(added), Subscription(name=f"subscription {at}", text=text))
                for at, (text, added) in enumerate(zip(texts, timeline.added, strict=True))
            ),
            key=lambda registration: registration.added,
        )
        gone = ((added, at) for added, at in zip(timeline.added, timeline.removed, strict=True) if at is not None)
        self._removed = sorted(gone, key=lambda change: change[1])
        self._slice = self.SLICE if self._removed else len(texts)

    def advance(self, index: IndexWriter, upto: int, needed_from: int) -> Snapshot:
        """Applies all changes before `upto`, removals together with the last additions."""
        while True:
            part = [each for each in self._added[: self._slice] if each.added <= upto]
            self._added = self._added[len(part) :]
            more = bool(self._added) and self._added[0].added <= upto
            gone = [] if more else [change for change in self._removed if change[1] <= upto]
            self._removed = self._removed[len(gone) :]
            snapshot = index.apply(part, gone, covers=upto, needed_from=needed_from)
            if not more:
                return snapshot
