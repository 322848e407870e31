"""The workload of section 5, whole events against the product's own runs, and the lower bound."""

from __future__ import annotations

import random

import numpy as np
import pytest

from experiments.operators.bound import bound_event
from experiments.operators.optimum import expect, find_optimum
from experiments.operators.playing import SCHEDULES as LINES
from experiments.operators.share import ask_engine
from experiments.operators.workload import Sizes, Workload, make_events, make_workload
from triplecast.operators.asking.schedules import make_schedule
from triplecast.operators.asking.sub_order import SubOrder

PRODUCT = {
    "naive": "naive",
    "Sequential": "sequential",
    "Sequential, early stop": "stopping",
    "Sub-Order": "sub-order",
    "adaptive": "adaptive",
}
SMALL = (Sizes(300, 120), Sizes(300, 120, exponent=1.0, longest=9), Sizes(200, 80, equal=True, cost_ratio=50.0))


@pytest.mark.parametrize("sizes", SMALL)
def test_the_workload_is_what_table_1_says(sizes: Sizes, seed: int) -> None:
    workload = make_workload(sizes, seed)
    rows = np.split(workload.members, workload.starts[1:-1])
    lengths = {len(row) for row in rows}
    assert len(rows) == sizes.subscriptions
    assert lengths == set(range(sizes.shortest, sizes.longest + 1))
    assert all(len(set(row.tolist())) == len(row) for row in rows)
    assert 0.4 < np.mean([row[0] < row[1] for row in rows]) < 0.6
    expected = np.mean([np.prod(workload.holds[row]) for row in rows])
    assert expected == pytest.approx(sizes.matching, rel=1e-6)
    assert len(set(workload.holds.tolist())) == (1 if sizes.equal else sizes.predicates)
    assert 1 <= workload.costs.min() <= workload.costs.max() <= sizes.cost_ratio
    again = make_workload(sizes, seed)
    assert all(np.array_equal(getattr(workload, name), getattr(again, name)) for name in Workload.__slots__)


def test_popularity_follows_zipf_or_uniform_weights(seed: int) -> None:
    counts = {
        exponent: np.sort(np.bincount(make_workload(Sizes(20_000, 1_000, exponent), seed).members))[::-1]
        for exponent in (0.0, 1.0)
    }
    assert counts[0.0][0] < 3 * np.median(counts[0.0])
    assert 1.5 < counts[1.0][0] / counts[1.0][1] < 2.2
    assert 7 < counts[1.0][0] / counts[1.0][9] < 11


@pytest.mark.parametrize("line", PRODUCT)
def test_a_whole_event_evaluates_what_a_run_of_the_product_asks(line: str, seed: int) -> None:
    for sizes in SMALL:
        workload = make_workload(sizes, seed)
        schedule = make_schedule(PRODUCT[line], workload.known)
        if isinstance(schedule, SubOrder):
            schedule.insert_all(workload.standing)
        evaluate = LINES[line](workload)
        for satisfied in make_events(workload, 4, seed):
            run = schedule.start(workload.conjunctions)
            asked = []
            while wanted := run.wanted():
                asked += wanted
                run.learn(wanted[0], bool(satisfied[wanted[0]]))
            assert sorted(asked) == np.flatnonzero(evaluate(satisfied)).tolist()


@pytest.mark.parametrize("unequal", [False, True], ids=["equal costs", "unequal costs"])
def test_the_bound_is_below_the_optimum_and_the_optimum_below_every_schedule(seed: int, unequal: bool) -> None:
    """Small worlds, over all truths: also that Sequential stays within d times the optimum (theorem 2), times the
    dearest cost over the cheapest (4.3)."""
    chance = random.Random(seed)
    for _ in range(12):
        rows = [sorted(chance.sample(range(6), chance.randint(1, 3))) for _ in range(6)]
        holds = [chance.uniform(0.05, 0.9) for _ in range(6)]
        members = np.array([member for row in rows for member in row], np.int32)
        starts = np.cumsum([0, *map(len, rows)])
        costs = [chance.choice((1.0, 3.0, 10.0)) for _ in range(6)] if unequal else [1.0] * 6
        workload = Workload(starts, members, np.array(holds), np.array(costs))
        optimum = find_optimum(rows, holds, costs)
        bound = expect(holds, lambda truths, w=workload: bound_event(w, np.array(truths)))
        assert bound <= optimum + 1e-9
        for line, prepare in LINES.items():
            evaluate = prepare(workload)
            cost = expect(holds, lambda truths, e=evaluate, w=workload: float(w.costs[e(np.array(truths))].sum()))
            assert cost >= optimum - 1e-9
            if line.startswith("Sequential"):
                assert cost <= 3 * max(costs) / min(costs) * optimum + 1e-9


def test_the_bound_of_one_row_is_its_cost_and_grows_with_what_it_rests_on() -> None:
    """A chain costs 1 + p + p² when all are as probable: no schedule does better, and the bound says so."""
    workload = Workload(np.array([0, 3]), np.arange(3, dtype=np.int32), np.full(3, 0.2), np.ones(3))
    bound = expect([0.2] * 3, lambda truths: bound_event(workload, np.array(truths)))
    assert bound == pytest.approx(1 + 0.2 + 0.04)


def test_what_any_schedule_evaluates_costs_at_least_the_bound_in_every_event(seed: int) -> None:
    for sizes in SMALL:
        workload = make_workload(sizes, seed)
        price = workload.costs / (1 - workload.holds)
        for satisfied in make_events(workload, 3, seed):
            bound = bound_event(workload, satisfied)
            assert bound > 0
            for prepare in LINES.values():
                assert price[prepare(workload)(satisfied) & ~satisfied].sum() >= bound - 1e-9


def test_the_share_is_told_of_the_engines_own_calls(seed: int) -> None:
    """Every event's matches are checked inside; a share is one."""
    workload = make_workload(Sizes(60, 30, exponent=1.0), seed)
    shares = ask_engine(workload, 3)
    assert all(0 < each.scheduling < each.stage < 100 for each in shares)
    assert all(0 < each.calls <= 30 for each in shares)
