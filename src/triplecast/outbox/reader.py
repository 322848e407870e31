"""Reading an outbox, also while another process writes it (docs/storage.md)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from triplecast.outbox.tables import (
    OUTBOX,
    RowReader,
    check_next,
    check_rows,
    verify_fields,
    verify_notification,
)
from triplecast.sqlite import Database, row_number

DATABASE = "outbox.sqlite"

_TOLD_WITH = (
    "publication.position, graph, version, accepted_at, key, digest, publication.crc,"
    " registration.id, name, owner, registration.crc FROM {0}"
    " LEFT JOIN publication ON publication.position = {0}.position"
    " LEFT JOIN registration ON registration.id = {0}.registration"
)
"""Left joins, so that what is missing is seen."""
_NOTIFICATIONS = (
    "SELECT sequence, notification.position, notification.registration, change, bindings, notification.crc, "
    f"{_TOLD_WITH.format('notification')} WHERE sequence > ? ORDER BY sequence LIMIT ?"
)
_UNDECIDED = (
    "SELECT undecided.position, undecided.registration, reason, undecided.crc, "
    f"{_TOLD_WITH.format('undecided')} WHERE undecided.position > ? AND undecided.position <= ?"
    " ORDER BY undecided.position, undecided.registration"
)

_PROGRESS = "SELECT position, sequence, crc FROM (SELECT 1) LEFT JOIN progress"
"""A row of nothing where the row is missing, which no checksum is of; no row only where there is no file."""

_PAGE = 2_000
"""Rows that a reader takes at once; between pages it holds no lock and no snapshot."""


@dataclass(frozen=True, slots=True)
class Notification:
    """One row of the view ``outbox``."""

    sequence: int
    """Strictly increasing, never given again."""
    id: str
    change: str
    graph: str
    version: int
    registration: int
    name: str
    """The subscriber's id for the subscription."""
    owner: str | None
    bindings: str
    """JSON: a list of objects from variable name to the N-Triples form of its term."""
    accepted_at: str


class UndecidedPair(NamedTuple):
    """A pair that was not decided, under the id that its notification would have had."""

    position: int
    id: str
    graph: str
    version: int
    registration: int
    name: str
    owner: str | None
    reason: str


class Counts(NamedTuple):
    """Rows that are there now, and how far the outbox has come."""

    notifications: int
    publications: int
    undecided: int
    position: int
    sequence: int


class OutboxReader:
    """Reads an outbox, as its writer or from another process; as an empty one while there is none yet.

    Methods may be called from any thread and raise `StorageFault` for a damaged file.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @staticmethod
    def read_only(folder: Path | str) -> OutboxReader:
        """A follower of the outbox in `folder`, which need not exist yet: it takes no lock."""
        return OutboxReader(Database.follower(Path(folder) / DATABASE, OUTBOX))

    def close(self) -> None:
        self._database.close()

    def __enter__(self) -> OutboxReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def progress(self) -> int:
        """Everything that is told of publications up to this journal position is here, or has been pruned."""
        return self._progress()[0]

    @property
    def told(self) -> int:
        """What is decided without operators of publications up to this journal position is here; what they are still
        asked about is `waiting`. Never before `progress`."""
        return self._told()

    def waiting(self, limit: int, after: int = 0) -> list[int]:
        """The first positions beyond `after`, at most `limit`, of publications with pairs that operators are asked
        about."""
        statement = "SELECT DISTINCT position FROM waiting WHERE position > ? ORDER BY position LIMIT ?"
        return [position for (position,) in self._database.ask(statement, (after, limit))]

    def waiting_in(self, after: int, upto: int) -> list[int]:
        """Positions in (`after`, `upto`] of publications with pairs that operators are asked about."""
        statement = "SELECT DISTINCT position FROM waiting WHERE position > ? AND position <= ? ORDER BY position"
        return [position for (position,) in self._database.ask(statement, (after, upto))]

    def notifications(self, since: int = 0, limit: int | None = None) -> Iterator[Notification]:
        """Notifications after sequence `since`, in order, as far as they are there when their page is read.

        Raises `StorageFault` at the first that is damaged or missing, `InputError` for numbers that cannot be.
        """
        return self._notifications(row_number(since, "since"), None if limit is None else row_number(limit, "limit"))

    def _notifications(self, since: int, limit: int | None) -> Iterator[Notification]:
        while limit is None or limit > 0:
            page = _PAGE if limit is None else min(limit, _PAGE)
            rows = self._database.ask(_NOTIFICATIONS, (since, page))
            yield from self._verified(rows)
            if len(rows) < page:
                return
            since = rows[-1][0]
            limit = None if limit is None else limit - page

    def _verified(self, rows: Sequence[tuple[Any, ...]]) -> Iterator[Notification]:
        where = self._database.where
        joined = RowReader(where)
        before = None
        for row in rows:
            sequence, position, registration, change, bindings, crc = row[:6]
            verify_notification(where, (sequence, position, registration, change, bindings), crc)
            check_next(where, before, sequence)
            joined.verify_joined(f"notification {sequence}", position, row[6:13], row[13:])
            before = sequence
            _, graph, version, accepted_at, key, _, _, _, name, owner, _ = row[6:]
            yield Notification(
                sequence,
                f"{key}-{registration}",
                "removed" if change else "added",
                graph,
                version,
                registration,
                name,
                owner,
                bindings,
                accepted_at,
            )

    def undecided(self, after: int = 0) -> list[UndecidedPair]:
        """Undecided pairs of publications at positions beyond `after`, by position and registration, as far as
        everything is told (`progress`): so none comes before one that was seen already."""
        where = self._database.where
        joined = RowReader(where)
        pairs = []
        with self._database.reading():
            rows = self._database.ask(_UNDECIDED, (row_number(after, "after"), self.progress))
        for row in rows:
            position, registration, reason, crc = row[:4]
            verify_fields(where, "undecided", row[:3], crc)
            joined.verify_joined(f"an undecided pair of {position}", position, row[4:11], row[11:])
            _, graph, version, _, key, _, _, _, name, owner, _ = row[4:]
            id = f"{key}-{registration}"
            pairs.append(UndecidedPair(position, id, graph, version, registration, name, owner, reason))
        return pairs

    def counts(self) -> Counts:
        """Notifications are counted by their sequences, which have no gaps: only the first ones are ever pruned."""
        position, sequence = self._progress()
        first = self._database.ask("SELECT min(sequence) FROM notification")
        notifications = sequence - first[0][0] + 1 if first and first[0][0] is not None else 0
        publications, undecided = (
            int((self._database.ask(f"SELECT count(*) FROM {table}") or [(0,)])[0][0])
            for table in ("publication", "undecided")
        )
        return Counts(notifications, publications, undecided, position, sequence)

    def check(self) -> None:
        """Reads every page and row; raises `StorageFault` for the first that is malformed, damaged or missing."""
        with self._database.reading():
            self._database.check_pages()
            check_rows(self._database)

    def _progress(self) -> tuple[int, int]:
        for position, sequence, crc in self._database.ask(_PROGRESS):
            verify_fields(self._database.where, "progress", (position, sequence), crc)
            return position, sequence
        return 0, 0

    def _told(self) -> int:
        for position, crc in self._database.ask("SELECT position, crc FROM (SELECT 1) LEFT JOIN told"):
            verify_fields(self._database.where, "told", (position,), crc)
            return int(position)
        return 0

    def _horizon(self) -> int:
        """Up to this position publications may have been pruned."""
        position, crc = self._database.ask_one("SELECT position, crc FROM horizon")
        verify_fields(self._database.where, "horizon", (position,), crc)
        return int(position)
