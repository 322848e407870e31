"""The outbox: what is to be sent, written in one transaction with how far matching has come (docs/journal.md)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from triplecast.database import Database, make_folder, row_number
from triplecast.delivery.batch import OutboxBatch
from triplecast.delivery.tables import (
    OUTBOX,
    RowReader,
    added_rows,
    check_next,
    check_rows,
    fields_checksum,
    verify_fields,
    verify_notification,
)
from triplecast.faults import reach
from triplecast.model.match import publication_key
from triplecast.model.subscription import Registration

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
    f"{_TOLD_WITH.format('undecided')} WHERE undecided.position > ? ORDER BY undecided.position, undecided.registration"
)

_PROGRESS = "SELECT position, sequence, crc FROM (SELECT 1) LEFT JOIN progress"
"""A row of nothing where the row is missing, which no checksum is of; no row only where there is no file."""

_PAGE = 2_000
"""Rows that a reader takes at once; between pages it holds no lock and no snapshot."""
_PRUNED_AT_ONCE = 50_000


def _nobody_else() -> None:
    """Of an outbox that nobody can take over."""


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


class Committed(NamedTuple):
    """What one commit wrote."""

    first: int
    """Sequence of the first new notification; `last` + 1 when there is none."""
    last: int
    dropped: int
    """Rows of publications that were committed before."""
    differing: tuple[int, ...]
    """Positions among those whose rows now differ from the ones committed first, which stay (semantics 9.6)."""


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
        """Every publication up to this journal position has been matched and its rows are here, or have been pruned."""
        return self._progress()[0]

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
        """Undecided pairs of publications at positions beyond `after`, by position and registration."""
        where = self._database.where
        joined = RowReader(where)
        pairs = []
        for row in self._database.ask(_UNDECIDED, (row_number(after, "after"),)):
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

    def _horizon(self) -> int:
        """Up to this position publications may have been pruned."""
        position, crc = self._database.ask_one("SELECT position, crc FROM horizon")
        verify_fields(self._database.where, "horizon", (position,), crc)
        return int(position)


class Outbox(OutboxReader):
    """The writer. There is one, because there is one for the journal beside it.

    What is committed stays under its sequence and id until it is pruned; committing it again adds nothing, even then.
    """

    def __init__(self, database: Database, check_writer: Callable[[], None] = _nobody_else) -> None:
        """`check_writer` raises where another has become the folder's writer; it is asked inside each transaction."""
        super().__init__(database)
        self._check_writer = check_writer
        with self._write():
            pass  # one that began before the folder was taken over has ended now
        self._known: set[int] = {id for (id,) in database.ask("SELECT id FROM registration")}

    @classmethod
    def open(
        cls, folder: Path | str, check_writer: Callable[[], None] = _nobody_else, former: str | None = None
    ) -> Outbox:
        """The outbox in `folder`, made where there is none. Raises `StorageFault`, and `FolderLocked` while `former`,
        from whom the folder was taken over (`Journal.former`), is in the middle of a write."""
        make_folder(Path(folder))
        database = Database.writer(Path(folder) / DATABASE, OUTBOX)
        try:
            if former is not None:
                database.settle(former)
            return cls(database, check_writer)
        except BaseException:
            database.close()
            raise

    @classmethod
    def in_memory(cls) -> Outbox:
        """An outbox that ends with the process."""
        return cls(Database.writer(None, OUTBOX))

    def __enter__(self) -> Outbox:
        return self

    def commit(
        self,
        rows: OutboxBatch,
        upto: int,
        registrations: Callable[[Sequence[int]], Iterable[Registration]],
        after: int | None = None,
    ) -> Committed:
        """Writes the rows of publications beyond `progress`, and `upto` as the new progress, in one synced transaction.

        `registrations` gives name and owner of the ids that the outbox meets for the first time
        (`JournalReader.registrations_of`). `rows` hold all that is told of publications beyond `after` (default:
        `progress`), so that one which had rows and has none now differs. Raises ValueError for a row beyond `upto`.
        """
        if len(rows.positions) and int(rows.positions[-1]) > upto:
            raise ValueError(f"a publication at {rows.positions[-1]} cannot be committed as progress up to {upto}")
        with self._database.lock:
            with self._write():
                done, sequence = self._progress()
                first = int(np.searchsorted(rows.positions, done, side="right"))
                start = int(np.searchsorted(rows.publication, first))
                known = self._write_names(rows, first, start, registrations)
                self._write_rows(rows, first, start, sequence + 1)
                reach("outbox.rows-written")
                last = sequence + len(rows.publication) - start
                reached = (max(done, upto), last)
                crc = fields_checksum("progress", *reached)
                self._database.run("UPDATE progress SET position = ?, sequence = ?, crc = ?", [(*reached, crc)])
                reach("outbox.position-written")
            self._known |= known
            reach("outbox.committed")
            return Committed(sequence + 1, last, start, self._differing(rows, first, after, min(done, upto)))

    def prune(self, upto_sequence: int) -> int:
        """Deletes notifications up to `upto_sequence`, and undecided pairs of the publications that leaves behind.

        Gives how many notifications went. Raises `StorageFault`, also on a full disk, where SQLite cannot delete
        either; what went in the steps before is gone.
        """
        upto_sequence = row_number(upto_sequence, "the sequence to prune to")
        pruned = 0
        while True:
            with self._write():
                rows = self._database.ask(
                    "SELECT sequence, position FROM notification WHERE sequence <= ? ORDER BY sequence LIMIT ?",
                    (upto_sequence, _PRUNED_AT_ONCE),
                )
                if not rows:
                    return pruned
                last, position = rows[-1]
                self._database.run("DELETE FROM notification WHERE sequence <= ?", [(last,)])
                left = self._database.ask("SELECT position FROM notification ORDER BY sequence LIMIT 1")
                self._forget(left[0][0] - 1 if left else position)
                reach("outbox.pruned")
            pruned += len(rows)

    def prune_undecided(self, upto: int) -> int:
        """Deletes the undecided pairs of publications at positions up to `upto`; gives how many. Raises `StorageFault`.

        Notifications stay.
        """
        upto = row_number(upto, "the position to prune to")
        with self._write():
            ((pairs,),) = self._database.ask("SELECT count(*) FROM undecided WHERE position <= ?", (upto,))
            self._forget(min(upto, self.progress))
        return int(pairs)

    def _forget(self, upto: int) -> None:
        """Deletes undecided pairs up to this position, and publications that neither pairs nor notifications need."""
        self._database.run("DELETE FROM undecided WHERE position <= ?", [(upto,)])
        horizon = max(self._horizon(), upto)
        crc = fields_checksum("horizon", horizon)
        self._database.run("UPDATE horizon SET position = ?, crc = ?", [(horizon, crc)])
        needed = self._database.ask("SELECT position FROM notification ORDER BY sequence LIMIT 1")
        first = min(needed[0][0], horizon + 1) if needed else horizon + 1
        self._database.run("DELETE FROM publication WHERE position < ?", [(first,)])

    # ---- inside -----------------------------------------------------------------------------------------------------

    @contextmanager
    def _write(self) -> Iterator[None]:
        """A transaction of the folder's writer."""
        with self._database.write():
            self._check_writer()
            yield

    def _write_names(
        self,
        rows: OutboxBatch,
        first: int,
        start: int,
        registrations: Callable[[Sequence[int]], Iterable[Registration]],
    ) -> set[int]:
        """Ids that were written now; they are known only once the transaction is committed."""
        met = set(np.unique(rows.registration[start:]).tolist())
        met.update(pair.registration for pair in rows.undecided if pair.publication >= first)
        new = sorted(met - self._known)
        names = [(int(found.id), found.subscription.name, found.subscription.owner) for found in registrations(new)]
        self._database.run(
            "INSERT OR IGNORE INTO registration VALUES (?, ?, ?, ?)",
            ((*name, fields_checksum("registration", *name)) for name in names),
        )
        return {name[0] for name in names}

    def _write_rows(self, rows: OutboxBatch, first: int, start: int, sequence: int) -> None:
        told = set(np.unique(rows.publication[start:]).tolist())
        told.update(pair.publication for pair in rows.undecided if pair.publication >= first)
        publications = (
            (int(rows.positions[index]), graph, version, at, publication_key(graph, version), _digest(rows, index))
            for index in sorted(told)
            for graph, version, at in [(rows.graphs[index], rows.versions[index], rows.accepted_at[index])]
        )
        self._database.run(
            "INSERT INTO publication VALUES (?, ?, ?, ?, ?, ?, ?)",
            ((*row, fields_checksum("publication", *row)) for row in publications),
        )
        positions = rows.positions[rows.publication[start:]]
        self._database.run(
            "INSERT INTO notification(sequence, position, registration, bindings, crc) VALUES (?, ?, ?, ?, ?)",
            added_rows(sequence, positions, rows.registration[start:], rows.texts(start)),
        )
        pairs = (
            (int(rows.positions[pair.publication]), int(pair.registration), pair.reason)
            for pair in rows.undecided
            if pair.publication >= first
        )
        self._database.run(
            "INSERT OR IGNORE INTO undecided(position, registration, reason, crc) VALUES (?, ?, ?, ?)",
            ((*pair, fields_checksum("undecided", *pair)) for pair in pairs),
        )

    def _differing(self, rows: OutboxBatch, first: int, after: int | None, upto: int) -> tuple[int, ...]:
        """Of the publications before `first` and those in (`after`, `upto`], all committed earlier, the ones whose rows
        are not those kept. One that is not kept had no rows, unless it may have been pruned."""
        replayed = {int(rows.positions[index]): _digest(rows, index) for index in range(first)}
        begin = min([*replayed, upto + 1 if after is None else after + 1])
        kept: dict[int, bytes] = dict(
            self._database.ask(
                "SELECT position, digest FROM publication WHERE position >= ? AND position <= ?", (begin, upto)
            )
        )
        left_out = [] if after is None else [position for position in kept if position > after]
        horizon = self._horizon()
        nothing = rows.digest(0, 0)
        return tuple(
            position
            for position in sorted({*replayed, *left_out})
            if (position in kept or position > horizon)
            and replayed.get(position, nothing) != kept.get(position, nothing)
        )


def _digest(rows: OutboxBatch, index: int) -> bytes:
    start, end = np.searchsorted(rows.publication, (index, index + 1))
    return rows.digest(int(start), int(end))
