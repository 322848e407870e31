"""Pairs that operators have to be asked about: their rows after everything cheap, each a conjunction of ground
conditions (the operators paper, section 2: a joint substitution of all variables).

A *condition* is what asks operators, and the cheap residuals that only wait for the values that it gives: ``?p op:count
?n FILTER(?n > 9)`` is one condition, false as soon as the count is known to be small.

A *template* is a condition with its variables numbered in the order of their appearance, so that two that unify are
one: ``p(?x1, ?y1)`` is ``p(?x3, ?y4)``, ``p(?x7, ?x7)`` is another (section 3). A *ground condition* is a template with
terms.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from triplecast.compile.combination import Combination
from triplecast.compile.residual import Residual
from triplecast.evaluate.rowwise import Calculation
from triplecast.evaluate.unknown import Unknown, asks_operators
from triplecast.match.calculate import Residuals
from triplecast.model.algebra import Call, Expression, Node, Operation, Term, Variable, subexpressions
from triplecast.operators import find_operator, known_operators
from triplecast.operators.answers import GroundCall

Row: TypeAlias = dict[str, Term]
Chain: TypeAlias = tuple[Residual, ...]
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
    chain: Chain | GroundCall = field(compare=False)
    """What to ask, and what is then calculated of it: of the evaluator's rows the bare call."""
    row: Row = field(compare=False)


class Open(NamedTuple):
    """A row that may come or go."""

    row: Row
    unknown: frozenset[str]
    """Variables whose values are not known."""
    waiting: tuple[Condition, ...]
    """Without any, nothing drops it any more, but for the failures that leave it unknown."""
    failures: tuple[str, ...]


class Solved(NamedTuple):
    """Rows of one branch."""

    rows: list[Row]
    """Those that fulfil everything."""
    open: list[Open]


def solve_rows(rows: Iterable[Row], residual: Sequence[Residual], calculation: Calculation) -> Solved:
    """What the rows come to with the answers that `calculation` has. Raises `BudgetExceeded`."""
    solved = Solved([], [])
    for row in rows:
        todo = [_Partial(row, 0, frozenset(), (), ())]
        while todo:
            todo.extend(reversed(_advance(todo.pop(), residual, calculation, solved)))
    return solved


@lru_cache(maxsize=KEPT)
def residuals_for(residual: Chain, shown: tuple[str, ...]) -> Chain:
    """Without values that nothing depends on, where of a row only the `shown` variables are looked at."""
    needed = set(shown)
    kept: list[Residual] = []
    for each in reversed(residual):
        if each.variable is None or each.variable.name in needed:
            kept.append(each)
            needed.update(name.name for name in each.names)
    return tuple(reversed(kept))


def judge(condition: Condition, calculation: Calculation) -> bool | None:
    """Whether a condition holds; None where an operator failed. Raises `Unknown` with the calls that it waits for, and
    `BudgetExceeded`."""
    try:
        if isinstance(condition.chain, GroundCall):
            return bool(calculation.rows_of(condition.chain))
        rows = _apply(condition.chain[0], condition.row, calculation)
    except Unknown as met:
        if met.calls:
            raise
        return None
    return any(_survives(row, condition.chain[1:], calculation) for row in rows)


def condition_of(chain: Chain, row: Row, waits_for: GroundCall) -> Condition:
    template = template_of(chain)
    values = tuple(str(row[name]) if name in row else "" for name in template.names)
    seen = {name: row[name] for name in template.names if name in row}
    return Condition(template.text, values, template.cost, waits_for, chain, seen)


def bare_condition(call: GroundCall) -> Condition:
    """That a call gives anything: all that is known of what the evaluator wants it for."""
    declared = find_operator(call.operator)
    cost = declared.cost if declared is not None else 1.0
    return Condition(f"<{_named(call.operator)}>", call.arguments, cost, call, call, {})


def template_of(chain: Chain) -> Template:
    """Two conditions that differ in the names of their variables only have one text; what is known of one version of an
    operator says nothing of another."""
    return _template_of(chain, known_operators().generation)


@lru_cache(maxsize=KEPT)
def _template_of(chain: Chain, generation: int) -> Template:
    names: dict[str, str] = {}
    parts: list[str] = []
    given: set[str] = set()
    cost = 0.0
    for each in chain:
        parts.append(_written(each.expression, names))
        parts += [_written(node, names) for node in each.free]
        if each.variable is not None:
            parts.append(f"-> {_written(each.variable, names)}")
        given.update(variable.name for variable in each.gives())
        calls = [part.function for part in subexpressions(each.expression) if isinstance(part, Call)]
        cost += sum(found.cost for found in map(find_operator, calls) if found is not None)
    return Template(" ".join(parts), tuple(name for name in names if name not in given), cost or 1e-6)


class _Partial(NamedTuple):
    """A row on its way through the residuals."""

    row: Row
    at: int
    unknown: frozenset[str]
    """Variables whose values wait for operators."""
    waiting: tuple[tuple[int, GroundCall, Row], ...]
    """Residuals that wait, by their places, each with the call that it needs first and what it sees."""
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
                waiting = (*waiting, (at - 1, met.calls[0], seen))
            else:
                failures = (*failures, *met.failures)
            unknown = unknown.union(variable.name for variable in each.gives())
    if waiting or failures:
        solved.open.append(Open(row, unknown, _conditions(row, residual, unknown, waiting), failures))
    else:
        solved.rows.append(row)
    return []


def _conditions(
    row: Row, residual: Sequence[Residual], unknown: frozenset[str], waiting: Iterable[tuple[int, GroundCall, Row]]
) -> tuple[Condition, ...]:
    """Of a row that went past all residuals."""
    made: list[Condition] = []
    for place, call, seen in waiting:
        chain = _chain(residual, place, unknown)
        made.append(condition_of(chain, row if len(chain) > 1 else seen, call))
    return tuple(made)


def _chain(residual: Sequence[Residual], place: int, unknown: frozenset[str]) -> Chain:
    """What waits at a place, and what needs no other of the `unknown` values than those it gives. Nothing that sees a
    variable to which an operator behind it may give a value: it saw the row without."""
    chain = [residual[place]]
    given = {variable.name for variable in chain[0].gives()}
    for at, each in enumerate(residual[place:] if given else (), place):
        names = {name.name for name in each.names}
        later = {node.name for behind in residual[at + 1 :] for node in behind.free if isinstance(node, Variable)}
        later.difference_update(variable.name for behind in residual[at + 1 :] for variable in behind.new)
        if at == place:
            if names & later:
                break
        elif names & given and not (names & later or names & unknown - given or _asks(each)):
            chain.append(each)
            given.update(variable.name for variable in each.gives())
    return tuple(chain)


def _asks(residual: Residual) -> bool:
    return bool(residual.free) or asks_operators(residual.expression)


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


def _written(node: Expression | Node, names: dict[str, str]) -> str:
    if isinstance(node, Variable):
        return names.setdefault(node.name, f"?{len(names)}")
    if isinstance(node, Call):
        return f"{_named(node.function)}({', '.join(_written(part, names) for part in node.arguments)})"
    if isinstance(node, Operation):
        return f"({node.operator} {' '.join(_written(part, names) for part in node.arguments)})"
    return str(node)


def _named(function: str) -> str:
    """An operator with its version."""
    declared = find_operator(function) if ":" in function else None
    return function if declared is None else f"{function}@{declared.version}"
