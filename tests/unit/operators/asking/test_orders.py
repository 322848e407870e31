"""The kernels against the printed algorithms, and what Sub-Order keeps while subscriptions come and go."""

from __future__ import annotations

import random

import numpy as np
import pytest

from experiments.operators.optimum import find_optimum
from tests.reference import schedules as slow
from tests.unit.operators.asking.schedule_samples import Case, make_case, make_conjunctions, play
from triplecast.kernels.chains import Chains, difference, find_edges, link
from triplecast.operators.asking.experience import Experience
from triplecast.operators.asking.runs import Conjunctions
from triplecast.operators.asking.schedules import make_schedule
from triplecast.operators.asking.sub_order import MOST_PARTNERS, Line, SubOrder


def world_of(case: Case) -> slow.World:
    columns = case.conjunctions
    rows = tuple(tuple(dict.fromkeys(members)) for _, members in case.rows)
    return slow.World(rows, tuple(columns.holds.tolist()), tuple(columns.costs.tolist()))


def cases(seed: int, count: int, rows: int = 25, predicates: int = 18) -> list[Case]:
    chance = random.Random(seed)
    return [make_case(chance, chance.randint(1, rows), predicates, failing=0) for _ in range(count)]


def truths_of(case: Case) -> list[bool]:
    return [bool(truth) for truth in case.truths]


@pytest.mark.parametrize(("name", "policy"), [("naive", slow.naive), ("stopping", slow.stopping)])
def test_row_by_row_schedules_evaluate_what_the_printed_ones_do(name: str, policy: slow.Policy, seed: int) -> None:
    for case in cases(seed, 60):
        evaluated = play(make_schedule(name, Experience()), case)[1]
        assert evaluated == slow.follow(policy, world_of(case), truths_of(case))


def test_algorithm_1_line_by_line(seed: int) -> None:
    for case in cases(seed, 100):
        evaluated = play(make_schedule("sequential", Experience()), case)[1]
        assert evaluated == slow.sequential(world_of(case), truths_of(case))


def test_adaptive_takes_a_predicate_with_the_highest_score_each_time(seed: int) -> None:
    for case in cases(seed, 40):
        world, run = world_of(case), make_schedule("adaptive", Experience()).start(case.conjunctions)
        known: slow.Truths = {}
        while wanted := run.wanted():
            found = slow.scores(world, known)
            assert found[wanted[0]] == pytest.approx(max(found.values()), abs=1e-8)
            known[wanted[0]] = truths_of(case)[wanted[0]]
            run.learn(wanted[0], known[wanted[0]])
        assert not slow.scores(world, known)


def test_a_batch_of_the_adaptive_schedule_is_best_among_all_that_share_a_row(seed: int) -> None:
    for case in cases(seed, 30):
        world, run = world_of(case), make_schedule("adaptive", Experience()).start(case.conjunctions)
        known: slow.Truths = {}
        while wanted := run.wanted(6):
            found = slow.scores(world, known)
            for predicate in wanted:
                beside = {m for row in world.rows if predicate in row and slow.is_open(row, known) for m in row}
                assert all(found[predicate] > found[other] - 1e-8 for other in beside - set(known))
            for predicate in wanted:
                known[predicate] = truths_of(case)[predicate]
                run.learn(predicate, known[predicate])


def test_what_is_needed_in_any_case_comes_first() -> None:
    """Row 1 has one predicate: no schedule can spare it, though others refute more."""
    rows = [(0, [0, 1]), (1, [2]), (2, [0, 3]), (3, [0, 2])]
    case = Case(_conjunctions(rows, [0.1, 0.5, 0.9, 0.5]), rows, [True] * 4)
    assert play(make_schedule("adaptive", Experience()), case)[1][0] == 2


def test_a_cheap_predicate_comes_before_a_dear_one() -> None:
    rows = [(0, [0, 1])]
    conjunctions = _conjunctions(rows, [0.3, 0.5])._replace(costs=np.array([1.0, 0.01]))
    assert play(make_schedule("adaptive", Experience()), Case(conjunctions, rows, [True, False]))[1] == [1]


def _conjunctions(rows: list[tuple[int, list[int]]], holds: list[float]) -> Conjunctions:
    return make_conjunctions(rows, range(len(holds)), [1.0] * len(holds), holds)


def test_adaptive_stays_near_the_optimum_of_small_worlds(seed: int) -> None:
    """Over all truths of each: within 5 % in the mean, and no printed schedule beats it in the mean."""
    best = ours = printed = 0.0
    for case in cases(seed, 25, rows=6, predicates=6):
        world = world_of(case)
        best += find_optimum(world.rows, world.holds, world.costs)
        ours += slow.expected_cost(world, lambda truths, w=world: slow.follow(slow.adaptive, w, truths))
        printed += slow.expected_cost(world, lambda truths, w=world: slow.follow(slow.stopping, w, truths))
    assert best <= ours <= 1.05 * best
    assert ours <= printed


# ---- Sub-Order -------------------------------------------------------------------------------------------------------


def chains_of(world: slow.World) -> Chains:
    rows = [slow.chain_of(row, world) for row in world.rows]
    starts = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    members = np.array([member for row in rows for member in row], np.int32)
    owners = np.repeat(np.arange(len(rows), dtype=np.int32), np.diff(starts))[np.argsort(members, kind="stable")]
    first = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=len(world.holds)))]).astype(np.int64)
    return Chains(starts, members, first, owners, np.array(world.holds), np.array(world.costs))


def random_world(chance: random.Random, rows: int, predicates: int, longest: int = 5) -> slow.World:
    made = tuple(tuple(chance.sample(range(predicates), chance.randint(1, longest))) for _ in range(rows))
    holds = tuple(chance.choice((0.1, 0.25, 0.5, 0.5, 0.8)) for _ in range(predicates))
    return slow.World(made, holds, tuple(chance.choice((1.0, 1.0, 3.0)) for _ in range(predicates)))


def test_the_cost_difference_of_two_chains_is_that_over_all_truths(seed: int) -> None:
    """One to five links, unequal costs: section 4.2.4's sum is exact."""
    chance = random.Random(seed)
    linked = 0
    for _ in range(150):
        world = random_world(chance, 2, 7)
        linked += len(set(world.rows[0]) & set(world.rows[1])) > 1
        assert difference(chains_of(world), 0, 1) == pytest.approx(slow.difference(world, 0, 1), abs=1e-9)
    assert linked > 30


def test_the_order_is_that_of_the_greedy_selection(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(60):
        world = random_world(chance, chance.randint(1, 14), 9, longest=4)
        chains = chains_of(world)
        edges = find_edges(chains, 100)
        found = link(edges, np.argsort(edges.weight, kind="stable"), len(world.rows))
        listed = list(zip(edges.weight.tolist(), edges.before.tolist(), edges.after.tolist(), strict=True))
        assert found.tolist() == slow.link(listed, len(world.rows))
        expected = {
            (a, b)
            for a in range(len(world.rows))
            for b in range(len(world.rows))
            if a != b and difference(chains, a, b) < 0
        }
        assert {(before, after) for _, before, after in listed} == expected
        assert len(listed) == len(expected)


def test_a_popular_predicate_is_compared_with_a_part_of_its_chains() -> None:
    chance = random.Random(7)
    world = slow.World(
        tuple((0, 1 + chance.randrange(30), 31 + i) for i in range(300)),
        tuple(chance.uniform(0.1, 0.9) for _ in range(331)),
        (1.0,) * 331,
    )
    edges = find_edges(chains_of(world), 4)
    assert 300 <= len(edges.weight) <= 300 * 4 + 30 * 10 * 9 // 2
    listed = list(zip(edges.weight.tolist(), edges.before.tolist(), edges.after.tolist(), strict=True))
    chains = chains_of(world)
    assert all(difference(chains, before, after) == pytest.approx(weight) for weight, before, after in listed)


def experience_of(world: slow.World) -> Experience:
    experience = Experience()
    for template, (holds, cost) in enumerate(zip(world.holds, world.costs, strict=True)):
        experience.learn_many(template, 1000, int(1000 * holds), 1000, 1000 * cost)
    return experience


def test_sub_order_evaluates_rows_in_its_order_and_predicates_as_in_a_chain(seed: int) -> None:
    chance = random.Random(seed)
    for case in cases(seed, 40):
        world = world_of(case)
        standing = slow.World(tuple(row or (0,) for row in world.rows), world.holds, world.costs)
        schedule = SubOrder(experience_of(standing))
        schedule.insert_all(dict(enumerate(standing.rows)))
        subscriptions = list(range(len(case.rows)))
        chance.shuffle(subscriptions)
        conjunctions = case.conjunctions._replace(subscriptions=np.array(subscriptions, np.int64))
        evaluated = play(schedule, case._replace(conjunctions=conjunctions))[1]
        place = {subscription: at for at, subscription in enumerate(schedule.order())}
        by_order = sorted(range(len(world.rows)), key=lambda row: place[subscriptions[row]])
        ordered = world._replace(rows=tuple(tuple(slow.chain_of(world.rows[row], world)) for row in by_order))
        assert evaluated == slow.follow(slow.stopping, ordered, truths_of(case))


def test_a_chain_that_is_inserted_stands_beside_the_one_that_it_matters_most_with() -> None:
    world = slow.World(((0, 1), (2, 3), (1, 4), (1,)), (0.1, 0.5, 0.1, 0.5, 0.9), (1.0,) * 5)
    schedule = SubOrder(experience_of(world))
    for subscription, row in enumerate(world.rows[:3]):
        schedule.insert(subscription, row)
    assert schedule.order() == [2, 0, 1]  # 2 reaches the link with 0 at once, 0 seldom
    schedule.insert(3, world.rows[3])
    assert schedule.order() == [2, 3, 0, 1]  # as near to the link as 2 is
    schedule.remove(2)
    schedule.remove(2)
    assert schedule.order() == [3, 0, 1]
    schedule.insert(0, (2,))
    assert sorted(schedule.order()) == [0, 1, 3]


def test_rows_of_a_subscription_that_does_not_stand_come_last() -> None:
    rows = [(9, [0]), (1, [1])]
    schedule = SubOrder(Experience())
    schedule.insert(1, [1])
    assert play(schedule, Case(_conjunctions(rows, [0.5, 0.5]), rows, [True, True]))[1] == [1, 0]


def test_inserting_one_by_one_keeps_an_order_of_all_that_stand(seed: int) -> None:
    chance = random.Random(seed)
    world = random_world(chance, 400, 40)
    schedule = SubOrder(experience_of(world))
    standing = set()
    for step in range(600):
        subscription = chance.randrange(400)
        if step % 4 == 3:
            schedule.remove(subscription)
            standing.discard(subscription)
        else:
            schedule.insert(subscription, world.rows[subscription])
            standing.add(subscription)
    assert sorted(schedule.order()) == sorted(standing)
    schedule.reorder()
    assert sorted(schedule.order()) == sorted(standing)
    assert max(len(schedule._partners(subscription)) for subscription in standing) <= 5 * (MOST_PARTNERS + 1)


def test_a_line_keeps_its_order_however_often_one_place_is_hit(seed: int) -> None:
    chance = random.Random(seed)
    line, expected = Line(), [0, 1]
    line.fill(expected)
    for number in range(2, 700):
        neighbour = expected[len(expected) // 2] if chance.random() < 0.8 else chance.choice(expected)
        if chance.random() < 0.5:
            line.put_after(number, neighbour)
            expected.insert(expected.index(neighbour) + 1, number)
        else:
            line.put_before(number, neighbour)
            expected.insert(expected.index(neighbour), number)
        if number % 5 == 0:
            gone = expected.pop(chance.randrange(len(expected)))
            line.drop(gone)
            line.drop(gone)
    assert line.order() == expected
    keys = line.keys(np.array(expected))
    assert (np.diff(keys) > 0).all()
    assert line.keys(np.array([-1]))[0] == np.inf


def test_an_empty_line_takes_the_first_number() -> None:
    line = Line()
    line.fill([])
    line.put_last(5)
    line.put_last(6)
    line.drop(5)
    line.put_before(4, 6)
    assert line.order() == [4, 6]
