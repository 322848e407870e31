"""Reading an outbox, also while another process writes it (docs/storage.md)."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, SupportsIndex

from triplecast.end_mark import read_end_mark
from triplecast.errors import InputError, StorageFault
from triplecast.model.match import CHANGES, pair_id
from triplecast.model.operators import NO_OPERATORS
from triplecast.outbox.notification import Cursor, Definitions, Notification, UndecidedPair
from triplecast.outbox.tables import (
    FIELDS,
    NOTIFICATION,
    OUTBOX,
    RESTORE,
    OutboxFile,
    Pending,
    State,
    Value,
    damaged,
    notification_checksum,
    read_pending,
    verify_fields,
)
from triplecast.sqlite import SqliteFile, row_number

DATABASE = "outbox.sqlite"
END = "outbox.end"

_JOINED = (
    "publication.position, graph, version, accepted_at, key, digest, publication.crc,"
    " registration.id, name, owner, registration.crc FROM {0}"
    " LEFT JOIN publication ON publication.position = {0}.position"
    " LEFT JOIN registration ON registration.id = {0}.registration"
)
"""Left joins, so that a missing row is seen."""
_NOTIFICATIONS = (
    "SELECT sequence, notification.position, notification.registration, change, bindings, notification.crc, "
    f"{_JOINED.format('notification')} WHERE sequence > ? AND sequence <= ?{{0}} ORDER BY sequence LIMIT ?"
)
_OF = " AND (registration.id IS NULL OR {0} = ?)"
"""Keeps a row whose registration is missing, so that it is seen; and the order of the join, by sequence."""
_COUNTED = "SELECT count(*) FROM notification WHERE sequence > ? AND sequence <= ?"
_UNDECIDED = (
    "SELECT undecided.position, undecided.registration, reason, undecided.crc, "
    f"{_JOINED.format('undecided')} WHERE undecided.position > ? AND undecided.position <= ?"
    " ORDER BY undecided.position, undecided.registration"
)

_READ_AGAIN = "read again from 0 and leave out what you have by its `id`, which stays the same"
_PAGE = 2_000
"""Rows that a reader takes at once; between pages it holds no lock and no snapshot."""
_SCANNED = 100_000
"""Rows that one statement looks at for those of a subscription or an owner: they have no index of their own, which
every commit would have to pay for."""


def nobody_else() -> None:
    """The check of an outbox that nobody can take over."""


class Counts(NamedTuple):
    """Rows that are there now, and how far the outbox has come."""

    notifications: int
    publications: int
    undecided: int
    position: int
    sequence: int


class OutboxReader(OutboxFile):
    """Reads an outbox, as its writer or from another process; as an empty one while there is none yet.

    Methods may be called from any thread and raise `StorageFault` for a damaged file, and for one that ends before
    what its end mark says was committed.
    """

    def __init__(self, database: SqliteFile, check_writer: Callable[[], None] = nobody_else) -> None:
        """`check_writer` raises where another has become the folder's writer: what a writer knows is old then."""
        super().__init__(database)
        self._check_writer = check_writer

    @staticmethod
    def read_only(folder: Path | str) -> OutboxReader:
        """Return a follower of the outbox in `folder`, which need not exist yet. It takes no lock."""
        return OutboxReader(SqliteFile.follower(Path(folder) / DATABASE, OUTBOX))

    def pending(self, after: int, limit: int) -> Pending:
        """Return the first positions beyond `after`, at most `limit`, of publications with pending pairs, these pairs,
        and what is known of them."""
        with self._database.reading():
            return read_pending(self._database, after, limit)

    def count_pending(self) -> int:
        """Return how many publications have pending pairs."""
        return sum(count for (count,) in self._database.ask("SELECT count(DISTINCT position) FROM open_pair"))

    def notifications(
        self,
        since: Cursor | str | SupportsIndex = 0,
        limit: int | None = None,
        subscription: str | None = None,
        owner: str | None = None,
        definitions: Definitions | None = None,
    ) -> Iterator[Notification]:
        """Return the notifications after `since` (a sequence, or a cursor), in order, as far as they are there when
        their page is read; only those of a `subscription`'s id and of an `owner`, if given. They have their queries
        where `definitions` are given.

        Raises `StorageFault` at the first that is damaged or missing, `InputError` for numbers that cannot be and for a
        cursor of an earlier epoch.
        """
        most = None if limit is None else row_number(limit, "limit")
        return self._notifications(Cursor.of(since), most, {"name": subscription, "owner": owner}, definitions)

    def _notifications(
        self, since: Cursor | int, limit: int | None, wanted: dict[str, str | None], definitions: Definitions | None
    ) -> Iterator[Notification]:
        mark = _read_mark(self._database.where)
        sequence = since.sequence if isinstance(since, Cursor) else since
        values = [value for value in wanted.values() if value is not None]
        statement = _NOTIFICATIONS.format("".join(_OF.format(name) for name in wanted if wanted[name] is not None))
        while limit is None or limit > 0:
            page = _PAGE if limit is None else min(limit, _PAGE)
            with self._database.reading():
                state = self.state
                last = min(sequence + _SCANNED, state.sequence) if values else (1 << 63) - 1
                rows = self._database.ask(statement, (sequence, last, *values, page))
                end = rows[-1][0] if len(rows) == page else min(last, state.sequence)
                before = max(sequence, state.pruned)
                there = self._database.ask(_COUNTED, (sequence, end))[0][0] if values and end > sequence else len(rows)
            self._check_writer()
            check_mark(self._database.where, state, mark)
            if isinstance(since, Cursor) and since.epoch != state.epoch:
                raise InputError(
                    f"{since} is a cursor of epoch {since.epoch}, and the outbox is in epoch {state.epoch}: "
                    "notifications were lost since and recorded again under other sequences",
                    _READ_AGAIN,
                )
            if isinstance(since, Cursor) and since.sequence > state.sequence:
                raise InputError(
                    f"{since} is beyond the last notification, {state.sequence}: the outbox is an older copy",
                    _READ_AGAIN,
                )
            yield from self._verified(rows, state.epoch, None if values else before, definitions)
            if there != max(0, end - before):
                what = (
                    f"a notification of {before + 1} to {end}" if values else f"notification {before + len(rows) + 1}"
                )
                raise missing(self._database.where, what, "the sequence")
            if end >= state.sequence:
                return
            sequence = end
            limit = None if limit is None else limit - len(rows)

    def _verified(
        self, rows: Sequence[tuple[Any, ...]], epoch: int, before: int | None, definitions: Definitions | None
    ) -> Iterator[Notification]:
        """`before`: the sequence that these follow without a gap, if they do."""
        where = self._database.where
        joined = RowReader(where)
        registrations = definitions.registrations(sorted({row[2] for row in rows})) if definitions and rows else ()
        defined = {int(each.id): each.subscription for each in registrations}
        operators = definitions.operators if definitions else NO_OPERATORS
        for row in rows:
            sequence, position, registration, change, bindings, crc = row[:6]
            verify_notification(where, (sequence, position, registration, change, bindings), crc)
            before = before if before is None else check_next(where, before, sequence)
            joined.verify_joined(f"notification {sequence}", position, row[6:13], row[13:])
            _, graph, version, accepted_at, key, _, _, _, name, owner, _ = row[6:]
            yield Notification(
                Cursor(epoch, sequence),
                pair_id(key, registration, CHANGES[change]),
                position,
                CHANGES[change],
                graph,
                version,
                registration,
                name,
                owner,
                bindings,
                accepted_at,
                defined.get(registration),
                operators,
            )

    def undecided(self, after: int = 0) -> list[UndecidedPair]:
        """Return the undecided pairs of publications at positions beyond `after`, by position and registration, up to
        `State.progress`: so a later call never returns an earlier pair."""
        where = self._database.where
        joined = RowReader(where)
        pairs = []
        with self._database.reading():
            rows = self._database.ask(_UNDECIDED, (row_number(after, "after"), self.progress))
        self._check_writer()
        for row in rows:
            position, registration, reason, crc = row[:4]
            verify_fields(where, "undecided", row[:3], crc)
            joined.verify_joined(f"an undecided pair of {position}", position, row[4:11], row[11:])
            _, graph, version, _, key, _, _, _, name, owner, _ = row[4:]
            id = pair_id(key, registration)
            pairs.append(UndecidedPair(position, id, graph, version, registration, name, owner, reason))
        return pairs

    def counts(self) -> Counts:
        """Count the rows. Notifications are counted by their sequences, which have no gaps."""
        with self._database.reading():
            state = self.state
            publications, undecided = (
                int((self._database.ask(f"SELECT count(*) FROM {table}") or [(0,)])[0][0])
                for table in ("publication", "undecided")
            )
        return Counts(state.sequence - state.pruned, publications, undecided, state.progress, state.sequence)

    def check(self) -> None:
        """Read every page and row; raise `StorageFault` for the first that is malformed, damaged or missing."""
        mark = _read_mark(self._database.where)
        with self._database.reading():
            self._database.check_pages()
            state = self.state
            check_rows(self._database, state.pruned, state.sequence)
        check_mark(self._database.where, state, mark)


def _read_mark(where: str) -> tuple[int, ...]:
    path = Path(where)
    return read_end_mark(path.with_name(END)) if path.name == DATABASE else ()


def check_mark(where: str, state: State, mark: tuple[int, ...]) -> None:
    """Raise `StorageFault` where an outbox has lost what its end mark, read before, says was committed."""
    if state.lacks(mark):
        epoch, told, sequence, _ = mark
        found = (
            f"it ends at notification {state.sequence} of publications up to position {state.told} (epoch "
            f"{state.epoch}), but {sequence} up to {told} (epoch {epoch}) were committed: its end is lost"
        )
        raise StorageFault(
            where, found, f"restore outbox.sqlite from a copy, or delete {END}: then what is lost is matched again"
        )


def verify_notification(where: str, row: tuple[int, int, int, int, str], crc: object) -> None:
    """Raise `StorageFault`, naming the row by its sequence, unless `crc` is its checksum."""
    try:
        sound = notification_checksum(*row) == crc
    except (struct.error, AttributeError):  # a number that is none now, bindings that are no text
        sound = False
    if not sound:
        raise damaged(where, f"notification {row[0]}")


class RowReader:
    """Verifies the rows that a join of one table with publications and registrations gives; each of those once."""

    def __init__(self, where: str) -> None:
        self._where = where
        self._publication: tuple[Value, ...] = ()
        self._registrations: set[tuple[Value, ...]] = set()

    def verify_joined(self, what: str, position: int, publication: tuple[Value, ...], named: tuple[Value, ...]) -> None:
        """Verify the rows joined to `what`, with their checksums (all None where there is none).

        Raises `StorageFault` for a damaged row, and for a publication or registration that `what` needs and that is
        missing.
        """
        if publication != self._publication:
            if publication[0] is None:
                raise missing(self._where, f"publication {position}", what)
            verify_fields(self._where, "publication", publication[:-1], publication[-1])
            self._publication = publication
        if named not in self._registrations:
            if named[0] is None:
                raise missing(self._where, "the name of its registration", what)
            verify_fields(self._where, "registration", named[:-1], named[-1])
            self._registrations.add(named)


def check_rows(database: SqliteFile, pruned: int, sequence: int) -> None:
    """Read every row; notifications `pruned` + 1 to `sequence` must be there.

    Raises `StorageFault` for a damaged row, for a gap in the sequences, and for a publication or registration that a
    row needs and that is missing.
    """
    where = database.where
    for table, fields in FIELDS.items():
        for *row, crc in database.each(f"SELECT {fields}, crc FROM {table}"):
            verify_fields(where, table, row, crc)
    last = pruned
    for *notification, crc in database.each(f"SELECT {NOTIFICATION}, crc FROM notification ORDER BY sequence"):
        verify_notification(where, tuple(notification), crc)
        last = check_next(where, last, notification[0])
    if last != sequence:
        raise missing(where, f"notification {last + 1}", "the sequence")
    for table, needed, key in (("publication", "position", "position"), ("registration", "registration", "id")):
        for told in ("notification", "undecided", "withheld"):
            lost = f"SELECT {needed} FROM {told} WHERE {needed} NOT IN (SELECT {key} FROM {table}) LIMIT 1"
            for (number,) in database.ask(lost):
                raise missing(where, f"{table} {number}", f"a row of {told}")


def check_next(where: str, before: int, sequence: int) -> int:
    """Return `sequence`; raise `StorageFault` unless it follows `before`: only the first notifications are pruned."""
    if sequence != before + 1:
        raise missing(where, f"notification {before + 1}", "the sequence")
    return sequence


def missing(where: str, what: str, needed_by: str) -> StorageFault:
    return StorageFault(where, f"{what} is missing, which {needed_by} needs", RESTORE)
