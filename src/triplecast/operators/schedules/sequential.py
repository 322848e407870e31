"""Subscription after subscription, in the order of the rows: the paper's baseline and its algorithm 1.

Three schedules that know nothing of the standing subscriptions. Where the paper says "any", the rows and the predicates
of a row are taken as they are given.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from triplecast.operators.schedules.conjunctions import OPEN, REFUTED, Conjunctions
from triplecast.operators.schedules.interface import Run, Standing
from triplecast.operators.schedules.undecided import UNKNOWN, Undecided


class _OrderedByRows:
    """A schedule without knowledge of what stands."""

    def insert(self, subscription: int, predicates: Sequence[int]) -> None:
        """Nothing depends on it."""

    def insert_all(self, standing: Standing) -> None:
        """Nothing depends on it."""

    def remove(self, subscription: int) -> None:
        """Nothing depends on it."""

    def reorder(self) -> None:
        """Nothing depends on it."""


class Naive(_OrderedByRows):
    """Section 5.2: each row alone, its predicates in order until one is false; what is known is reused, but a row is
    not passed over because a later predicate of it is known to be false."""

    def start(self, undecided: Conjunctions) -> Run:
        return _NaiveRun(undecided)


class Sequential(_OrderedByRows):
    """Algorithm 1 to the letter: once a row is marked, every predicate of it that an open row has is evaluated, also
    after the marked row itself is decided. At most d times the evaluations of the optimum, for rows of d predicates."""

    def start(self, undecided: Conjunctions) -> Run:
        return _MarkedRun(undecided)


class Stopping(_OrderedByRows):
    """Algorithm 1 with an early stop: the marked row is left as soon as it is decided."""

    def start(self, undecided: Conjunctions) -> Run:
        rows = np.arange(len(undecided.starts) - 1)
        return OrderedRun(undecided, rows)


class _RowsRun:
    def __init__(self, conjunctions: Conjunctions) -> None:
        self._state = Undecided(conjunctions)

    def learnt(self, predicate: int, holds: bool | None) -> None:
        self._state.settle(predicate, holds)

    def outcomes(self) -> NDArray[np.uint8]:
        return self._state.outcome


class _NaiveRun(_RowsRun):
    def __init__(self, conjunctions: Conjunctions) -> None:
        super().__init__(conjunctions)
        self._row = 0
        """All rows before it are done with."""

    def wanted(self, limit: int = 1) -> Sequence[int]:
        """What the rows look at next; different rows never change each other's predicates, so any `limit` evaluates
        the same ones."""
        found: list[int] = []
        unfinished = len(self._state.outcome)
        row = self._row
        while row < len(self._state.outcome) and len(found) < limit:
            following = self._next_of(row)
            if following is not None:
                unfinished = min(unfinished, row)
                if following not in found:
                    found.append(following)
            row += 1
        self._row = min(unfinished, row)
        return found

    def _next_of(self, row: int) -> int | None:
        for member in self._state.members_of(row):
            if self._state.known[member] == UNKNOWN:
                return member
            if self._state.known[member] == REFUTED:
                return None
        return None


class _MarkedRun(_RowsRun):
    def __init__(self, conjunctions: Conjunctions) -> None:
        super().__init__(conjunctions)
        self._row = 0
        self._marked = -1
        """The row whose predicates are being evaluated; `Select any subscription q ∈ U`."""

    def wanted(self, limit: int = 1) -> Sequence[int]:
        """One at a time: the predicates of one row decide whether the next of them is needed."""
        state = self._state
        while True:
            if self._marked >= 0:
                for member in state.members_of(self._marked):
                    if state.known[member] == UNKNOWN and state.wanting[member]:
                        return [member]
            while self._row < len(state.outcome) and state.outcome[self._row] != OPEN:
                self._row += 1
            if self._row == len(state.outcome):
                return []
            self._marked = self._row


class OrderedRun(_RowsRun):
    """Open rows in a given order, each left as soon as it is decided; the predicates of a row in the order in which
    they are given."""

    def __init__(self, conjunctions: Conjunctions, rows: NDArray[np.int64]) -> None:
        super().__init__(conjunctions)
        self._order: list[int] = rows.tolist()
        self._at = 0

    def wanted(self, limit: int = 1) -> Sequence[int]:
        state = self._state
        while self._at < len(self._order) and state.outcome[self._order[self._at]] != OPEN:
            self._at += 1
        found: list[int] = []
        taken: set[int] = set()
        at = self._at
        while at < len(self._order) and len(found) < limit:
            row = self._order[at]
            at += 1
            if state.outcome[row] != OPEN or row in taken:
                continue
            member = next(member for member in state.members_of(row) if state.known[member] == UNKNOWN)
            rows = [other for other in state.rows_of(member) if state.outcome[other] == OPEN]
            if taken.isdisjoint(rows):
                found.append(member)
                taken.update(rows)
        return found
