"""Small worlds: the best policy there is by trying all, and any schedule's expected cost over all truths."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from math import prod


def find_optimum(rows: Sequence[Sequence[int]], holds: Sequence[float], costs: Sequence[float]) -> float:
    """The least expected cost of deciding all rows: 3^predicates states, each the best of its questions."""

    def is_open(row: Sequence[int], state: tuple[int, ...]) -> bool:
        return all(state[member] != 0 for member in row) and any(state[member] < 0 for member in row)

    @cache
    def least(state: tuple[int, ...]) -> float:
        asked = sorted({member for row in rows if is_open(row, state) for member in row if state[member] < 0})
        return min(
            (
                costs[predicate]
                + holds[predicate] * least((*state[:predicate], 1, *state[predicate + 1 :]))
                + (1 - holds[predicate]) * least((*state[:predicate], 0, *state[predicate + 1 :]))
                for predicate in asked
            ),
            default=0.0,
        )

    return least((-1,) * len(holds))


def expect(holds: Sequence[float], cost_of: Callable[[tuple[bool, ...]], float]) -> float:
    """The mean of `cost_of` over all truths, each as probable as it is."""
    return sum(
        prod(p if true else 1 - p for p, true in zip(holds, truths, strict=True)) * cost_of(truths)
        for truths in product((False, True), repeat=len(holds))
    )
