"""The natural join of binding tables (2005, section 4.2, figure 8), for both G-ToPSS papers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from experiments.gtopss.model import Node, Row, is_star

JOINED = "rows joined"
"""Rows of either side looked at, and rows made."""


class Table(NamedTuple):
    columns: tuple[Node, ...]
    """Nodes of the subscription; a constant's column holds what it was matched by."""
    rows: Sequence[Row]


def join_all(tables: Sequence[Table], work: Counter[str]) -> Table:
    """The join of all, in their order; ends with the first that leaves nothing."""
    joined = _drop_repeated(tables[0])
    work[JOINED] += len(tables[0].rows)
    for table in tables[1:]:
        if not joined.rows:
            break
        joined = _join_two(joined, _drop_repeated(table), work)
    return joined


def _drop_repeated(table: Table) -> Table:
    """An edge from a node to itself has one column: rows whose two values differ are none."""
    first, second = table.columns
    if first != second:
        return table
    return Table((first,), [(row[0],) for row in table.rows if row[0] == row[1]])


def _join_two(left: Table, right: Table, work: Counter[str]) -> Table:
    """Equality on all common columns; without any, all pairs. Hashes the right side."""
    shared = [(left.columns.index(column), at) for at, column in enumerate(right.columns) if column in left.columns]
    fresh = [at for at, column in enumerate(right.columns) if column not in left.columns]
    by_key: dict[Row, list[Row]] = {}
    for row in right.rows:
        by_key.setdefault(tuple(row[at] for _, at in shared), []).append(tuple(row[at] for at in fresh))
    made = [row + more for row in left.rows for more in by_key.get(tuple(row[at] for at, _ in shared), ())]
    work[JOINED] += len(left.rows) + len(right.rows) + len(made)
    return Table((*left.columns, *(right.columns[at] for at in fresh)), made)


def star_rows(table: Table) -> list[Row]:
    """The columns of the stars, -1 first; one row for each row of the table."""
    stars = sorted((column for column in table.columns if is_star(column)), reverse=True)
    places = [table.columns.index(star) for star in stars]
    return [tuple(row[place] for place in places) for row in table.rows]
