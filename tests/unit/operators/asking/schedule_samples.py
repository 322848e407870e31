"""Random rows, and runs over them whose answers are compared with each row alone."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triplecast.operators.asking.runs import FAILED, HOLDS, REFUTED, Conjunctions
from triplecast.operators.asking.schedules import Schedule


def make_conjunctions(
    rows: Sequence[tuple[int, Sequence[int]]],
    templates: Sequence[int],
    costs: Sequence[float],
    holds: Sequence[float],
) -> Conjunctions:
    """From (subscription, ground predicates) of each row, each predicate once."""
    distinct = [list(dict.fromkeys(members)) for _, members in rows]
    starts = np.zeros(len(rows) + 1, np.int64)
    np.cumsum([len(members) for members in distinct], out=starts[1:])
    flat = np.array([member for members in distinct for member in members], np.int32)
    return Conjunctions(
        np.array([subscription for subscription, _ in rows], np.int64),
        starts,
        flat,
        np.array(templates, np.int32),
        np.array(costs, np.float64),
        np.array(holds, np.float64),
    )


class Case(NamedTuple):
    conjunctions: Conjunctions
    rows: list[tuple[int, list[int]]]
    truths: list[bool | None]

    def alone(self) -> list[int]:
        """What each row is, read from its own predicates."""
        return [
            REFUTED
            if any(self.truths[member] is False for member in members)
            else FAILED
            if any(self.truths[member] is None for member in members)
            else HOLDS
            for _, members in self.rows
        ]


def make_case(chance: random.Random, rows: int, predicates: int, longest: int = 5, failing: float = 0.05) -> Case:
    """Predicates of unequal popularity and cost, about half of the short rows true."""
    holds = [chance.choice((0.05, 0.3, 0.6, 0.9, 0.95)) for _ in range(predicates)]
    truths = [None if chance.random() < failing else chance.random() < p for p in holds]
    made = []
    for row in range(rows):
        length = min(chance.randint(0 if chance.random() < 0.02 else 1, longest), predicates)
        made.append((row // 2, list(dict.fromkeys(int(predicates * chance.random() ** 2) for _ in range(length)))))
    costs = [chance.choice((0.001, 0.001, 0.002, 0.01)) for _ in range(predicates)]
    return Case(make_conjunctions(made, range(predicates), costs, holds), made, truths)


def play(schedule: Schedule, case: Case, limit: int = 1) -> tuple[list[int], list[int]]:
    """(outcomes, evaluated predicates in order); each asked question is put at once."""
    run = schedule.start(case.conjunctions)
    evaluated: list[int] = []
    while wanted := list(run.wanted(limit)):
        assert len(wanted) <= limit
        assert list(run.wanted(limit)) == wanted
        for predicate in wanted:
            evaluated.append(predicate)
            run.learn(predicate, case.truths[predicate])
    return run.outcomes().tolist(), evaluated
