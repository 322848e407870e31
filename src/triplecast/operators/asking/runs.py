"""The rows of one publication, while costly predicates are evaluated to decide them.

A *template* is a predicate of a subscription, equal for all that unify; a *ground predicate* is one of its instances in
one publication, evaluated once for all rows that have it. A row is a conjunction of ground predicates: one joint
substitution of one subscription. A failed predicate leaves its rows open as long as another of theirs might be false
(semantics 8.1).

A run is driven like this::

    while wanted := run.wanted(limit):
        for predicate in wanted:
            run.learn(predicate, holds)                # True, False, or None for an operator that failed
    run.outcomes()                                     # for each row: HOLDS, REFUTED or FAILED
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels import ranking as kernel_ranking
from triplecast.kernels import undecided as kernel_rows
from triplecast.kernels.undecided import FAILED, FALSE, HOLDS, UNKNOWN

OPEN = UNKNOWN
"""Not decided yet."""
REFUTED = FALSE
"""A predicate of the row is false. (`FAILED`: one failed and none is false, so the pair is undecided.)"""


class Conjunctions(NamedTuple):
    """Row r is the conjunction of the ground predicates ``members[starts[r]:starts[r + 1]]``, each once; a row without
    any holds. Ground predicates are numbered from 0 in the columns below."""

    subscriptions: NDArray[np.int64]
    """[rows] whose row it is."""
    starts: NDArray[np.int64]
    """[rows + 1]"""
    members: NDArray[np.int32]
    templates: NDArray[np.int32]
    """[ground] what each is an instance of."""
    costs: NDArray[np.float64]
    """[ground] seconds that an evaluation is expected to take, positive."""
    holds: NDArray[np.float64]
    """[ground] how probable it is to hold, from 0 to 1."""


class Run:
    """Decides the rows of one publication; each schedule has its own choice of what is evaluated next."""

    def __init__(self, conjunctions: Conjunctions) -> None:
        self._rows = kernel_rows.make_rows(
            np.ascontiguousarray(conjunctions.starts, np.int64),
            np.ascontiguousarray(conjunctions.members, np.int32),
            len(conjunctions.templates),
        )
        self._found = np.empty(1, np.int32)

    def wanted(self, limit: int = 1) -> Sequence[int]:
        """Return the ground predicates to evaluate next, at most `limit`; none when all rows are decided.

        None of them is evaluated and no two are in one undecided row, so each is still needed when its turn comes,
        whatever the others are. The same again until one of them is learnt.
        """
        if limit < 1:
            raise ValueError(f"at least one predicate is asked for at a time, not {limit}")
        if len(self._found) != limit:
            self._found = np.empty(limit, np.int32)
        chosen: list[int] = self._found[: self._choose(self._found)].tolist()
        return chosen

    def learn(self, predicate: int, holds: bool | None) -> None:
        """Note the truth of a ground predicate, wanted or not; None for one that failed. Raises `ValueError` for one
        that is known."""
        if not 0 <= predicate < len(self._rows.known):
            raise ValueError(f"ground predicates are numbered from 0 to {len(self._rows.known) - 1}, not {predicate}")
        if self._rows.known[predicate] != OPEN:
            raise ValueError(f"ground predicate {predicate} is learnt a second time")
        self._settle(predicate, FAILED if holds is None else HOLDS if holds else REFUTED)

    def outcomes(self) -> NDArray[np.uint8]:
        """Return `OPEN`, `HOLDS`, `REFUTED` or `FAILED` for each row."""
        return self._rows.outcome.copy()

    def _choose(self, found: NDArray[np.int32]) -> int:
        """Write the predicates to evaluate next into `found`; return how many."""
        raise NotImplementedError

    def _settle(self, predicate: int, truth: int) -> None:
        kernel_rows.settle(self._rows, predicate, truth)


class NaiveRun(Run):
    """Section 5.2: each row alone, its predicates in order until one is false. Known truths are reused, but a row is
    not skipped because a later predicate of it is known to be false; two wanted predicates may be in one row."""

    def _choose(self, found: NDArray[np.int32]) -> int:
        return kernel_rows.next_naive(self._rows, found)


class SequentialRun(Run):
    """Algorithm 1 to the letter: once a row is marked, every predicate of it that an open row has is evaluated, also
    after the marked row itself is decided. At most d times the evaluations of the optimum, for rows of d predicates
    (theorem 2); at most ``d · dearest / cheapest`` times its cost (section 4.3). One predicate at a time: each tells
    whether the next of the marked row is needed."""

    def _choose(self, found: NDArray[np.int32]) -> int:
        found[0] = kernel_rows.next_marked(self._rows)
        return int(found[0] >= 0)


class OrderedRun(Run):
    """Open rows in a given order, each left as soon as it is decided; the predicates of a row in the order in which it
    lists them. Without an order, rows as they are given: algorithm 1 with an early stop, for which the theorem's bound
    holds too, since any schedule evaluates one of the at most d predicates of each marked row."""

    def __init__(self, conjunctions: Conjunctions, order: NDArray[np.int32] | None = None) -> None:
        super().__init__(conjunctions)
        self._order = np.arange(len(conjunctions.starts) - 1, dtype=np.int32) if order is None else order

    def _choose(self, found: NDArray[np.int32]) -> int:
        return kernel_rows.next_open(self._rows, self._order, found)


class AdaptiveRun(Run):
    """Ours: always the predicate that is expected to refute most open rows for its cost, given every answer so far.

    The score of a predicate is ``rows · (1 - p) / (c · free)``: the open rows that have it, the probability that it is
    false, its cost, and the probability that it need not be evaluated anyway, ``free = Π (1 - q)`` over these rows with
    q the probability that the row's other unknown predicates hold. The first three are the greedy rule of adaptive
    submodular cover; the last makes a predicate that no schedule could spare come first: it costs nothing to evaluate
    it now, and its answer informs. It uses each row's own probabilities, so it needs no order of subscriptions.
    """

    def __init__(self, conjunctions: Conjunctions) -> None:
        super().__init__(conjunctions)
        self._ranking = kernel_ranking.make_ranking(
            self._rows,
            np.ascontiguousarray(conjunctions.holds, np.float64),
            np.ascontiguousarray(conjunctions.costs, np.float64),
        )

    def _choose(self, found: NDArray[np.int32]) -> int:
        return kernel_ranking.next_ranked(self._rows, self._ranking, found)

    def _settle(self, predicate: int, truth: int) -> None:
        kernel_ranking.settle_ranked(self._rows, self._ranking, predicate, truth)
