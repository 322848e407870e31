"""Whole events at a time: the loop over ``wanted`` and ``learn`` of a schedule's run, compiled.

The same kernels as the product's runs, in the same order (`tests/experiments/operators` compares them); only the loop
between them is here, because a thousand events of eighty thousand subscriptions would take hours in Python.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from experiments.operators.workload import Workload
from triplecast.kernels import njit
from triplecast.kernels.layout import I32, U8
from triplecast.kernels.ranking import Ranking, make_ranking, next_ranked, settle_ranked
from triplecast.kernels.undecided import (
    FALSE,
    HOLDS,
    UNKNOWN,
    ConjunctionRows,
    make_rows,
    next_marked,
    next_naive,
    next_open,
    settle,
)
from triplecast.operators.asking.sub_order import SubOrder, arrange

Evaluate: TypeAlias = Callable[[NDArray[np.bool_]], NDArray[np.bool_]]
"""What an event satisfies to which predicates were evaluated."""


@njit
def _play_naive(rows: ConjunctionRows, truths: U8) -> None:
    found = np.empty(1, np.int32)
    while next_naive(rows, found) > 0:
        settle(rows, found[0], truths[found[0]])


@njit
def _play_marked(rows: ConjunctionRows, truths: U8) -> None:
    predicate = next_marked(rows)
    while predicate >= 0:
        settle(rows, predicate, truths[predicate])
        predicate = next_marked(rows)


@njit
def _play_ordered(rows: ConjunctionRows, order: I32, truths: U8) -> None:
    found = np.empty(1, np.int32)
    while next_open(rows, order, found) > 0:
        settle(rows, found[0], truths[found[0]])


@njit
def _play_ranked(rows: ConjunctionRows, ranking: Ranking, truths: U8) -> None:
    found = np.empty(1, np.int32)
    while next_ranked(rows, ranking, found) > 0:
        settle_ranked(rows, ranking, found[0], truths[found[0]])


def _naive(workload: Workload) -> Evaluate:
    return _over(workload, workload.members, _play_naive)


def _sequential(workload: Workload) -> Evaluate:
    return _over(workload, workload.members, _play_marked)


def _stopping(workload: Workload) -> Evaluate:
    order = np.arange(len(workload.starts) - 1, dtype=np.int32)
    return _over(workload, workload.members, lambda rows, truths: _play_ordered(rows, order, truths))


def _sub_order(workload: Workload) -> Evaluate:
    schedule = SubOrder(workload.known)
    schedule.insert_all(workload.standing)
    order = np.array(schedule.order(), np.int32)
    arranged = arrange(workload.starts, workload.members, workload.holds)
    return _over(workload, arranged, lambda rows, truths: _play_ordered(rows, order, truths))


def _summed(workload: Workload) -> Evaluate:
    """Not the paper's: its cost differences, summed for each chain over the others, the greatest saving first."""
    schedule = SubOrder(workload.known)
    schedule.insert_all(workload.standing)
    edges = schedule.edges()
    total = np.bincount(edges.before, edges.weight, len(workload.starts) - 1)
    total -= np.bincount(edges.after, edges.weight, len(workload.starts) - 1)
    order = np.argsort(total, kind="stable").astype(np.int32)
    arranged = arrange(workload.starts, workload.members, workload.holds)
    return _over(workload, arranged, lambda rows, truths: _play_ordered(rows, order, truths))


def _cheap_chains(workload: Workload) -> Evaluate:
    """Not the paper's: Sub-Order's order, its chains by cost over (1 - p), the best order of one chain alone."""
    schedule = SubOrder(workload.known)
    schedule.insert_all(workload.standing)
    return _ordered(workload, np.array(schedule.order(), np.int32))


def _chains_alone(workload: Workload) -> Evaluate:
    """Not the paper's: such chains, and the subscriptions as they are given; what is Sub-Order's without its order."""
    return _ordered(workload, np.arange(len(workload.starts) - 1, dtype=np.int32))


def _ordered(workload: Workload, order: I32) -> Evaluate:
    arranged = arrange(workload.starts, workload.members, workload.costs / (1 - workload.holds))
    return _over(workload, arranged, lambda rows, truths: _play_ordered(rows, order, truths))


def _adaptive(workload: Workload) -> Evaluate:
    def play(rows: ConjunctionRows, truths: U8) -> None:
        _play_ranked(rows, make_ranking(rows, workload.holds, workload.costs), truths)

    return _over(workload, workload.members, play)


def _over(workload: Workload, members: I32, play: Callable[[ConjunctionRows, U8], None]) -> Evaluate:
    def evaluate(satisfied: NDArray[np.bool_]) -> NDArray[np.bool_]:
        rows = make_rows(workload.starts, members, len(workload.holds))
        play(rows, np.where(satisfied, HOLDS, FALSE).astype(np.uint8))
        evaluated: NDArray[np.bool_] = rows.known != UNKNOWN
        return evaluated

    return evaluate


UNEQUAL = "Sub-Order, chains by cost"
"""The same as Sub-Order where costs are equal."""
SCHEDULES: Mapping[str, Callable[[Workload], Evaluate]] = MappingProxyType(
    {
        "naive": _naive,
        "Sequential": _sequential,
        "Sequential, early stop": _stopping,
        "Sub-Order": _sub_order,
        "differences summed": _summed,
        UNEQUAL: _cheap_chains,
        "chains by cost, no order": _chains_alone,
        "adaptive": _adaptive,
    }
)
"""By the names of their lines."""
OURS = "adaptive"
