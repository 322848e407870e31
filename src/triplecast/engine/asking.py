"""Operators on the engine's own thread: called for pending pairs, whose outcomes are recorded."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from contextlib import suppress

from triplecast.driver import AskBatch, Driver
from triplecast.errors import FolderLocked, StorageFault
from triplecast.index import Snapshot
from triplecast.journal import BYTES_AT_ONCE, Journal
from triplecast.match import Matcher
from triplecast.model.match import MatchStats
from triplecast.model.open_rows import PairReason
from triplecast.model.publication import Publication
from triplecast.model.stored_rows import FORMAT
from triplecast.operators.asking import Asker, Settled, settle, settle_stored
from triplecast.outbox.batch import OutboxBatch
from triplecast.taxonomy import Taxonomies
from triplecast.telling import OpenEvents, Pair, Telling

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
        self.telling = Telling(journal, matcher)
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
        self, waiting: OpenEvents, awaited: Sequence[PairReason], snapshot: Snapshot, taxonomies: Taxonomies
    ) -> OutboxBatch:
        """Call the operators of pairs that were matched just now; return what is told of these."""
        known = self._journal.answers(waiting.after, waiting.upto, self._matcher.operators)
        self._asker.forget_ended(snapshot)
        of, rows = waiting.publications, waiting.open
        settled = settle(self._asker, self._matcher, rows, of, taxonomies, known, waiting.conditions)
        return self._record(waiting, snapshot, [(of, settled)], {pair[:2] for pair in awaited})

    def settle_stored(self, due: AskBatch, snapshot: Snapshot) -> int:
        """Call the operators of stored open rows, which a crash or an unavailable operator left. Return how far this
        came."""
        first = due.positions[0] - 1
        found = self._journal.documents(first, due.upto, None, BYTES_AT_ONCE)
        upto, positions = found[-1].position, {*due.positions}
        self._asker.forget_ended(snapshot)
        waiting = OpenEvents(due.after, upto, [each for each in found if each.position in positions])
        pairs = {pair for pair in due.pairs if pair[0] <= upto}
        settled = settle_stored(
            self._asker,
            self._matcher,
            snapshot,
            [part.body for part in due.parts if part.format == FORMAT],
            waiting.of_publications(pairs),
            waiting.publications,
            self._journal.taxonomies(first, upto),
            self._journal.answers(first, upto, self._matcher.operators),
        )
        self._record(waiting, snapshot, settled, pairs)
        return upto

    def store_learnt(self, calls: int = 1) -> None:
        """Store what was learnt of operators once there were so many new calls; another writer's is worth more."""
        if self.work.operator_calls - self._learnt_at >= calls:
            self._learnt_at = self.work.operator_calls
            templates = self._asker.experience
            with suppress(FolderLocked, StorageFault):
                self._journal.keep_learnt(*templates.changes())
                templates.note_written()

    def _record(
        self,
        waiting: OpenEvents,
        snapshot: Snapshot,
        settled: Iterable[tuple[Sequence[Publication], Settled]],
        pairs: Collection[Pair],
    ) -> OutboxBatch:
        """Store answers, then what became of the pending `pairs`; return it."""
        batches = []
        for told in [*self.telling.tell_settled(snapshot, waiting, settled, pairs, self._asker)]:
            self.work += told.stats
            self._driver.keep(told.results)  # none is stored: what is known was read under the only writer's lock
            batches.append(told.batch)
        batch = OutboxBatch.joined(batches)
        settled_now = self._driver.settle(batch, waiting.upto, waiting.after)
        self.store_learnt(LEARNT_AT_ONCE)
        return settled_now.told
