"""An engine's part of following: notifications as they are recorded, until it is closed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from triplecast.engine.opened import Opened
from triplecast.errors import InputError, StorageFault
from triplecast.outbox import Cursor, Notification, Outbox
from triplecast.outbox.following import follow

Page = Callable[[Cursor | int], Iterable[Notification]]


def follow_open(
    outbox: Outbox, opened: Opened, place: Cursor | int, page: Page, seconds: float | None
) -> Iterator[Notification]:
    """Yield what `page` reads beyond a place, and what comes, until the engine is closed or nothing came for some
    `seconds`."""

    def rows(place: Cursor | int) -> Iterator[tuple[Cursor, Notification]]:
        return ((each.cursor, each) for each in page(place))

    def wait(sequence: int) -> bool:
        return outbox.commits.wait(lambda: outbox.state.sequence > sequence, seconds)

    try:
        yield from follow(outbox, place, rows, wait)
    except (InputError, StorageFault):
        if opened.is_open:
            raise
