"""Ground conditions: what the rows of one publication wait for, each made once.

A *condition* is what asks operators, and the cheap residuals that only wait for the values that it gives: ``?p op:count
?n FILTER(?n > 9)`` is one condition, false as soon as the count is known to be small.

A *template* is a condition with its variables numbered in the order of their appearance, so that two that unify are
one: ``p(?x1, ?y1)`` is ``p(?x3, ?y4)``, ``p(?x7, ?x7)`` is another (the operators paper, section 3). A *ground
condition* is a template with terms; equal ones have one truth in one publication, and one number.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from triplecast.compile.residual import Residual
from triplecast.evaluate.rowwise import Calculation
from triplecast.evaluate.unknown import Unknown
from triplecast.model.algebra import Call, Expression, Node, Operation, Term, Variable, subexpressions
from triplecast.model.operators import OperatorSet
from triplecast.operators.answers import Answer, Found, GroundCall

Row: TypeAlias = dict[str, Term]
Chain: TypeAlias = tuple[Residual, ...]
KEPT = 20_000
"""Conditions whose templates a process remembers."""


class Template(NamedTuple):
    """A condition but for the names of its variables."""

    text: str
    names: tuple[str, ...]
    """The variables, in the order of their numbers."""
    cost: float
    """Seconds that the declarations of its operators expect together."""


class Condition(NamedTuple):
    """A ground condition."""

    template: str
    values: tuple[str, ...]
    """In N-Triples form; empty for a variable without a value."""
    cost: float
    chain: Chain | GroundCall
    """What to ask, and what is then calculated of it. A bare call: what holds as soon as that gives anything."""
    row: Row


class Ground:
    """What is known of one publication: the answers of operators, and the conditions that its rows wait for."""

    def __init__(self, answers: Mapping[GroundCall, Answer]) -> None:
        self.answers: dict[GroundCall, Answer] = dict(answers)
        self.conditions: list[Condition] = []
        """By number."""
        self.waits: list[int] = []
        """Of each condition: the call that it needs first, as of when it was waited for last."""
        self.calls: list[GroundCall] = []
        """By number."""
        self.judged: dict[int, dict[object, int]] = {}
        """What `asking.solve_filters` found of rows (by identity, their tables stand as long as this) and filters,
        until an answer comes."""
        self.dearest = 0
        """The most steps that one of those took."""
        self._numbers: dict[tuple[str, tuple[str, ...]], int] = {}
        self._call_numbers: dict[GroundCall, int] = {}

    def keep(self, call: GroundCall, answer: Answer) -> None:
        self.answers[call] = answer
        self.judged.clear()

    def number_call(self, call: GroundCall) -> int:
        """Its number, in order of first appearance."""
        number = self._call_numbers.setdefault(call, len(self.calls))
        if number == len(self.calls):
            self.calls.append(call)
        return number

    def wait(self, chain: Chain, template: Template, row: Row, call: GroundCall) -> int:
        """The number of a chain's condition for a row, which needs this call first."""
        values = tuple([str(row[name]) if name in row else "" for name in template.names])
        number = self._numbers.get((template.text, values))
        if number is not None:
            self.waits[number] = self.number_call(call)
            return number
        seen = {name: row[name] for name in template.names if name in row}
        return self._add(Condition(template.text, values, template.cost, chain, seen), call)

    def wait_bare(self, template: str, cost: float, values: tuple[str, ...], call: GroundCall) -> int:
        """The number of a condition that holds as soon as the call gives anything."""
        number = self._numbers.get((template, values))
        return self._add(Condition(template, values, cost, call, {}), call) if number is None else number

    def _add(self, condition: Condition, call: GroundCall) -> int:
        number = self._numbers[condition.template, condition.values] = len(self.conditions)
        self.conditions.append(condition)
        self.waits.append(self.number_call(call))
        return number


def wait_call(ground: Ground, call: GroundCall, operators: OperatorSet) -> int:
    """That a call gives anything: all that is known of what the evaluator wants it for."""
    declared = operators.find(call.operator)
    cost = declared.cost if declared is not None else 1.0
    return ground.wait_bare(f"<{_named(call.operator, operators)}>", cost, call.arguments, call)


def judge_bare(call: GroundCall, answers: Mapping[GroundCall, Answer]) -> bool | None:
    """Whether a call gave anything; None where it failed. Raises `Unknown` while it has not been made."""
    answer = answers.get(call)
    if answer is None:
        raise Unknown((call,), ())
    return bool(answer.rows) if isinstance(answer, Found) else None


def judge_chain(chain: Chain, row: Row, calculation: Calculation) -> bool | None:
    """Whether a chain's condition holds; None where an operator failed. Raises `Unknown` with the calls that it waits
    for, and `BudgetExceeded`."""
    try:
        rows = _apply(chain[0], row, calculation)
    except Unknown as met:
        if met.calls:
            raise
        return None
    return any(_survives(each, chain[1:], calculation) for each in rows)


@lru_cache(maxsize=KEPT)
def template_of(chain: Chain, operators: OperatorSet) -> Template:
    """Two conditions that differ in the names of their variables only have one text; what is known of one version of an
    operator says nothing of another."""
    names: dict[str, str] = {}
    parts: list[str] = []
    given: set[str] = set()
    cost = 0.0
    for each in chain:
        parts.append(_written(each.expression, names, operators))
        parts += [_written(node, names, operators) for node in each.free]
        if each.variable is not None:
            parts.append(f"-> {_written(each.variable, names, operators)}")
        given.update(variable.name for variable in each.gives())
        calls = [part.function for part in subexpressions(each.expression) if isinstance(part, Call)]
        cost += sum(found.cost for found in map(operators.find, calls) if found is not None)
    return Template(" ".join(parts), tuple(name for name in names if name not in given), cost or 1e-6)


def _apply(residual: Residual, row: Row, calculation: Calculation) -> list[Row]:
    """What the row comes to; a value that is known never drops it."""
    seen = {name.name: row[name.name] for name in residual.names if name.name in row}
    if residual.free:
        assert isinstance(residual.expression, Call)
        return [row | more for more in calculation.produce(residual.expression, residual.free, seen)]
    if residual.variable is None:
        return [row] if calculation.holds(residual.expression, seen) else []
    term = calculation.value(residual.expression, seen)
    return [row if term is None else row | {residual.variable.name: term}]


def _survives(row: Row, chain: Chain, calculation: Calculation) -> bool:
    """Whether residuals that ask nobody keep the row."""
    for each in chain:
        made = _apply(each, row, calculation)
        if not made:
            return False
        (row,) = made
    return True


def _written(node: Expression | Node, names: dict[str, str], operators: OperatorSet) -> str:
    if isinstance(node, Variable):
        return names.setdefault(node.name, f"?{len(names)}")
    if isinstance(node, Call):
        parts = (_written(part, names, operators) for part in node.arguments)
        return f"{_named(node.function, operators)}({', '.join(parts)})"
    if isinstance(node, Operation):
        return f"({node.operator} {' '.join(_written(part, names, operators) for part in node.arguments)})"
    return str(node)


def _named(function: str, operators: OperatorSet) -> str:
    """An operator with its version."""
    declared = operators.find(function) if ":" in function else None
    return function if declared is None else f"{function}@{declared.version}"
