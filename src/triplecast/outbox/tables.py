"""The tables of an outbox, and the checksum of each row: written with it, verified whenever it is read to be told."""

from __future__ import annotations

import json
import sqlite3
import struct
import zlib
from collections.abc import Iterable, Iterator, Sequence
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from triplecast.errors import StorageFault
from triplecast.sqlite import Database, Format

Value = int | str | bytes | None

FIELDS = MappingProxyType(
    {
        "publication": "position, graph, version, accepted_at, key, digest",
        "undecided": "position, registration, reason",
        "registration": "id, name, owner",
        "progress": "position, sequence",
        "horizon": "position",
        "told": "position",
        "waiting": "position, registration",
        "late": "last, position",
    }
)
"""What `fields_checksum` is of, by table; a row of ``notification`` has a checksum that is quicker to make."""
NOTIFICATION = "sequence, position, registration, change, bindings"

_NUMBERS = struct.Struct("<qqqq")
_MEND = "restore outbox.sqlite from a copy, an older one too: what it lacks is matched again"


def fields_checksum(table: str, *fields: Value) -> int:
    """CRC-32 of the table's name and the row's fields as JSON, blobs in hexadecimal and told from text: damage may have
    changed a field's type."""
    written = [["blob", field.hex()] if isinstance(field, bytes) else field for field in fields]
    return zlib.crc32(json.dumps([table, *written]).encode())


def notification_checksum(sequence: int, position: int, registration: int, change: int, bindings: str) -> int:
    """CRC-32 of the four numbers, 64 bits each, little endian, and the bindings in UTF-8."""
    return zlib.crc32(bindings.encode(), zlib.crc32(_NUMBERS.pack(sequence, position, registration, change)))


def added_rows(
    sequence: int, positions: NDArray[np.int64], registrations: NDArray[np.int64], bindings: Iterable[str]
) -> Iterator[tuple[int, int, int, str, int]]:
    """Rows of ``notification`` from `sequence` on: sequence, position, registration, bindings and, for change 0, the
    `notification_checksum`. Numbers are laid out for all at once, since one commit may have 100,000 rows."""
    numbers = np.zeros((len(positions), 4), "<i8")
    numbers[:, 0] = np.arange(sequence, sequence + len(positions))
    numbers[:, 1], numbers[:, 2] = positions, registrations
    raw, crc32, size = numbers.tobytes(), zlib.crc32, _NUMBERS.size
    rows = zip(numbers[:, 0].tolist(), positions.tolist(), registrations.tolist(), bindings, strict=True)
    for start, (number, position, registration, text) in zip(range(0, len(raw), size), rows, strict=True):
        yield number, position, registration, text, crc32(text.encode(), crc32(raw[start : start + size]))


def verify_fields(where: str, table: str, fields: Sequence[Value], crc: object) -> None:
    """Raises `StorageFault`, naming the row by its table and first field, unless `crc` is its checksum."""
    if fields_checksum(table, *fields) != crc:
        raise _damaged(where, f"{table} {fields[0]!r}")


def verify_notification(where: str, row: tuple[int, int, int, int, str], crc: object) -> None:
    """Raises `StorageFault`, naming the row by its sequence, unless `crc` is its checksum."""
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

    def verify_joined(self, told: str, position: int, publication: tuple[Value, ...], named: tuple[Value, ...]) -> None:
        """`publication` and `named` are the joined rows with their checksums, all None where there is none. Raises
        `StorageFault` for what is damaged, and for a publication or name that `told` needs and that is missing."""
        if publication != self._publication:
            if publication[0] is None:
                raise _missing(self._where, f"publication {position}", told)
            verify_fields(self._where, "publication", publication[:-1], publication[-1])
            self._publication = publication
        if named not in self._registrations:
            if named[0] is None:
                raise _missing(self._where, "the name of its registration", told)
            verify_fields(self._where, "registration", named[:-1], named[-1])
            self._registrations.add(named)


def check_rows(database: Database) -> None:
    """Reads every row. Raises `StorageFault` for one that is damaged, for a gap in the sequences of notifications, and
    for a publication or name that one needs and that is missing."""
    where = database.where
    for table, fields in FIELDS.items():
        for *row, crc in database.each(f"SELECT {fields}, crc FROM {table}"):
            verify_fields(where, table, row, crc)
    before = None
    for *notification, crc in database.each(f"SELECT {NOTIFICATION}, crc FROM notification ORDER BY sequence"):
        sequence = notification[0]
        verify_notification(where, tuple(notification), crc)
        check_next(where, before, sequence)
        before = sequence
    for last in database.ask("SELECT sequence FROM progress"):
        if before is not None and last != (before,):
            raise _missing(where, f"notification {last[0]}", "the sequence")
    for table, needed, key in (("publication", "position", "position"), ("registration", "registration", "id")):
        for told in ("notification", "undecided"):
            lost = f"SELECT {needed} FROM {told} WHERE {needed} NOT IN (SELECT {key} FROM {table}) LIMIT 1"
            for (number,) in database.ask(lost):
                raise _missing(where, f"{table} {number}", f"a row of {told}")


def check_next(where: str, before: int | None, sequence: int) -> None:
    """Raises `StorageFault` unless `sequence` is the one that follows: only the first notifications are ever pruned."""
    if before is not None and sequence != before + 1:
        raise _missing(where, f"notification {before + 1}", "the sequence")


def _damaged(where: str, what: str) -> StorageFault:
    return StorageFault(where, f"{what} is damaged (its checksum is wrong)", _MEND)


def _missing(where: str, what: str, needed_by: str) -> StorageFault:
    return StorageFault(where, f"{what} is missing, which {needed_by} needs", _MEND)


_OF_VERSION_1 = ("publication", "undecided", "registration", "progress", "horizon")


def _add_checksums(connection: sqlite3.Connection) -> None:
    """Version 1 had no checksums, and at first no horizon: what stands in its rows now is taken as sound."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS horizon(one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL)"
    )
    connection.execute("INSERT OR IGNORE INTO horizon SELECT 1, position FROM progress")
    connection.create_function("fields_checksum", -1, fields_checksum)
    connection.create_function("notification_checksum", 5, notification_checksum)
    made = {table: f"fields_checksum('{table}', {FIELDS[table]})" for table in _OF_VERSION_1}
    for table, crc in {**made, "notification": f"notification_checksum({NOTIFICATION})"}.items():
        connection.execute(f"ALTER TABLE {table} ADD COLUMN crc INTEGER NOT NULL DEFAULT 0")
        connection.execute(f"UPDATE {table} SET crc = {crc}")


_OF_LATE = (
    """
CREATE TABLE told(
    one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, crc INTEGER NOT NULL)""",
    """
CREATE TABLE waiting(
    position INTEGER NOT NULL, registration INTEGER NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (position, registration)) WITHOUT ROWID""",
    """
CREATE TABLE late(last INTEGER PRIMARY KEY, position INTEGER NOT NULL, crc INTEGER NOT NULL)""",
)


def _add_late(connection: sqlite3.Connection) -> None:
    """Version 2 told everything of a publication at once."""
    for statement in _OF_LATE:
        connection.execute(statement)
    connection.create_function("fields_checksum", -1, fields_checksum)
    connection.execute("INSERT INTO told SELECT 1, position, fields_checksum('told', position) FROM progress")


OUTBOX = Format(
    application=0x54434F31,
    version=3,
    schema=f"""
CREATE TABLE publication(
    position INTEGER PRIMARY KEY, graph TEXT NOT NULL, version INTEGER NOT NULL, accepted_at TEXT NOT NULL,
    key TEXT NOT NULL, digest BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE notification(
    sequence INTEGER PRIMARY KEY, position INTEGER NOT NULL, registration INTEGER NOT NULL, bindings TEXT NOT NULL,
    change INTEGER NOT NULL DEFAULT 0, crc INTEGER NOT NULL);
CREATE TABLE undecided(
    position INTEGER NOT NULL, registration INTEGER NOT NULL, reason TEXT NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (position, registration)) WITHOUT ROWID;
CREATE TABLE registration(id INTEGER PRIMARY KEY, name TEXT NOT NULL, owner TEXT, crc INTEGER NOT NULL);
CREATE TABLE progress(
    one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, sequence INTEGER NOT NULL,
    crc INTEGER NOT NULL);
CREATE VIEW outbox AS
    SELECT sequence, key || '-' || registration AS id, CASE change WHEN 0 THEN 'added' ELSE 'removed' END AS change,
        graph, version, registration, name, owner, bindings, accepted_at
    FROM notification JOIN publication USING (position) LEFT JOIN registration ON registration.id = registration;
INSERT INTO progress VALUES (1, 0, 0, {fields_checksum("progress", 0, 0)});
CREATE TABLE horizon(
    one INTEGER PRIMARY KEY CHECK (one = 1), position INTEGER NOT NULL, crc INTEGER NOT NULL);
INSERT INTO horizon VALUES (1, 0, {fields_checksum("horizon", 0)});
{";".join(_OF_LATE).strip()};
INSERT INTO told VALUES (1, 0, {fields_checksum("told", 0)})""",
    upgrades=MappingProxyType({1: _add_checksums, 2: _add_late}),
)
"""``told``: up to here all that is decided without operators is there; ``waiting`` are the pairs that they are still
asked about, ``progress`` ends before the first of them. ``late``: of each group of notifications told afterwards the
last sequence and the first position.

``horizon``: up to this position publications may have been pruned; beyond it, one that is not there had no rows."""
