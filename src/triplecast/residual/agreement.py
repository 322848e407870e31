"""From the join rows of a pair to its answer, as far as operators have answered.

What the join rows alone tell comes first: a row that the checks drop whatever operators say needs no call, and rows
that are only there to be compared with need one only where a row that is left agrees with them. A row is open while an
operator has not answered, or has failed; what it might become decides whether the answer is known without it. Without
open rows all of this is two-valued.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from triplecast.evaluate import DEFAULT_STEPS, BudgetExceeded
from triplecast.model.match import PAIR_BYTES, TOO_LONG
from triplecast.residual.calculation import Calculation
from triplecast.residual.conditions import PublicationConditions
from triplecast.residual.plans import UNBOUND, ComparedBranch, PlannedPart, ResidualPlan, Row, Steps
from triplecast.residual.rows import OpenRow, Solved, solve_filters, solve_rows

SHARED_STEPS = DEFAULT_STEPS
"""Steps that a pair may have taken in filters that others paid for, until it is solved alone."""

JoinRows: TypeAlias = Mapping[int, Sequence[Row]]
"""By branch."""
Group: TypeAlias = tuple[int, int, object]


class Verdict(NamedTuple):
    """What became of a pair: `bindings` where it matches, `undecided` where that cannot be known, `waiting` where rows
    wait for operators; none of them where it does not match."""

    bindings: bytes | None = None
    undecided: str | None = None
    waiting: tuple[tuple[tuple[int, ...], ...], ...] = ()
    """Groups of rows, each row by the conditions that it needs; of a group one row that stays may be enough."""


NO_MATCH = Verdict()


class _Side(NamedTuple):
    """What one choice of a check agrees with."""

    choice: ComparedBranch
    open: Sequence[OpenRow]
    sure: set[object]
    """What rows agree with that are there."""
    perhaps: set[object]
    """And with those that may be there."""


class _PartSolved(NamedTuple):
    part: PlannedPart
    own: Solved
    checks: list[tuple[bool, list[_Side]]]
    """Those that are not settled, each with whether agreement is wanted."""


def solve_pair(plan: ResidualPlan, rows: JoinRows, conditions: PublicationConditions) -> Verdict:
    """The verdict as far as the answers allow; with rows that wait only where it depends on them.

    Filters take what others have found of the same rows, for which at least what it would take is spent; a pair whose
    budget that exceeds is solved again alone. Raises `BudgetExceeded` where that does too and no operator is called.
    """
    verdict = _sift_pair(plan, rows, conditions) if plan.sifted else None
    if verdict is not None:
        return verdict
    if plan.asks:
        try:
            return _Answer(plan).verdict(_Solver(plan, rows, conditions, True).parts(), conditions.terms.text)
        except BudgetExceeded:
            pass
    try:
        return _Answer(plan).verdict(_Solver(plan, rows, conditions, False).parts(), conditions.terms.text)
    except BudgetExceeded as error:
        if not plan.asks:
            raise
        return Verdict(undecided=f"budget: {error}")


def _sift_pair(plan: ResidualPlan, rows: JoinRows, conditions: PublicationConditions) -> Verdict | None:
    """The verdict of a pair each of whose rows filters alone decide; None where an operator failed, or the budget
    may be spent."""
    (part,) = plan.parts
    found, filters = rows.get(part.branch, ()), part.steps.filters
    assert filters is not None
    try:
        solved = solve_filters(_widened(found, plan.width(part.branch)), part.steps, conditions)
    except BudgetExceeded:
        return None
    if solved is None or len(found) * len(filters) * conditions.dearest > SHARED_STEPS:
        return None
    if solved.open:
        return Verdict(waiting=tuple([(each.waiting,) for each in solved.open]))
    if not solved.rows:
        return NO_MATCH
    made: list[Row] = list(map(part.shown, solved.rows))  # type: ignore[arg-type]
    text = conditions.terms.text
    return _write_verdict(plan.combination.names, made, text)


def combine_rows(plan: ResidualPlan, rows: JoinRows, text: Callable[[int], str]) -> Verdict:
    """What plain join rows make together. Nothing is calculated."""
    parts = [_PartSolved(part, Solved(_compared(part, rows), ()), []) for part in plan.parts]
    return _Answer(plan).verdict(parts, text)


class _Solver:
    """Solves the rows of one pair, within its budget."""

    def __init__(self, plan: ResidualPlan, rows: JoinRows, conditions: PublicationConditions, shared: bool) -> None:
        self._plan = plan
        self._rows = rows
        self._conditions = conditions
        self._shared = shared
        self._calculation: Calculation | None = None
        self._bound = 0
        """What was found of filters would at most have taken so many steps."""

    def parts(self) -> list[_PartSolved]:
        """Raises `BudgetExceeded`, as all of these."""
        return [self._part(part) for part in self._plan.parts]

    def _part(self, part: PlannedPart) -> _PartSolved:
        solved = self._solve(_compared(part, self._rows), part.branch, part.steps)
        checks: list[tuple[bool, list[_Side]]] = []
        if solved.rows or solved.open:
            left = [*solved.rows, *(each.row for each in solved.open)]
            checks = [
                (check.wanted, [self._side(choice, left) for choice in check.choices])
                for check in part.checks
                if not check.settled
            ]
        return _PartSolved(part, solved, checks)

    def _side(self, choice: ComparedBranch, left: Iterable[Row]) -> _Side:
        """What a row agrees with is found without what the branch repeats of the row's own: a row that is there fulfils
        it. Calls are made with it: a row that does not fulfil it needs no agreement."""
        wanted, branch = set(map(choice.own, left)), choice.agreement.branch
        rows = [row for row in self._rows.get(branch, ()) if choice.other(row) in wanted]
        solved = self._solve(rows, branch, choice.steps)
        further = solved if choice.beyond is choice.steps else self._solve(rows, branch, choice.beyond)
        sure = set(map(choice.other, further.rows))
        return _Side(choice, solved.open, sure, sure.union(choice.other(each.row) for each in further.open))

    def _solve(self, rows: Sequence[Row], branch: int, steps: Steps) -> Solved:
        if not steps.steps:
            return Solved(rows, ())
        conditions, rows = self._conditions, _widened(rows, self._plan.width(branch))
        solved = solve_filters(rows, steps, conditions) if self._shared and steps.filters is not None else None
        if solved is None:
            if self._calculation is None:
                self._calculation = Calculation(DEFAULT_STEPS, conditions.answers)
            solved = solve_rows(rows, steps, self._calculation, conditions)
        elif steps.filters is not None:
            self._bound += len(rows) * len(steps.filters) * conditions.dearest
        spent = self._bound + (self._calculation.spent if self._calculation is not None else 0)
        if self._bound and spent > SHARED_STEPS:
            raise BudgetExceeded("it may be spent")
        return solved


def _widened(rows: Sequence[Row], width: int) -> Sequence[Row]:
    """With the columns of what is calculated."""
    if not rows or len(rows[0]) == width:
        return rows
    more = (UNBOUND,) * (width - len(rows[0]))
    return [row + more for row in rows]


def _compared(part: PlannedPart, rows: JoinRows) -> Sequence[Row]:
    """The rows of a part that the checks do not drop whatever operators say."""
    kept = rows.get(part.branch, ())
    for check in part.checks:
        choices = [choice for choice in check.choices if check.wanted or choice.repeats]
        sides = [(choice.own, set(map(choice.other, rows.get(choice.agreement.branch, ())))) for choice in choices]
        kept = [row for row in kept if any(own(row) in keys for own, keys in sides) is check.wanted]
    return kept


def _passes(row: Row, checks: Iterable[tuple[bool, list[_Side]]]) -> bool | None:
    """Whether a row passes the checks of its part; None where that is not known."""
    passed: bool | None = True
    for wanted, sides in checks:
        if any(side.choice.own(row) in side.sure for side in sides):
            agrees: bool | None = True
        else:
            agrees = None if any(side.choice.own(row) in side.perhaps for side in sides) else False
        if agrees is None:
            passed = None
        elif agrees is not wanted:
            return False
    return passed


class _Answer:
    """The rows of a pair's parts. One that may come or go matters where the answer would be another: under `DISTINCT`
    not one that is there anyway, of an `ASK` none beside a row that is."""

    def __init__(self, plan: ResidualPlan) -> None:
        self._plan = plan
        self._combination = plan.combination

    def verdict(self, parts: Sequence[_PartSolved], text: Callable[[int], str]) -> Verdict:
        combination = self._combination
        made: list[Row] = []
        for part in parts:
            kept = part.own.rows
            if part.checks:
                kept = [row for row in kept if _passes(row, part.checks) is True]
            made += map(part.part.shown, kept)  # type: ignore[arg-type]
        if combination.ask and made:
            return Verdict(b"[{}]")
        open_rows = self._open_rows(parts, made)
        waiting: dict[Group, dict[tuple[int, ...], None]] = {}
        for group, each in open_rows:
            if each.waiting:
                waiting.setdefault(group, {})[each.waiting] = None
        if waiting:
            return Verdict(waiting=tuple(map(tuple, waiting.values())))
        if open_rows:
            return Verdict(undecided=min(reason for _, each in open_rows for reason in each.failures))
        if not made:
            return NO_MATCH
        made = list(dict.fromkeys(made)) if combination.distinct else made
        return _write_verdict(combination.names, made, text)

    def _open_rows(self, parts: Sequence[_PartSolved], made: Sequence[Row]) -> list[tuple[Group, OpenRow]]:
        if self._plan.by_row:
            return [((0, place, None), each) for place, each in enumerate(parts[0].own.open)]
        there = set(made)
        return [each for at, part in enumerate(parts) for each in self._open(at, part, there)]

    def _open(self, at: int, part: _PartSolved, there: set[Row]) -> Iterator[tuple[Group, OpenRow]]:
        """The open rows that the answer depends on, each with what it is one of several of: rows that show the same, or
        that agree with the same. `at`: which part it is."""
        combination, shown = self._combination, part.part.shown
        unsettled: list[Row] = []
        rows = [*((row, None) for row in part.own.rows if part.checks), *((each.row, each) for each in part.own.open)]
        for place, (row, each) in enumerate(rows):
            passes = _passes(row, part.checks)
            known = each is None or each.unknown.isdisjoint(combination.names)
            if passes is False or (combination.distinct and known and shown(row) in there):
                continue
            if passes is None:
                unsettled.append(row)
            if each is not None:
                alike = combination.ask or (combination.distinct and known)
                yield ((-1, -1, () if combination.ask else shown(row)) if alike else (at, place, None)), each
        for number, (_, sides) in enumerate(part.checks):
            for side in sides:
                wanted = set(map(side.choice.own, unsettled)) - side.sure
                for each in side.open:
                    key = side.choice.other(each.row)
                    if key in wanted:
                        yield (at, number, (side.choice.agreement, key)), each


def in_order(made: list[Row], text: Callable[[int], str]) -> list[Row]:
    if len(made) > 1:
        made.sort(key=lambda row: ["" if term == UNBOUND else text(term) for term in row])
    return made


def _write_verdict(names: Sequence[str], made: list[Row], text: Callable[[int], str]) -> Verdict:
    bindings = write_rows(names, in_order(made, text), text)
    return Verdict(undecided=TOO_LONG) if bindings is None else Verdict(bindings)


def write_rows(names: Sequence[str], rows: Sequence[Row], text: Callable[[int], str]) -> bytes | None:
    """`MatchedBatch.bindings` of one pair: a row after the other, unbound names left out; None for too many bytes."""
    heads = [f"{json.dumps(name, ensure_ascii=False)}:" for name in names]
    written: dict[int, str] = {UNBOUND: ""}
    for row in rows:
        for term in row:
            if term not in written:
                written[term] = json.dumps(text(term), ensure_ascii=False)
    if len(rows) * (sum(map(len, heads)) + len(heads) * max(map(len, written.values()))) > PAIR_BYTES // 8:
        size = sum(len(head) + len(written[term]) for row in rows for head, term in zip(heads, row, strict=True))
        if size > PAIR_BYTES + len(rows) * sum(map(len, heads)):
            return None
    objects = (
        ",".join([head + written[term] for head, term in zip(heads, row, strict=True) if term != UNBOUND])
        for row in rows
    )
    bindings = f"[{','.join([f'{{{each}}}' for each in objects])}]".encode()
    return bindings if len(bindings) <= PAIR_BYTES else None
