"""One watcher of the outbox that wakes whoever waits for notifications: a reader is a cursor, never a thread."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from triplecast.errors import TriplecastError

LOOK_SECONDS = 0.2
"""Between two looks where nobody says that something was recorded: other threads of this process may write."""


class Tail:
    """The sequence of the last notification, and the end of waiting for a later one.

    Everything but `nudge` and the watcher is of the event loop's thread.
    """

    def __init__(self, read: Callable[[], int]) -> None:
        """`read` returns the sequence; it is called on a thread of the tail's own and may wait for the disk."""
        self._read = read
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._nudged = threading.Event()
        self._ended = False
        self._changed = asyncio.Event()
        self.sequence = 0
        """Of the last notification that is recorded; it never falls."""

    def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._changed = asyncio.Event()
        self.sequence = self._read()
        self._thread = threading.Thread(target=self._watch, name="triplecast-tail", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Whoever waits is woken, and finds `is_ended`."""
        self._ended = True
        self._nudged.set()
        if self._thread is not None:
            self._thread.join()
        self._advance(self.sequence)

    @property
    def is_ended(self) -> bool:
        return self._ended

    def nudge(self) -> None:
        """Something may have been recorded. From any thread."""
        self._nudged.set()

    async def wait_beyond(self, sequence: int, timeout: float | None = None) -> int:
        """The last sequence, once it is beyond `sequence`, the tail has ended, or `timeout` seconds are over."""
        try:
            async with asyncio.timeout(timeout):
                while self.sequence <= sequence and not self._ended:
                    await self._changed.wait()
        except TimeoutError:
            pass
        return self.sequence

    def _watch(self) -> None:
        assert self._loop is not None
        while not self._ended:
            self._nudged.wait(LOOK_SECONDS)
            self._nudged.clear()
            try:
                found = self._read()
            except TriplecastError:  # the engine is closed, or its disk fails: calls of the engine say so
                continue
            if found > self.sequence and not self._ended:
                self._loop.call_soon_threadsafe(self._advance, found)

    def _advance(self, sequence: int) -> None:
        self.sequence = max(sequence, self.sequence)
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()
