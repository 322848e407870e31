"""The tables of an outbox, and the checksum of each row: written with it, verified whenever the row is read.

Notifications are rows of chunks, one or more a commit; a notification's sequence follows from its place. Pending pairs,
whose operators have not answered yet, have tables of their own, as have the rows withheld behind them.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from json.encoder import encode_basestring_ascii
from types import MappingProxyType, NoneType
from typing import Any, NamedTuple, Self

from triplecast.errors import StorageFault
from triplecast.outbox.batch import OutboxRow, PublicationName
from triplecast.outbox.commits import CommitSignal
from triplecast.sqlite import Format, SqliteFile

Value = int | str | bytes | None

FIELDS = MappingProxyType(
    {
        "state": "epoch, told, progress, sequence, pruned, forgotten",
        "publication": "position, graph, version, accepted_at",
        "undecided": "position, registration, by_removal, reason",
        "names": "last, first, body",
        "open_pair": "position, registration",
        "withheld": "position, registration, change, bindings",
        "open_part": "upto, after, format, body",
        "heard": "registration, digest, position",
    }
)
"""What `fields_checksum` is of, by table; chunks have checksums of their own (`outbox.chunks`)."""
RESTORE = (
    "restore outbox.sqlite from a copy, an older one too, or delete it, and delete outbox.end: then what is lacking is "
    "matched again (docs/back-up.md)"
)


def fields_checksum(table: str, *fields: Value) -> int:
    """Return the CRC-32 of the table's name and the row's fields as JSON, with blobs in hexadecimal and marked as such:
    damage may have changed a field's type."""
    written = [_WRITTEN.get(type(field), _write)(field) for field in fields]
    return zlib.crc32(", ".join([f'["{table}"', *written]).encode() + b"]")


def _write(field: object) -> str:
    return json.dumps(["blob", field.hex()] if isinstance(field, bytes) else field)


_WRITTEN: Mapping[type, Callable[[Any], str]] = MappingProxyType(
    {int: int.__repr__, str: encode_basestring_ascii, NoneType: lambda _: "null"}
)
"""JSON of the common types, without an encoder."""


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


def verify_fields(where: str, table: str, fields: Sequence[Value], crc: object) -> None:
    """Raise `StorageFault`, naming the row by its table and first field, unless `crc` is its checksum."""
    if fields_checksum(table, *fields) != crc:
        raise damaged(where, f"{table} {fields[0]!r}")


def damaged(where: str, what: str) -> StorageFault:
    return StorageFault(where, f"{what} is damaged (its checksum is wrong)", RESTORE)


class State(NamedTuple):
    """How far an outbox has come."""

    epoch: int = 0
    told: int = 0
    """Every row that is decided without operators, of publications up to this position, is recorded."""
    progress: int = 0
    """Everything is, up to this position. Never beyond `told`: it ends before the first pending pair."""
    sequence: int = 0
    """Of the last notification."""
    pruned: int = 0
    """Notifications up to this sequence have been pruned."""
    forgotten: int = 0
    """Publications up to this position may have been pruned."""

    @property
    def mark(self) -> tuple[int, int, int, int]:
        """What the end mark says of it: numbers that never fall."""
        return self.epoch, self.told, self.sequence, self.pruned

    def lacks(self, mark: tuple[int, ...]) -> bool:
        """Return whether an outbox of this mark had come further in anything."""
        return any(now < then for now, then in zip(self.mark, mark, strict=False))


class OutboxFile:
    """An outbox's file, and how far it has come; as an empty one while there is none yet."""

    def __init__(self, database: SqliteFile) -> None:
        self._database = database
        self.commits = CommitSignal()
        """Rung by a writer."""

    def close(self) -> None:
        self.commits.end()
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def state(self) -> State:
        """How far the outbox has come."""
        return self._read_state()

    def _read_state(self) -> State:
        rows = self._database.ask("SELECT epoch, told, progress, sequence, pruned, forgotten, crc FROM state")
        if len(rows) == 1:
            *fields, crc = rows[0]
            verify_fields(self._database.where, "state", fields, crc)
            return State(*fields)
        if rows or self._database.ask("SELECT 1"):  # a file without its only row; a follower without a file asks nobody
            raise StorageFault(self._database.where, "its state is missing", RESTORE)
        return State()

    @property
    def progress(self) -> int:
        """`State.progress`."""
        return self.state.progress

    @property
    def told(self) -> int:
        """`State.told`."""
        return self.state.told


KEYS_AT_ONCE = 500
"""Of one statement."""

Pair = tuple[int, int]
"""The position of a publication, and a registration."""


class OpenPart(NamedTuple):
    """What is known of the pending pairs of publications at positions in (`after`, `upto`], in bytes that the outbox
    stores and does not read."""

    after: int
    upto: int
    format: int
    """Of the bytes: a reader of another format matches these publications again."""
    body: bytes


class Pending(NamedTuple):
    """Publications with pending pairs."""

    positions: list[int]
    pairs: list[Pair]
    """Their pending pairs, sorted."""
    parts: list[OpenPart]
    """Those stored for these positions, in order. A position without a part has to be matched again."""


def read_pending(database: SqliteFile, after: int, limit: int) -> Pending:
    """Read the first positions beyond `after` that have pending pairs, at most `limit`, with what is known of them."""
    found = database.ask(
        "SELECT DISTINCT position FROM open_pair WHERE position > ? ORDER BY position LIMIT ?", (after, limit)
    )
    positions = [int(position) for (position,) in found]
    if not positions:
        return Pending([], [], [])
    pairs = read_open_pairs(database, after, positions[-1])
    return Pending(positions, sorted(pairs), list(_read_parts(database, after, positions[-1])))


def _read_parts(database: SqliteFile, after: int, upto: int) -> Iterator[OpenPart]:
    """Yield the sound parts: they are a cache, so a damaged one is left out, and its publications are matched again."""
    statement = f"SELECT {FIELDS['open_part']}, crc FROM open_part WHERE upto > ? AND after < ? ORDER BY upto"
    for *row, crc in database.ask(statement, (after, upto)):
        if fields_checksum("open_part", *row) == crc:
            end, start, form, body = row
            yield OpenPart(start, end, form, body)


def read_open_pairs(database: SqliteFile, after: int, upto: int) -> set[Pair]:
    """Read the pending pairs of publications at positions in (`after`, `upto`]."""
    rows = read_rows(database, "open_pair", "WHERE position > ? AND position <= ?", (after, upto))
    return {(position, registration) for position, registration in rows}


def write_open_pairs(database: SqliteFile, pairs: Iterable[Pair], parts: Iterable[OpenPart]) -> None:
    """Store pending pairs and what is known of them."""
    write_rows(database, "open_pair", pairs)
    write_rows(database, "open_part", ((upto, after, form, body) for after, upto, form, body in parts))


def end_pairs(database: SqliteFile, pairs: Sequence[Pair]) -> None:
    """Delete pending pairs, sorted, and the parts that no pending pair needs any more."""
    if not pairs:
        return
    database.run("DELETE FROM open_pair WHERE position = ? AND registration = ?", pairs)
    database.run(
        "DELETE FROM open_part WHERE upto >= ? AND after < ? AND NOT EXISTS (SELECT 1 FROM open_pair"
        " WHERE open_pair.position > open_part.after AND open_pair.position <= open_part.upto)",
        [(pairs[0][0], pairs[-1][0])],
    )


def read_publications(
    database: SqliteFile, known: Iterable[PublicationName], rows: Iterable[OutboxRow]
) -> dict[int, PublicationName]:
    """The publications that are `known`, and those of rows that were withheld, by position."""
    names = {name.position: name for name in known}
    for position in sorted({row.position for row in rows} - names.keys()):
        (found,) = read_rows(database, "publication", "WHERE position = ?", (position,))
        names[position] = PublicationName(*found)
    return names


def first_open(database: SqliteFile, registrations: Collection[int]) -> dict[int, int]:
    """Return the position of the first pending pair of each of `registrations` that has one."""
    found = _of_registrations(database, "SELECT registration, min(position) FROM open_pair", registrations)
    return {int(registration): int(position) for registration, position in found}


def release(database: SqliteFile, registrations: Sequence[int], first: Mapping[int, int]) -> list[OutboxRow]:
    """Delete and return the withheld rows of `registrations` that precede its first pending pair (`first_open`)."""
    released = []
    for (registration,) in _of_registrations(database, "SELECT registration FROM withheld", registrations):
        before = first.get(registration, (1 << 63) - 1)
        condition = "WHERE registration = ? AND position < ?"
        rows = read_rows(database, "withheld", condition, (registration, before))
        released += [OutboxRow(*row) for row in rows]
        database.run(f"DELETE FROM withheld {condition}", [(registration, before)])
    return released


def _of_registrations(database: SqliteFile, statement: str, wanted: Collection[int]) -> Iterator[tuple[Any, ...]]:
    """Yield what a statement finds, a row for each of the `wanted` registrations that it finds something of."""
    numbers = sorted(wanted)
    for start in range(0, len(numbers), KEYS_AT_ONCE):
        keys = numbers[start : start + KEYS_AT_ONCE]
        marks = ", ".join("?" * len(keys))
        yield from database.ask(f"{statement} WHERE registration IN ({marks}) GROUP BY registration", keys)


OUTBOX = Format(
    application=0x54524F31,
    version=2,
    former=0x54434F31,
    repair=RESTORE,
    added=MappingProxyType(
        {
            "heard": """
CREATE TABLE heard(
    registration INTEGER NOT NULL, digest BLOB NOT NULL, position INTEGER NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (registration, digest)) WITHOUT ROWID""",
            "heard_age": "CREATE INDEX heard_age ON heard(registration, position)",
        }
    ),
    schema=f"""
CREATE TABLE state(
    one INTEGER PRIMARY KEY CHECK (one = 1), epoch INTEGER NOT NULL, told INTEGER NOT NULL, progress INTEGER NOT NULL,
    sequence INTEGER NOT NULL, pruned INTEGER NOT NULL, forgotten INTEGER NOT NULL, crc INTEGER NOT NULL);
INSERT INTO state VALUES (1, 0, 0, 0, 0, 0, 0, {fields_checksum("state", 0, 0, 0, 0, 0, 0)});
CREATE TABLE publication(
    position INTEGER PRIMARY KEY, graph TEXT NOT NULL, version INTEGER NOT NULL, accepted_at TEXT NOT NULL,
    crc INTEGER NOT NULL);
CREATE TABLE chunk(
    number INTEGER PRIMARY KEY, first INTEGER NOT NULL, last INTEGER NOT NULL, first_position INTEGER NOT NULL,
    last_position INTEGER NOT NULL, late INTEGER NOT NULL, body_crc INTEGER NOT NULL, crc INTEGER NOT NULL,
    filter BLOB NOT NULL, body BLOB NOT NULL);
CREATE INDEX chunk_last ON chunk(last);
CREATE INDEX late_chunk ON chunk(first_position) WHERE late = 1;
CREATE TABLE undecided(
    position INTEGER NOT NULL, registration INTEGER NOT NULL, by_removal INTEGER NOT NULL, reason TEXT NOT NULL,
    crc INTEGER NOT NULL, PRIMARY KEY (position, registration)) WITHOUT ROWID;
CREATE TABLE names(last INTEGER PRIMARY KEY, first INTEGER NOT NULL, body BLOB NOT NULL, crc INTEGER NOT NULL);
CREATE TABLE open_pair(
    position INTEGER NOT NULL, registration INTEGER NOT NULL, crc INTEGER NOT NULL,
    PRIMARY KEY (position, registration)) WITHOUT ROWID;
CREATE INDEX open_registration ON open_pair(registration, position);
CREATE TABLE withheld(
    position INTEGER NOT NULL, registration INTEGER NOT NULL, change INTEGER NOT NULL, bindings TEXT NOT NULL,
    crc INTEGER NOT NULL, PRIMARY KEY (registration, position)) WITHOUT ROWID;
CREATE TABLE open_part(
    upto INTEGER PRIMARY KEY, after INTEGER NOT NULL, format INTEGER NOT NULL, body BLOB NOT NULL,
    crc INTEGER NOT NULL)""",
)
"""``state``: see `State`. ``chunk``: notifications; ``publication``: what undecided pairs and withheld rows are of.
``open_pair``: pairs whose operators have not answered yet; ``withheld``: decided rows that follow a pending pair of
their registration; ``open_part``: what is known of pending pairs, by range of positions; ``heard``: solutions that
registrations were told which want to hear each once (`outbox.heard`)."""
