"""Notifications as they are recorded, over one connection: ``text/event-stream``."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from functools import partial

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from triplecast.outbox import Cursor
from triplecast.outbox.json_lines import NotificationLine
from triplecast.outbox.recent_rows import WantedRows
from triplecast.service.notification_pages import RowPage, read_rows
from triplecast.service.problems import Problem
from triplecast.service.state import ServiceState
from triplecast.syndication.server_sent_events import BEGIN, MEDIA_TYPE, event_frame, place_frame

HEARTBEAT_SECONDS = 15.0
STALL_SECONDS = 30.0
"""How long a reader may leave unread what was sent; then its connection ends, and it comes again when it can."""
BYTES_AT_ONCE = 64 << 10
"""Of lines that are sent together, unless one alone is longer: so much more than the connection takes is held."""
_HEADERS = (
    (b"content-type", MEDIA_TYPE.encode()),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


class NotificationStream(Response):
    """An answer that goes on until its reader goes, its subscription ends or the service does."""

    def __init__(
        self,
        state: ServiceState,
        place: Cursor | int,
        wanted: WantedRows,
        is_live: Callable[[], bool],
    ) -> None:
        """`is_live` is asked on a thread, now and then."""
        super().__init__()
        self._state = state
        self._place = place
        self._wanted = wanted
        self._is_live = is_live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        task = asyncio.current_task()
        assert task is not None
        listening = asyncio.create_task(_end_with(receive, task))
        try:
            with self._state.tail.reading(self._wanted.registration):
                await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
                async for frames in self._frames():
                    if not frames:
                        continue
                    async with asyncio.timeout(STALL_SECONDS):
                        await send({"type": "http.response.body", "body": frames, "more_body": True})
                await send({"type": "http.response.body", "body": b"", "more_body": False})
        except TimeoutError:
            pass  # the answer is not completed, which ends the connection
        except asyncio.CancelledError:
            if not listening.done():
                raise
        finally:
            listening.cancel()

    async def _frames(self) -> AsyncIterator[bytes]:
        tail, wanted = self._state.tail, self._wanted
        place, begin = self._place, BEGIN
        while not tail.is_ended:
            if tail.is_cancelled(wanted.registration):
                yield _ended(tail.end)
                return
            rows = tail.after(place, wanted) if isinstance(place, Cursor) else None
            if not isinstance(place, Cursor) or rows is None:
                page = await self._page(place)
                if tail.is_cancelled(wanted.registration):
                    continue
                yield begin + _resync(page)
                begin = b""
                for frames in _joined(page.rows):
                    if not tail.is_cancelled(wanted.registration):
                        yield frames
                place = page.end
                yield place_frame(place)
            elif rows:
                yield begin
                for frames in _joined(rows):
                    if not tail.is_cancelled(wanted.registration):
                        yield frames
                place = rows[-1].cursor
            else:
                place = max(place, tail.end)  # what lies between is not wanted
                if begin:
                    yield begin + place_frame(place)
                await tail.wait(place, wanted, HEARTBEAT_SECONDS)
                if not tail.is_ended and tail.after(place, wanted) == []:
                    place = max(place, tail.end)
                    if not await self._look():
                        yield _ended(place)
                        return
                    yield place_frame(place)
            begin = b""

    async def _page(self, place: Cursor | int) -> RowPage:
        """What the tail no longer has, as soon as a thread is free for it."""
        while True:
            try:
                return await self._state.call(partial(read_rows, self._state.notifications, place, self._wanted))
            except Problem:  # too many wait
                await asyncio.sleep(1)

    async def _look(self) -> bool:
        try:
            return await self._state.call(self._is_live)
        except Problem:
            return True


async def _end_with(receive: Receive, task: asyncio.Task[None]) -> None:
    """Cancel `task` once the reader has gone."""
    while (await receive())["type"] != "http.disconnect":
        pass
    task.cancel()


def _joined(rows: Sequence[NotificationLine]) -> Iterator[bytes]:
    """Their events, some at a time."""
    some: list[bytes] = []
    size = 0
    for row in rows:
        some.append(event_frame(row.line, row.cursor))
        size += len(some[-1])
        if size >= BYTES_AT_ONCE:
            yield b"".join(some)
            some, size = [], 0
    if some:
        yield b"".join(some)


def _resync(page: RowPage) -> bytes:
    if not page.lost:
        return b""
    return event_frame(json.dumps({"reason": page.lost, "cursor": str(page.end)}), page.end, "resync")


def _ended(cursor: Cursor) -> bytes:
    return event_frame(json.dumps({"reason": "the subscription has ended"}), cursor, "end")
