"""Names of registrations as the outbox stores them: those that one record of the journal added are one row.

So a registration that matches for the first time mostly has its name here already, and a reader decodes few rows.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Iterator, Sequence

from triplecast.model.subscription import NamedRegistrations
from triplecast.outbox.read_names import SubscriptionName
from triplecast.outbox.tables import FIELDS, KEYS_AT_ONCE, damaged, fields_checksum, read_rows, write_rows
from triplecast.sqlite import SqliteFile

_FAST = 1
"""Level of zlib."""


def write_names(database: SqliteFile, named: Iterable[NamedRegistrations]) -> list[range]:
    """Store names, but those of registrations that have theirs; return which these are of."""
    rows = [(each.last, each.first, _write(each)) for each in named]
    write_rows(database, "names", rows, "INSERT OR IGNORE")
    return [range(first, last + 1) for last, first, _ in rows]


def named_ranges(database: SqliteFile) -> list[range]:
    """Which registrations have names. Raises `StorageFault` for numbers that are none."""
    found = []
    for last, first in database.ask("SELECT last, first FROM names ORDER BY last"):
        if not (isinstance(first, int) and isinstance(last, int)):
            raise damaged(database.where, _what(first, last))
        found.append(range(first, last + 1))
    return found


def read_names(database: SqliteFile, registrations: Sequence[int]) -> list[SubscriptionName]:
    """Read the names of registrations, and of those that are stored with them, each once."""
    following = "SELECT (SELECT min(last) FROM names WHERE last >= value) FROM json_each(?)"
    statement = f"SELECT {FIELDS['names']}, crc FROM names WHERE last IN ({following})"
    names: list[SubscriptionName] = []
    for start in range(0, len(registrations), KEYS_AT_ONCE):
        some = json.dumps([*registrations[start : start + KEYS_AT_ONCE]])
        for last, first, body, crc in database.ask(statement, (some,)):
            if fields_checksum("names", last, first, body) != crc:
                raise damaged(database.where, _what(first, last))
            names += _read(database, first, last, body)
    return list(dict.fromkeys(names)) if len(registrations) > KEYS_AT_ONCE else names


def find_names(database: SqliteFile, name: str | None, owner: str | None) -> list[int]:
    """The registrations of a subscription's id, of an owner, or of both."""
    return [
        number
        for last, first, body in read_rows(database, "names", "ORDER BY last", ())
        for number, its_name, its_owner in _read(database, first, last, body)
        if name in (None, its_name) and owner in (None, its_owner)
    ]


def check_names(database: SqliteFile) -> set[int]:
    """Read all names; return whose they are. Raises `StorageFault`."""
    rows = read_rows(database, "names", "ORDER BY last", ())
    return {number for last, first, body in rows for number, _, _ in _read(database, first, last, body)}


def _write(named: NamedRegistrations) -> bytes:
    owners: object = named.owners
    if len({*named.owners}) == 1:
        owners = named.owners[0]
    return zlib.compress(json.dumps([[*named.names], owners]).encode(), _FAST)


def _read(database: SqliteFile, first: int, last: int, body: bytes) -> Iterator[SubscriptionName]:
    try:
        names, owners = json.loads(zlib.decompress(body))
    except (ValueError, TypeError, zlib.error):
        raise damaged(database.where, _what(first, last)) from None
    if len(names) != last - first + 1:
        raise damaged(database.where, _what(first, last))
    owned = owners if isinstance(owners, list) else [owners] * len(names)
    return zip(range(first, last + 1), names, owned, strict=True)


def _what(first: object, last: object) -> str:
    return f"the row of names of registrations {first!r} to {last!r}"
