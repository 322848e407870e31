"""Notifications for targets, read page by page: targets that have come equally far share what is read."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from triplecast.outbox import Cursor, Notification, OutboxReader

PAGE = 500
"""Notifications that are read at once."""
MOST_QUEUED = 100
"""Notifications of one target in memory;"""
QUEUED_BYTES = 1 << 20
"""once they take these bytes, there is no room for another."""
MOST_HELD = 256 << 20
"""Bytes of what waits for all targets; once it is as much, there is room for one notification of each target only."""
_ROW_BYTES = 1_000
"""What a notification takes beside its answers, about."""


class HeldBytes:
    """What waits for all targets of a folder, each counting what it shares with others."""

    __slots__ = ("count",)

    def __init__(self) -> None:
        self.count = 0


class TargetFeed:
    """What one target is to get next, in memory: the next notifications, and how far they have been read."""

    __slots__ = ("_bytes", "_held", "at_end", "queue", "upto")

    def __init__(self, sequence: int, held: HeldBytes) -> None:
        self.queue: deque[Notification] = deque()
        self.upto = sequence
        """Everything up to here is delivered or in `queue`."""
        self.at_end = False
        """Whether it is fed with what the outbox gets."""
        self._bytes = 0
        self._held = held

    @property
    def is_full(self) -> bool:
        most = MOST_QUEUED if self._held.count < MOST_HELD else 1
        return len(self.queue) >= most or self._bytes >= QUEUED_BYTES

    def _hold(self, size: int) -> None:
        """Note that it holds so many bytes, about, after all."""
        self._held.count += size - self._bytes
        self._bytes = size

    def come_to(self, sequence: int, end: int) -> bool:
        """Note that everything up to a sequence was offered, where there was room. Whether nothing more is to be read
        for it now: `end` is what all have come to that are fed with what the outbox gets."""
        is_full = self.is_full
        if not is_full:
            self.upto = max(self.upto, sequence)
        self.at_end = not is_full and self.upto >= end
        return is_full or self.at_end

    def offer(self, notification: Notification) -> bool:
        """Take the next notification, if there is room for it."""
        if self.is_full:
            self.at_end = False
            return False
        self.queue.append(notification)
        self._hold(self._bytes + _size(notification))
        self.upto = notification.sequence
        return True

    def drop_upto(self, sequence: int) -> None:
        """Those up to a sequence were delivered."""
        while self.queue and self.queue[0].sequence <= sequence:
            self._hold(self._bytes - _size(self.queue.popleft()))

    def drop_those(self, registrations: Collection[int]) -> None:
        """Those of some registrations are not to be delivered."""
        self.queue = deque(each for each in self.queue if each.registration not in registrations)
        self._hold(sum(map(_size, self.queue)))

    def restart(self, sequence: int) -> None:
        """Read again from `sequence` on."""
        self.queue.clear()
        self._hold(0)
        self.upto, self.at_end = sequence, False


def _size(notification: Notification) -> int:
    return len(notification.json) + _ROW_BYTES


def read_page(outbox: OutboxReader, epoch: int, after: int) -> Iterator[Notification]:
    """The next notifications after a sequence, at most `PAGE`. Raises `InputError` in another epoch."""
    return outbox.notifications(Cursor(epoch, after), PAGE)


def read_one(outbox: OutboxReader, epoch: int, sequence: int) -> Notification | None:
    """None where it has been pruned."""
    found = next(outbox.notifications(Cursor(epoch, sequence - 1), 1), None)
    return found if found is not None and found.sequence == sequence else None


def first(queue: Iterable[Notification], count: int) -> list[Notification]:
    return list(islice(queue, count))
