"""The rows that are still open, and what is known of the ground predicates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from triplecast.operators.schedules.conjunctions import FAILED, HOLDS, OPEN, REFUTED, Conjunctions

UNKNOWN = 0
"""What is known of a ground predicate: this, or `HOLDS`, `REFUTED`, `FAILED`."""


class Undecided:
    """Kept under `settle`; the paper's two tables (section 5.1) as arrays."""

    def __init__(self, conjunctions: Conjunctions) -> None:
        starts, members = conjunctions.starts, conjunctions.members
        self.starts = starts
        self.members = members
        self.known: NDArray[np.uint8] = np.zeros(len(conjunctions.templates), np.uint8)
        """[ground]"""
        self.outcome: NDArray[np.uint8] = np.zeros(len(starts) - 1, np.uint8)
        """[rows]"""
        self.left: NDArray[np.int64] = np.diff(starts)
        """[rows] how many of its predicates are unknown."""
        self.wanting: NDArray[np.int64] = np.bincount(members, minlength=len(self.known))
        """[ground] how many open rows have it."""
        order = np.argsort(members, kind="stable")
        self.rows = np.repeat(np.arange(len(self.left)), self.left)[order]
        """The rows of each ground predicate, ascending; the first at `first`."""
        self.first = np.concatenate([[0], np.cumsum(self.wanting)])
        self.failing: NDArray[np.bool_] = np.zeros(len(self.left), bool)
        """[rows] whether a predicate of it failed."""
        self.outcome[self.left == 0] = HOLDS

    def rows_of(self, predicate: int) -> list[int]:
        rows: list[int] = self.rows[self.first[predicate] : self.first[predicate + 1]].tolist()
        return rows

    def members_of(self, row: int) -> list[int]:
        members: list[int] = self.members[self.starts[row] : self.starts[row + 1]].tolist()
        return members

    def settle(self, predicate: int, holds: bool | None) -> None:
        """Raises `ValueError` for a predicate that is known already."""
        if self.known[predicate] != UNKNOWN:
            raise ValueError(f"ground predicate {predicate} is learnt a second time")
        self.known[predicate] = FAILED if holds is None else HOLDS if holds else REFUTED
        for row in self.rows_of(predicate):
            if self.outcome[row] != OPEN:
                continue
            self.left[row] -= 1
            self.failing[row] |= holds is None
            if holds is False:
                self._close(row, REFUTED)
            elif self.left[row] == 0:
                self._close(row, FAILED if self.failing[row] else HOLDS)

    def _close(self, row: int, outcome: int) -> None:
        self.outcome[row] = outcome
        self.wanting[self.members_of(row)] -= 1
