"""Rows as the outbox has them: which of them differ between two answers."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from triplecast.model.match import changed_bindings

Row: TypeAlias = Mapping[str, str]
"""From variable to the N-Triples form of its term, keys sorted."""
Names: TypeAlias = Mapping[str, str]
"""Of blank nodes, by their labels (`repository.document_lines.blank_names`)."""
RowKey: TypeAlias = tuple[tuple[str, str], ...]


def key_of(row: Row, names: Names) -> RowKey:
    """What rows have in common that are the same: the terms, blank nodes by their names."""
    if not names:
        return tuple(row.items())
    return tuple((variable, names.get(term, term) if term.startswith("_:") else term) for variable, term in row.items())


def rows_apart(now: bytes, then: bytes, names_now: Names, names_then: Names) -> tuple[list[Row], list[Row]]:
    """The rows that only the one answer has and those that only the other has, as multisets and in their order."""
    new, old = json.loads(now), json.loads(then)
    return _beyond(new, names_now, old, names_then), _beyond(old, names_then, new, names_now)


def _beyond(rows: list[Row], names: Names, others: list[Row], other_names: Names) -> list[Row]:
    left = Counter(key_of(row, other_names) for row in others)
    found = []
    for row in rows:
        key = key_of(row, names)
        if left[key] > 0:
            left[key] -= 1
        else:
            found.append(row)
    return found


def pair_updates(
    added: Iterable[Row], removed: Iterable[Row], key: Sequence[str], names_now: Names, names_then: Names
) -> tuple[list[Row], list[Row], list[tuple[Row, Row]]]:
    """Rows removed and added that have bound the same terms to the `key` are one row updated, before and after; of
    several with one key, those in the same place. Return the others, and these by the row after."""
    waiting: dict[RowKey, deque[Row]] = {}
    left: list[Row] = []
    for row in removed:
        if bound := _bound(row, key, names_then):
            waiting.setdefault(bound, deque()).append(row)
        else:
            left.append(row)
    new, updated = [], []
    for row in added:
        olds = waiting.get(_bound(row, key, names_now))
        if olds:
            updated.append((olds.popleft(), row))
        else:
            new.append(row)
    gone = {id(row) for rows in waiting.values() for row in rows} | {id(row) for row in left}
    return new, [row for row in removed if id(row) in gone], updated


def _bound(row: Row, key: Sequence[str], names: Names) -> RowKey:
    """The terms of the key; nothing where one is unbound."""
    if not all(name in row for name in key):
        return ()
    return key_of({name: row[name] for name in key}, names)


def changed_text(
    added: list[Row], removed: list[Row], updated: list[tuple[Row, Row]], changed: bytes = b""
) -> tuple[str, bytes]:
    """The word for a change and its text; no word for none. `changed`: the text of rows that stay, of a rule."""
    if updated or changed or (added and removed):
        pairs = b"[%b]" % b",".join(rows_json(pair) for pair in updated) if updated else b""
        return "changed", changed_bindings(rows_json(added), rows_json(removed), pairs, changed)
    return ("added", rows_json(added)) if added else ("removed", rows_json(removed)) if removed else ("", b"")


def rows_json(rows: Iterable[Row]) -> bytes:
    """Written as matching writes them; empty for none."""
    found = [*rows]
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode() if found else b""
