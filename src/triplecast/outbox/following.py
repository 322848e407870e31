"""Following an outbox: what it has recorded, and then what it will.

Only the place that a reader has come to says what it gets next; being woken says no more than that there may be
something. So nothing that is recorded between the two is lost, and nothing comes twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from typing import TypeVar

from triplecast.errors import InputError
from triplecast.outbox.notification import Cursor
from triplecast.outbox.reader import OutboxReader

Row = TypeVar("Row")


def follow(
    outbox: OutboxReader,
    place: Cursor | int,
    page: Callable[[Cursor | int], Iterable[tuple[Cursor, Row]]],
    wait: Callable[[int], bool],
) -> Iterator[Row]:
    """Yield what `page` reads beyond a place, to its end, and so on from the last cursor, as long as `wait`, which
    takes the sequence up to which all was read, says that there may be more."""
    while True:
        state = outbox.state
        for cursor, row in page(place):
            place = cursor
            yield row
        if state.sequence > (place.sequence if isinstance(place, Cursor) else place):
            place = Cursor(state.epoch, state.sequence)  # those of others are not looked at again
        if not wait(state.sequence):
            return


def read_place(outbox: OutboxReader, since: str) -> Cursor | int:
    """Return the place that a reader asks for: a sequence, a cursor, ``now``, or a time with a zone. Raises
    `InputError`."""
    if since == "now":
        state = outbox.state
        return Cursor(state.epoch, state.sequence)
    try:
        if "-" not in since:
            return Cursor.of(since)
        time = datetime.fromisoformat(since)
        if time.tzinfo is None:
            raise ValueError("no zone")
        text = time.astimezone(UTC).isoformat(timespec="microseconds")
    except (InputError, ValueError, OverflowError):
        hint = "give a sequence, the cursor of a notification, now, or a time with a zone: 2026-11-24T09:00:00Z"
        raise InputError(f"{since!r} is no place among notifications", hint) from None
    return outbox.sequence_at(text.replace("+00:00", "Z"))
