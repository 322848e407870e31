"""Following a service's notifications over connections that break: where a reader is, and when it tries again."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import httpx

from triplecast.client.answers import RemoteNotification
from triplecast.client.calls import Reading, Reply, ServiceCall, check
from triplecast.client.events import EventReader, StreamEvent
from triplecast.errors import HistoryPruned, InputError, ServiceRefused

SILENT_SECONDS = 45.0
"""Without even a heartbeat, a stream is taken for broken."""
_FIRST_WAIT, _LONGEST_WAIT = 0.25, 30.0
"""Seconds between two attempts to connect, unless the service says more."""
_TOLD_WAIT = 300.0


class Follower:
    """One reader. It counts as having read what it has handed out."""

    def __init__(self, since: str | int, reading: Reading) -> None:
        self._place = str(since)
        self._reading = reading
        self._seconds = _FIRST_WAIT
        self._events = EventReader()

    def connect(self, timeout: httpx.Timeout) -> tuple[ServiceCall[Reply], httpx.Timeout]:
        """The request that goes on from where the reader is, and how long each part of its answer may take."""
        self._events = EventReader(self._place)
        call = self._reading.call(self._place, "text/event-stream", check)
        return call, httpx.Timeout(connect=timeout.connect, read=SILENT_SECONDS, write=timeout.write, pool=timeout.pool)

    def read(self, received: bytes) -> Iterator[RemoteNotification]:
        """Yield the notifications that end in what was received. Raises `HistoryPruned`, and `InputError` once the
        subscription has ended."""
        for event in self._events.read(received):
            self._seconds = _FIRST_WAIT
            self._place = event.id or self._place
            if event.name == "message":
                yield RemoteNotification.of(json.loads(event.data))
            elif event.name in ("resync", "end"):
                raise _ended(event)

    def pause(self, error: Exception | None) -> float:
        """Seconds to wait before connecting again, after an `error` or the end of a stream. Raises an error that will
        be no other."""
        if isinstance(error, ServiceRefused):
            if error.status not in (408, 429) and error.status < 500:
                raise error
            if error.retry_after is not None:
                return min(error.retry_after, _TOLD_WAIT)
        self._seconds = min(2 * self._seconds, _LONGEST_WAIT)
        return self._seconds * random.uniform(0.5, 1.0)


def _ended(event: StreamEvent) -> Exception:
    reason = str(json.loads(event.data).get("reason", ""))
    return HistoryPruned(event.id, reason) if event.name == "resync" else InputError(reason, "subscribe again")
