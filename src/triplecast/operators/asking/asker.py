"""What is kept from batch to batch: operators' workers, statistics of their conditions, and the schedule."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Snapshot
from triplecast.model.answers import GroundCall
from triplecast.model.match import Learnt
from triplecast.model.operators import NO_OPERATORS, SCHEDULE, OperatorSet
from triplecast.operators.asking.experience import LEAST_COST, Experience
from triplecast.operators.asking.runs import Conjunctions, Run
from triplecast.operators.asking.schedules import make_schedule
from triplecast.operators.asking.sub_order import SubOrder
from triplecast.operators.asking.workers import Performer
from triplecast.residual import Condition, PublicationConditions


class Asker:
    """Calls operators. For one thread at a time."""

    def __init__(
        self,
        performer: Performer | None = None,
        schedule: str = SCHEDULE,
        learnt: Iterable[Learnt] = (),
        operators: OperatorSet = NO_OPERATORS,
    ) -> None:
        """`learnt`: the journal's statistics. `operators`: of the performer made where none is given. Raises
        `InputError` for an unknown schedule."""
        self.performer = performer or Performer(operators)
        self.experience = Experience(learnt)
        self.schedule = make_schedule(schedule, self.experience)
        self._covers = -1
        """The state of the registry that the schedule's order was compared with."""

    def close(self) -> None:
        self.performer.close()

    def forget_ended(self, snapshot: Snapshot) -> None:
        """Forget subscriptions that the snapshot no longer has, and templates beyond those that are remembered."""
        order = self.schedule if isinstance(self.schedule, SubOrder) else None
        if order is not None and snapshot.covers != self._covers:
            self._covers = snapshot.covers
            known = np.array(sorted(order.order()), np.int64)
            live = np.zeros(len(known), np.bool_)
            for segment in snapshot.segments:
                live |= segment.tables.registrations.among(known)
            for registration in known[~live | np.isin(known, snapshot.removals.registration)].tolist():
                order.remove(registration)
        if self.experience.crowded:
            self.experience.forget(order.templates() if order is not None else ())

    def start(self, conditions: PublicationConditions, offered: int) -> ConditionRun:
        """Start a run over the pending rows of one publication, of each group at most `offered`."""
        chosen = np.array(conditions.ranks, np.int64) < offered
        all_lengths = np.array(conditions.lengths, np.int64)
        flat = np.array(conditions.members, np.int32)[np.repeat(chosen, all_lengths)]
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(all_lengths[chosen])])
        there = np.zeros(len(conditions.conditions), np.bool_)
        there[flat] = True
        numbers = np.flatnonzero(there)
        members = (np.cumsum(there, dtype=np.int32) - 1)[flat].astype(np.int32)
        found = [conditions.conditions[number] for number in numbers.tolist()]
        templates = np.array([self.experience.number(each.template, each.cost) for each in found], np.int32)
        self.experience.use(templates)
        calls = np.array(conditions.needs, np.int64)[numbers]
        holds = self.experience.holds(templates)
        refutes = np.bincount(members, minlength=len(numbers)) * (1 - holds)
        costs = _shared_costs(refutes, calls, self.experience.costs(templates))
        registrations = np.array(conditions.registrations, np.int64)[chosen]
        if isinstance(self.schedule, SubOrder):
            of_rows = np.split(templates[members], starts[1:-1])
            self.schedule.extend(zip(registrations.tolist(), map(np.ndarray.tolist, of_rows), strict=True))
        run = self.schedule.start(Conjunctions(registrations, starts, members, templates, costs, holds))
        return ConditionRun(run, conditions, numbers.tolist(), templates.tolist())


def _shared_costs(
    refutes: NDArray[np.float64], calls: NDArray[np.int64], costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Share each call's cost among the conditions that need it, in proportion to the rows that each is expected to
    refute: what a condition refutes for its cost is then what its call does, which is made once for all."""
    shared: NDArray[np.float64] = costs * refutes / np.bincount(calls, refutes)[calls]
    return np.maximum(shared, LEAST_COST)


class ConditionRun:
    """A schedule's run over one publication, and the calls that its conditions need. Conditions are named by their
    places in the run."""

    def __init__(
        self, run: Run, conditions: PublicationConditions, numbers: Sequence[int], templates: Sequence[int]
    ) -> None:
        """`numbers`: by place, the condition's number in the publication; `templates`: its template's."""
        self.run = run
        self.templates = templates
        self._conditions = conditions
        self._numbers = numbers
        self._calls: dict[int, dict[GroundCall, None]] = {}
        """The calls that conditions which are no bare calls have needed so far."""
        self._settled = bytearray(len(numbers))
        self._by_call: dict[GroundCall, list[int]] = {}
        for place, number in enumerate(numbers):
            self._by_call.setdefault(conditions.calls[conditions.needs[number]], []).append(place)

    def condition(self, place: int) -> Condition:
        return self._conditions.conditions[self._numbers[place]]

    def calls(self, place: int) -> Iterable[GroundCall]:
        """Return the calls that a condition has needed so far."""
        return self._calls.get(place) or (self._conditions.calls[self._conditions.needs[self._numbers[place]]],)

    def woken_by(self, call: GroundCall) -> list[int]:
        """Return the conditions that need this call, ascending, once."""
        return sorted(set(self._by_call.pop(call, ())))

    def settled(self, place: int) -> bool:
        return bool(self._settled[place])

    def settle(self, place: int, holds: bool | None) -> None:
        self._settled[place] = True
        self.run.learn(place, holds)

    def wait(self, place: int, call: GroundCall) -> None:
        self._by_call.setdefault(call, []).append(place)
        if not isinstance(self.condition(place).waiting, GroundCall):
            self._calls.setdefault(place, dict.fromkeys(self.calls(place)))[call] = None

    def judge(self, place: int) -> bool | None:
        """Whether a condition holds; None where that cannot be known. Raises `Unknown` with the calls that it needs."""
        return self._conditions.judge(self._numbers[place])
