"""The logs as Durable Streams (ElectricSQL, Protocol 1.0, 2026): its half that reads, in JSON mode. An offset is
opaque; a reader catches up, and then polls or follows."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from triplecast.outbox import Cursor
from triplecast.service.handover import STALL_SECONDS
from triplecast.service.logs import Documents, Log, MessagePage, Notifications, offset_of, read_offset
from triplecast.service.preconditions import Preconditions
from triplecast.service.problems import RESPONSES, Problem
from triplecast.service.state import ServiceState, State
from triplecast.syndication.server_sent_events import MEDIA_TYPE as EVENTS

router = APIRouter(tags=["durable streams"], responses=RESPONSES)

JSON = "application/json"
POLL_SECONDS = 20.0
"""How long a poll waits for the first message;"""
FOLLOW_SECONDS = 60.0
"""and how long one connection is followed: its reader comes again with the last offset."""
BEGIN, NOW = "-1", "now"
_EPOCH, _INTERVAL = 1_728_432_000, 20
"""Of cursors for caches: 2024-10-09, and seconds (8.1)."""
_SAFE = {"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "cross-origin"}

Offset = Annotated[str | None, Query(description="as the stream gave it, -1 or now")]
Live = Annotated[str | None, Query(description="long-poll or sse")]
Seen = Annotated[str | None, Query(alias="cursor", description="of the last answer, for caches")]

_MESSAGES = {"schema": {"type": "array", "items": {"type": "object"}}}
_READ: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "what is beyond the offset",
        "content": {JSON: _MESSAGES, EVENTS: {"schema": {"type": "string"}}},
        "headers": {"Stream-Next-Offset": {"schema": {"type": "string"}, "description": "the next `offset`"}},
    },
    204: {"description": "nothing came within the time of a poll"},
    304: {"description": "it is as If-None-Match has it"},
    410: {"description": "what is beyond the offset is gone"},
}


@router.get("/documents/stream", responses=_READ, response_model=None)
async def read_documents(
    request: Request, state: State, log: Documents, offset: Offset = None, live: Live = None, cursor: Seen = None
) -> Response:
    """Versions and removals of documents as a Durable Stream."""
    return await _read(request, state, log, offset, live, cursor)


@router.get("/subscriptions/{id:path}/stream", responses=_READ, response_model=None)
async def read_notifications(
    request: Request,
    state: State,
    log: Notifications,
    id: str,
    offset: Offset = None,
    live: Live = None,
    cursor: Seen = None,
) -> Response:
    """The notifications of a subscription, likewise."""
    return await _read(request, state, log, offset, live, cursor)


@router.head("/documents/stream", response_model=None)
async def head_documents(state: State, log: Documents) -> Response:
    """The offset of its end."""
    return await _end(state, log)


@router.head("/subscriptions/{id:path}/stream", response_model=None)
async def head_notifications(state: State, log: Notifications, id: str) -> Response:
    """The offset of its end."""
    return await _end(state, log)


async def _end(state: ServiceState, log: Log) -> Response:
    headers = {**_SAFE, "Stream-Next-Offset": offset_of(await state.call(log.end)), "Cache-Control": "no-store"}
    return Response(None, 200, headers, JSON)


async def _read(
    request: Request, state: ServiceState, log: Log, offset: str | None, live: str | None, seen: str | None
) -> Response:
    if live not in (None, "long-poll", "sse"):
        raise Problem(400, "this way of following is unknown", live[:100], "live is long-poll or sse")
    if live is not None and offset is None:
        raise Problem(400, "the offset is missing", mend=f"say from where to follow: &offset={BEGIN}")
    place = await state.call(partial(_place, log, offset))
    if live == "sse":
        state.check_streams()
        return FollowedLog(state, log, place, seen)
    headers = {**_SAFE, "Stream-Cursor": _cursor(seen)}
    if live is None and offset == NOW:
        headers |= {"Stream-Next-Offset": offset_of(place), "Stream-Up-To-Date": "true", "Cache-Control": "no-store"}
        return Response(b"[]", 200, headers, JSON)
    page = await state.call(partial(log.read, place))
    if live is not None:
        page = await _poll(state, log, page)
    _check_lost(page)
    headers |= {"Stream-Next-Offset": offset_of(page.end), "Cache-Control": "no-store"}
    if page.is_last:
        headers["Stream-Up-To-Date"] = "true"
    else:  # what lies between two offsets never changes
        headers["Cache-Control"] = "private, max-age=60, stale-while-revalidate=300"
    if live is not None and not page.messages:
        return Response(None, 204, headers)
    headers["ETag"] = f'"{offset_of(place)}:{offset_of(page.end)}"'
    if Preconditions.of(request.headers).knows(headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return Response(f"[{','.join(page.messages)}]".encode(), 200, headers, JSON)


def _place(log: Log, offset: str | None) -> Cursor:
    if offset in (None, BEGIN):
        return log.begin()
    return log.end() if offset == NOW else read_offset(str(offset))


def _check_lost(page: MessagePage) -> None:
    if page.lost:
        raise Problem(410, page.lost, mend=f"go on from offset {offset_of(page.end)}", offset=offset_of(page.end))


async def _poll(state: ServiceState, log: Log, page: MessagePage) -> MessagePage:
    """The first page with a message, or the last one within the time."""
    tail, until = state.tail, time.monotonic() + POLL_SECONDS

    def is_over() -> bool:
        return tail.is_ended or tail.is_cancelled(log.registration)

    with tail.reading(log.registration):
        while not (page.messages or page.lost or is_over()) and (left := until - time.monotonic()) > 0:
            await log.wait(page.end, left)
            page = await state.call(partial(log.read, page.end))
        if tail.is_cancelled(log.registration):
            raise Problem(404, "the subscription has ended", mend="subscribe again")
    return page


def _cursor(seen: str | None) -> str:
    """For caches: it rises with time, and always beyond the one that a reader has seen."""
    now = int(time.time() - _EPOCH) // _INTERVAL
    known = int(seen) if seen and seen.isascii() and seen.isdecimal() and len(seen) < 16 else -1
    return str(now if known < now else known + max(1, random.randrange(1, 3600) // _INTERVAL))


class FollowedLog(StreamingResponse):
    """An answer of server-sent events: ``data``, an array of messages, then ``control``, the offset behind them."""

    def __init__(self, state: ServiceState, log: Log, place: Cursor, seen: str | None) -> None:
        headers = {**_SAFE, "Content-Type": EVENTS, "Cache-Control": "no-cache, no-store", "X-Accel-Buffering": "no"}
        super().__init__((), 200, headers)
        self._state, self._log, self._place, self._seen = state, log, place, seen

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A reader that takes nothing is held for no longer than one that does. Raises `Problem` for a place that is
        gone, before anything is sent."""
        state, log = self._state, self._log
        with state.tail.reading(log.registration), suppress(TimeoutError):
            page = await state.call(partial(log.read, self._place))
            _check_lost(page)
            self.body_iterator = _frames(state, log, page, self._seen)
            async with asyncio.timeout(FOLLOW_SECONDS + STALL_SECONDS):
                await super().__call__(scope, receive, send)


async def _frames(state: ServiceState, log: Log, page: MessagePage, seen: str | None) -> AsyncIterator[str]:
    tail, until, is_first = state.tail, time.monotonic() + FOLLOW_SECONDS, True
    while not (tail.is_ended or tail.is_cancelled(log.registration) or page.lost):
        if page.messages or is_first:
            seen = _cursor(seen)
            row = {"streamNextOffset": offset_of(page.end), "streamCursor": seen}
            control = json.dumps(row | ({"upToDate": True} if page.is_last else {}), separators=(",", ":"))
            data = f"event: data\ndata:[{','.join(page.messages)}]\n\n" if page.messages else ""
            yield f"{data}event: control\ndata:{control}\n\n"  # without spaces, as the public tests look for them
        is_first = False
        if (left := until - time.monotonic()) <= 0:
            return
        if page.is_last:
            await log.wait(page.end, left)
        try:
            page = await state.call(partial(log.read, page.end))
        except Problem:
            return  # the reader comes again, and is told
