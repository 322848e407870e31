"""Notifications read from the outbox, a page at a time: for readers that are behind its tail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from triplecast.engine.serving import NotificationSource
from triplecast.errors import InputError
from triplecast.outbox import Cursor, Notification
from triplecast.outbox.json_lines import NotificationLine
from triplecast.outbox.recent_rows import WantedRows

MOST_ROWS = 1_000
MOST_BYTES = 4 << 20
"""Of the lines of one page, unless one alone is longer."""
_Row = TypeVar("_Row", NotificationLine, Notification)


class RowPage(NamedTuple):
    """Some rows, and where the next page begins."""

    rows: list[NotificationLine]
    end: Cursor
    is_last: bool
    lost: str
    """Why rows beyond the place that was asked for are missing; empty: none is."""


class NotificationPage(NamedTuple):
    """The same, of notifications with their queries."""

    notifications: list[Notification]
    end: Cursor
    is_last: bool
    lost: str


def read_rows(
    source: NotificationSource,
    place: Cursor | int,
    wanted: WantedRows,
    limit: int = MOST_ROWS,
    most_bytes: int = MOST_BYTES,
) -> RowPage:
    """Where rows are missing, the page begins with the first that is there."""

    def rows(start: Cursor | int) -> Iterator[NotificationLine]:
        found = source.outbox.json_rows(start, None, wanted.subscription, wanted.owner, source.definitions())
        return filter(wanted.takes, found)

    return RowPage(*_read(source, place, (limit, most_bytes), rows, lambda row: len(row.line)))


def read_notifications(
    source: NotificationSource, place: Cursor | int, wanted: WantedRows, limit: int = MOST_ROWS
) -> NotificationPage:
    def rows(start: Cursor | int) -> Iterator[Notification]:
        found = source.outbox.notifications(start, None, wanted.subscription, wanted.owner, source.definitions())
        return (each for each in found if wanted.registration in (None, each.registration))

    return NotificationPage(*_read(source, place, (limit, MOST_BYTES), rows, lambda each: len(each.json)))


def _read(
    source: NotificationSource,
    place: Cursor | int,
    most: tuple[int, int],
    rows: Callable[[Cursor | int], Iterator[_Row]],
    size: Callable[[_Row], int],
) -> tuple[list[_Row], Cursor, bool, str]:
    state = source.outbox.state
    sequence = place.sequence if isinstance(place, Cursor) else place
    lost = ""
    if 0 < sequence < state.pruned:
        lost = f"notifications {sequence + 1} to {state.pruned} have been pruned"
    taken: list[_Row] = []
    limit, left = most
    try:
        for row in rows(place):
            taken.append(row)
            left -= size(row)
            if len(taken) >= limit or left <= 0:
                return taken, row.cursor, False, lost
    except InputError as error:  # a place of an earlier epoch, or beyond the end
        if taken:
            raise
        return [], Cursor(state.epoch, state.pruned), False, error.what
    end = max(sequence, state.sequence, *(row.cursor.sequence for row in taken[-1:]))
    return taken, Cursor(state.epoch, end), True, lost
