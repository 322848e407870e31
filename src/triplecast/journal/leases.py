"""Leases of live registrations that have an end: neighbours with the same end share a row."""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from triplecast.journal.record import checksum, verify
from triplecast.sqlite import SqliteFile

_COLUMNS = "SELECT last, first, end, crc FROM lease"


class SharedLease(NamedTuple):
    ids: range
    end: int
    """Microseconds since 1970."""


def verify_leases(rows: Iterable[tuple[Any, ...]], where: str) -> list[SharedLease]:
    """Raises `StorageFault` for a row that is not what was written."""
    found = []
    for last, first, end, crc in rows:
        more = "" if first == last else f" to {last}"
        verify(crc, where, f"the lease of {first}{more}", "", (last, first, end))
        found.append(SharedLease(range(first, last + 1), end))
    return found


def read_leases(database: SqliteFile, ids: Sequence[int] | None = None) -> list[SharedLease]:
    """All leases, or those of some `ids`, by registration."""
    if ids is None:
        return verify_leases(database.ask(f"{_COLUMNS} ORDER BY last"), database.where)
    following = "SELECT (SELECT min(last) FROM lease WHERE last >= value) FROM json_each(?)"
    rows = database.ask(f"{_COLUMNS} WHERE last IN ({following}) ORDER BY last", [json.dumps([*ids])])
    return verify_leases(rows, database.where)


def write_lease(database: SqliteFile, ids: range, end: int) -> None:
    """Give registrations that have no lease one until `end`."""
    if ids:
        first, last = ids[0], ids[-1]
        row = (last, first, end, checksum("", (last, first, end)))
        database.run("INSERT INTO lease VALUES (?, ?, ?, ?)", [row])


def drop_leases(database: SqliteFile, dropped: Iterable[int]) -> None:
    """Take the leases of some registrations away, as far as they have one; their neighbours keep theirs."""
    wanted = sorted({*dropped})
    for ids, end in read_leases(database, wanted):
        inside = wanted[bisect_left(wanted, ids.start) : bisect_left(wanted, ids.stop)]
        if inside:
            database.run("DELETE FROM lease WHERE last = ?", [(ids[-1],)])
            for before, after in pairwise((ids.start - 1, *inside, ids.stop)):
                write_lease(database, range(before + 1, after), end)


def drop_ended(database: SqliteFile, at: int) -> list[int]:
    """Take away the leases that are over at `at`; the registrations that had them, by end, then by number."""
    over = verify_leases(database.ask(f"{_COLUMNS} WHERE end <= ? ORDER BY end, last", (at,)), database.where)
    database.run("DELETE FROM lease WHERE end <= ?", [(at,)])
    return [id for ids, _ in over for id in ids]
