"""From the rows of a pair to its answer, as far as operators have told.

What the index alone knows comes first: a row that its checks drop whatever operators say is not asked about, and rows
that are only there to be checked with are asked about where a row that is left agrees with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from triplecast.compile.combination import Agreement, Combination, Part
from triplecast.evaluate import DEFAULT_STEPS, BudgetExceeded
from triplecast.evaluate.rowwise import Calculation
from triplecast.evaluate.unknown import Answers
from triplecast.match.asking import Asking, Condition, Row, Solved, solve_rows
from triplecast.match.combine import UNBOUND, rows_of_part, write_rows
from triplecast.model.algebra import Term

Numbers = tuple[int, ...]


class Verdict(NamedTuple):
    """What became of a pair: `bindings` where it matches, `undecided` where it cannot be told, `waiting` where rows
    have to be asked about; none of them where it does not match."""

    bindings: bytes | None = None
    undecided: str | None = None
    waiting: tuple[tuple[Condition, ...], ...] = ()


class _PartSolved(NamedTuple):
    part: Part
    own: Solved
    checked_with: tuple[tuple[int, Solved], ...]
    """By branch; a branch may stand here twice, with rows that agree in other ways."""

    def all(self) -> Iterable[Solved]:
        return (self.own, *(solved for _, solved in self.checked_with))


def answer_asking(asking: Asking, answers: Answers) -> Verdict:
    """The verdict as far as `answers` allow."""
    if asking.refused:
        return Verdict(undecided=asking.refused)
    calculation = Calculation(DEFAULT_STEPS, answers)
    try:
        parts = [_solve(asking, part, calculation) for part in asking.combination.parts]
    except BudgetExceeded as error:
        return Verdict(undecided=f"budget: {error}")
    if asking.combination.ask and any(not each.part.checks and each.own.rows for each in parts):
        return Verdict(b"[{}]")
    waiting = tuple(dict.fromkeys(row for each in parts for solved in each.all() for row in solved.waiting))
    if waiting:
        return Verdict(waiting=waiting)
    return _Rows(asking.combination).verdict(parts)


def _solve(asking: Asking, part: Part, calculation: Calculation) -> _PartSolved:
    rows = asking.tables.get(part.branch, [])
    own = frozenset(asking.residuals[part.branch])
    for check in part.checks:
        choices = [
            choice for choice in check.choices if check.wanted or own.issuperset(asking.residuals[choice.branch])
        ]
        sides = [(choice, _keys(choice, asking.tables.get(choice.branch, ()))) for choice in choices]
        rows = [row for row in rows if any(_key(choice, row) in keys for choice, keys in sides) is check.wanted]
    solved = solve_rows(rows, asking.residuals[part.branch], calculation)
    checked_with: list[tuple[int, Solved]] = []
    if any(solved):
        for choice in (choice for check in part.checks for choice in check.choices):
            wanted = _keys(choice, rows)
            others = [row for row in asking.tables.get(choice.branch, ()) if _key(choice, row) in wanted]
            checked_with.append((choice.branch, solve_rows(others, asking.residuals[choice.branch], calculation)))
    return _PartSolved(part, solved, tuple(checked_with))


def _key(choice: Agreement, row: Row) -> tuple[Term | None, ...]:
    return tuple(row.get(name) for name in choice.names)


def _keys(choice: Agreement, rows: Iterable[Row]) -> set[tuple[Term | None, ...]]:
    return {_key(choice, row) for row in rows}


class _Rows:
    """Rows of decided branches. A row that an operator's failure leaves unknown may be there or not: where that makes a
    difference, the pair is undecided."""

    def __init__(self, combination: Combination) -> None:
        self._combination = combination
        self._texts: list[str] = []
        self._numbers: dict[str, int] = {}

    def verdict(self, parts: Sequence[_PartSolved]) -> Verdict:
        combination = self._combination
        made: list[Numbers] = []
        differs = False
        for each in parts:
            certain, differing = self._rows_of(each)
            made += certain
            differs = differs or differing
        if differs and not (combination.ask and made):
            failed = (failures for each in parts for solved in each.all() for _, failures in solved.failed)
            return Verdict(undecided=min(told for failures in failed for told in failures))
        if not made:
            return Verdict()
        if combination.ask:
            return Verdict(b"[{}]")
        if combination.distinct:
            made = list(dict.fromkeys(made))
        made.sort(key=lambda row: [self._text(term) for term in row])
        return Verdict(write_rows(combination.names, made, self._text))

    def _rows_of(self, solved: _PartSolved) -> tuple[list[Numbers], bool]:
        """The rows that a part has whatever failed operators would say, and whether it may have others."""
        part = solved.part
        certain: dict[int, list[Numbers]] = {}
        possible: dict[int, list[Numbers]] = {}
        for branch, each in solved.checked_with:
            rows = self._numbered(branch, each.rows)
            certain.setdefault(branch, []).extend(rows)
            unsure = self._numbered(branch, [row for row, _ in each.failed])
            possible.setdefault(branch, []).extend([*rows, *unsure])
        own = self._numbered(part.branch, solved.own.rows)
        unsure = self._numbered(part.branch, [row for row, _ in solved.own.failed])
        variants = [
            list(rows_of_part(self._combination, part, {**each, _OWN: own}, _OWN)) for each in (certain, possible)
        ]
        may_come = (rows_of_part(self._combination, part, {**each, _OWN: unsure}, _OWN) for each in (certain, possible))
        both = set(variants[0]).intersection(variants[1])
        differs = variants[0] != variants[1] or any(list(rows) for rows in may_come)
        return [row for row in variants[0] if row in both], differs

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
