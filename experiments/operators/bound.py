"""What no schedule can do without: a lower bound of the expected cost, for workloads of any size.

Let e_t be 1 where a schedule evaluates t. Whether it does is decided before t's answer is known, so e_t does not depend
on whether t holds, and with p_t its probability to hold, E[e_t] = E[e_t · (t is false)] / (1 - p_t). Hence

    expected cost = E[ Σ over false t of  c_t / (1 - p_t) · e_t ].

In every event a subscription that does not match must have a false predicate evaluated: Σ over its false t of
e_t ≥ 1. So in every event the sum in brackets is at least the optimum of a covering program over the false predicates,
and that is at least every feasible point of its dual: y ≥ 0, and over the subscriptions with t, Σ y ≤ c_t / (1 - p_t).
The mean of Σ y over events bounds every schedule, however clever, that knows only answers that it has asked for. The
bound of a schedule that is told the truth beforehand (section 3's set cover) is lower: it lacks the 1 / (1 - p_t).

y comes from a primal-dual gradient method and is then made feasible; nothing depends on its having converged.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from experiments.operators.workload import Workload
from triplecast.kernels import njit
from triplecast.kernels.layout import F64, I64
from triplecast.kernels.undecided import ConjunctionRows, make_rows

ITERATIONS = 400
_SLACK = 1e-9


def bound_event(workload: Workload, satisfied: NDArray[np.bool_], iterations: int = ITERATIONS) -> float:
    """One event's term. Raises `ArithmeticError` if the point that it rests on is not feasible."""
    return _cover(workload, satisfied, workload.costs / (1.0 - workload.holds), iterations)


def least_cover(workload: Workload, satisfied: NDArray[np.bool_], iterations: int = ITERATIONS) -> float:
    """What even a schedule that is told the truth beforehand evaluates: each subscription that matches has all its
    predicates evaluated, and the false ones cover the others. A lower bound of it, as of `bound_event`."""
    row = np.repeat(np.arange(len(workload.starts) - 1), np.diff(workload.starts))
    false = np.bincount(row, weights=~satisfied[workload.members], minlength=len(workload.starts) - 1)
    asked = np.unique(workload.members[false[row] == 0])
    return float(workload.costs[asked].sum()) + _cover(workload, satisfied, workload.costs, iterations)


def _cover(workload: Workload, satisfied: NDArray[np.bool_], price: F64, iterations: int) -> float:
    starts, members = _only_false(workload, satisfied)
    rows = make_rows(starts, members, len(price))
    dual = _make_feasible(rows, price, _descend(rows, price, iterations))
    load = np.bincount(members, weights=np.repeat(dual, np.diff(starts)), minlength=len(price))
    if (dual < 0).any() or (load > price * (1 + _SLACK)).any():
        raise ArithmeticError("the lower bound rests on a point that is not feasible")
    return float(dual.sum())


def _only_false(workload: Workload, satisfied: NDArray[np.bool_]) -> tuple[I64, NDArray[np.int32]]:
    """The subscriptions that do not match, with their false predicates."""
    false = ~satisfied[workload.members]
    row = np.repeat(np.arange(len(workload.starts) - 1), np.diff(workload.starts))[false]
    lengths = np.bincount(row, minlength=len(workload.starts) - 1)
    return np.concatenate([[0], np.cumsum(lengths[lengths > 0])]), workload.members[false]


@njit
def _descend(rows: ConjunctionRows, price: F64, iterations: int) -> F64:
    """The averaged dual of Chambolle and Pock's method, steps by the degrees of predicates and rows."""
    cover = np.zeros(len(price))
    ahead = np.zeros(len(price))
    dual = np.zeros(len(rows.outcome))
    for _ in range(iterations):
        for predicate in range(len(price)):
            first, last = rows.first[predicate], rows.first[predicate + 1]
            if first == last:
                continue
            load = 0.0
            for at in range(first, last):
                load += dual[rows.rows[at]]
            moved = min(max(cover[predicate] - (price[predicate] - load) / (last - first), 0.0), 1.0)
            ahead[predicate] = 2.0 * moved - cover[predicate]
            cover[predicate] = moved
        for row in range(len(dual)):
            covered = 0.0
            for at in range(rows.starts[row], rows.starts[row + 1]):
                covered += ahead[rows.members[at]]
            dual[row] = max(0.0, dual[row] + (1.0 - covered) / (rows.starts[row + 1] - rows.starts[row]))
    return dual


@njit
def _make_feasible(rows: ConjunctionRows, price: F64, dual: F64) -> F64:
    """Each row is divided by the most overloaded of its predicates, then raised as far as all of them allow."""
    over = np.zeros(len(price))
    for predicate in range(len(price)):
        for at in range(rows.first[predicate], rows.first[predicate + 1]):
            over[predicate] += dual[rows.rows[at]]
        over[predicate] /= price[predicate]
    load = np.zeros(len(price))
    feasible = np.zeros(len(dual))
    for row in range(len(dual)):
        most = 1.0
        for at in range(rows.starts[row], rows.starts[row + 1]):
            most = max(most, over[rows.members[at]])
        feasible[row] = dual[row] / most
        for at in range(rows.starts[row], rows.starts[row + 1]):
            load[rows.members[at]] += feasible[row]
    for row in range(len(dual)):
        room = np.inf
        for at in range(rows.starts[row], rows.starts[row + 1]):
            room = min(room, price[rows.members[at]] - load[rows.members[at]])
        if room > 0.0:
            feasible[row] += room
            for at in range(rows.starts[row], rows.starts[row + 1]):
                load[rows.members[at]] += room
    return feasible
