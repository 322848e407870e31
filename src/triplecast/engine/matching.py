"""An engine's part of the driver: it matches and calls operators on the caller's thread, until nothing is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from threading import Lock
from weakref import WeakSet

import numpy as np

from triplecast.driver import Driver, MatchRange
from triplecast.engine.answers import NOTHING_MATCHED, with_answers
from triplecast.engine.asking import Asking
from triplecast.engine.findings import Findings, Subscriptions
from triplecast.engine.querying import Querying
from triplecast.errors import StorageFault
from triplecast.journal import BYTES_AT_ONCE, Journal
from triplecast.match import Matcher
from triplecast.match.matcher import merge_batches
from triplecast.model.match import MatchedBatch, MatchStats
from triplecast.model.publication import Publication
from triplecast.model.stored_rows import FORMAT, write_open_rows
from triplecast.model.subscription import Subscription
from triplecast.outbox import OpenPart, OutboxBatch
from triplecast.registry.registry import Registry

SUBSCRIPTIONS_CACHED = 100_000
"""Subscriptions kept at hand, so that not every match is looked up in the journal."""

COUNTED_AT_ONCE = 100
"""Pieces whose counts are added up together."""

MATCHED_AT_ONCE = 1_000
"""Publications that are matched and committed together, unless fewer come to `BYTES_AT_ONCE`."""


class Matching:
    """Matches what the journal has and the outbox has not."""

    def __init__(
        self, journal: Journal, driver: Driver, registry: Registry, matcher: Matcher, asking: Asking, querying: Querying
    ) -> None:
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
        return self._matched + self.asking.work

    def follow(self, outcome: Findings | None = None) -> None:
        """Match and call operators until nothing is due; add what matched to `outcome`. Pairs of operators that are
        unavailable are set aside until these are back."""
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

    def _match(self, due: MatchRange, outcome: Findings | None) -> int:
        """Match the first publications of a range; record what is decided without operators before they are called.
        Return how far this came."""
        publications = self._journal.publications(due.after, due.upto, MATCHED_AT_ONCE, BYTES_AT_ONCE)
        if not publications:
            events, found = with_answers((), NOTHING_MATCHED, self._querying.changes(due.after, due.upto))
            if not events:
                self._driver.note_no_publications(due.upto)
                return due.upto
            self._driver.commit(OutboxBatch.of(events, found), due.upto, due.after, replayed=True)
            self._report(outcome, events, found)
            return due.upto
        upto = publications[-1].position
        self._registry.follow()
        snapshot, operators = self._registry.index.snapshot, self._matcher.operators
        taxonomies = self._journal.taxonomies(due.after, upto)
        after = due.after
        for of, matched in self._matcher.match_pieces(snapshot, publications, taxonomies):
            upto = of[-1].position
            answers = self._querying.changes(after, upto)
            parts: list[OpenPart] = []
            if matched.open.pairs:
                parts = [OpenPart(after, upto, FORMAT, write_open_rows(matched.open, operators.grammar))]
            events, found = with_answers(of, matched, answers)
            self._driver.commit(OutboxBatch.of(events, found), upto, after, parts, replayed=True)
            self._count(matched.stats)
            if matched.open.pairs:
                matched = merge_batches(matched, self.asking.settle(matched, snapshot, of, taxonomies, after))
                events, found = with_answers(of, matched, answers)
            self._report(outcome, events, found)
            after = upto
            del of, matched, events, found  # before the next piece is made
        return upto

    def _count(self, stats: MatchStats) -> None:
        self._uncounted.append(stats)
        if len(self._uncounted) >= COUNTED_AT_ONCE:
            self._add_up()

    def _add_up(self) -> None:
        self._matched, self._uncounted = sum(self._uncounted, self._matched), []

    def _report(self, outcome: Findings | None, events: Sequence[Publication], found: MatchedBatch) -> None:
        if outcome is not None and (len(found) or found.undecided or found.open.pairs):
            outcome.add(events, found, self._subscriptions_of(found), self._matcher.operators)

    def close(self) -> None:
        """Read what receipts may still ask for, before the journal is closed."""
        for each in [*self._unread]:
            with suppress(StorageFault):
                each.read()
        self._driver.close()

    def _subscriptions_of(self, matched: MatchedBatch) -> Subscriptions:
        """The subscriptions that matched or are undecided."""
        registrations = matched.registration
        if matched.undecided or matched.open.pairs:
            undecided = np.array([pair.registration for pair in matched.undecided], np.int64)
            registrations = np.concatenate([registrations, matched.open.registration, undecided])
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
