"""Runs over the rows of one publication: thin faces of the kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels import ranking as kernel_ranking
from triplecast.kernels import undecided as kernel_rows
from triplecast.operators.schedules.conjunctions import FAILED, HOLDS, OPEN, REFUTED, Conjunctions

_NONE: tuple[int, ...] = ()


class RowsRun:
    """What all runs share: what has been learnt, and which rows are decided by it."""

    def __init__(self, conjunctions: Conjunctions) -> None:
        self._rows = kernel_rows.make_rows(
            np.ascontiguousarray(conjunctions.starts, np.int64),
            np.ascontiguousarray(conjunctions.members, np.int32),
            len(conjunctions.templates),
        )
        self._found = np.empty(1, np.int32)

    def learnt(self, predicate: int, holds: bool | None) -> None:
        """As `Run.learnt`."""
        if not 0 <= predicate < len(self._rows.known):
            raise ValueError(f"ground predicates are numbered from 0 to {len(self._rows.known) - 1}, not {predicate}")
        if self._rows.known[predicate] != OPEN:
            raise ValueError(f"ground predicate {predicate} is learnt a second time")
        self._settle(predicate, FAILED if holds is None else HOLDS if holds else REFUTED)

    def outcomes(self) -> NDArray[np.uint8]:
        """As `Run.outcomes`; a copy."""
        return self._rows.outcome.copy()

    def _settle(self, predicate: int, truth: int) -> None:
        kernel_rows.settle(self._rows, predicate, truth)

    def _room(self, limit: int) -> NDArray[np.int32]:
        if limit < 1:
            raise ValueError(f"at least one predicate is asked for at a time, not {limit}")
        if len(self._found) != limit:
            self._found = np.empty(limit, np.int32)
        return self._found


class NaiveRun(RowsRun):
    """Each row alone."""

    def wanted(self, limit: int = 1) -> Sequence[int]:
        """As `Run.wanted`, but two may stand in one row: no row's evaluations depend on another's, so that any `limit`
        evaluates the same predicates."""
        found = self._room(limit)
        chosen: list[int] = found[: kernel_rows.next_naive(self._rows, found)].tolist()
        return chosen


class MarkedRun(RowsRun):
    """Algorithm 1 to the letter."""

    def wanted(self, limit: int = 1) -> Sequence[int]:
        """One at a time, whatever `limit`: each tells whether the next of the marked row is needed."""
        self._room(limit)
        predicate = kernel_rows.next_marked(self._rows)
        return (predicate,) if predicate >= 0 else _NONE


class OrderedRun(RowsRun):
    """Open rows in a given order, each left as soon as it is decided; the predicates of a row in the order in which it
    lists them."""

    def __init__(self, conjunctions: Conjunctions, order: NDArray[np.int32]) -> None:
        super().__init__(conjunctions)
        self._order = order

    def wanted(self, limit: int = 1) -> Sequence[int]:
        """As `Run.wanted`."""
        found = self._room(limit)
        chosen: list[int] = found[: kernel_rows.next_open(self._rows, self._order, found)].tolist()
        return chosen


class RankedRun(RowsRun):
    """The predicate that decides most for its cost, then what does after its answer."""

    def __init__(self, conjunctions: Conjunctions) -> None:
        super().__init__(conjunctions)
        self._ranking = kernel_ranking.make_ranking(
            self._rows,
            np.ascontiguousarray(conjunctions.holds, np.float64),
            np.ascontiguousarray(conjunctions.costs, np.float64),
        )

    def wanted(self, limit: int = 1) -> Sequence[int]:
        """As `Run.wanted`."""
        found = self._room(limit)
        chosen: list[int] = found[: kernel_ranking.next_ranked(self._rows, self._ranking, found)].tolist()
        return chosen

    def _settle(self, predicate: int, truth: int) -> None:
        kernel_ranking.settle_ranked(self._rows, self._ranking, predicate, truth)
