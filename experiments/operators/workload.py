"""Section 5.2: subscriptions over predicates of unequal popularity, and events.

What the paper leaves open, and how it was read (`README.md` has the reasons):

- *Selectivity.* None is given, only that 0.2 % of the subscriptions match. Predicate t holds with probability
  ``scale · u_t``, u_t uniform in [0, 1] (or 1 for all: `Sizes.equal`); the scale is what makes the expected share
  of matching subscriptions, over the drawn subscriptions, `Sizes.matching`. Predicates are independent (section 3).
- *Popularity.* "Uniform" are weights uniform in [0, 1], as it says, not equal ones; Zipf's are 1 / rank^exponent.
- *Arbitrary* orders: subscriptions as they were generated, the predicates of each in an order drawn for it alone. (As
  they were drawn, the first would be the more popular; by number, they would stand in one order everywhere.)
- A predicate that a subscription has already is drawn again; lengths are uniform, both ends included.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from triplecast.model.match import Learnt
from triplecast.operators.asking.experience import Experience
from triplecast.operators.asking.runs import Conjunctions

_SURE = 1e12
"""Answers behind what `known` believes: the prior counts for nothing."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Table 1."""

    subscriptions: int
    predicates: int
    exponent: float = 0.0
    """Of Zipf; 0: weights uniform in [0, 1]."""
    longest: int = 5
    shortest: int = 3
    matching: float = 0.002
    equal: bool = False
    """All predicates are equally probable."""
    cost_ratio: float = 1.0
    """Dearest over cheapest predicate; costs are spread evenly over the decades between."""


@dataclass(frozen=True, slots=True)
class Workload:
    starts: NDArray[np.int64]
    members: NDArray[np.int32]
    """In a random order within a subscription."""
    holds: NDArray[np.float64]
    """[predicates]"""
    costs: NDArray[np.float64]
    """[predicates] the cheapest is 1."""

    @property
    def conjunctions(self) -> Conjunctions:
        """One row a subscription, one ground predicate a template."""
        rows = np.arange(len(self.starts) - 1)
        templates = np.arange(len(self.holds), dtype=np.int32)
        return Conjunctions(rows, self.starts, self.members, templates, self.costs, self.holds)

    @property
    def standing(self) -> dict[int, list[int]]:
        """The predicates of each subscription."""
        return {row: each.tolist() for row, each in enumerate(np.split(self.members, self.starts[1:-1]))}

    @property
    def known(self) -> Experience:
        """Who has learnt the probabilities and costs as they are."""
        pairs = zip(self.holds.tolist(), self.costs.tolist(), strict=True)
        return Experience(
            Learnt(str(template), 0.0, _SURE, _SURE * holds, _SURE, _SURE * cost)
            for template, (holds, cost) in enumerate(pairs)
        )


def make_workload(sizes: Sizes, seed: int) -> Workload:
    """A function of both."""
    random = np.random.default_rng(seed)
    ranks = np.arange(1, sizes.predicates + 1)
    weights = ranks**-sizes.exponent if sizes.exponent else random.random(sizes.predicates)
    cumulated = np.cumsum(random.permutation(weights))
    lengths = random.integers(sizes.shortest, sizes.longest + 1, sizes.subscriptions)
    row = np.repeat(np.arange(sizes.subscriptions), lengths)
    drawn = _draw(cumulated, len(row), random)
    while len(again := _repeated(row, drawn)):
        drawn[again] = _draw(cumulated, len(again), random)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    members = drawn[np.lexsort((random.random(len(row)), row))].astype(np.int32)
    spread = np.ones(sizes.predicates) if sizes.equal else random.random(sizes.predicates)
    holds = spread * _scale(spread, starts, members, sizes.matching)
    costs = sizes.cost_ratio ** random.random(sizes.predicates)
    return Workload(starts, members, holds, costs)


def make_events(workload: Workload, count: int, seed: int) -> NDArray[np.bool_]:
    """[count, predicates] what each event satisfies."""
    return np.random.default_rng(seed).random((count, len(workload.holds))) < workload.holds


def _draw(cumulated: NDArray[np.float64], count: int, random: np.random.Generator) -> NDArray[np.int64]:
    drawn: NDArray[np.int64] = np.searchsorted(cumulated, random.random(count) * cumulated[-1], side="right")
    return drawn


def _repeated(row: NDArray[np.int64], drawn: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of draws that an earlier one of the same row equals."""
    order = np.lexsort((drawn, row))
    same = (np.diff(row[order]) == 0) & (np.diff(drawn[order]) == 0)
    return np.sort(order[1:][same])


def _scale(
    spread: NDArray[np.float64], starts: NDArray[np.int64], members: NDArray[np.int32], matching: float
) -> float:
    """By bisection; the expected share rises with it."""
    logarithms = np.log(np.maximum(spread, 1e-300))[members]
    products = np.exp(np.add.reduceat(logarithms, starts[:-1]))
    lengths = np.diff(starts)
    low, high = 0.0, 1.0 / float(spread.max())
    for _ in range(60):
        middle = (low + high) / 2
        share = float((products * middle**lengths).mean())
        low, high = (middle, high) if share < matching else (low, middle)
    return low
