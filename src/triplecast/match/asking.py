"""Pairs that operators have to be asked about: their rows after everything cheap, each a conjunction of ground
conditions (the operators paper, section 2: a joint substitution of all variables).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from triplecast.compile.combination import Combination
from triplecast.compile.residual import Residual
from triplecast.evaluate import DEFAULT_STEPS
from triplecast.evaluate.budget import BYTES_A_STEP
from triplecast.evaluate.rowwise import Calculation
from triplecast.evaluate.unknown import Unknown
from triplecast.match.conditions import Ground, Row
from triplecast.match.questions import Filter, Questions, Steps
from triplecast.model.algebra import Call, Variable
from triplecast.operators.answers import Found, GroundCall

KEEPS = -1
DROPS = -2
FAILS = -3
"""What a filter says of a row; a number from 0 is the condition that it waits for."""
WAITS = 0
"""Of several filters."""
_BARE_STEPS = 4
"""At least what an evaluation takes that asks an operator and nothing else, without what long terms take."""


class Asking(NamedTuple):
    """A pair, with the rows that the index's joins gave for it."""

    publication: int
    """Its place in the batch."""
    registration: int
    combination: Combination
    questions: Questions
    tables: dict[int, list[Row]]
    """By branch; pairs whose rows are the same ones have one list of them."""
    refused: str
    """Why nothing can be asked: an operator that was known when the subscription was indexed is not known now."""


class Open(NamedTuple):
    """A row that may come or go."""

    row: Row
    unknown: frozenset[str]
    """Variables whose values are not known."""
    waiting: tuple[int, ...]
    """Conditions, by their numbers. Without any, nothing drops it any more, but for the failures that leave it
    unknown."""
    failures: tuple[str, ...]


class Solved(NamedTuple):
    """Rows of one branch."""

    rows: list[Row]
    """Those that fulfil everything."""
    open: list[Open]


class _Partial(NamedTuple):
    """A row on its way through the residuals."""

    row: Row
    at: int
    unknown: frozenset[str]
    """Variables whose values wait for operators."""
    waiting: tuple[tuple[int, GroundCall, Row], ...]
    """Residuals that wait, by their places, each with the call that it needs first and what it sees."""
    failures: tuple[str, ...]


_NOTHING: frozenset[str] = frozenset()


def solve_rows(rows: Iterable[Row], steps: Steps, calculation: Calculation, ground: Ground) -> Solved:
    """What the rows come to with the answers that `calculation` has. Raises `BudgetExceeded`."""
    solved = Solved([], [])
    for row in rows:
        todo = [_Partial(row, 0, _NOTHING, (), ())]
        while todo:
            todo.extend(reversed(_advance(todo.pop(), steps, calculation, ground, solved)))
    return solved


def solve_filters(rows: Sequence[Row], steps: Steps, ground: Ground) -> Solved | None:
    """The same where there are filters only, each of which looks at a row once for all pairs; None where an operator
    failed: the caller asks `solve_rows`. Raises `BudgetExceeded` where one filter takes more than a pair may; what
    others spent is not counted, but none spent more than `Ground.dearest` on a row."""
    solved = Solved([], [])
    for row in rows:
        waiting: list[int] = []
        told = sift(row, steps, ground, waiting)
        if told == FAILS:
            return None
        if told == WAITS:
            solved.open.append(Open(row, _NOTHING, tuple(waiting), ()))
        elif told == KEEPS:
            solved.rows.append(row)
    return solved


def sift(row: Row, steps: Steps, ground: Ground, waiting: list[int]) -> int:
    """What filters say of a row: `KEEPS`, `DROPS`, `FAILS`, or `WAITS` for the conditions that are added to `waiting`,
    each once. Raises as `solve_filters`."""
    found = ground.judged.get(id(row))
    if found is None:
        found = ground.judged[id(row)] = {}
    first = len(waiting)
    assert steps.filters is not None
    for each in steps.filters:
        told = found.get(each)
        if told is None:
            told = found[each] = _tell(each, row, ground)
        if told >= 0:
            waiting.append(told)
        elif told != KEEPS:
            del waiting[first:]
            return told
    if steps.repeats:
        waiting[first:] = dict.fromkeys(waiting[first:])
    return WAITS if len(waiting) > first else KEEPS


def _tell(each: Filter, row: Row, ground: Ground) -> int:
    if each.operator:
        return _tell_bare(each, row, ground)
    calculation = Calculation(DEFAULT_STEPS, ground.answers)
    seen = {name: row[name] for name in each.names if name in row}
    try:
        kept = calculation.holds(each.chain[0].expression, seen)
    except Unknown as met:
        if not met.calls:
            return FAILS
        assert each.template is not None
        return ground.wait(each.chain, each.template, seen, met.calls[0])
    finally:
        ground.dearest = max(ground.dearest, calculation.spent)
    return KEEPS if kept else DROPS


def _tell_bare(each: Filter, row: Row, ground: Ground) -> int:
    """As an evaluation of the call would: a variable without a value is an error, which drops the row."""
    arguments: list[str] = []
    for name, constant in each.arguments:
        if name:
            term = row.get(name)
            if term is None:
                return DROPS
            constant = str(term)
        arguments.append(constant)
    call = GroundCall(each.operator, tuple(arguments))
    ground.dearest = max(ground.dearest, _BARE_STEPS + len(row) + sum(map(len, arguments)) // BYTES_A_STEP)
    answer = ground.answers.get(call)
    if answer is not None:
        return FAILS if not isinstance(answer, Found) else KEEPS if answer.rows else DROPS
    template = each.template
    assert template is not None
    values = tuple([str(row[name]) for name in template.names])
    return ground.wait_bare(template.text, template.cost, values, call)


def _advance(
    partial: _Partial, steps: Steps, calculation: Calculation, ground: Ground, solved: Solved
) -> list[_Partial]:
    """Takes a row as far as it is known, past what is not; gives the rows that an operator makes of it."""
    row, at, unknown, waiting, failures = partial
    residual = steps.residual
    row = dict(row)
    while at < len(residual):
        each = residual[at]
        at += 1
        if unknown and any(name.name in unknown for name in each.names):
            unknown = unknown.union(_may_give(each, row))
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
            unknown = unknown.union(_may_give(each, row))
    if waiting or failures:
        numbers = dict.fromkeys(_wait(row, steps, unknown, ground, *each) for each in waiting)
        solved.open.append(Open(row, unknown, tuple(numbers), failures))
    else:
        solved.rows.append(row)
    return []


def _may_give(residual: Residual, row: Row) -> Iterator[str]:
    """The variables that get a value by it: also those that an operator finds without one in this row (a `BIND` that
    erred, an `OPTIONAL` that found nothing)."""
    yield from (variable.name for variable in residual.gives())
    yield from (node.name for node in residual.free if isinstance(node, Variable) and node.name not in row)


def _wait(
    row: Row, steps: Steps, unknown: frozenset[str], ground: Ground, place: int, call: GroundCall, saw: Row
) -> int:
    """Of a row that went past all residuals: what the one at a place waits for, which saw `saw`."""
    chain, template = steps.chain(place, unknown)
    return ground.wait(chain, template, row if len(chain) > 1 else saw, call)
