"""The workers, what is known of how they do, and the order in which conditions are looked at, from batch to batch."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Snapshot
from triplecast.model.match import Learnt
from triplecast.model.operators import NO_OPERATORS, SCHEDULE, OperatorSet
from triplecast.operators.asking.experience import LearntTemplates
from triplecast.operators.asking.order import Standing
from triplecast.operators.asking.run import ConditionRun
from triplecast.operators.perform import Performer
from triplecast.operators.schedules import Conjunctions, make_schedule
from triplecast.operators.schedules.experience import LEAST_COST
from triplecast.residual import PublicationConditions


class Asker:
    """Calls operators. For one thread at a time."""

    def __init__(
        self,
        performer: Performer | None = None,
        schedule: str = SCHEDULE,
        learnt: Iterable[Learnt] = (),
        operators: OperatorSet = NO_OPERATORS,
    ) -> None:
        """`learnt`: what the journal has of templates. `operators`: of the performer made where none is given."""
        self.performer = performer or Performer(operators)
        self.templates = LearntTemplates(learnt)
        self._schedule = make_schedule(schedule, self.templates.experience)
        self._standing = Standing(self._schedule)

    def close(self) -> None:
        self.performer.close()

    def leave(self, snapshot: Snapshot) -> None:
        """Forget subscriptions that this snapshot has no more, and templates beyond those that are remembered."""
        self._standing.leave(snapshot)
        if self.templates.crowded:
            self.templates.forget(self._standing.templates())

    def start(self, conditions: PublicationConditions, offered: int) -> ConditionRun:
        """Start a run over the rows of one publication that wait, of each group at most `offered`."""
        chosen = np.array(conditions.ranks, np.int64) < offered
        all_lengths = np.array(conditions.lengths, np.int64)
        flat = np.array(conditions.members, np.int32)[np.repeat(chosen, all_lengths)]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(all_lengths[chosen])])
        there = np.zeros(len(conditions.conditions), np.bool_)
        there[flat] = True
        numbers = np.flatnonzero(there)
        members = (np.cumsum(there, dtype=np.int32) - 1)[flat].astype(np.int32)
        known, experience = self.templates, self.templates.experience
        found = [conditions.conditions[number] for number in numbers.tolist()]
        templates = np.array([known.number(each.template, each.cost) for each in found], np.int32)
        known.use(templates)
        calls = np.array(conditions.needs, np.int64)[numbers]
        holds = experience.holds(templates)
        costs = _shared_costs(
            np.bincount(members, minlength=len(numbers)) * (1 - holds), calls, experience.costs(templates)
        )
        registrations = np.array(conditions.registrations, np.int64)[chosen]
        if self._schedule.keeps_order:
            of_rows = np.split(templates[members], starts[1:-1])
            self._standing.meet(zip(registrations.tolist(), map(np.ndarray.tolist, of_rows), strict=True))
        run = self._schedule.start(Conjunctions(registrations, starts, members, templates, costs, holds))
        return ConditionRun(run, conditions, numbers.tolist(), templates.tolist())


def _shared_costs(
    refutes: NDArray[np.float64], calls: NDArray[np.int64], costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of each condition, which is expected to refute so many rows: conditions that wait for one call share its cost,
    each as much as it is expected to refute. So what any of them is expected to refute for its cost is what the call
    is, which is made once for all."""
    shared: NDArray[np.float64] = costs * refutes / np.bincount(calls, refutes)[calls]
    return np.maximum(shared, LEAST_COST)
