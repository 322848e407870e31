"""What an outbox keeps of pairs whose operators have not answered yet, and of the rows withheld behind them."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from triplecast.outbox.batch import OutboxRow
from triplecast.outbox.tables import FIELDS, fields_checksum, read_rows, write_rows
from triplecast.sqlite import SqliteFile

KEYS_AT_ONCE = 500
"""Of one statement."""

Pair = tuple[int, int]
"""The position of a publication, and a registration."""


class OpenPart(NamedTuple):
    """What is known of the open pairs of publications at positions in (`after`, `upto`], in bytes that the outbox
    stores and does not read."""

    after: int
    upto: int
    format: int
    """Of the bytes: whoever reads them tells by it whether it can."""
    body: bytes


class Pending(NamedTuple):
    """Publications with open pairs."""

    positions: list[int]
    pairs: list[Pair]
    """Their open pairs, sorted."""
    parts: list[OpenPart]
    """Those stored for these positions, in order. A position without a part has to be matched again."""


def read_pending(database: SqliteFile, after: int, limit: int) -> Pending:
    """Read the first positions beyond `after` that have open pairs, at most `limit`, with all that is known of them."""
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
    """Read the open pairs of publications at positions in (`after`, `upto`]."""
    rows = read_rows(database, "open_pair", "WHERE position > ? AND position <= ?", (after, upto))
    return {(position, registration) for position, registration in rows}


def write_parts(database: SqliteFile, parts: Iterable[OpenPart]) -> None:
    """Store parts, each in the place of those that it overlaps."""
    for after, upto, form, body in parts:
        database.run("DELETE FROM open_part WHERE upto > ? AND after < ?", [(after, upto)])
        write_rows(database, "open_part", [(upto, after, form, body)])


def write_open_pairs(database: SqliteFile, pairs: Iterable[Pair], parts: Iterable[OpenPart]) -> None:
    """Store open pairs and what is known of them."""
    write_rows(database, "open_pair", pairs)
    write_parts(database, parts)


def withhold(database: SqliteFile, rows: list[OutboxRow], first: Mapping[int, int]) -> list[OutboxRow]:
    """Store the rows that an open pair of their registration precedes (`first_open`); return the others."""
    if not first:
        return rows
    behind = {row for row in rows if row.position >= first.get(row.registration, row.position + 1)}
    write_rows(database, "withheld", sorted(behind))
    return [row for row in rows if row not in behind]


def end_pairs(database: SqliteFile, pairs: Sequence[Pair]) -> None:
    """Delete open pairs, sorted, and the parts that no open pair needs any more."""
    if not pairs:
        return
    database.run("DELETE FROM open_pair WHERE position = ? AND registration = ?", pairs)
    database.run(
        "DELETE FROM open_part WHERE upto >= ? AND after < ? AND NOT EXISTS (SELECT 1 FROM open_pair"
        " WHERE open_pair.position > open_part.after AND open_pair.position <= open_part.upto)",
        [(pairs[0][0], pairs[-1][0])],
    )


def first_open(database: SqliteFile, registrations: Collection[int]) -> dict[int, int]:
    """Return the position of the first open pair of each of `registrations` that has one."""
    found = _of_registrations(database, "SELECT registration, min(position) FROM open_pair", registrations)
    return {int(registration): int(position) for registration, position in found}


def release(database: SqliteFile, registrations: Sequence[int], first: Mapping[int, int]) -> list[OutboxRow]:
    """Delete and return the withheld rows of `registrations` that precede its first open pair (`first_open`)."""
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
