"""The targets of one folder, and what each of them is to get next."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from heapq import heappop, heappush
from itertools import count
from threading import RLock

from triplecast.delivery.attempt import DELIVERED, FAILED, GONE, REFUSED, Attempt, AttemptOutcome
from triplecast.delivery.hearing import TargetIndex
from triplecast.delivery.ledger import Ledger
from triplecast.delivery.live import SET_BACK, DeliveryLag, Live, LiveGroups, buried, is_exhausted, lag_of
from triplecast.delivery.reading import MOST_QUEUED, PAGE, HeldBytes, first, read_one, read_page
from triplecast.delivery.store import MOST_DEAD, TargetStore
from triplecast.delivery.target import COMMAND, DAMAGED, EMAIL, KINDS, WEBHOOK, WEBSUB, DeadLetter, Target
from triplecast.delivery.turns import AT_ONCE, HostTurns
from triplecast.errors import InputError
from triplecast.journal import Clock, JournalFile, system_clock
from triplecast.outbox import Notification, OutboxReader

_TOGETHER = {WEBHOOK: 1, COMMAND: 1, EMAIL: MOST_QUEUED, WEBSUB: MOST_QUEUED}
"""Notifications of one attempt, by kind."""


class Deliveries:
    """Says which attempts are due and takes in what came of them; makes none itself. For the folder's only deliverer;
    may be used from any thread.

    Each target gets its notifications in order, one attempt at a time. What it got is stored by `flush`: until then, or
    where the machine fails, it may get the same again, under the same id.
    """

    def __init__(
        self,
        store: TargetStore,
        outbox: OutboxReader,
        journal: JournalFile,
        clock: Clock = system_clock,
        chance: Callable[[], float] = random.random,
        kinds: Collection[str] = KINDS,
        at_once: int = AT_ONCE,
    ) -> None:
        """`kinds`: of the targets that are delivered to here. `chance` gives numbers in [0, 1)."""
        self.fault: Exception | None = None  # why its runner has ended, where it has not been stopped
        self._lock = RLock()
        self._store = store
        self._ledger = Ledger(store)
        self._outbox = outbox
        self._journal = journal
        self._clock = clock
        self._chance = chance
        self._kinds = frozenset(kinds)
        self._turns = HostTurns(at_once)
        self._lives: dict[str, Live] = {}
        self._of = LiveGroups()  # of a subscription
        self._hearing = TargetIndex(journal, self._ledger.note)
        self._due: list[tuple[int, int, str]] = []
        self._number = count()
        self._latest = 0  # when something was due last
        self._hungry: dict[str, Live] = {}
        """Those that have to be read for."""
        self._held = HeldBytes()
        self._epoch, self._end = self._ledger.reached
        for target in store.targets():
            self._take(target)
        for letter in [each for each in store.dead(again=True) if each.target in self._lives]:
            self._lives[letter.target].letters.append(letter)
            self._schedule(self._lives[letter.target])

    # ---- what is due ------------------------------------------------------------------------------------------------

    def read(self) -> bool:
        """Read a page of what the outbox has got, and of what targets are behind with; whether it has got more."""
        with self._lock:
            state = self._outbox.state
            if state.epoch != self._epoch or state.sequence < self._end:
                self._begin_again(state.epoch, state.sequence)
            if not self._hearing:
                self._end = state.sequence
            if self._end < state.sequence:
                page = [*read_page(self._outbox, self._epoch, self._end)]
                for each in page:
                    for live in self._hearing.of(each):
                        if live.feed.at_end:
                            self._offer(live, each)
                self._end = page[-1].sequence if len(page) == PAGE else max(self._end, state.sequence)
            if self._hungry:
                self._feed(state.sequence)
            return self._end < state.sequence

    def due(self) -> list[Attempt]:
        """The attempts to make now; each is given back to `settle`."""
        with self._lock:
            now, found = self._clock(), list[Attempt]()
            if now < self._latest - SET_BACK:
                self._due.clear()
                for each in self._lives.values():
                    each.scheduled = None
                    self._schedule(each)
            self._latest = now
            while self._due and self._due[0][0] <= now and self._turns.is_free:
                at, _, id = heappop(self._due)
                if (live := self._lives.get(id)) is None or live.scheduled != at:
                    continue
                live.scheduled = None
                if live.target.expires is not None and live.target.expires <= now:
                    self._remove(live)
                elif live.target.next_at > now:
                    self._schedule(live)
                elif live.letters or live.feed.queue:
                    found += self._begin(live, now)
                else:
                    self._hungry[id] = live
            return found

    @property
    def is_behind(self) -> bool:
        """Whether `read` is to be called before anything else is due."""
        with self._lock:
            return bool(self._hungry)

    def lag(self) -> DeliveryLag:
        """Of the targets that are delivered to here."""
        with self._lock:
            return lag_of(self._lives.values(), self._outbox.state.sequence, self._kinds)

    def next_due(self) -> int | None:
        """When something may be due, in microseconds since 1970."""
        with self._lock:
            return self._due[0][0] if self._due else None

    def are_live(self, attempt: Attempt) -> bool:
        """Whether the registrations of these notifications are live now: asked right before an attempt."""
        return not self._journal.over({each.registration for each in attempt.notifications}, self._clock())

    def settle(self, attempt: Attempt, outcome: AttemptOutcome) -> None:
        """Take in what came of an attempt."""
        with self._lock:
            now = self._clock()
            for id in self._turns.give_back(attempt.target, outcome.answered, now):
                if id in self._lives:
                    self._schedule(self._lives[id])
            if (live := self._lives.get(attempt.target.id)) is None:
                return
            live.in_flight = False
            if attempt.letter is not None and outcome.word != REFUSED:
                self._settle_letter(live, attempt.letter, outcome, now)
            if live.target.disabled:
                return
            if outcome.word == REFUSED:
                self._let_go(live, attempt.letter)
            elif outcome.word == GONE:
                self._give_up(live, outcome.reason)
            elif attempt.letter is None and outcome.word == DELIVERED:
                self._set(live, live.advanced(attempt.notifications, now))
                live.feed.drop_upto(live.target.sequence)
            elif attempt.letter is None:
                self._fail(live, attempt.notifications, outcome, now)
            if attempt.target.id in self._lives:
                self._schedule(live)

    def flush(self) -> None:
        """Store all that has come since. Raises `StorageFault`, and keeps what is to be stored."""
        with self._lock:
            self._ledger.flush((self._epoch, self._end))

    # ---- what people change; each call is synced when it returns ----------------------------------------------------

    def delivers_to(self, kind: str) -> bool:
        return kind in self._kinds

    def targets(self, subscription: str | None = None) -> list[Target]:
        """With what was delivered up to now."""
        with self._lock:
            lives = self._lives.values() if subscription is None else self._of.group(subscription)
            return [each.target for each in lives]

    def dead(self, target: str | None = None, limit: int = -1) -> list[DeadLetter]:
        with self._lock:
            self.flush()
            return self._store.dead(target, limit=limit)

    def put(self, target: Target) -> None:
        """Add a target; one with its id goes on from where it is, with this one's secret and lease."""
        with self._lock:
            known = self._lives.get(target.id)
            if known is None or known.target.kind == DAMAGED:
                self._take(target)
            else:
                self._set(known, replace(known.target, secret=target.secret, expires=target.expires))
            self._note_now(self._lives[target.id])

    def enable(self, id: str) -> Target:
        """Deliver to a target again, from where it stopped, at once."""
        with self._lock:
            live = self._known(id)
            if live.target.kind == DAMAGED:
                raise InputError(f"target {id} cannot be enabled", live.target.disabled)
            if live.target.disabled or live.target.attempts:
                self._forget_place(live)
                target = replace(live.target, disabled="", attempts=0, failing_since=None, next_at=0)
                live = self._take(target, live.in_flight)
            self._note_now(live)
            return live.target

    def disable(self, id: str, why: str) -> Target:
        with self._lock:
            live = self._known(id)
            self._disable(live, why)
            self._note_now(live)
            return live.target

    def remove(self, id: str) -> None:
        with self._lock:
            self._remove(self._known(id))
            self.flush()

    def replay(self, id: str, sequence: int | None = None) -> int:
        """Deliver the dead letters of a target once more, or the one of a sequence; return how many these are."""
        with self._lock:
            live = self._known(id)
            if live.target.disabled:
                raise InputError(f"target {id} is disabled: {live.target.disabled}", "enable it first")
            letters = [each for each in self.dead(id) if sequence in (None, each.sequence)]
            again = [each._replace(again=True) for each in letters if not each.again]
            self._ledger.bury(again)
            live.letters.extend(again)
            self._set(live, replace(live.target, next_at=0))
            self._note_now(live)
            self._schedule(live)
            return len(letters)

    # ---- reading for targets ----------------------------------------------------------------------------------------

    def _offer(self, live: Live, notification: Notification) -> None:
        if notification.sequence <= live.feed.upto or notification.position <= live.target.position:
            return
        if live.feed.offer(notification):
            if live.target.idle:
                self._set(live, replace(live.target, idle=False, sequence=notification.sequence - 1, epoch=self._epoch))
            self._schedule(live)

    def _feed(self, end: int) -> None:
        """Read one page for those that are behind, from the one that is farthest behind. Those that got something are
        sent to, and read for all the same: so they all read the outbox once, not each for itself."""
        page = [*read_page(self._outbox, self._epoch, min(live.feed.upto for live in self._hungry.values()))]
        upto = page[-1].sequence if len(page) == PAGE else end
        for each in page:
            for live in self._hearing.of(each):
                if live.target.id in self._hungry and not live.feed.is_full:
                    self._offer(live, each)
        for live in [*self._hungry.values()]:
            if live.feed.come_to(upto, self._end):
                del self._hungry[live.target.id]
                self._schedule(live)

    def _begin_again(self, epoch: int, sequence: int) -> None:
        """The outbox has lost its end, or is another: nobody knows which sequences it gave, so all is read again that
        was published since a target was made. Ids say what a receiver has already."""
        self._epoch, self._end = epoch, sequence
        for live in [*self._lives.values()]:
            self._forget_place(live)
            target = replace(live.target, idle=False)
            if target.epoch != epoch or target.sequence > sequence:
                target = replace(target, epoch=epoch, sequence=0)
            self._take(target, live.in_flight)
            self._ledger.note(target)
        for letter in self._store.dead():
            if letter.epoch != epoch or letter.sequence > sequence:
                self._ledger.forget(letter)
        self._ledger.is_urgent = True

    # ---- one target -------------------------------------------------------------------------------------------------

    def _take(self, target: Target, in_flight: bool = False) -> Live:
        """Know a target, and deliver to it unless it is disabled or another deliverer's."""
        if target.idle and target.epoch == self._epoch:
            target = replace(target, sequence=max(target.sequence, self._ledger.reached[1]))
        live = self._lives[target.id] = Live(target, self._held)
        self._of.add(target.subscription, live)
        live.in_flight = in_flight
        if target.disabled or not self.delivers_to(target.kind):
            self._set(live, replace(target, idle=False))
            return live
        self._hearing.add(live)
        live.feed.at_end = target.epoch == self._epoch and target.sequence >= self._end
        self._schedule(live)
        return live

    def _schedule(self, live: Live) -> None:
        """Have a target looked at when it may be sent to, if it has work."""
        target = live.target
        if live.in_flight or target.disabled or not self.delivers_to(target.kind):
            return
        if live.has_work:
            if live.has_jumped(self._clock()):
                self._set(live, replace(target, next_at=0))
            at = live.target.next_at
        else:
            if not target.idle:
                self._set(live, replace(target, idle=True, epoch=self._epoch, sequence=max(target.sequence, self._end)))
            if target.expires is None:
                return
            at = target.expires
        if live.scheduled is None or at < live.scheduled:
            live.scheduled = at
            heappush(self._due, (at, next(self._number), target.id))

    def _begin(self, live: Live, now: int) -> list[Attempt]:
        """No attempt where it is not the target's turn, or where what was to be replayed is gone."""
        if (waits := self._turns.take(live.target, now)) is not None:
            if waits:
                live.scheduled = waits
                heappush(self._due, (waits, next(self._number), live.target.id))
            return []
        live.in_flight = True
        letter = live.letters.popleft() if live.letters else None
        if letter is None:
            return [Attempt(live.target, first(live.feed.queue, _TOGETHER[live.target.kind]), None, now)]
        found = read_one(self._outbox, letter.epoch, letter.sequence)
        attempt = Attempt(live.target, [] if found is None else [found], letter, now)
        if found is not None:
            return [attempt]
        self.settle(attempt, AttemptOutcome(FAILED, "it has been pruned from the outbox"))
        return []

    def _fail(self, live: Live, notifications: Sequence[Notification], outcome: AttemptOutcome, now: int) -> None:
        target = live.failed(outcome, now, self._chance)
        if is_exhausted(target):
            self._ledger.bury(buried(target, notifications, now))
            target = replace(target, attempts=0, sequence=notifications[-1].sequence)
            if self._store.count_dead(target.id) >= MOST_DEAD:
                target = replace(target, disabled=f"it has {MOST_DEAD:,} dead letters")
            self._ledger.is_urgent = True
        self._set(live, target)
        if target.disabled:
            self._give_up(live, target.disabled)
        else:
            self._hungry.pop(target.id, None)
            live.feed.restart(target.sequence)

    def _settle_letter(self, live: Live, letter: DeadLetter, outcome: AttemptOutcome, now: int) -> None:
        """One that is not delivered stays as it was; it holds nothing up."""
        if outcome.word == DELIVERED:
            self._ledger.forget(letter)
            self._set(live, replace(live.target, delivered=live.target.delivered + 1, last_at=now))
        else:
            self._ledger.bury([letter._replace(again=False, reason=outcome.reason, at=now)])

    def _let_go(self, live: Live, letter: DeadLetter | None) -> None:
        """Nothing more of registrations that have ended; a target that belongs to one goes with it."""
        if letter is not None:
            self._ledger.forget(letter)
        if live.target.follows:
            live.feed.drop_those(self._journal.over({each.registration for each in live.feed.queue}, self._clock()))
        else:
            self._remove(live)

    def _known(self, id: str) -> Live:
        if id not in self._lives:
            raise InputError(f"there is no target {id!r}", "`triplecast targets DIR list` shows those that there are")
        return self._lives[id]

    def _set(self, live: Live, target: Target) -> None:
        live.target = target
        self._ledger.note(target)

    def _forget_place(self, live: Live) -> None:
        self._ledger.bury(each._replace(again=False) for each in live.letters)
        self._hearing.drop(live)
        self._hungry.pop(live.target.id, None)
        self._turns.forget(live.target)
        live.restart()

    def _remove(self, live: Live) -> None:
        self._forget_place(live)
        del self._lives[live.target.id]
        self._of.drop(live.target.subscription, live)
        self._ledger.remove(live.target.id)

    def _disable(self, live: Live, why: str) -> None:
        self._forget_place(live)
        sequence = max(live.target.sequence, self._end) if live.target.idle else live.target.sequence
        self._set(live, replace(live.target, disabled=why, idle=False, sequence=sequence))
        self._ledger.is_urgent = True

    def _give_up(self, live: Live, why: str) -> None:
        """A WebSub subscriber asks anew where it wants more; other targets wait for whoever enables them."""
        if live.target.kind == WEBSUB:
            self._remove(live)
        else:
            self._disable(live, why)

    def _note_now(self, live: Live) -> None:
        self._ledger.note(live.target)
        self._ledger.is_urgent = True
        self.flush()
