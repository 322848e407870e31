"""The end of the outbox, read once for everybody who follows it: a reader is a cursor, never a thread."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from triplecast.engine.serving import NotificationSource
from triplecast.errors import InputError, TriplecastError
from triplecast.journal import JournalFile
from triplecast.outbox import Cursor
from triplecast.outbox.json_lines import NotificationLine
from triplecast.outbox.recent_rows import RecentRows, WantedRows

LOOK_SECONDS = 0.5
"""Between two looks where nobody says that something was recorded."""
ROWS_AT_ONCE = 2_000

_Key = tuple[str | None, str | None]
"""The id, or the owner, by which readers wait; nothing: for all."""
_DOCUMENTS: _Key = ("", "")
"""By which those wait that read the log of documents; no id is empty."""


class Tail:
    """The last notifications, and the end of waiting for later ones.

    Everything but the watcher is of the event loop's thread. What a reader gets is decided by its cursor
    alone, and to look and to begin to wait is one step there: so nothing is recorded in between.
    """

    def __init__(self, source: NotificationSource, journal: JournalFile) -> None:
        self._source = source
        self._journal = journal
        self._position = 0
        """Of the journal's last record when it was looked at for documents."""
        self._recent = RecentRows(Cursor(0, 0))
        self._waiting: defaultdict[_Key, set[Callable[[], None]]] = defaultdict(set)
        """What is called when there may be something;"""
        self._last: dict[_Key, int] = {}
        """the last sequence at which these may have something."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._nudged = threading.Event()
        self._taken = threading.Event()
        self._ended = False
        self._read: Counter[int | None] = Counter()
        """How many streams read each registration alone, and how many none;"""
        self._cancelled: set[int | None] = set()
        """those of these registrations that were cancelled."""

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        state = self._source.outbox.state
        self._recent = RecentRows(Cursor(state.epoch, state.sequence))
        self._position = self._journal.head()
        self._stop_listening = self._source.commits.listen(self._nudged.set)
        self._thread = threading.Thread(target=self._watch, args=(self._recent.end,), name="triplecast-tail")
        self._thread.start()

    def finish(self) -> None:
        """Whoever waits is woken, and finds `is_ended`."""
        self._ended = True
        for each in (self._nudged, self._taken):
            each.set()
        self._wake(set(self._waiting))

    def stop(self) -> None:
        self.finish()
        if self._thread is not None:
            self._stop_listening()
            self._thread.join()

    @property
    def is_ended(self) -> bool:
        return self._ended

    @property
    def end(self) -> Cursor:
        """Of the last notification."""
        return self._recent.end

    @property
    def sequence(self) -> int:
        return self._recent.end.sequence

    def after(self, place: Cursor, wanted: WantedRows) -> Sequence[NotificationLine] | None:
        """The rows beyond a place, up to `end`; None where there may be some further back than is kept."""
        last = self._last.get(_key_of(wanted))
        is_all = last is not None and last <= place.sequence and place.epoch == self.end.epoch
        return [] if is_all else self._recent.after(place, wanted)

    async def wait(self, place: Cursor, wanted: WantedRows, seconds: float) -> None:
        """Until there may be something beyond a place, the tail has ended, or the `seconds` are over."""
        await self.wait_any([(place, wanted)], seconds)

    async def wait_any(self, readers: Sequence[tuple[Cursor, WantedRows]], seconds: float) -> None:
        """The same of one reader of several kinds of notifications."""
        if all((found := self.after(*each)) is not None and not found for each in readers):
            await self._wait({_key_of(wanted) for _, wanted in readers}, seconds)

    async def wait_documents(self, position: int, seconds: float) -> None:
        """The same for what the journal has beyond a position."""
        if self._position <= position:
            await self._wait({_DOCUMENTS}, seconds)

    async def _wait(self, keys: Collection[_Key], seconds: float) -> None:
        if self._ended or self._loop is None:
            return
        waiting = self._loop.create_future()
        wake = partial(_wake, waiting)
        timer = self._loop.call_later(seconds, wake)
        self._listen(keys, wake)
        try:
            await waiting
        finally:
            timer.cancel()
            self._ignore(keys, wake)

    @property
    def streams(self) -> int:
        """How many are open."""
        return self._read.total()

    def enter(self, wanted: WantedRows, wake: Callable[[], None]) -> None:
        """Until a stream leaves, `wake` is called whenever there may be something for it, or the tail has ended."""
        self._read[wanted.registration] += 1
        self._listen([_key_of(wanted)], wake)

    def leave(self, wanted: WantedRows, wake: Callable[[], None]) -> None:
        self._ignore([_key_of(wanted)], wake)
        self._forget_reader(wanted.registration)

    @contextmanager
    def reading(self, registration: int | None) -> Iterator[None]:
        """While a stream is open that waits by itself, and may read one registration alone."""
        self._read[registration] += 1
        try:
            yield
        finally:
            self._forget_reader(registration)

    def _forget_reader(self, registration: int | None) -> None:
        self._read[registration] -= 1
        if not self._read[registration]:
            del self._read[registration]
            self._cancelled.discard(registration)

    def cancel(self, subscription: str, registration: int) -> None:
        """Streams of a registration end before anything more is sent."""
        if registration in self._read:
            self._cancelled.add(registration)
            self._wake({(subscription, None)})

    def is_cancelled(self, registration: int | None) -> bool:
        return registration in self._cancelled

    def _listen(self, keys: Collection[_Key], wake: Callable[[], None]) -> None:
        for key in keys:
            self._waiting[key].add(wake)
            self._last.setdefault(key, self.sequence)

    def _ignore(self, keys: Collection[_Key], wake: Callable[[], None]) -> None:
        for key in keys:
            self._waiting[key].discard(wake)
            if not self._waiting[key]:
                del self._waiting[key], self._last[key]

    def _watch(self, place: Cursor) -> None:
        assert self._loop is not None
        while not self._ended:
            self._nudged.wait(LOOK_SECONDS)
            self._nudged.clear()
            self._look_for_documents()
            has_more = True
            while has_more and not self._ended:
                try:
                    found = self._source.outbox.json_rows(place, ROWS_AT_ONCE, definitions=self._source.definitions())
                    rows = [*found]
                except InputError:  # of another epoch
                    state = self._source.outbox.state
                    place, rows = Cursor(state.epoch, state.sequence), []
                except TriplecastError:  # the engine is closed, or its disk fails: calls of the engine say so
                    break
                has_more = len(rows) == ROWS_AT_ONCE
                if rows:
                    place = rows[-1].cursor
                    self._taken.clear()
                    if not self._ended:  # which sets it, for the last time
                        self._loop.call_soon_threadsafe(self._take, rows)
                        self._taken.wait()

    def _look_for_documents(self) -> None:
        assert self._loop is not None
        try:
            head = self._journal.head()
            has_more = head > self._position and self._journal.next_document(self._position) is not None
        except TriplecastError:
            return
        self._position = head
        if has_more and not self._ended:
            self._loop.call_soon_threadsafe(self._wake, [_DOCUMENTS])

    def _take(self, rows: Sequence[NotificationLine]) -> None:
        last: dict[_Key, int] = {}
        for row in rows:
            last[row.subscription, None] = last[None, row.owner] = row.cursor.sequence
        last[None, None] = rows[-1].cursor.sequence
        if rows[-1].cursor != (self.end.epoch, self.end.sequence + len(rows)):  # nobody knows whose rows are missing
            self._last = dict.fromkeys(self._last, rows[-1].cursor.sequence)
        self._last.update((key, sequence) for key, sequence in last.items() if key in self._last)
        self._recent.extend(rows)
        self._wake(last)
        self._taken.set()

    def _wake(self, keys: Iterable[_Key]) -> None:
        for key in keys:
            for wake in tuple(self._waiting.get(key, ())):
                wake()


def _key_of(wanted: WantedRows) -> _Key:
    return (wanted.subscription, None) if wanted.subscription is not None else (None, wanted.owner)


def _wake(waiting: asyncio.Future[None]) -> None:
    if not waiting.done():
        waiting.set_result(None)
