"""What a version that was replaced had matched: found again, at its own position.

An answer is a function of publication and position, so nothing is kept of it. A subscription that came after the
version had no answer then.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from triplecast.evaluate.unknown import Answers
from triplecast.index import Snapshot
from triplecast.journal import BYTES_AT_ONCE
from triplecast.journal.interface import MatchingReader
from triplecast.match import Matcher
from triplecast.match.matcher import NO_ANSWERS, merge_batches
from triplecast.model.answers import OperatorResult
from triplecast.model.match import MatchedBatch
from triplecast.model.open_rows import PairReason
from triplecast.model.publication import Publication
from triplecast.operators.asking import Asker, resolve_known, settle
from triplecast.outbox.batch import OutboxBatch, PublicationName

BACK = 8
"""Versions that are gone back where one was undecided: beyond, nothing counts as told."""
Pair = tuple[int, int]
"""The position of an event, and a registration."""


class Before(NamedTuple):
    """Answers of the versions that events took the place of, each under the position of its event."""

    answers: OutboxBatch
    """Undecided, or awaited as their operators have not answered yet, are the pairs of these versions."""
    versions: Mapping[int, Publication]
    """By event."""
    results: tuple[OperatorResult, ...]
    """What operators answered meanwhile."""


class Earlier:
    """Matches versions again, with a snapshot; with an `asker`, operators of theirs that gave no answer are called."""

    def __init__(
        self,
        journal: MatchingReader,
        matcher: Matcher,
        snapshot: Snapshot,
        asker: Asker | None,
        fresh: Mapping[int, Answers] = NO_ANSWERS,
    ) -> None:
        """`fresh`: answers of operators, by position, that the journal does not have yet."""
        self._journal = journal
        self._matcher = matcher
        self._snapshot = snapshot
        self._asker = asker
        self._fresh = fresh

    def read(self, formers: Mapping[int, int]) -> Before | None:
        """The answers of the versions at some positions, by each the event that took its place; None where those of
        several are too much to be in memory at once. Raises `StorageFault`."""
        versions = self._journal.versions(sorted(formers), BYTES_AT_ONCE)
        if len(versions) < len(formers):
            return None
        taxonomies = self._journal.taxonomies(versions[0].position - 1, versions[-1].position)
        of, matched = next(self._matcher.match_pieces(self._snapshot, versions, taxonomies))
        if len(of) < len(versions):
            return None
        results: tuple[OperatorResult, ...] = ()
        if matched.open.pairs:
            known = {position: self._known(position) for position in np.unique(matched.open.position).tolist()}
            if self._asker is None:
                late = resolve_known(self._matcher, matched.open, of, taxonomies, known)
            else:
                rows, conditions = matched.open, matched.conditions
                late, results, _ = settle(self._asker, self._matcher, rows, of, taxonomies, known, conditions)
            matched = merge_batches(matched, late)
        return Before(_by_event(formers, of, matched), {formers[each.position]: each for each in of}, results)

    def further(self, before: Before, pairs: Collection[Pair]) -> Before:
        """The same with the answers of the last version at which undecided `pairs` were decided, `BACK` versions
        earlier at most."""
        versions = before.versions
        for _ in range(BACK):
            formers = {versions[event].former: event for event, _ in pairs if versions[event].former}
            found = [part for former, event in formers.items() if (part := self.read({former: event})) is not None]
            if not found:
                break
            versions = {event: version for part in found for event, version in part.versions.items()}
            batch = OutboxBatch.merged([part.answers for part in found])
            undecided = {pair[:2] for pair in batch.undecided}
            decided = batch.pairs(lambda pair, pairs=pairs: pair in pairs)  # type: ignore[misc]
            before = before._replace(
                answers=OutboxBatch.merged([before.answers, decided]),
                results=(*before.results, *(result for part in found for result in part.results)),
            )
            pairs = {pair for pair in pairs if pair in undecided}
        return before

    def _known(self, position: int) -> Answers:
        stored = self._journal.answers(position - 1, position, self._matcher.operators).get(position, {})
        return {**stored, **self._fresh.get(position, {})}


def _by_event(formers: Mapping[int, int], of: Sequence[Publication], matched: MatchedBatch) -> OutboxBatch:
    events = np.array([formers[each.position] for each in of], np.int64)
    position = events[matched.publication]
    order = np.lexsort((matched.registration, position))
    undecided = [PairReason(int(events[pair.publication]), pair.registration) for pair in matched.undecided]
    awaited = [pair._replace(position=formers[pair.position]) for pair in matched.open.awaited()]
    return OutboxBatch(
        tuple(PublicationName(formers[each.position], each.graph, each.version, "") for each in _in_order(formers, of)),
        position[order],
        matched.registration[order],
        matched.change[order],
        matched.sheet[order],
        matched.offsets,
        matched.bindings,
        tuple(sorted(undecided)),
        tuple(sorted(awaited)),
    )


def _in_order(formers: Mapping[int, int], of: Sequence[Publication]) -> list[Publication]:
    return sorted(of, key=lambda each: formers[each.position])
