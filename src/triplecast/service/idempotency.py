"""Answers to requests with an ``Idempotency-Key``, kept for a while: the same request again is answered alike.

A key is noted, synced, before its request is done and gets the answer afterwards. What a crash interrupted in between
is found as *unfinished*, with the journal's position from before it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from triplecast.service.problems import Problem
from triplecast.sqlite import Format, SqliteFile

DATABASE = "service.sqlite"
MOST = 1_000_000
"""Answers that are kept, in"""
MOST_BYTES = 1 << 30
"""of the file; beyond, the oldest go before their time."""
LONGEST_KEY = 255
SERVICE = Format(
    application=0x54524131,
    version=1,
    schema="""
CREATE TABLE answer(
    number INTEGER PRIMARY KEY, owner TEXT NOT NULL, key TEXT NOT NULL, request BLOB NOT NULL, at INTEGER NOT NULL,
    position INTEGER NOT NULL, status INTEGER NOT NULL, headers TEXT NOT NULL, body BLOB NOT NULL);
CREATE UNIQUE INDEX answer_key ON answer(owner, key);
CREATE INDEX answer_at ON answer(at)""",
    repair="delete it: answers kept for an Idempotency-Key are forgotten, nothing else is in it",
)


@dataclass(frozen=True, slots=True)
class Unfinished:
    """A request that was begun when the journal ended at `position`, and never answered."""

    position: int


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    status: int
    headers: str
    """JSON."""
    body: bytes


class KeptAnswers:
    """May be used from any thread; raises `StorageFault`."""

    def __init__(
        self, folder: Path | None, seconds: float, clock: Callable[[], float] = time.time, most_bytes: int = MOST_BYTES
    ) -> None:
        """In memory without a folder. Answers are kept for `seconds`."""
        self._most_bytes = most_bytes
        self._database = SqliteFile.writer(None if folder is None else folder / DATABASE, SERVICE)
        self._seconds = seconds
        self._clock = clock
        self._running: set[tuple[str, str]] = set()
        self._lock = Lock()

    def close(self) -> None:
        self._database.close()

    def begin(self, owner: str, key: str, request: bytes, position: int) -> KeptAnswer | Unfinished | None:
        """Note that a request, known by a digest, is being done; or return how it was answered, or that this is not
        known. Raises `Problem` 409 while it is being done, 422 where the key is another request's."""
        if not 0 < len(key) <= LONGEST_KEY:
            raise Problem(400, "the Idempotency-Key is too long", mend=f"send 1 to {LONGEST_KEY} characters")
        now = int(self._clock())
        with self._lock:
            if (owner, key) in self._running:
                raise Problem(409, "a request with this Idempotency-Key is being done", mend="send it again later")
            found = self._database.ask(
                "SELECT request, position, status, headers, body FROM answer WHERE owner = ? AND key = ? AND at > ?",
                (owner, key, now - self._seconds),
            )
            for known, before, status, headers, body in found:
                if known != request:
                    raise Problem(
                        422, "the Idempotency-Key belongs to another request", mend="send a new key with a new request"
                    )
                if status:
                    return KeptAnswer(status, headers, body)
                self._running.add((owner, key))
                return Unfinished(before)
            with self._database.write():
                last = "(SELECT coalesce(max(number), 0) FROM answer)"
                self._database.run(
                    f"DELETE FROM answer WHERE at <= ? OR number <= {last} - {MOST}", [(now - self._seconds,)]
                )
                if self._used() > self._most_bytes:
                    tenth = "SELECT number FROM answer ORDER BY number LIMIT 1 + (SELECT count(*) / 10 FROM answer)"
                    self._database.run(f"DELETE FROM answer WHERE number IN ({tenth})", [()])
                row = (owner, key, request, now, position, 0, "", b"")
                self._database.run(
                    "INSERT INTO answer(owner, key, request, at, position, status, headers, body) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [row],
                )
            self._running.add((owner, key))
            return None

    def end(self, owner: str, key: str, answer: KeptAnswer | None) -> None:
        """Keep the answer; without one, forget the request: it was not done and may be sent again."""
        try:
            with self._database.write(synced=False):  # lost with the machine, it is unfinished
                if answer is None:
                    self._database.run("DELETE FROM answer WHERE owner = ? AND key = ?", [(owner, key)])
                else:
                    self._database.run(
                        "UPDATE answer SET status = ?, headers = ?, body = ? WHERE owner = ? AND key = ?",
                        [(answer.status, answer.headers, answer.body, owner, key)],
                    )
        finally:
            with self._lock:
                self._running.discard((owner, key))

    def _used(self) -> int:
        """Bytes of the file that hold something."""
        pages, free, size = (
            int(self._database.ask_one(f"PRAGMA {name}")[0]) for name in ("page_count", "freelist_count", "page_size")
        )
        return (pages - free) * size
