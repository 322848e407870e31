"""The tables of an outbox, and the checksum of each row: written with it, verified whenever the row is read."""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from triplecast.errors import StorageFault
from triplecast.sqlite import Format, SqliteFile

Value = int | str | bytes | None

FIELDS = MappingProxyType(
    {
        "state": "epoch, told, progress, sequence, pruned, forgotten",
        "publication": "position, graph, version, accepted_at, key, digest",
        "undecided": "position, registration, reason",
        "registration": "id, name, owner",
        "open_pair": "position, registration",
        "withheld": "position, registration, change, bindings",
        "open_part": "upto, after, format, body",
        "late": "last, position",
    }
)
"""What `fields_checksum` is of, by table; a row of ``notification`` has a checksum that is quicker to make."""
NOTIFICATION = "sequence, position, registration, change, bindings"

_NUMBERS = struct.Struct("<qqqq")
RESTORE = "restore outbox.sqlite from a copy, an older one too, and delete outbox.end: what it lacks is matched again"


def fields_checksum(table: str, *fields: Value) -> int:
    """Return the CRC-32 of the table's name and the row's fields as JSON, with blobs in hexadecimal and marked as such:
    damage may have changed a field's type."""
    written = [["blob", field.hex()] if isinstance(field, bytes) else field for field in fields]
    return zlib.crc32(json.dumps([table, *written]).encode())


def write_rows(database: SqliteFile, table: str, rows: Iterable[Sequence[Value]], verb: str = "INSERT") -> None:
    """Insert rows of one of the tables in `FIELDS`, each with its checksum."""
    fields = FIELDS[table]
    marks = "?, " * (fields.count(",") + 1)
    statement = f"{verb} INTO {table}({fields}, crc) VALUES ({marks}?)"
    database.run(statement, ((*row, fields_checksum(table, *row)) for row in rows))


def read_rows(database: SqliteFile, table: str, condition: str, values: Sequence[object]) -> Iterator[list[Any]]:
    """Yield verified rows of one of the tables in `FIELDS`."""
    for *row, crc in database.ask(f"SELECT {FIELDS[table]}, crc FROM {table} {condition}", values):
        verify_fields(database.where, table, row, crc)
        yield row


def notification_checksum(sequence: int, position: int, registration: int, change: int, bindings: str) -> int:
    """Return the CRC-32 of the four numbers (64 bits each, little endian) and the bindings in UTF-8."""
    return zlib.crc32(bindings.encode(), zlib.crc32(_NUMBERS.pack(sequence, position, registration, change)))


def write_notifications(database: SqliteFile, first: int, rows: Sequence[tuple[int, int, int, str]]) -> None:
    """Insert notifications of (position, registration, change, bindings), numbered from `first`.

    The numbers of all rows are laid out at once for their checksums: one commit may have 100,000 rows.
    """
    numbers = np.zeros((len(rows), 4), "<i8")
    numbers[:, 0] = np.arange(first, first + len(rows))
    for column in range(3):
        numbers[:, column + 1] = [row[column] for row in rows]
    raw, crc32, size = numbers.tobytes(), zlib.crc32, _NUMBERS.size
    database.run(
        f"INSERT INTO notification({NOTIFICATION}, crc) VALUES (?, ?, ?, ?, ?, ?)",
        (
            (first + place, *row, crc32(row[3].encode(), crc32(raw[place * size : (place + 1) * size])))
            for place, row in enumerate(rows)
        ),
    )


def verify_fields(where: str, table: str, fields: Sequence[Value], crc: object) -> None:
    """Raise `StorageFault`, naming the row by its table and first field, unless `crc` is its checksum."""
    if fields_checksum(table, *fields) != crc:
        raise _damaged(where, f"{table} {fields[0]!r}")


def verify_notification(where: str, row: tuple[int, int, int, int, str], crc: object) -> None:
    """Raise `StorageFault`, naming the row by its sequence, unless `crc` is its checksum."""
    try:
        sound = notification_checksum(*row) == crc
    except (struct.error, AttributeError):  # a number that is none now, bindings that are no text
        sound = False
    if not sound:
        raise _damaged(where, f"notification {row[0]}")


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


def _damaged(where: str, what: str) -> StorageFault:
    return StorageFault(where, f"{what} is damaged (its checksum is wrong)", RESTORE)


def missing(where: str, what: str, needed_by: str) -> StorageFault:
    return StorageFault(where, f"{what} is missing, which {needed_by} needs", RESTORE)


OUTBOX = Format(
    application=0x54524F31,
    version=1,
    former=0x54434F31,
    schema=f"""
CREATE TABLE state(
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, told INTEGER NOT NULL, progress INTEGER NOT NULL,
    sequence INTEGER NOT NULL, pruned INTEGER NOT NULL, forgotten INTEGER NOT NULL, crc INTEGER NOT NULL);
INSERT INTO state VALUES (1, 0, 0, 0, 0, 0, 0, {fields_checksum("state", 0, 0, 0, 0, 0, 0)});
CREATE TABLE publication(
    position INTEGER PRIMARY KEY, graph TEXT NOT NULL, version INTEGER NOT NULL, accepted_at TEXT NOT NULL,
    key TEXT NOT NULL, digest BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE notification(
    sequence INTEGER PRIMARY KEY, position INTEGER NOT NULL, registration INTEGER NOT NULL, change INTEGER NOT NULL,
    bindings TEXT NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE undecided(
    position INTEGER NOT NULL, registration INTEGER NOT NULL, reason TEXT NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (position, registration)) WITHOUT ROWID;
CREATE TABLE registration(id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT, crc INTEGER NOT NULL);
CREATE TABLE open_pair(
    position INTEGER NOT NULL, registration INTEGER NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (position, registration)) WITHOUT ROWID;
CREATE INDEX open_registration ON open_pair(registration, position);
CREATE TABLE withheld(
    position INTEGER NOT NULL, registration INTEGER NOT NULL, change INTEGER NOT NULL, bindings TEXT NOT NULL,
    crc INTEGER NOT NULL, PRIMARY KEY (registration, position)) WITHOUT ROWID;
CREATE TABLE open_part(
    upto INTEGER PRIMARY KEY, after INTEGER NOT NULL, format INTEGER NOT NULL, body BLOB NOT NULL,
    crc INTEGER NOT NULL);
CREATE TABLE late(last INTEGER PRIMARY KEY, position INTEGER NOT NULL, crc INTEGER NOT NULL);
CREATE VIEW outbox AS
    SELECT sequence, key || '-' || registration || CASE change WHEN 0 THEN '' ELSE '-removed' END AS id,
        CASE change WHEN 0 THEN 'added' ELSE 'removed' END AS change, graph AS publication, version, position,
        registration, name AS subscription, owner, bindings, accepted_at
    FROM notification JOIN publication USING (position) LEFT JOIN registration ON registration.id = registration""",
)
"""``state``: see `reader.State`. ``open_pair``: pairs whose operators have not answered yet; ``withheld``: decided rows
that follow an open pair of their registration; ``open_part``: what is known of open pairs, by range of positions.
``late``: of each group of notifications recorded as open pairs were settled, the last sequence and the first position.
Beyond ``state.forgotten`` a publication that is not there had no rows."""
