"""An engine's part of the driver: it matches and calls operators on the caller's thread, until nothing is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from threading import Lock
from typing import Protocol
from weakref import WeakSet

import numpy as np

from triplecast.driver import Driver, MatchRange
from triplecast.engine.answers import answers_batch
from triplecast.engine.asking import Asking
from triplecast.engine.findings import Findings, Subscriptions
from triplecast.engine.querying import Querying
from triplecast.errors import StorageFault
from triplecast.index import Snapshot
from triplecast.journal import BYTES_AT_ONCE, Journal
from triplecast.match import Matcher
from triplecast.model.match import MatchStats
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.outbox import Outbox, OutboxBatch
from triplecast.registry.registry import Registry
from triplecast.taxonomy import Taxonomies
from triplecast.telling import OpenEvents

SUBSCRIPTIONS_CACHED = 100_000
"""Subscriptions kept at hand, so that not every match is looked up in the journal."""

COUNTED_AT_ONCE = 100
"""Pieces whose counts are added up together."""

MATCHED_AT_ONCE = 1_000
"""Documents that are matched and committed together, unless fewer come to `BYTES_AT_ONCE`."""


class MatchingElsewhere(Protocol):
    """Matches in the place of an engine, on threads of its own, and commits by the engine's driver
    (`pipeline.matching`)."""

    def take(self, journal: Journal, outbox: Outbox, driver: Driver, registry: Registry) -> None:
        """Whose publications these are; before anything else."""

    def cover(self, snapshot: Snapshot) -> None:
        """There is a new index, on disk."""

    def wake(self) -> None:
        """There is something to match."""


class Matching:
    """Matches what the journal has and the outbox has not."""

    def __init__(
        self,
        journal: Journal,
        driver: Driver,
        registry: Registry,
        matcher: Matcher,
        asking: Asking,
        querying: Querying,
        elsewhere: MatchingElsewhere | None = None,
    ) -> None:
        self._elsewhere = elsewhere
        self._matched = MatchStats()
        self._uncounted: list[MatchStats] = []
        """What `_matched` lacks: at most `COUNTED_AT_ONCE`."""
        self._journal = journal
        self._driver = driver
        self._registry = registry
        self._matcher = matcher
        self.asking = asking
        self._querying = querying
        self._lock = Lock()
        self._subscriptions: dict[int, Subscription] = {}
        """Asked for lately: at most `SUBSCRIPTIONS_CACHED`, or those of one batch."""
        self._unread: WeakSet[Subscriptions] = WeakSet()
        """What receipts have of subscriptions."""

    @property
    def work(self) -> MatchStats:
        """All of it, since the engine was opened."""
        self._add_up()
        return self._matched + self.asking.work + self._querying.work

    def follow(self, outcome: Findings | None = None) -> None:
        """Match and call operators until nothing is due; add what matched to `outcome`. Pairs of operators that are
        unavailable are set aside until these are back. Where it is matched elsewhere, return at once."""
        if self._elsewhere is not None:
            self._elsewhere.wake()
            if outcome is not None:
                outcome.is_matched = False
            return
        if self._driver.is_done:
            return
        self.asking.revive()
        while (due := self._driver.next()) is not None:
            if isinstance(due, MatchRange):
                upto = self._match(due, outcome)
            else:
                self._registry.follow()
                upto = self.asking.settle_stored(due, self._registry.index.snapshot)
            self.asking.set_aside(upto)
        self._journal.let_go()

    def _match(self, due: MatchRange, outcome: Findings | None) -> int:
        """Match the first documents of a range; record what is decided without operators before they are called.
        Return how far this came."""
        events = self._journal.documents(due.after, due.upto, MATCHED_AT_ONCE, BYTES_AT_ONCE)
        if not events:
            told = answers_batch(self._querying.changes(due.after, due.upto))
            if told.publications or self._journal.has_repository_scope:
                self._report(outcome, self._driver.commit(told, due.upto, due.after, replayed=True).told)
            else:
                self._driver.note_no_documents(due.upto)
            return due.upto
        self._registry.follow()
        snapshot, taxonomies = self._registry.index.snapshot, self._journal.taxonomies(due.after, events[-1].position)
        publications = [each for each in events if isinstance(each, Publication)]
        after = due.after
        for of, matched in self._matcher.match_pieces(snapshot, publications, taxonomies):
            upto = of[-1].position if len(of) and of[-1] is not publications[-1] else events[-1].position
            some = [each for each in events if after < each.position <= upto]
            self._count(matched.stats)
            found = OutboxBatch.of(of, matched)
            for part in self.asking.telling.tell(snapshot, some, found):
                waiting = OpenEvents.between(after, part.upto, some, matched, found)
                self._record(waiting, part.batch, snapshot, taxonomies, outcome)
                after = part.upto
            del of, matched, found, part, waiting  # before the next piece is made
        return after

    def _record(
        self,
        waiting: OpenEvents,
        told: OutboxBatch,
        snapshot: Snapshot,
        taxonomies: Taxonomies,
        outcome: Findings | None,
    ) -> None:
        """Record what is told of some events, then what becomes of the pairs that wait for operators."""
        after, upto = waiting.after, waiting.upto
        awaited = told.awaited
        told = OutboxBatch.merged([told, answers_batch(self._querying.changes(after, upto))])
        told = self._driver.commit(told, upto, after, waiting.parts(self._matcher.operators), replayed=True).told
        if awaited:
            late = self.asking.settle(waiting, awaited, snapshot, taxonomies)
            told = OutboxBatch.merged([replace(told, awaited=()), late])
        self._report(outcome, told)

    def _count(self, stats: MatchStats) -> None:
        self._uncounted.append(stats)
        if len(self._uncounted) >= COUNTED_AT_ONCE:
            self._add_up()

    def _add_up(self) -> None:
        self._matched, self._uncounted = sum(self._uncounted, self._matched), []

    def _report(self, outcome: Findings | None, told: OutboxBatch) -> None:
        if outcome is not None and told.publications:
            outcome.add(told, self._subscriptions_of(told), self._matcher.operators)

    def close(self) -> None:
        """Read what receipts may still ask for, before the journal is closed."""
        for each in [*self._unread]:
            with suppress(StorageFault):
                each.read()
        self._driver.close()

    def _subscriptions_of(self, told: OutboxBatch) -> Subscriptions:
        """The subscriptions that are told something, or are undecided or pending."""
        registrations = told.registration
        if told.undecided or told.awaited:
            pairs = np.array([pair.registration for pair in (*told.undecided, *told.awaited)], np.int64)
            registrations = np.concatenate([registrations, pairs])
        found = Subscriptions(registrations, self._read_subscriptions)
        self._unread.add(found)
        return found

    def _read_subscriptions(self, registrations: Sequence[int]) -> Mapping[int, Subscription]:
        with self._lock:
            known = self._subscriptions
            unknown = [number for number in registrations if number not in known]
            if len(known) + len(unknown) > SUBSCRIPTIONS_CACHED:
                known, unknown = {}, [*registrations]
            known.update((int(each.id), each.subscription) for each in self._journal.registrations_at(unknown))
            self._subscriptions = known
            return {number: known[number] for number in registrations}
