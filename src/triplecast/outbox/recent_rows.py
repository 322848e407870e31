"""The last notifications of an outbox, in memory: read once for everybody who follows it."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import NamedTuple

from triplecast.outbox.json_lines import NotificationLine
from triplecast.outbox.notification import Cursor, UndecidedPair

MOST_BYTES = 64 << 20
"""Of the lines that are kept, unless one alone is longer."""
_ROW_BYTES = 400
"""What a row takes beside its line, about."""
_NONE: deque[NotificationLine] = deque()


class WantedRows(NamedTuple):
    """Which notifications a reader gets: those of all that is given."""

    subscription: str | None = None
    """Its id."""
    owner: str | None = None
    registration: int | None = None
    """Of a reader who may read this one alone: another one of the same id may be somebody else's."""

    def takes(self, row: NotificationLine | UndecidedPair) -> bool:
        return (
            self.subscription in (None, row.subscription)
            and self.owner in (None, row.owner)
            and self.registration in (None, row.registration)
        )


class RecentRows:
    """Rows that follow each other without a gap up to `end`; also by subscription and by owner.

    Who has come to a place before all of them has to read the outbox. Used by one thread.
    """

    def __init__(self, end: Cursor, most_bytes: int = MOST_BYTES) -> None:
        self.end = end
        self._begins = end.sequence
        """Every notification beyond this sequence is here, up to `end`."""
        self._most_bytes = most_bytes
        self._bytes = 0
        self._rows: deque[NotificationLine] = deque()
        self._by_subscription: defaultdict[str, deque[NotificationLine]] = defaultdict(deque)
        self._by_owner: defaultdict[str, deque[NotificationLine]] = defaultdict(deque)

    def extend(self, rows: Iterable[NotificationLine]) -> None:
        """Add the rows that follow `end`. Where some between are missing, which were pruned, or the outbox has begun
        another epoch, those before are forgotten."""
        for row in rows:
            if row.cursor != (self.end.epoch, self.end.sequence + 1):
                self._forget(row.cursor.sequence - 1)
            self.end = row.cursor
            self._rows.append(row)
            self._by_subscription[row.subscription].append(row)
            if row.owner is not None:
                self._by_owner[row.owner].append(row)
            self._bytes += len(row.line) + _ROW_BYTES
            while self._bytes > self._most_bytes and len(self._rows) > 1:
                self._drop()

    def after(self, place: Cursor, wanted: WantedRows) -> Sequence[NotificationLine] | None:
        """The rows beyond a place that are wanted, in order; None where the outbox has to be asked."""
        if place.epoch != self.end.epoch or place.sequence < self._begins:
            return None
        rows = self._rows
        if wanted.subscription is not None:
            rows = self._by_subscription.get(wanted.subscription, _NONE)
        elif wanted.owner is not None:
            rows = self._by_owner.get(wanted.owner, _NONE)
        new = takewhile(lambda row: row.cursor.sequence > place.sequence, reversed(rows))
        return [row for row in new if wanted.takes(row)][::-1]

    def _drop(self) -> None:
        row = self._rows.popleft()
        self._bytes -= len(row.line) + _ROW_BYTES
        self._begins = row.cursor.sequence
        for index, name in ((self._by_subscription, row.subscription), (self._by_owner, row.owner)):
            if name is not None:
                index[name].popleft()
                if not index[name]:
                    del index[name]

    def _forget(self, begins: int) -> None:
        self._rows.clear()
        self._by_subscription.clear()
        self._by_owner.clear()
        self._bytes, self._begins = 0, begins
