"""What holds of every schedule, and what distinguishes the paper's."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.schedules import check_history
from tests.unit.operators.asking.schedule_samples import Case, make_case, make_conjunctions, play
from triplecast.errors import InputError
from triplecast.operators.asking.experience import Experience
from triplecast.operators.asking.runs import FAILED, HOLDS, OPEN, REFUTED
from triplecast.operators.asking.schedules import SCHEDULES, make_schedule


@pytest.mark.parametrize("limit", [1, 3, 50])
@pytest.mark.parametrize("name", SCHEDULES)
def test_every_schedule_answers_as_each_row_alone_and_asks_once(name: str, limit: int, seed: int) -> None:
    chance = random.Random(f"{seed} {name} {limit}")
    matching = total = 0
    for _ in range(60):
        case = make_case(chance, rows=chance.randint(0, 40), predicates=chance.randint(1, 25), longest=4)
        outcomes, evaluated = play(make_schedule(name, Experience()), case, limit)
        assert outcomes == case.alone()
        assert len(evaluated) == len(set(evaluated))
        matching += outcomes.count(HOLDS)
        total += len(outcomes)
    assert matching / total > 0.25


@pytest.mark.parametrize("name", [name for name in SCHEDULES if name != "naive"])
def test_a_batch_holds_only_predicates_that_stay_needed(name: str, seed: int) -> None:
    chance = random.Random(f"{seed} {name}")
    for _ in range(40):
        case = make_case(chance, rows=30, predicates=25)
        run = make_schedule(name, Experience()).start(case.conjunctions)
        while wanted := run.wanted(8):
            for predicate in wanted:
                open_rows = run.outcomes() == OPEN
                assert any(open_rows[row] and predicate in members for row, (_, members) in enumerate(case.rows))
                run.learn(predicate, case.truths[predicate])


def test_naive_asks_although_a_later_predicate_is_known_to_be_false() -> None:
    case = Case(make_conjunctions([(0, [1]), (1, [0, 1])], [0, 1], [1, 1], [0.5, 0.5]), [], [True, False])
    assert play(make_schedule("naive", Experience()), case)[1] == [1, 0]
    assert play(make_schedule("stopping", Experience()), case)[1] == [1]


def test_algorithm_1_goes_on_with_the_marked_row_where_an_open_row_shares_the_predicate() -> None:
    """Figure 2's situation: the marked subscription is refuted by its first predicate, its second stands in another."""
    rows = [(0, [0, 1]), (1, [2, 1])]
    case = Case(make_conjunctions(rows, range(3), [1] * 3, [0.5] * 3), rows, [False, True, False])
    assert play(make_schedule("sequential", Experience()), case)[1] == [0, 1, 2]
    assert play(make_schedule("stopping", Experience()), case)[1] == [0, 2]


def test_algorithm_1_is_within_d_times_the_rows_that_it_marks(seed: int) -> None:
    """Theorem 2's own argument: any schedule evaluates a predicate of each marked row, of d at most."""
    chance = random.Random(seed)
    for _ in range(50):
        case = make_case(chance, rows=30, predicates=20, longest=4, failing=0)
        evaluated = play(make_schedule("sequential", Experience()), case)[1]
        known: set[int] = set()
        disjoint = 0
        for _, members in case.rows:
            fresh = set(members) - known
            if fresh and not any(case.truths[member] is False for member in set(members) & known):
                disjoint += 1
                known |= fresh
        assert len(evaluated) <= 4 * disjoint


def test_a_failed_predicate_leaves_a_row_open_that_another_may_refute() -> None:
    rows = [(0, [0, 1]), (1, [0, 2]), (2, [0])]
    for name in SCHEDULES:
        case = Case(make_conjunctions(rows, range(3), [1] * 3, [0.5] * 3), rows, [None, False, True])
        outcomes, _ = play(make_schedule(name, Experience()), case)
        assert outcomes == [REFUTED, FAILED, FAILED]


def test_what_is_known_already_may_be_told_first() -> None:
    rows = [(0, [0, 1]), (1, [1, 2])]
    for name in SCHEDULES:
        run = make_schedule(name, Experience()).start(make_conjunctions(rows, range(3), [1] * 3, [0.5] * 3))
        run.learn(1, False)
        assert run.outcomes().tolist() == [REFUTED, REFUTED]
        with pytest.raises(ValueError, match="a second time"):
            run.learn(1, True)


def test_an_unknown_schedule_is_told_with_those_that_there_are() -> None:
    with pytest.raises(InputError, match=r"'fast'.*naive"):
        make_schedule("fast", Experience())


def test_histories_are_answered_as_each_subscription_alone(seed: int) -> None:
    """The small form of ``python -m tests.schedules 1000000``."""
    counts = sum((check_history(random.Random(f"{seed} {number}")) for number in range(12)), Counter[str]())
    assert counts["pairs"] > 2_000
    assert counts["matching"] > counts["pairs"] / 4
    assert counts["undecided"] > 0
    assert counts["adaptive"] < counts["sub-order"] < counts["naive"]
