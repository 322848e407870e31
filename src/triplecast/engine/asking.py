"""Operators on the engine's own thread: called for pending pairs, whose outcomes are recorded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from triplecast.driver import AskBatch, Driver
from triplecast.errors import FolderLocked, StorageFault
from triplecast.index import Snapshot
from triplecast.journal import BYTES_AT_ONCE, Journal
from triplecast.match import Matcher
from triplecast.model.match import MatchedBatch, MatchStats
from triplecast.model.publication import Publication
from triplecast.model.stored_rows import FORMAT
from triplecast.operators.asking import Asker, Settled, settle, settle_stored
from triplecast.outbox import OutboxBatch
from triplecast.taxonomy import Taxonomies

LEARNT_AT_ONCE = 1_000
"""Calls of operators after which their statistics are stored, as they are at `Engine.close`."""


class Asking:
    """Calls operators and records what becomes of pending pairs, of publications matched just now or before."""

    def __init__(self, journal: Journal, driver: Driver, matcher: Matcher, asker: Asker) -> None:
        self.work = MatchStats()
        """Counted since the engine was opened."""
        self._journal = journal
        self._driver = driver
        self._matcher = matcher
        self._asker = asker
        self._set_aside = False
        """Whether pairs are pending whose operators were unavailable."""
        self._learnt_at = 0

    def revive(self) -> None:
        """Let pending pairs be due again whose operators have become available."""
        if self._set_aside and self._asker.performer.revive():
            self._driver.turns.revive()

    def set_aside(self, upto: int) -> None:
        """Note that operators were called for all pending pairs up to `upto`, where they are available."""
        self._set_aside = self._driver.turns.set_aside(upto)

    def settle(
        self,
        matched: MatchedBatch,
        snapshot: Snapshot,
        publications: Sequence[Publication],
        taxonomies: Taxonomies,
        after: int,
    ) -> MatchedBatch:
        """Call the operators of pairs that were matched just now, of the publications beyond `after`; return what
        became of them."""
        upto = publications[-1].position
        known = self._journal.answers(after, upto, self._matcher.operators)
        self._asker.forget_ended(snapshot)
        rows, conditions = matched.open, matched.conditions
        settled = settle(self._asker, self._matcher, rows, publications, taxonomies, known, conditions)
        self._record([(publications, settled)], after, upto)
        return settled.matched

    def settle_stored(self, due: AskBatch, snapshot: Snapshot) -> int:
        """Call the operators of stored open rows, which a crash or an unavailable operator left. Return how far this
        came."""
        first = due.positions[0] - 1
        found = self._journal.publications(first, due.upto, None, BYTES_AT_ONCE)
        upto, positions = found[-1].position, {*due.positions}
        self._asker.forget_ended(snapshot)
        settled = settle_stored(
            self._asker,
            self._matcher,
            snapshot,
            [part.body for part in due.parts if part.format == FORMAT],
            [pair for pair in due.pairs if pair[0] <= upto],
            [each for each in found if each.position in positions],
            self._journal.taxonomies(first, upto),
            self._journal.answers(first, upto, self._matcher.operators),
        )
        self._record(settled, due.after, upto)
        return upto

    def store_learnt(self, calls: int = 1) -> None:
        """Store what was learnt of operators once there were so many new calls; another writer's is worth more."""
        if self.work.operator_calls - self._learnt_at >= calls:
            self._learnt_at = self.work.operator_calls
            templates = self._asker.experience
            with suppress(FolderLocked, StorageFault):
                self._journal.keep_learnt(*templates.changes())
                templates.note_written()

    def _record(self, settled: Iterable[tuple[Sequence[Publication], Settled]], after: int, upto: int) -> None:
        """Store answers, then what became of the pending pairs at positions in (`after`, `upto`]."""
        batches = []
        for publications, each in [*settled]:
            self.work += each.matched.stats
            self._driver.keep(each.results)  # none is stored: `known` was read under the lock of the only writer
            batches.append(OutboxBatch.of(publications, each.matched))
        self._driver.settle(OutboxBatch.joined(batches), upto, after)
        self.store_learnt(LEARNT_AT_ONCE)
