"""A target that is delivered to, in memory, and what an attempt makes of a target."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from typing import NamedTuple

from triplecast.delivery.attempt import BUSY, AttemptOutcome
from triplecast.delivery.reading import HeldBytes, TargetFeed
from triplecast.delivery.retrying import (
    ATTEMPTS,
    BUSY_SECONDS,
    FIRST_RATE,
    GIVE_UP_SECONDS,
    LONGEST_WAIT,
    lowered,
    raised,
    wait_after,
)
from triplecast.delivery.target import EMAIL, DeadLetter, Target
from triplecast.outbox import Notification

SECOND = 1_000_000
"""Microseconds."""
SET_BACK = 60 * SECOND
"""By how much less a clock says for that to be no accident."""
REASON_CHARACTERS = 300


class Live:
    """Not thread-safe: `Deliveries` holds its lock."""

    __slots__ = ("feed", "in_flight", "letters", "rate", "scheduled", "target")

    def __init__(self, target: Target, held: HeldBytes) -> None:
        self.target = target
        self.feed = TargetFeed(target.sequence, held)
        self.letters: deque[DeadLetter] = deque()
        """To be replayed, before anything else."""
        self.in_flight = False
        self.scheduled: int | None = None
        """When it is looked at again, in microseconds since 1970."""
        self.rate = FIRST_RATE
        """Most deliveries a second."""

    @property
    def heard_by(self) -> int | str:
        """Its subscription's id where it follows a file, else its registration."""
        return self.target.subscription if self.target.follows else self.target.registration

    @property
    def has_work(self) -> bool:
        return bool(self.letters or self.feed.queue or not self.feed.at_end)

    def restart(self) -> None:
        """Keep nothing in memory; read again from what was delivered last."""
        self.letters.clear()
        self.feed.restart(self.target.sequence)
        self.scheduled = None

    def has_jumped(self, now: int) -> bool:
        """Whether it would wait for longer than was meant: the clock was set back since."""
        return self.target.next_at > now + int(max(LONGEST_WAIT, self.target.every) * SECOND)

    def advanced(self, notifications: Sequence[Notification], now: int) -> Target:
        """The target after it got notifications."""
        self.rate = raised(self.rate)
        wait = self.target.every if self.target.kind == EMAIL else 1 / self.rate
        return replace(
            self.target,
            sequence=max(self.target.sequence, notifications[-1].sequence),
            attempts=0,
            failing_since=None,
            next_at=now + int(wait * SECOND),
            delivered=self.target.delivered + len(notifications),
            last_at=now,
            last_error="",
        )

    def failed(self, outcome: AttemptOutcome, now: int, chance: Callable[[], float]) -> Target:
        """The target after an attempt in vain. Of a receiver that asks for less, no attempt is counted."""
        since = now if self.target.failing_since is None else min(self.target.failing_since, now)
        attempts = self.target.attempts
        if outcome.word == BUSY:
            self.rate = lowered(self.rate)
            asked = BUSY_SECONDS if outcome.retry_after is None else outcome.retry_after
            wait = min(max(asked, 1 / self.rate), LONGEST_WAIT)
        else:
            attempts += 1
            wait = wait_after(attempts, outcome.retry_after, chance)
        failed = replace(
            self.target,
            attempts=attempts,
            failing_since=since,
            next_at=now + int(wait * SECOND),
            last_error=outcome.reason[:REASON_CHARACTERS],
        )
        if now - since < GIVE_UP_SECONDS * SECOND:
            return failed
        return replace(
            failed, disabled=f"no success for {GIVE_UP_SECONDS // 86_400} days; the last error: {outcome.reason}"
        )


class LiveGroups:
    """Live targets by what some have in common, each group in order of addition."""

    def __init__(self) -> None:
        self._groups: dict[int | str, dict[str, Live]] = {}

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, key: int | str, live: Live) -> None:
        self._groups.setdefault(key, {})[live.target.id] = live

    def drop(self, key: int | str, live: Live) -> None:
        group = self._groups.get(key, {})
        group.pop(live.target.id, None)
        if not group:
            self._groups.pop(key, None)

    def group(self, key: int | str) -> Collection[Live]:
        return self._groups.get(key, {}).values()


def is_exhausted(target: Target) -> bool:
    """Whether what it was to get next is a dead letter now."""
    return target.attempts >= ATTEMPTS


def buried(target: Target, notifications: Sequence[Notification], now: int) -> list[DeadLetter]:
    return [
        DeadLetter(target.id, each.cursor.epoch, each.sequence, each.id, target.attempts, target.last_error, now)
        for each in notifications
    ]


class DeliveryLag(NamedTuple):
    """How far delivery is behind."""

    notifications: int
    """Beyond what the target that is farthest behind has got."""
    since: str | None
    """When the publication of the oldest one came that waits in memory."""
    enabled: int
    targets: int


def lag_of(lives: Collection[Live], end: int, kinds: Collection[str]) -> DeliveryLag:
    """Of targets that are delivered to by kind, where the last notification has the sequence `end`."""
    served = [each for each in lives if not each.target.disabled and each.target.kind in kinds]
    behind = [each for each in served if each.has_work]
    since = (each.feed.queue[0].accepted_at for each in behind if each.feed.queue)
    most = max((end - each.target.sequence for each in behind), default=0)
    return DeliveryLag(most, min(since, default=None), len(served), len(lives))
