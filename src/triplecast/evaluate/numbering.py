"""Terms as numbers within one evaluation: equal terms have one number.

Keys and orders over rows use numbers, so that each object's text is read once, however many rows show it, and never
kept twice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from triplecast.evaluate.budget import LONGEST_FREE, Budget
from triplecast.model.algebra import Term

UNBOUND = -1
"""The number of no term, and its rank in every order."""


class Numbering:
    """The terms seen so far. An object is recognised by its identity, so it is kept alive."""

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
