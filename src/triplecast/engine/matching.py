"""An engine's part of the driver: it matches and asks on the caller's thread, until nothing is due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from triplecast.driver import AskBatch, Driver, MatchRange
from triplecast.engine.receipt import Findings
from triplecast.errors import FolderLocked, StorageFault
from triplecast.journal import BYTES_AT_ONCE, Journal
from triplecast.match import Matcher
from triplecast.match.matcher import merge_batches
from triplecast.model.match import MatchedBatch, MatchStats
from triplecast.model.publication import Publication
from triplecast.model.stored_rows import FORMAT, write_open_rows
from triplecast.model.subscription import Subscription
from triplecast.operators.asking import Asker, Settled, settle, settle_stored
from triplecast.outbox import OpenPart, OutboxBatch
from triplecast.registry.registry import Registry

SUBSCRIPTIONS_CACHED = 100_000
"""Subscriptions kept at hand, so that not every match is looked up in the journal."""

MATCHED_AT_ONCE = 1_000
"""Publications that are matched and committed together, unless fewer come to `BYTES_AT_ONCE`."""

LEARNT_AT_ONCE = 1_000
"""Calls of operators after which what was learnt of them is stored, as it is at `Engine.close`."""


class Matching:
    """Matches what the journal has and the outbox has not, and asks operators about open pairs."""

    def __init__(self, journal: Journal, driver: Driver, registry: Registry, matcher: Matcher, asker: Asker) -> None:
        self.work = MatchStats()
        """All of it, since the engine was opened."""
        self._journal = journal
        self._driver = driver
        self._registry = registry
        self._matcher = matcher
        self._asker = asker
        self._subscriptions: dict[int, Subscription] = {}
        """Matched lately: at most `SUBSCRIPTIONS_CACHED`, or those of one batch."""
        self._passed_by = False
        """Whether pairs are open whose operators were unavailable."""
        self._learnt_at = 0

    def follow(self, outcome: Findings | None = None) -> None:
        """Match and ask until nothing is due, and tell `outcome` what was matched. Pairs of operators that are
        unavailable are passed by until these are back."""
        if self._passed_by and self._asker.performer.revive():
            self._driver.revive()
        while (due := self._driver.next()) is not None:
            upto = self._match(due, outcome) if isinstance(due, MatchRange) else self._ask(due)
            self._passed_by = self._driver.note_asked(upto)

    def store_learnt(self, calls: int = 1) -> None:
        """Store what was learnt of operators once there were so many new calls; another writer's is worth more."""
        if self.work.operator_calls - self._learnt_at >= calls:
            self._learnt_at = self.work.operator_calls
            templates = self._asker.experience
            with suppress(FolderLocked, StorageFault):
                self._journal.keep_learnt(*templates.changes())
                templates.note_written()

    def _match(self, due: MatchRange, outcome: Findings | None) -> int:
        """Match the first publications of a range; record what is decided without operators before they are called.
        Return how far this came."""
        publications = self._journal.publications(due.after, due.upto, MATCHED_AT_ONCE, BYTES_AT_ONCE)
        if not publications:
            self._driver.pass_over(due.upto)
            return due.upto
        upto = publications[-1].position
        self._registry.follow()
        snapshot, operators = self._registry.index.snapshot, self._matcher.operators
        taxonomies = self._journal.taxonomies(due.after, upto)
        matched = self._matcher.match(snapshot, publications, taxonomies)
        parts: list[OpenPart] = []
        if matched.open.pairs:
            parts = [OpenPart(due.after, upto, FORMAT, write_open_rows(matched.open, operators.grammar))]
        self._driver.commit(OutboxBatch.of(publications, matched), upto, due.after, parts)
        self.work += matched.stats
        if matched.open.pairs:
            known = self._journal.answers(due.after, upto, operators)
            self._asker.leave(snapshot)
            rows, conditions = matched.open, matched.conditions
            settled = settle(self._asker, self._matcher, rows, publications, taxonomies, known, conditions)
            self._record([(publications, settled)], due.after, upto)
            matched = merge_batches(matched, settled.matched)
        if outcome is not None:
            outcome.add(publications, matched, self._subscriptions_of(matched), operators)
        return upto

    def _ask(self, due: AskBatch) -> int:
        """Ask operators about stored open rows, which a crash or an unavailable operator left. Return how far this
        came."""
        first = due.positions[0] - 1
        found = self._journal.publications(first, due.upto, None, BYTES_AT_ONCE)
        upto, positions = found[-1].position, {*due.positions}
        publications = [each for each in found if each.position in positions]
        self._registry.follow()
        snapshot = self._registry.index.snapshot
        self._asker.leave(snapshot)
        settled = settle_stored(
            self._asker,
            self._matcher,
            snapshot,
            [part.body for part in due.parts if part.format == FORMAT],
            [pair for pair in due.pairs if pair[0] <= upto],
            publications,
            self._journal.taxonomies(first, upto),
            self._journal.answers(first, upto, self._matcher.operators),
        )
        self._record([*settled], due.after, upto)
        return upto

    def _record(self, settled: Sequence[tuple[Sequence[Publication], Settled]], after: int, upto: int) -> None:
        """Store answers, then what became of the open pairs at positions in (`after`, `upto`]."""
        for _, each in settled:
            self.work += each.matched.stats
            self._driver.keep(each.results)
        batch = OutboxBatch.joined([OutboxBatch.of(publications, each.matched) for publications, each in settled])
        self._driver.settle(batch, upto, after)
        self.store_learnt(LEARNT_AT_ONCE)

    def _subscriptions_of(self, matched: MatchedBatch) -> Mapping[int, Subscription]:
        """The subscriptions that matched or are undecided, by registration, maybe among others."""
        found = {*matched.registration.tolist(), *(pair.registration for pair in matched.undecided)}
        found.update(matched.open.registration.tolist())
        unknown = found - self._subscriptions.keys()
        if len(self._subscriptions) + len(unknown) > SUBSCRIPTIONS_CACHED:
            self._subscriptions, unknown = {}, found
        registrations = self._journal.registrations(sorted(unknown))
        self._subscriptions.update((each.id, each.subscription) for each in registrations)
        return self._subscriptions
