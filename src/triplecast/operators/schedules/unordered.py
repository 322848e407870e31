"""Schedules that know nothing of the standing subscriptions: the paper's baseline, its algorithm 1, and our own.

Where the paper says "any" or "arbitrarily", the rows and the predicates of a row are taken as they are given.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triplecast.operators.schedules.conjunctions import Conjunctions
from triplecast.operators.schedules.interface import Run, StandingTable
from triplecast.operators.schedules.runs import MarkedRun, NaiveRun, OrderedRun, RankedRun


class Unordered:
    """What stands makes no difference."""

    keeps_order = False

    def insert(self, subscription: int, predicates: Sequence[int]) -> None:
        """Nothing to do."""

    def insert_all(self, standing: StandingTable) -> None:
        """Nothing to do."""

    def remove(self, subscription: int) -> None:
        """Nothing to do."""

    def reorder(self) -> None:
        """Nothing to do."""


class Naive(Unordered):
    """Section 5.2: each row alone, its predicates in order until one is false. What is known is reused, but a row is
    not passed over because a later predicate of it is known to be false."""

    def start(self, undecided: Conjunctions) -> Run:
        """As `Schedule.start`."""
        return NaiveRun(undecided)


class Sequential(Unordered):
    """Algorithm 1 to the letter: once a row is marked, every predicate of it that an open row has is evaluated, also
    after the marked row itself is decided. At most d times the evaluations of the optimum, for rows of d predicates
    (theorem 2); at most ``d · dearest / cheapest`` times its cost (section 4.3)."""

    def start(self, undecided: Conjunctions) -> Run:
        """As `Schedule.start`."""
        return MarkedRun(undecided)


class Stopping(Unordered):
    """Algorithm 1 with an early stop: the marked row is left as soon as it is decided. The theorem's bound holds for it
    too: of each marked row at most d predicates are evaluated, and any schedule evaluates one of them."""

    def start(self, undecided: Conjunctions) -> Run:
        """As `Schedule.start`."""
        return OrderedRun(undecided, np.arange(len(undecided.starts) - 1, dtype=np.int32))


class Adaptive(Unordered):
    """Ours: always the predicate that is expected to refute most open rows for its cost, given every answer so far.

    The score of a predicate is ``rows · (1 - p) / (c · free)``: the open rows that have it, the probability that it is
    false, its cost, and the probability that it need not be evaluated anyway, ``free = Π (1 - q)`` over these rows with
    q the probability that the row's other unknown predicates hold. The first three are the greedy rule of adaptive
    submodular cover; the last makes a predicate that no schedule could spare come first, as it should: it costs nothing
    to take now, and tells something. It asks each row's own probabilities, so it needs no order of what stands.
    """

    def start(self, undecided: Conjunctions) -> Run:
        """As `Schedule.start`."""
        return RankedRun(undecided)
