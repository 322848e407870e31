"""Solutions while they are computed, and their joins.

A row maps the names of bound variables to terms. Rows are never changed once yielded, but for the one hidden entry
`IDENTITY`, which an expression adds when it first makes a blank node for the solution.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from triplecast.evaluate.budget import ENTRIES_A_STEP, LONGEST_FREE, Budget
from triplecast.model.algebra import Term

Row: TypeAlias = dict[str, Term]

IDENTITY = "_: solution"
"""The name of a solution's own label: no variable has it, joins and domains ignore it."""
UNBOUND = -1
"""The number of no term, and its rank in every order."""
FEW = 64
"""Bindings that are ordered by their texts directly, all of them short; more are numbered first."""


class Numbering:
    """Terms as numbers within one evaluation: equal terms have one number, for keys and orders of rows. An object is
    recognised by its identity, so it is kept alive, and its text is read once."""

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._of_object: dict[int, int] = {}
        self._of_term: dict[Term, int] = {}
        self._terms: list[Term] = []
        self._kept: list[Term] = []

    def number(self, term: Term | None) -> int:
        """Number a term; spends the length of an object that is new."""
        if term is None:
            return UNBOUND
        found = self._of_object.get(id(term))
        return self._add(term) if found is None else found

    def key(self, row: Mapping[str, Term], names: Sequence[str]) -> tuple[int, ...]:
        """The numbers of what `row` binds to `names`."""
        return tuple([self.number(row.get(name)) for name in names])

    def ranks(self, numbers: Iterable[int], key: Callable[[Term], Any] = str) -> Mapping[int, int]:
        """Rank each number by its term's `key` (default: N-Triples text); equal keys share a rank, unbound is first."""
        distinct = sorted(set(numbers) - {UNBOUND})
        self.budget.spend(len(distinct))
        self.budget.spend_terms(map(self._terms.__getitem__, distinct))
        keys = {number: key(self._terms[number]) for number in distinct}
        places = {each: rank for rank, each in enumerate(sorted(set(keys.values())))}
        return {UNBOUND: UNBOUND, **{number: places[keys[number]] for number in distinct}}

    def distinct(self, terms: Iterable[Term]) -> list[Term]:
        """One of each, in order of first appearance."""
        return [self._terms[number] for number in dict.fromkeys(map(self.number, terms))]

    def _add(self, term: Term) -> int:
        if self.budget.long or len(term.value) > LONGEST_FREE:
            self.budget.spend_terms((term,))
        number = self._of_term.setdefault(term, len(self._terms))
        if number == len(self._terms):
            self._terms.append(term)
        self._kept.append(term)
        self._of_object[id(term)] = number
        return number


def hidden(name: str) -> bool:
    """Whether a name belongs to a blank node of the query, not to a variable."""
    return name.startswith("_:")


def merge(left: Row, right: Row) -> Row | None:
    """The union of two rows, None when they disagree."""
    for name, term in right.items():
        other = left.get(name)
        if other is not None and other is not term and other != term and name != IDENTITY:
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


def in_canonical_order(rows: Iterable[Row], numbering: Numbering, names: Sequence[str] | None = None) -> list[Row]:
    """Rows by the N-Triples text of `names` (default: all visible variables), unbound first (semantics 1.4)."""
    collected = list(rows)
    if len(collected) < 2:
        return collected
    by = names_of(collected) if names is None else sorted(names)
    numbering.budget.spend(len(collected) * (1 + len(by) // ENTRIES_A_STEP))
    if len(collected) * len(by) <= FEW and not numbering.budget.long:
        return sorted(collected, key=lambda row: ["" if (term := row.get(name)) is None else str(term) for name in by])
    keys = [numbering.key(row, by) for row in collected]
    ranks = numbering.ranks({number for key in keys for number in key})
    places = [[ranks[number] for number in key] for key in keys]
    return [collected[index] for index in sorted(range(len(keys)), key=places.__getitem__)]


class Table:
    """Rows to be joined with others on whatever both bind."""

    def __init__(self, rows: Iterable[Row], numbering: Numbering) -> None:
        self.rows = list(rows)
        self._numbering = numbering
        self._indexes: dict[tuple[str, ...], dict[tuple[int, ...], list[Row]]] = {}
        always = set(self.rows[0]) if self.rows else set()
        for row in self.rows:
            always.intersection_update(row)
        self._always = tuple(sorted(always - {IDENTITY}))

    def compatible(self, row: Row) -> Iterator[tuple[Row, Row]]:
        """(row of the table, its union with `row`) for each that agrees with `row`."""
        shared = tuple([name for name in self._always if name in row])
        if shared not in self._indexes:
            self._indexes[shared] = self._index(shared)
        budget = self._numbering.budget
        for other in self._indexes[shared].get(self._numbering.key(row, shared), ()):
            budget.spend_row(row)
            budget.spend_row(other)
            if len(self._always) < len(other):  # what `shared` does not settle is compared
                budget.spend_noted(*[row.get(name) for name in other])
            union = merge(row, other)
            if union is not None:
                yield other, union

    def _index(self, names: tuple[str, ...]) -> dict[tuple[int, ...], list[Row]]:
        index: dict[tuple[int, ...], list[Row]] = {}
        self._numbering.budget.spend(len(self.rows) * (1 + len(names) // ENTRIES_A_STEP))
        for row in self.rows:
            index.setdefault(self._numbering.key(row, names), []).append(row)
        return index
