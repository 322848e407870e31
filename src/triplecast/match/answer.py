"""From the rows of a pair to its answer, as far as operators have told.

What the index alone knows comes first: a row that its checks drop whatever operators say is not asked about, and rows
that are only there to be checked with are asked about where a row that is left agrees with them. A row is open while an
operator has not answered, or has failed; what it might become decides whether the answer is known without it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from triplecast.compile.combination import Agreement, Combination, Part
from triplecast.evaluate import DEFAULT_STEPS, BudgetExceeded
from triplecast.evaluate.rowwise import Calculation
from triplecast.match.asking import Asking, Open, Solved, solve_filters, solve_rows
from triplecast.match.combine import UNBOUND, write_rows
from triplecast.match.conditions import Ground, Row
from triplecast.match.questions import Steps
from triplecast.model.algebra import Term

Numbers: TypeAlias = tuple[int, ...]
Key: TypeAlias = tuple[Term | None, ...]
Group: TypeAlias = tuple[int, int, object]


class Verdict(NamedTuple):
    """What became of a pair: `bindings` where it matches, `undecided` where it cannot be told, `waiting` where rows
    have to be asked about; none of them where it does not match."""

    bindings: bytes | None = None
    undecided: str | None = None
    waiting: tuple[tuple[tuple[int, ...], ...], ...] = ()
    """Groups of rows, each row by the conditions that it waits for; of a group one row that stays may be enough."""


NO_MATCH = Verdict()


class _Side(NamedTuple):
    """What one choice of a check agrees with."""

    choice: Agreement
    open: list[Open]
    sure: set[Key]
    """Of rows that are there."""
    perhaps: set[Key]
    """Of those, and of rows that may be there."""


class _PartSolved(NamedTuple):
    own: Solved
    checks: list[tuple[bool, list[_Side]]]
    """Each with whether agreement is wanted."""


def answer_asking(asking: Asking, ground: Ground) -> Verdict:
    """The verdict as far as the answers allow; with rows that are waited for only where it depends on them."""
    if asking.refused:
        return Verdict(undecided=asking.refused)
    combination = asking.combination
    try:
        return _Rows(combination).verdict(_Solver(asking, ground, True).parts())
    except BudgetExceeded:
        pass
    try:
        return _Rows(combination).verdict(_Solver(asking, ground, False).parts())
    except BudgetExceeded as error:
        return Verdict(undecided=f"budget: {error}")


def answer_rows(combination: Combination, rows: Sequence[Row]) -> Verdict:
    """The verdict of these rows, where each that stays is shown."""
    return _Rows(combination).write(rows) if rows else NO_MATCH


class _Solver:
    """Solves the rows of one pair, within its budget."""

    def __init__(self, asking: Asking, ground: Ground, shared: bool) -> None:
        """`shared`: filters take what others have found of the same rows, for which at least what it would take is
        spent. So a pair whose budget is spent is solved again without."""
        self._asking = asking
        self._ground = ground
        self._shared = shared
        self._calculation: Calculation | None = None
        self._bound = 0
        """What was found of filters would at most have taken so many steps."""

    def parts(self) -> list[_PartSolved]:
        """Raises `BudgetExceeded`, as all of these."""
        return [self._part(part) for part in self._asking.combination.parts]

    def _part(self, part: Part) -> _PartSolved:
        rows = self._asking.tables.get(part.branch, [])
        if part.checks:
            rows = _checked(self._asking, part, rows)
        solved = self._solve(rows, self._asking.questions.steps(part.branch, self._asking.combination.names))
        checks: list[tuple[bool, list[_Side]]] = []
        if any(solved):
            left = [*solved.rows, *(each.row for each in solved.open)]
            checks = [
                (check.wanted, [self._side(choice, left, part.branch) for choice in check.choices])
                for check in part.checks
            ]
        return _PartSolved(solved, checks)

    def _side(self, choice: Agreement, left: Iterable[Row], own: int) -> _Side:
        """What a row agrees with is told without what that repeats of the row's `own` branch: a row that is there
        fulfils it. What is asked about is told with it: a row that does not fulfil it needs no agreement."""
        wanted = _keys(choice, left)
        rows = [row for row in self._asking.tables.get(choice.branch, ()) if _key(choice, row) in wanted]
        solved = self._solve(rows, self._asking.questions.steps(choice.branch, ()))
        beyond = self._asking.questions.beyond(choice.branch, own, choice.names)
        told = solved if beyond is None else self._solve(rows, beyond)
        sure = _keys(choice, told.rows)
        return _Side(choice, solved.open, sure, sure | _keys(choice, (each.row for each in told.open)))

    def _solve(self, rows: Sequence[Row], steps: Steps) -> Solved:
        solved = solve_filters(rows, steps, self._ground) if self._shared and steps.filters is not None else None
        if solved is None:
            if self._calculation is None:
                self._calculation = Calculation(DEFAULT_STEPS, self._ground.answers)
            solved = solve_rows(rows, steps, self._calculation, self._ground)
        elif steps.filters is not None:
            self._bound += len(rows) * len(steps.filters) * self._ground.dearest
        spent = self._bound + (self._calculation.spent if self._calculation is not None else 0)
        if self._bound and spent > DEFAULT_STEPS:
            raise BudgetExceeded("it may be spent")
        return solved


def _checked(asking: Asking, part: Part, rows: Sequence[Row]) -> list[Row]:
    """The rows that the checks do not drop whatever operators say."""
    residuals = asking.questions.residuals
    own = frozenset(residuals[part.branch])
    kept = list(rows)
    for check in part.checks:
        choices = [choice for choice in check.choices if check.wanted or own.issuperset(residuals[choice.branch])]
        sides = [(choice, _keys(choice, asking.tables.get(choice.branch, ()))) for choice in choices]
        kept = [row for row in kept if any(_key(choice, row) in keys for choice, keys in sides) is check.wanted]
    return kept


def _key(choice: Agreement, row: Row) -> Key:
    """Triples bind these variables, so they are known of every row."""
    return tuple(row.get(name) for name in choice.names)


def _keys(choice: Agreement, rows: Iterable[Row]) -> set[Key]:
    return {_key(choice, row) for row in rows}


def _passes(row: Row, checks: Iterable[tuple[bool, list[_Side]]]) -> bool | None:
    """Whether a row passes the checks of its part; None where that is not known."""
    passed: bool | None = True
    for wanted, sides in checks:
        if any(_key(side.choice, row) in side.sure for side in sides):
            agrees: bool | None = True
        else:
            agrees = None if any(_key(side.choice, row) in side.perhaps for side in sides) else False
        if agrees is None:
            passed = None
        elif agrees is not wanted:
            return False
    return passed


class _Rows:
    """The rows of a pair's parts. One that may come or go matters where the answer would be another: under `DISTINCT`
    not one that is there anyway, of an `ASK` none beside a row that is."""

    def __init__(self, combination: Combination) -> None:
        self._combination = combination
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def verdict(self, parts: Sequence[_PartSolved]) -> Verdict:
        combination = self._combination
        made = [self._shown(row) for part in parts for row in part.own.rows if _passes(row, part.checks) is True]
        if combination.ask and made:
            return Verdict(b"[{}]")
        there = set(made)
        open_rows = [each for at, part in enumerate(parts) for each in self._open(at, part, there)]
        waiting: dict[Group, dict[tuple[int, ...], None]] = {}
        for group, each in open_rows:
            if each.waiting:
                waiting.setdefault(group, {})[each.waiting] = None
        if waiting:
            return Verdict(waiting=tuple(map(tuple, waiting.values())))
        if open_rows:
            return Verdict(undecided=min(told for _, each in open_rows for told in each.failures))
        if not made:
            return NO_MATCH
        return self._written(list(dict.fromkeys(made)) if combination.distinct else made)

    def write(self, rows: Iterable[Row]) -> Verdict:
        """All of these, one after the other."""
        return self._written([self._shown(row) for row in rows])

    def _written(self, made: list[Numbers]) -> Verdict:
        made.sort(key=lambda row: [self._text(term) for term in row])
        return Verdict(write_rows(self._combination.names, made, self._text))

    def _open(self, at: int, part: _PartSolved, there: set[Numbers]) -> Iterator[tuple[Group, Open]]:
        """The open rows that the answer depends on, each with what it is one of several of: rows that show the same, or
        that agree with the same. `at`: which part it is."""
        combination = self._combination
        unsettled: list[Row] = []
        for place, (row, each) in enumerate(
            [(row, None) for row in part.own.rows] + [(o.row, o) for o in part.own.open]
        ):
            passes = _passes(row, part.checks)
            known = each is None or each.unknown.isdisjoint(combination.names)
            shown = self._shown(row)
            if passes is False or (combination.distinct and known and shown in there):
                continue
            if passes is None:
                unsettled.append(row)
            if each is not None:
                alike = combination.ask or (combination.distinct and known)
                yield ((-1, -1, () if combination.ask else shown) if alike else (at, place, None)), each
        for number, (_, sides) in enumerate(part.checks):
            for side in sides:
                asked = _keys(side.choice, unsettled) - side.sure
                for each in side.open:
                    key = _key(side.choice, each.row)
                    if key in asked:
                        yield (at, number, (side.choice, key)), each

    def _shown(self, row: Row) -> Numbers:
        return tuple(self._number(str(row[name])) if name in row else UNBOUND for name in self._combination.names)

    def _number(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self._texts))
        if number == len(self._texts):
            self._texts.append(text)
        return number

    def _text(self, number: int) -> str:
        return "" if number == UNBOUND else self._texts[number]
