"""Ground conditions: what the join rows of one publication wait for, each made once.

A *condition* is a call of operators, and the cheap residual predicates that only wait for the values that it gives:
``?p op:count ?n FILTER(?n > 9)`` is one condition, false as soon as the count is known to be small. A *ground
condition* is its template with terms; equal ones have one truth in one publication, and one number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from triplecast.evaluate import DEFAULT_STEPS, BudgetExceeded
from triplecast.evaluate.unknown import Unknown
from triplecast.model.answers import Answer, Found, GroundCall
from triplecast.residual.calculation import Calculation
from triplecast.residual.plans import UNBOUND, ResidualPlans, Row, Step, Waiting
from triplecast.residual.templates import versioned
from triplecast.residual.terms import NumberedTerms


class Condition(NamedTuple):
    """A ground condition."""

    template: str
    cost: float
    waiting: Waiting | GroundCall
    """What to calculate. A bare call: what holds as soon as that gives anything."""
    row: Row


def cells_of(row: Row, places: Sequence[int]) -> Row:
    return tuple([row[place] if place >= 0 else UNBOUND for place in places])


class PublicationConditions:
    """What is known of one publication while its open rows are resolved: the answers of operators, the conditions that
    rows wait for, and which rows those are."""

    def __init__(self, answers: Mapping[GroundCall, Answer], terms: NumberedTerms, plans: ResidualPlans) -> None:
        self.answers: dict[GroundCall, Answer] = dict(answers)
        self.terms = terms
        self.conditions: list[Condition] = []
        """By number."""
        self.needs: list[int] = []
        """Of each condition: the number of the call that it needs first."""
        self.calls: list[GroundCall] = []
        """By number."""
        self.judged: dict[Step, dict[Row, int]] = {}
        """What filters say of rows (`rows.sift`)."""
        self.judgements = 0
        """How often they were looked at for that."""
        self.dearest = 0
        """The most steps that a filter took on a row."""
        self.pairs: list[int] = []
        """Of each open row, the number of its pair among the open rows."""
        self.registrations: list[int] = []
        self.ranks: list[int] = []
        """How many rows stand before it in its group, of which one that stays may be enough."""
        self.lengths: list[int] = []
        self.members: list[int] = []
        """The conditions of each row, each once, one row after the other."""
        self._plans = plans
        self._numbers: dict[tuple[str, tuple[object, ...]], int] = {}
        self._call_numbers: dict[GroundCall, int] = {}

    def keys(self) -> list[tuple[str, tuple[object, ...]]]:
        """Template and terms of each condition, by number."""
        return list(self._numbers)

    def wait(self, waiting: Waiting, row: Row, call: GroundCall) -> int:
        """The number of a condition for a row, which needs this call first."""
        key = waiting.template.text, cells_of(row, waiting.places)
        number = self._numbers.get(key)
        if number is None:
            return self._add(key, Condition(waiting.template.text, waiting.template.cost, waiting, row), call)
        self.needs[number] = self._number_call(call)
        return number

    def wait_bare(self, template: str, cost: float, values: tuple[object, ...], call: GroundCall) -> int:
        """The number of a condition that holds as soon as the call gives anything."""
        number = self._numbers.get((template, values))
        return self._add((template, values), Condition(template, cost, call, ()), call) if number is None else number

    def wait_evaluated(self, pair: int, registration: int, rows: Sequence[Sequence[GroundCall]]) -> None:
        """Add rows that the evaluator left open: each goes as soon as one of its calls gives nothing."""
        for calls in rows:
            self.add_row(pair, registration, 0, tuple(dict.fromkeys(map(self._wait_call, calls))))

    def add_row(self, pair: int, registration: int, rank: int, conditions: Sequence[int]) -> None:
        self.pairs.append(pair)
        self.registrations.append(registration)
        self.ranks.append(rank)
        self.lengths.append(len(conditions))
        self.members.extend(conditions)

    def judge(self, number: int) -> bool | None:
        """Whether a condition holds; None where an operator failed, or it cannot be known. Raises `Unknown` with the
        calls that it needs."""
        condition = self.conditions[number]
        waiting = condition.waiting
        if isinstance(waiting, GroundCall):
            answer = self.answers.get(waiting)
            if answer is None:
                raise Unknown((waiting,), ())
            return bool(answer.rows) if isinstance(answer, Found) else None
        if (first_call := self.calls[self.needs[number]]) not in self.answers:
            raise Unknown((first_call,), ())
        calculation = Calculation(DEFAULT_STEPS, self.answers)
        try:
            first, *rest = waiting.chain
            rows = first.apply(condition.row, calculation, self.terms)
            return any(self._survives(row, rest, calculation) for row in rows)
        except Unknown as missing:
            if missing.calls:
                raise
            return None
        except BudgetExceeded:
            return None

    def _survives(self, row: Row, chain: Sequence[Step], calculation: Calculation) -> bool:
        """Whether steps that call no operator keep the row."""
        for step in chain:
            made = step.apply(row, calculation, self.terms)
            if not made:
                return False
            (row,) = made
        return True

    def _wait_call(self, call: GroundCall) -> int:
        """All that is known of what the evaluator wants a call for is that it has to give anything."""
        operators = self._plans.operators
        declared = operators.find(call.operator)
        cost = declared.cost if declared is not None else 1.0
        return self.wait_bare(f"<{versioned(call.operator, operators)}>", cost, call.arguments, call)

    def _number_call(self, call: GroundCall) -> int:
        number = self._call_numbers.setdefault(call, len(self.calls))
        if number == len(self.calls):
            self.calls.append(call)
        return number

    def _add(self, key: tuple[str, tuple[object, ...]], condition: Condition, call: GroundCall) -> int:
        number = self._numbers[key] = len(self.conditions)
        self.conditions.append(condition)
        self.needs.append(self._number_call(call))
        return number
