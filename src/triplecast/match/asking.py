"""Pairs that operators have to be asked about: their rows after everything cheap, each a conjunction of ground
conditions (the operators paper, section 2: a joint substitution of all variables).

A *template* is a condition with its variables numbered in the order of their appearance, so that two that unify are
one: ``p(?x1, ?y1)`` is ``p(?x3, ?y4)``, ``p(?x7, ?x7)`` is another (section 3). A *ground condition* is a template with
terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from triplecast.compile.combination import Combination
from triplecast.compile.residual import Residual
from triplecast.evaluate.rowwise import Calculation
from triplecast.evaluate.unknown import Unknown
from triplecast.match.calculate import Residuals
from triplecast.model.algebra import Call, Expression, Node, Operation, Term, Variable, subexpressions
from triplecast.operators import find_operator
from triplecast.operators.answers import GroundCall

Row = dict[str, Term]
KEPT = 20_000
"""Conditions whose templates a process remembers."""


class Asking(NamedTuple):
    """A pair, with the rows that the index's joins gave for it."""

    publication: int
    """Its place in the batch."""
    registration: int
    combination: Combination
    residuals: Residuals
    tables: dict[int, list[Row]]
    """By branch."""
    refused: str
    """Why nothing can be asked: an operator that was known when the subscription was indexed is not known now."""


class Template(NamedTuple):
    """A condition but for the names of its variables."""

    text: str
    names: tuple[str, ...]
    """The variables, in the order of their numbers."""
    cost: float
    """Seconds that the declarations of its operators expect together."""


@dataclass(frozen=True, slots=True)
class Condition:
    """A ground condition; equal ones have one truth in one publication."""

    template: str
    values: tuple[str, ...]
    """In N-Triples form; empty for a variable without a value."""
    cost: float = field(compare=False)
    waits_for: GroundCall = field(compare=False)
    """The call that it needs first, as of when it was made."""
    residual: Residual | GroundCall = field(compare=False)
    """What to ask: of the evaluator's rows the bare call."""
    row: Row = field(compare=False)


class Solved(NamedTuple):
    """Rows of one branch."""

    rows: list[Row]
    """Those that fulfil everything."""
    waiting: list[tuple[Condition, ...]]
    """Of each row that may come or go: what it waits for."""
    failed: list[tuple[Row, tuple[str, ...]]]
    """Those that nothing drops, with the failures that leave them unknown."""


def solve_rows(rows: Iterable[Row], residual: Sequence[Residual], calculation: Calculation) -> Solved:
    """What the rows come to with the answers that `calculation` has. Raises `BudgetExceeded`."""
    solved = Solved([], [], [])
    for row in rows:
        todo = [_Partial(row, 0, frozenset(), (), ())]
        while todo:
            todo.extend(reversed(_advance(todo.pop(), residual, calculation, solved)))
    return solved


def judge(condition: Condition, calculation: Calculation) -> bool | None:
    """Whether a condition holds; None where an operator failed. Raises `Unknown` with the calls that it waits for, and
    `BudgetExceeded`."""
    try:
        if isinstance(condition.residual, GroundCall):
            return bool(calculation.rows_of(condition.residual))
        return _apply(condition.residual, condition.row, calculation)
    except Unknown as met:
        if met.calls:
            raise
        return None


def condition_of(residual: Residual, row: Row, waits_for: GroundCall) -> Condition:
    template = template_of(residual)
    values = tuple(str(row[name]) if name in row else "" for name in template.names)
    seen = {name: row[name] for name in template.names if name in row}
    return Condition(template.text, values, template.cost, waits_for, residual, seen)


def bare_condition(call: GroundCall) -> Condition:
    """That a call gives anything: all that is known of what the evaluator wants it for."""
    declared = find_operator(call.operator)
    cost = declared.cost if declared is not None else 1.0
    return Condition(f"<{call.operator}>", call.arguments, cost, call, call, {})


@lru_cache(maxsize=KEPT)
def template_of(residual: Residual) -> Template:
    """Two residuals that differ in the names of their variables only have one text."""
    names: dict[str, str] = {}
    parts = [_written(residual.expression, names)]
    if residual.variable is not None:
        parts.append("value")
    given = len(names)
    parts += [_written(node, names) for node in residual.free]
    new = {variable.name for variable in residual.new}
    calls = [part.function for part in subexpressions(residual.expression) if isinstance(part, Call)]
    declared = [found for found in map(find_operator, calls) if found is not None]
    kept = tuple(name for place, name in enumerate(names) if place < given or name not in new)
    return Template(" ".join(parts), kept, sum(each.cost for each in declared) or 1e-6)


class _Partial(NamedTuple):
    """A row on its way through the residuals."""

    row: Row
    at: int
    unknown: frozenset[str]
    """Variables whose values wait for operators."""
    waiting: tuple[Condition, ...]
    failures: tuple[str, ...]


def _advance(
    partial: _Partial, residual: Sequence[Residual], calculation: Calculation, solved: Solved
) -> list[_Partial]:
    """Takes a row as far as it is known, past what is not; gives the rows that an operator makes of it."""
    row, at, unknown, waiting, failures = partial
    row = dict(row)
    while at < len(residual):
        each = residual[at]
        at += 1
        if any(name.name in unknown for name in each.names):
            unknown = unknown.union(variable.name for variable in each.gives())
            continue
        seen = {name.name: row[name.name] for name in each.names if name.name in row}
        try:
            if each.free:
                assert isinstance(each.expression, Call)
                extended = calculation.produce(each.expression, each.free, seen)
                return [_Partial(row | more, at, unknown, waiting, failures) for more in extended]
            if each.variable is None:
                if not calculation.holds(each.expression, seen):
                    return []
            elif (term := calculation.value(each.expression, seen)) is not None:
                row[each.variable.name] = term
        except Unknown as met:
            if met.calls:
                waiting = (*waiting, condition_of(each, seen, met.calls[0]))
            else:
                failures = (*failures, *met.failures)
            unknown = unknown.union(variable.name for variable in each.gives())
    if waiting:
        solved.waiting.append(waiting)
    elif failures:
        solved.failed.append((row, failures))
    else:
        solved.rows.append(row)
    return []


def _apply(residual: Residual, row: Row, calculation: Calculation) -> bool:
    """Whether the row may stay; a value that is known never drops it."""
    if residual.free:
        assert isinstance(residual.expression, Call)
        return bool(calculation.produce(residual.expression, residual.free, row))
    if residual.variable is None:
        return calculation.holds(residual.expression, row)
    calculation.value(residual.expression, row)
    return True


def _written(node: Expression | Node, names: dict[str, str]) -> str:
    if isinstance(node, Variable):
        return names.setdefault(node.name, f"?{len(names)}")
    if isinstance(node, Call):
        return f"{node.function}({', '.join(_written(part, names) for part in node.arguments)})"
    if isinstance(node, Operation):
        return f"({node.operator} {' '.join(_written(part, names) for part in node.arguments)})"
    return str(node)
