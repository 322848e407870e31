"""Notifications as they are recorded, over one connection: ``text/event-stream``.

A stream is a connection and a cursor. Once the head of its answer is sent, nothing else of the request is kept: one
loop of callbacks writes to all streams, some at a time, and a few tasks read what the tail no longer has.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections import defaultdict, deque
from collections.abc import Callable, Coroutine, Iterable, Iterator, Sequence
from functools import partial

from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from triplecast.engine.serving import NotificationSource
from triplecast.errors import TriplecastError
from triplecast.outbox import Cursor
from triplecast.outbox.json_lines import NotificationLine
from triplecast.outbox.recent_rows import WantedRows
from triplecast.service.call_threads import CallThreads
from triplecast.service.handover import HAND_OVER, STALL_SECONDS
from triplecast.service.notification_pages import MOST_ROWS, RowPage, read_rows
from triplecast.service.problems import Problem
from triplecast.service.tail import Tail
from triplecast.syndication.server_sent_events import BEGIN, MEDIA_TYPE, event_frame, place_frame

HEARTBEAT_SECONDS = 15.0
LOOKS = 15
"""In that time: for streams that heard nothing, or stall."""
BYTES_AT_ONCE = 16 << 10
"""That are sent together, of a long event a part: so much more than a connection takes is held."""
TURN_BYTES = 1 << 20
"""That a stream gets before others have their turn."""
STREAMS_AT_ONCE = 64
"""That are written to before the event loop does something else."""
READS_AT_ONCE = 8
"""Pages of the outbox that are read for streams at once."""
_HEADERS = (
    (b"content-type", MEDIA_TYPE.encode()),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
    (b"connection", b"close"),
)


class Stream(asyncio.Protocol):
    """An open stream: what its connection's transport calls. On the event loop's thread alone, as all here is."""

    __slots__ = (
        "_streams", "begun", "heard_at", "is_chunked", "is_due", "is_live", "is_queued", "is_reading", "place",
        "stalled_at", "transport", "wanted",
    )  # fmt: skip

    def __init__(
        self,
        streams: Streams,
        place: Cursor | int,
        wanted: WantedRows,
        is_live: Callable[[], bool] | None,
        is_chunked: bool,
    ) -> None:
        self._streams = streams
        self.place = place
        """Everything up to here was sent,"""
        self.begun = 0
        """and so many bytes of the event that follows."""
        self.wanted = wanted
        self.is_live = is_live
        self.is_chunked = is_chunked
        self.transport: asyncio.Transport | None = None
        self.heard_at = 0.0
        """When something was sent last, by the loop's clock;"""
        self.stalled_at: float | None = None
        """since when the connection takes nothing."""
        self.is_due = True
        """Whether its place is sent even if nothing else is."""
        self.is_queued = self.is_reading = False

    def connection_lost(self, exc: Exception | None) -> None:
        self._streams.forget(self)

    def pause_writing(self) -> None:
        self.stalled_at = asyncio.get_running_loop().time()

    def resume_writing(self) -> None:
        self.stalled_at = None
        self.go_on()

    def go_on(self) -> None:
        """Look for something to send, soon."""
        self._streams.queue(self)

    @property
    def is_open(self) -> bool:
        return self.transport is not None and not self.transport.is_closing()

    def send(self, frames: bytes, place: Cursor | None = None) -> None:
        """Send frames, with which everything up to `place` is sent."""
        assert self.transport is not None
        self.transport.write(b"%x\r\n%b\r\n" % (len(frames), frames) if self.is_chunked else frames)
        self.heard_at = asyncio.get_running_loop().time()
        if place is not None:
            self.place, self.is_due = place, False

    def end(self, frames: bytes = b"") -> None:
        assert self.transport is not None
        if frames and not self.begun:
            self.send(frames)
        if self.is_chunked:
            self.transport.write(b"0\r\n\r\n")
        self.transport.close()


class Streams:
    """The open streams of a service."""

    def __init__(self, tail: Tail, source: NotificationSource, threads: CallThreads) -> None:
        self._tail = tail
        self._source = source
        self._threads = threads
        self._open: set[Stream] = set()
        self._ready: deque[Stream] = deque()
        self._behind: defaultdict[tuple[Cursor | int, WantedRows], list[Stream]] = defaultdict(list)
        """Those that are further back than the tail, by what a page for them depends on."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._is_serving = False
        self._reads = 0

    def start(self) -> None:
        self._begin(self._keep())

    def finish(self) -> None:
        """The tail has ended, and all streams with it."""
        for each in [*self._open]:
            if each.is_open:
                each.end()

    def stop(self) -> None:
        for each in self._tasks:
            each.cancel()

    def open(self, stream: Stream, transport: asyncio.Transport) -> None:
        stream.transport = transport
        transport.set_write_buffer_limits(0)
        if transport.is_closing():
            return
        self._open.add(stream)
        self._tail.enter(stream.wanted, stream.go_on)
        stream.send(BEGIN)
        self.queue(stream)

    def forget(self, stream: Stream) -> None:
        if stream in self._open:
            self._open.remove(stream)
            self._tail.leave(stream.wanted, stream.go_on)

    def queue(self, stream: Stream) -> None:
        if not stream.is_queued:
            stream.is_queued = True
            self._ready.append(stream)
            if not self._is_serving:
                self._is_serving = True
                asyncio.get_running_loop().call_soon(self._serve)

    def _serve(self) -> None:
        """Write to some of those that may have something to get."""
        for _ in range(min(len(self._ready), STREAMS_AT_ONCE)):
            stream = self._ready.popleft()
            stream.is_queued = False
            if stream.is_open and stream.stalled_at is None and not stream.is_reading:
                _guard(stream, partial(self._send_rows, stream))
        self._is_serving = bool(self._ready)
        if self._is_serving:
            asyncio.get_running_loop().call_soon(self._serve)

    def _send_rows(self, stream: Stream) -> None:
        tail, wanted = self._tail, stream.wanted
        if tail.is_ended or tail.is_cancelled(wanted.registration):
            stream.end(b"" if tail.is_ended else _ended(tail.end))
            return
        rows = tail.after(stream.place, wanted) if isinstance(stream.place, Cursor) else None
        if rows is None:
            stream.is_reading = True
            self._behind[stream.place, stream.wanted].append(stream)
            if self._reads < READS_AT_ONCE:
                self._reads += 1
                self._begin(self._read_pages())
            return
        if not self._send_events(stream, rows):
            return
        if stream.is_due:  # what lies between is not wanted
            assert isinstance(stream.place, Cursor)
            end = max(stream.place, tail.end)
            stream.send(place_frame(end), end)

    def _send_events(self, stream: Stream, rows: Sequence[NotificationLine]) -> bool:
        """Whether all were sent: the connection takes more, and others need not have their turn first."""
        if stream.begun and not (rows and _before(rows[0].cursor) == stream.place):
            stream.end()  # the event that has begun is pruned
            return False
        left = TURN_BYTES
        for part, cursor, is_whole in _parts(rows, stream.begun):
            stream.send(part, cursor if is_whole else _before(cursor))
            stream.begun = 0 if is_whole else stream.begun + len(part)
            left -= len(part)
            if stream.stalled_at is not None:
                return False
            if left <= 0:
                self.queue(stream)
                return False
        return True

    async def _read_pages(self) -> None:
        """One after the other, each for all that wait for it."""
        try:
            while self._behind:
                where = next(iter(self._behind))
                streams = [each for each in self._behind.pop(where) if each.is_open]
                if streams:
                    await self._read_page(where, streams)
        finally:
            self._reads -= 1

    async def _read_page(self, where: tuple[Cursor | int, WantedRows], streams: Sequence[Stream]) -> None:
        page = None
        try:
            page = await self._threads.call(partial(read_rows, self._source, *where, MOST_ROWS, BYTES_AT_ONCE))
        except Problem:  # too many wait
            await asyncio.sleep(1)
        except Exception as error:
            for each in streams:
                _abort(each, error)
            return
        for number, stream in enumerate(streams, 1):
            stream.is_reading = False
            if page is not None and stream.is_open and not self._tail.is_cancelled(stream.wanted.registration):
                _guard(stream, partial(self._send_page, stream, page))
            self.queue(stream)
            if number % STREAMS_AT_ONCE == 0:
                await asyncio.sleep(0)

    def _send_page(self, stream: Stream, page: RowPage) -> None:
        if page.lost and not stream.begun:
            stream.send(_resync(page), _before(page.rows[0].cursor) if page.rows else page.end)
        if self._send_events(stream, page.rows):
            stream.send(place_frame(page.end), page.end)

    async def _keep(self) -> None:
        """Show those that heard nothing for long where they are; end those that ended or take nothing."""
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS / LOOKS)
            now = asyncio.get_running_loop().time()
            for each in [each for each in self._open if each.stalled_at is not None]:
                if each.stalled_at is not None and each.stalled_at <= now - STALL_SECONDS and each.transport:
                    each.transport.abort()
            due = [each for each in self._open if each.heard_at <= now - HEARTBEAT_SECONDS and not each.is_due]
            for each in await self._ended_of(due):
                if each.is_open:
                    each.end(_ended(self._tail.end))
            for each in due:
                each.is_due = True
                self.queue(each)

    async def _ended_of(self, streams: Iterable[Stream]) -> Iterable[Stream]:
        asked = [each for each in streams if each.is_live is not None]
        if not asked:
            return ()
        try:
            return await self._threads.call(partial(_all_ended, asked))
        except (Problem, TriplecastError):
            return ()

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)  # the loop itself keeps no task
        task.add_done_callback(self._tasks.discard)


class NotificationStream(Response):
    """An answer that goes on until its reader goes, its subscription ends or the service does."""

    def __init__(
        self, streams: Streams, place: Cursor | int, wanted: WantedRows, is_live: Callable[[], bool] | None
    ) -> None:
        """`is_live` is asked on a thread, now and then; None: for as long as the service lives."""
        super().__init__()
        self._streams = streams
        self._place = place
        self._wanted = wanted
        self._is_live = is_live

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        hand_over = scope["state"][HAND_OVER]()
        if hand_over is not None:
            is_chunked = scope["http_version"] == "1.1"
            stream = Stream(self._streams, self._place, self._wanted, self._is_live, is_chunked)
            self._streams.open(stream, hand_over(stream))


def _guard(stream: Stream, send: Callable[[], None]) -> None:
    """A fault ends this stream alone."""
    try:
        send()
    except Exception as error:
        _abort(stream, error)


def _abort(stream: Stream, error: Exception) -> None:
    if not isinstance(error, TriplecastError):  # the engine is closed, or its disk fails: calls of the engine say so
        logging.getLogger("uvicorn.error").error("a stream of notifications failed", exc_info=error)
    assert stream.transport is not None
    stream.transport.abort()


def _all_ended(streams: Sequence[Stream]) -> Sequence[Stream]:
    return [each for each in streams if each.is_live is not None and not each.is_live()]


def _parts(rows: Iterable[NotificationLine], begun: int) -> Iterator[tuple[bytes, Cursor, bool]]:
    """Their events but for the first bytes, some at a time or a part of one, with the cursor of the last and whether
    that one is whole."""
    some, size, cursor = list[memoryview](), 0, Cursor(0, 0)
    for row in rows:
        frame, begun = memoryview(event_frame(row.line, row.cursor))[begun:], 0
        if some and size + len(frame) > BYTES_AT_ONCE:
            yield b"".join(some), cursor, True
            some, size = [], 0
        while len(frame) > BYTES_AT_ONCE:
            yield bytes(frame[:BYTES_AT_ONCE]), row.cursor, False
            frame = frame[BYTES_AT_ONCE:]
        some.append(frame)
        size, cursor = size + len(frame), row.cursor
    if some:
        yield b"".join(some), cursor, True


def _before(cursor: Cursor) -> Cursor:
    return cursor._replace(sequence=cursor.sequence - 1)


def _resync(page: RowPage) -> bytes:
    return event_frame(json.dumps({"reason": page.lost, "cursor": str(page.end)}), page.end, "resync")


def _ended(cursor: Cursor) -> bytes:
    return event_frame(json.dumps({"reason": "the subscription has ended"}), cursor, "end")
