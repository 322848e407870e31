"""The rows of one branch after its steps, each certain, gone or open (the operators paper, section 2: a row is a joint
substitution of all variables)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from triplecast.evaluate import DEFAULT_STEPS
from triplecast.evaluate.budget import BYTES_A_STEP
from triplecast.evaluate.unknown import Unknown
from triplecast.model.answers import Found, GroundCall
from triplecast.residual.calculation import Calculation
from triplecast.residual.conditions import PublicationConditions, cells_of
from triplecast.residual.plans import UNBOUND, Row, Step, Steps

KEEPS = -1
DROPS = -2
FAILS = -3
"""What a filter says of a row; a number from 0 is the condition that it needs."""
WAITS = 0
"""What several filters say."""
JUDGED = 250_000
"""Rows after which what filters said of rows is forgotten: it can be found again."""
_BARE_STEPS = 4
"""At least what an evaluation takes that calls an operator and does nothing else, without what long terms take."""
_NOTHING: frozenset[str] = frozenset()


class OpenRow(NamedTuple):
    """A row that may come or go."""

    row: Row
    unknown: frozenset[str] = _NOTHING
    """Variables whose values are not known."""
    waiting: tuple[int, ...] = ()
    """Conditions, by their numbers. Without any, nothing drops it, but for the failures that leave it unknown."""
    failures: tuple[str, ...] = ()


class Solved(NamedTuple):
    """Rows of one branch: those that fulfil everything, and those that may."""

    rows: Sequence[Row]
    open: Sequence[OpenRow]


class _Partial(NamedTuple):
    """A row on its way through the steps."""

    row: Row
    at: int = 0
    unknown: frozenset[str] = _NOTHING
    """Variables whose values wait for operators."""
    waiting: tuple[tuple[int, GroundCall, Row], ...] = ()
    """Steps that wait, by their places, each with the call that it needs first and the row that it saw."""
    failures: tuple[str, ...] = ()


def solve_rows(
    rows: Iterable[Row], steps: Steps, calculation: Calculation, conditions: PublicationConditions
) -> Solved:
    """Take rows through the steps, as far as the answers of `calculation` go. Raises `BudgetExceeded`."""
    solved: tuple[list[Row], list[OpenRow]] = ([], [])
    for row in rows:
        todo = [_Partial(row)]
        while todo:
            todo.extend(reversed(_advance(todo.pop(), steps, calculation, conditions, solved)))
    return Solved(*solved)


def solve_filters(rows: Sequence[Row], steps: Steps, conditions: PublicationConditions) -> Solved | None:
    """Do the same where there are filters only, each of which looks at a row once for all pairs; None where an operator
    failed: then `solve_rows` finds out more. Raises `BudgetExceeded` where one filter takes more than a pair may; what
    others spent is not counted, but none spent more than `PublicationConditions.dearest` on a row."""
    solved = Solved(kept := [], left := [])
    for row in rows:
        waiting: list[int] = []
        outcome = sift(row, steps, conditions, waiting)
        if outcome == FAILS:
            return None
        if outcome == WAITS:
            left.append(OpenRow(row, waiting=tuple(waiting)))
        elif outcome == KEEPS:
            kept.append(row)
    return solved


def sift(row: Row, steps: Steps, conditions: PublicationConditions, waiting: list[int]) -> int:
    """What filters say of a row: `KEEPS`, `DROPS`, `FAILS`, or `WAITS` for the conditions that are added to `waiting`,
    each once. Raises as `solve_filters`."""
    judged = conditions.judged
    assert steps.filters is not None
    for step in steps.filters:
        of_step = judged.get(step)
        if of_step is None:
            of_step = judged[step] = {}
        outcome = of_step.get(row)
        if outcome is None:
            conditions.judgements += 1
            if conditions.judgements % JUDGED == 0:
                judged.clear()
                of_step = judged[step] = {}
            outcome = of_step[row] = _judge(step, row, steps, conditions)
        if outcome >= 0:
            waiting.append(outcome)
        elif outcome != KEEPS:
            return outcome
    if steps.repeats:
        waiting[:] = dict.fromkeys(waiting)
    return WAITS if waiting else KEEPS


def _judge(step: Step, row: Row, steps: Steps, conditions: PublicationConditions) -> int:
    if step.operator:
        return _judge_bare(step, row, conditions)
    calculation = Calculation(DEFAULT_STEPS, conditions.answers)
    try:
        kept = step.apply(row, calculation, conditions.terms)
    except Unknown as missing:
        if not missing.calls:
            return FAILS
        return conditions.wait(steps.waiting(steps.steps.index(step)), row, missing.calls[0])
    finally:
        conditions.dearest = max(conditions.dearest, calculation.spent)
    return KEEPS if kept else DROPS


def _judge_bare(step: Step, row: Row, conditions: PublicationConditions) -> int:
    """As an evaluation of the call would: a variable without a value is an error, which drops the row."""
    arguments: list[str] = []
    for place, constant in step.arguments:
        if not constant:
            number = row[place] if place >= 0 else UNBOUND
            if number == UNBOUND:
                return DROPS
            constant = conditions.terms.text(number)
        arguments.append(constant)
    call = GroundCall(step.operator, tuple(arguments))
    steps = _BARE_STEPS + len(row) + sum(map(len, arguments)) // BYTES_A_STEP
    conditions.dearest = max(conditions.dearest, steps)
    answer = conditions.answers.get(call)
    if answer is not None:
        return FAILS if not isinstance(answer, Found) else KEEPS if answer.rows else DROPS
    assert step.template is not None
    return conditions.wait_bare(step.template.text, step.template.cost, cells_of(row, step.places), call)


def _advance(
    partial: _Partial,
    steps: Steps,
    calculation: Calculation,
    conditions: PublicationConditions,
    solved: tuple[list[Row], list[OpenRow]],
) -> Sequence[_Partial]:
    """Take a row as far as it is known, past what is not; the rows that an operator makes of it."""
    row, at, unknown, waiting, failures = partial
    for place, step in enumerate(steps.steps[at:], at):
        if unknown and step.depends_on(unknown):
            unknown = unknown.union(step.may_give(row))
            continue
        try:
            made = step.apply(row, calculation, conditions.terms)
        except Unknown as missing:
            if missing.calls:
                waiting = (*waiting, (place, missing.calls[0], row))
            else:
                failures = (*failures, *missing.failures)
            unknown = unknown.union(step.may_give(row))
            continue
        if step.residual.free:
            return [_Partial(each, place + 1, unknown, waiting, failures) for each in made]
        if not made:
            return ()
        (row,) = made
    if waiting or failures:
        numbers = dict.fromkeys(_wait(row, steps, unknown, conditions, *each) for each in waiting)
        solved[1].append(OpenRow(row, unknown, tuple(numbers), failures))
    else:
        solved[0].append(row)
    return ()


def _wait(
    row: Row,
    steps: Steps,
    unknown: frozenset[str],
    conditions: PublicationConditions,
    place: int,
    call: GroundCall,
    saw: Row,
) -> int:
    """Of a row that went past all steps: the condition of the step at a place, which saw `saw`."""
    waiting = steps.waiting(place, unknown)
    return conditions.wait(waiting, row if len(waiting.chain) > 1 else saw, call)
