"""From the rows of a pair to its answer, as far as operators have told."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from triplecast.compile.combination import Combination, Part
from triplecast.evaluate import DEFAULT_STEPS, BudgetExceeded
from triplecast.evaluate.rowwise import Calculation
from triplecast.evaluate.unknown import Answers
from triplecast.match.asking import Asking, Condition, Row, Solved, solve_rows
from triplecast.match.combine import UNBOUND, rows_of_part, write_rows

Numbers = tuple[int, ...]


class Verdict(NamedTuple):
    """What became of a pair: `bindings` where it matches, `undecided` where it cannot be told, `waiting` where rows
    have to be asked about; none of them where it does not match."""

    bindings: bytes | None = None
    undecided: str | None = None
    waiting: tuple[tuple[Condition, ...], ...] = ()


def answer_asking(asking: Asking, answers: Answers) -> Verdict:
    """The verdict as far as `answers` allow."""
    if asking.refused:
        return Verdict(undecided=asking.refused)
    try:
        solved = _solve(asking, Calculation(DEFAULT_STEPS, answers))
    except BudgetExceeded as error:
        return Verdict(undecided=f"budget: {error}")
    combination = asking.combination
    if combination.ask and any(not part.checks and solved[part.branch].rows for part in combination.parts):
        return Verdict(b"[{}]")
    waiting = tuple(dict.fromkeys(row for each in solved.values() for row in each.waiting))
    if waiting:
        return Verdict(waiting=waiting)
    return _Rows(combination, solved).verdict()


def _solve(asking: Asking, calculation: Calculation) -> dict[int, Solved]:
    """Of every branch that matters: those that a part's rows are checked with only where the part has any."""
    solved: dict[int, Solved] = {}

    def solve(branch: int) -> Solved:
        if branch not in solved:
            solved[branch] = solve_rows(asking.tables.get(branch, ()), asking.residuals[branch], calculation)
        return solved[branch]

    for part in asking.combination.parts:
        if any(solve(part.branch)):
            for check in part.checks:
                for choice in check.choices:
                    solve(choice.branch)
    return solved


class _Rows:
    """Rows of decided branches. A row that an operator's failure leaves unknown may be there or not: where that makes a
    difference, the pair is undecided."""

    def __init__(self, combination: Combination, solved: Mapping[int, Solved]) -> None:
        self._combination = combination
        self._solved = solved
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def verdict(self) -> Verdict:
        combination = self._combination
        certain = {branch: self._numbered(branch, each.rows) for branch, each in self._solved.items()}
        unsure = {
            branch: self._numbered(branch, [row for row, _ in each.failed]) for branch, each in self._solved.items()
        }
        possible = {branch: [*rows, *unsure[branch]] for branch, rows in certain.items()}
        made: list[Numbers] = []
        differs = False
        for part in combination.parts:
            own, unsure_own = certain.get(part.branch, []), unsure.get(part.branch, [])
            with_certain, with_possible = self._part(part, own, certain), self._part(part, own, possible)
            both = set(with_certain).intersection(with_possible)
            made += [row for row in with_certain if row in both]
            differs = differs or with_certain != with_possible
            differs = differs or any(self._part(part, unsure_own, tables) for tables in (certain, possible))
        if differs and not (combination.ask and made):
            reasons = sorted(
                {told for each in self._solved.values() for _, failures in each.failed for told in failures}
            )
            return Verdict(undecided=reasons[0])
        if not made:
            return Verdict()
        if combination.ask:
            return Verdict(b"[{}]")
        if combination.distinct:
            made = list(dict.fromkeys(made))
        made.sort(key=lambda row: [self._text(term) for term in row])
        return Verdict(write_rows(combination.names, made, self._text))

    def _part(self, part: Part, rows: list[Numbers], tables: Mapping[int, list[Numbers]]) -> list[Numbers]:
        """The rows of a part that pass its checks with these tables."""
        return list(rows_of_part(self._combination, part, {**tables, _OWN: rows}, _OWN))

    def _numbered(self, branch: int, rows: Sequence[Row]) -> list[Numbers]:
        columns = self._combination.columns[branch]
        return [tuple(self._number(str(row[name])) if name in row else UNBOUND for name in columns) for row in rows]

    def _number(self, text: str) -> int:
        number = self._numbers.setdefault(text, len(self._texts))
        if number == len(self._texts):
            self._texts.append(text)
        return number

    def _text(self, number: int) -> str:
        return "" if number == UNBOUND else self._texts[number]


_OWN = -1
"""In the place of a branch's number: the rows that are checked."""
