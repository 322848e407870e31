"""Solutions while they are computed, and their joins.

A row maps the names of bound variables to terms. Rows are never changed once yielded, but for the one hidden entry
`IDENTITY`, which an expression adds when it first makes a blank node for the solution.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from triplecast.evaluate.budget import Budget
from triplecast.model.algebra import Term
from triplecast.terms.order import canonical_key

Row: TypeAlias = dict[str, Term]

IDENTITY = "_: solution"
"""The name of a solution's own label: no variable has it, joins and domains ignore it."""


def hidden(name: str) -> bool:
    """Whether a name belongs to a blank node of the query, not to a variable."""
    return name.startswith("_:")


def merge(left: Row, right: Row) -> Row | None:
    """The union of two rows, None when they disagree."""
    for name, term in right.items():
        other = left.get(name)
        if other is not None and other != term and name != IDENTITY:
            return None
    return right | left


def names_of(rows: Iterable[Row]) -> tuple[str, ...]:
    """The visible variables that some row binds, in name order."""
    found: set[str] = set()
    for row in rows:
        found.update(row)
    return tuple(sorted(name for name in found if not hidden(name)))


def aligned(row: Row, names: Sequence[str]) -> tuple[Term | None, ...]:
    return tuple([row.get(name) for name in names])


def in_canonical_order(rows: Iterable[Row], budget: Budget, names: Sequence[str] | None = None) -> list[Row]:
    """Rows by the N-Triples text of `names` (default: all visible variables), unbound first (semantics 1.4)."""
    collected = list(rows)
    if len(collected) < 2:
        return collected
    by = names_of(collected) if names is None else sorted(names)
    budget.spend(len(collected))
    return sorted(collected, key=lambda row: canonical_key(aligned(row, by)))


class Table:
    """Rows to be joined with others on whatever both bind."""

    def __init__(self, rows: Iterable[Row], budget: Budget) -> None:
        self.rows = list(rows)
        self._budget = budget
        self._indexes: dict[tuple[str, ...], dict[tuple[Term, ...], list[Row]]] = {}
        always = set(self.rows[0]) if self.rows else set()
        for row in self.rows:
            always.intersection_update(row)
        self._always = tuple(sorted(always - {IDENTITY}))

    def compatible(self, row: Row) -> Iterator[tuple[Row, Row]]:
        """(row of the table, its union with `row`) for each that agrees with `row`."""
        shared = tuple([name for name in self._always if name in row])
        if shared not in self._indexes:
            self._indexes[shared] = self._index(shared)
        for other in self._indexes[shared].get(tuple([row[name] for name in shared]), ()):
            self._budget.spend()
            union = merge(row, other)
            if union is not None:
                yield other, union

    def _index(self, names: tuple[str, ...]) -> dict[tuple[Term, ...], list[Row]]:
        index: dict[tuple[Term, ...], list[Row]] = {}
        self._budget.spend(len(self.rows))
        for row in self.rows:
            index.setdefault(tuple([row[name] for name in names]), []).append(row)
        return index
