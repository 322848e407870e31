"""Reading the journal: by its writer, and by followers that take no lock."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from triplecast.database import check_pages, open_reader, storage_faults
from triplecast.errors import StorageFault
from triplecast.journal.record import (
    JOURNAL,
    REGISTRY_KINDS,
    Kind,
    Row,
    read_publication,
    read_registration,
    read_reject,
    time_text,
    verify,
    verify_row,
)
from triplecast.model.publication import Publication, Reject
from triplecast.model.subscription import Registration, RegistrationId

DATABASE = "journal.sqlite"


class SourceState(NamedTuple):
    """What the inbox watcher knows of a file it has taken."""

    size: int
    mtime_ns: int
    digest: bytes
    """Of the file's bytes, by whatever hash the watcher uses."""
    outcome: str
    """What became of it, in the watcher's own words (``accepted``, ``rejected`` …)."""


class Rejected(NamedTuple):
    position: int
    rejected_at: str
    reject: Reject


class RegistryChanges(NamedTuple):
    """What happened to the registry in a range of positions; who came and went within it stands in both."""

    added: list[Registration]
    """By position; `Registration.removed` is set when the removal is within the range too."""
    removed: list[tuple[RegistrationId, int]]
    """Registration and the position of its removal, by position."""


class JournalReader:
    """The records up to now, each verified by its checksum as it is read.

    Whatever a statement sees is whole commits. Methods may be called from any thread; they raise `StorageFault` for a
    damaged record. While there is no journal yet, it reads as an empty one.
    """

    def __init__(self, path: Path | None, connection: sqlite3.Connection | None) -> None:
        self._path = path
        self._where = str(path or "memory")
        self._open = connection
        self._lock = threading.RLock()

    @classmethod
    def follow(cls, folder: Path | str) -> JournalReader:
        """A reader of the journal in `folder`, which need not exist yet."""
        return cls(Path(folder) / DATABASE, None)

    def close(self) -> None:
        with self._lock:
            if self._open is not None:
                self._open.close()
                self._open = None

    def __enter__(self) -> JournalReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def head(self) -> int:
        """The last position written; 0 when nothing is."""
        rows = self._ask("SELECT max(position) FROM record")
        return int(rows[0][0] or 0) if rows else 0

    def publications(self, after: int, upto: int, limit: int | None = None) -> list[Publication]:
        """Publications at positions in (after, upto], by position, at most `limit`."""
        rows = self._rows(
            f"SELECT * FROM record WHERE position > ? AND position <= ? AND kind = {Kind.PUBLICATION:d}"
            " ORDER BY position LIMIT ?",
            (after, upto, -1 if limit is None else limit),
        )
        return self._as_publications(rows)

    def last_publications(self, count: int) -> list[Publication]:
        """The `count` newest publications, by position."""
        rows = self._rows(
            f"SELECT * FROM record WHERE kind = {Kind.PUBLICATION:d} ORDER BY position DESC LIMIT ?", (count,)
        )
        return self._as_publications(rows[::-1])

    def registry_changes(self, after: int, upto: int) -> RegistryChanges:
        """What changed at positions in (after, upto]."""
        rows = self._rows(
            f"SELECT * FROM record WHERE position > ? AND position <= ? AND kind IN {REGISTRY_KINDS} ORDER BY position",
            (after, upto),
        )
        removed = {row.number: row.position for row in rows if row.kind == Kind.CANCELLATION}
        added = [read_registration(row, removed.get(row.position)) for row in rows if row.kind == Kind.SUBSCRIPTION]
        return RegistryChanges(added, [(RegistrationId(id), position) for id, position in removed.items()])

    def next_registry_change(self, after: int) -> int | None:
        """The first position beyond `after` that changes the registry."""
        rows = self._ask(f"SELECT min(position) FROM record WHERE position > ? AND kind IN {REGISTRY_KINDS}", (after,))
        return None if not rows or rows[0][0] is None else int(rows[0][0])

    def registrations(self, at: int | None = None) -> list[Registration]:
        """Those that a publication at the next position after `at` (default: the head) is asked of, by id."""
        changes = self.registry_changes(0, 2**62 if at is None else at)
        return [registration for registration in changes.added if registration.removed is None]

    def registration(self, id: int) -> Registration | None:
        """The registration `id`, live or cancelled, as of now; None where there never was one."""
        return next(iter(self.registrations_of([id])), None)

    def registrations_of(self, ids: Sequence[int]) -> Iterator[Registration]:
        """The registrations among `ids`, as of now, in the order asked for."""
        with self._lock:
            for id in ids:
                for row in self._rows(
                    f"SELECT * FROM record WHERE position = ? AND kind = {Kind.SUBSCRIPTION:d}", (id,)
                ):
                    yield read_registration(row, self._cancelled_at(id))

    def live_registration(self, name: str) -> Registration | None:
        """The registration that is live under the subscriber's `name`."""
        with self._lock:
            id = self._live_id(name)
            return None if id is None else self.registration(id)

    def rejects(self, after: int = 0) -> list[Rejected]:
        """What was rejected at positions beyond `after`, by position."""
        rows = self._rows(
            f"SELECT * FROM record WHERE position > ? AND kind = {Kind.REJECT:d} ORDER BY position", (after,)
        )
        return [Rejected(row.position, time_text(row.written_at), read_reject(row)) for row in rows]

    def sources(self) -> dict[str, SourceState]:
        """Files that the inbox watcher has taken, by path."""
        states = {}
        for path, size, mtime_ns, digest, outcome, crc in self._ask("SELECT * FROM source ORDER BY path"):
            verify(crc, self._where, f"source {path}", f"{path}\n{outcome}", (size, mtime_ns), digest)
            states[path] = SourceState(size, mtime_ns, digest, outcome)
        return states

    def check(self) -> None:
        """Reads everything. Raises `StorageFault` for the first page, record or repeated fact that is wrong."""
        with self._lock:
            connection = self._connection()
            if connection is None:
                return
            check_pages(connection, self._path)
            self.sources()
            latest: dict[str, tuple[int, int]] = {}
            live: dict[str, int] = {}
            for row in self._each("SELECT * FROM record ORDER BY position"):
                if row.kind in (Kind.PUBLICATION, Kind.REMOVAL):
                    latest[row.name] = (row.number, row.position)
                elif row.kind == Kind.SUBSCRIPTION:
                    live[row.name] = row.position
                elif row.kind == Kind.CANCELLATION:
                    del live[row.name]
            documents = {
                graph: (version, at)
                for graph, version, at in self._ask("SELECT graph, version, position FROM document")
            }
            if documents != latest or dict(self._ask("SELECT name, registration FROM live")) != live:
                raise StorageFault(self._where, "its tables contradict its records", "restore the folder from a copy")

    # ---- inside -----------------------------------------------------------------------------------------------------

    def _connection(self) -> sqlite3.Connection | None:
        if self._open is None and self._path is not None:
            self._open = open_reader(self._path, JOURNAL)
        return self._open

    def _ask(self, statement: str, values: Sequence[object] = ()) -> list[Any]:
        with self._lock, storage_faults(self._path):
            connection = self._connection()
            return [] if connection is None else connection.execute(statement, tuple(values)).fetchall()

    def _rows(self, statement: str, values: Sequence[object] = ()) -> list[Row]:
        return [verify_row(fields, self._where) for fields in self._ask(statement, values)]

    def _each(self, statement: str) -> Iterator[Row]:
        connection = self._connection()
        if connection is not None:
            with storage_faults(self._path):
                for fields in connection.execute(statement):
                    yield verify_row(fields, self._where)

    def _as_publications(self, rows: Sequence[Row]) -> list[Publication]:
        texts = {at: time_text(at) for at in {row.written_at for row in rows}}
        return [read_publication(row, texts[row.written_at]) for row in rows]

    def _live_id(self, name: str) -> int | None:
        for id, crc in self._ask("SELECT registration, crc FROM live WHERE name = ?", (name,)):
            verify(crc, self._where, f"the entry of subscription {name}", name, (id,))
            return int(id)
        return None

    def _cancelled_at(self, id: int) -> int | None:
        for position, crc in self._ask("SELECT position, crc FROM cancelled WHERE registration = ?", (id,)):
            verify(crc, self._where, f"the cancellation of {id}", "", (id, position))
            return int(position)
        return None
