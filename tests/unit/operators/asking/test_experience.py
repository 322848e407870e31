"""What templates are believed to cost and how often they are believed to hold."""

from __future__ import annotations

import numpy as np
import pytest

from triplecast.operators.asking.experience import DEFAULT_COST, MEMORY, Experience


def believed(experience: Experience, template: int) -> tuple[float, float]:
    numbers = np.array([template], np.int32)
    return float(experience.holds(numbers)[0]), float(experience.costs(numbers)[0])


def test_before_anything_is_learnt_the_prior_and_the_hint_stand() -> None:
    experience = Experience()
    experience.declare(3, 0.2)
    assert believed(experience, 3) == (0.5, 0.2)
    assert believed(experience, 9) == (0.5, DEFAULT_COST)


def test_answers_move_the_probability_and_times_the_cost() -> None:
    experience = Experience()
    experience.declare(0, 1.0)
    for _ in range(98):
        experience.learn(0, False, 0.01)
    holds, cost = believed(experience, 0)
    assert holds == pytest.approx(0.01, abs=0.002)
    assert cost == pytest.approx((98 * 0.01 + 2 * 1.0) / 100, rel=0.05)


def test_a_failure_costs_time_and_says_nothing_of_the_truth() -> None:
    experience = Experience()
    experience.learn(0, None, 5.0)
    assert believed(experience, 0)[0] == 0.5
    assert believed(experience, 0)[1] > 1


def test_the_old_is_forgotten() -> None:
    experience = Experience()
    experience.learn_many(0, 10_000, 10_000, 0, 0.0)
    assert believed(experience, 0)[0] > 0.99
    experience.learn_many(0, int(3 * MEMORY), 0, 0, 0.0)
    assert believed(experience, 0)[0] < 0.06


def test_a_batch_told_at_once_is_what_its_answers_tell_one_by_one() -> None:
    once, each = Experience(), Experience()
    once.learn_many(0, 400, 400, 400, 4.0)
    for _ in range(400):
        each.learn(0, True, 0.01)
    assert believed(once, 0) == pytest.approx(believed(each, 0))


def test_the_table_carries_everything_over() -> None:
    experience = Experience()
    hinted, learnt = experience.number("hinted", 0.3), experience.number("learnt", 0.2)
    for number in (hinted, learnt):
        experience.learn(number, True, 0.1)
    again = Experience(experience.changes().rows)
    for number in (hinted, learnt):
        again.learn(number, False, 0.2)
        experience.learn(number, False, 0.2)
        assert believed(again, number) == believed(experience, number)
    assert again.changes().rows == experience.changes().rows


def test_a_hint_that_is_no_cost_is_refused() -> None:
    with pytest.raises(ValueError, match="positive"):
        Experience().declare(0, 0.0)
