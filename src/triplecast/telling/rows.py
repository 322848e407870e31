"""Rows as the outbox has them: which of them differ between two answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import TypeAlias

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


def rows_json(rows: Iterable[Row]) -> bytes:
    """Written as matching writes them; empty for none."""
    found = [*rows]
    return json.dumps(found, ensure_ascii=False, separators=(",", ":")).encode() if found else b""
