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
"""once they have these bytes of answers, there is no room for another."""

MOST_HELD = 256 << 20
"""Bytes of what waits for targets that are behind; beyond them none is read for that has something to get."""
_ROW_BYTES = 1_000
"""What a notification takes beside its answers, about."""


class TargetFeed:
    """What one target is to get next, in memory: the next notifications, and how far they have been read."""

    __slots__ = ("_bytes", "at_end", "queue", "upto")

    def __init__(self, sequence: int) -> None:
        self.queue: deque[Notification] = deque()
        self.upto = sequence
        """Everything up to here is delivered or in `queue`."""
        self.at_end = False
        """Whether it is fed with what the outbox gets."""
        self._bytes = 0

    @property
    def is_full(self) -> bool:
        return len(self.queue) >= MOST_QUEUED or self._bytes >= QUEUED_BYTES

    @property
    def size(self) -> int:
        """Bytes of what it holds, about."""
        return self._bytes + _ROW_BYTES * len(self.queue)

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
        self._bytes += len(notification.json)
        self.upto = notification.sequence
        return True

    def drop_upto(self, sequence: int) -> None:
        """Those up to a sequence were delivered."""
        while self.queue and self.queue[0].sequence <= sequence:
            self._bytes -= len(self.queue.popleft().json)

    def drop_those(self, registrations: Collection[int]) -> None:
        """Those of some registrations are not to be delivered."""
        self.queue = deque(each for each in self.queue if each.registration not in registrations)
        self._bytes = sum(len(each.json) for each in self.queue)

    def restart(self, sequence: int) -> None:
        """Read again from `sequence` on."""
        self.queue.clear()
        self._bytes, self.upto, self.at_end = 0, sequence, False


def read_page(outbox: OutboxReader, epoch: int, after: int) -> Iterator[Notification]:
    """The next notifications after a sequence, at most `PAGE`. Raises `InputError` in another epoch."""
    return outbox.notifications(Cursor(epoch, after), PAGE)


def read_one(outbox: OutboxReader, epoch: int, sequence: int) -> Notification | None:
    """None where it has been pruned."""
    found = next(outbox.notifications(Cursor(epoch, sequence - 1), 1), None)
    return found if found is not None and found.sequence == sequence else None


def first(queue: Iterable[Notification], count: int) -> list[Notification]:
    return list(islice(queue, count))
