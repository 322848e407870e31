"""Rows of the members of one subscription to its answer: unions, and rows that stay or go by what other members have.

Works on term numbers; texts are looked at to order rows and to write them. Subscriptions that are written alike share
sheets and combinations, so what a combination makes of some sheets is made once a batch.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from triplecast.compile.combination import Agreement, Combination, Part
from triplecast.compile.residual import Residual
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.evaluate import DEFAULT_STEPS, BudgetExceeded
from triplecast.evaluate.rowwise import Calculation
from triplecast.index import Segment
from triplecast.kernels.layout import I32, I64
from triplecast.kernels.resolve import Terms
from triplecast.kernels.rows import Sheets
from triplecast.match.asking import Asking
from triplecast.match.calculate import Residuals, calculate, residuals_of
from triplecast.match.found import Decided, Pairs, make_matches
from triplecast.match.questions import Filter, Questions
from triplecast.model.algebra import Term
from triplecast.model.entailment import EntailmentMode
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.terms import from_ntriples

UNBOUND = -1
"""Stands for no term in a row."""

Row: TypeAlias = tuple[int, ...]
"""Batch-global terms, by column."""


class Rows(NamedTuple):
    """Members that have rows, grouped by publication."""

    publication: I32
    member: I32
    sheet: I32


class Members:
    """What a segment's members are to their subscriptions, which may call `operators`; kept as long as the segment."""

    def __init__(self, segment: Segment, operators: OperatorSet = NO_OPERATORS) -> None:
        tables = segment.tables
        self.operators = operators
        self.tables, self.texts = tables, segment.texts
        self.entailed = segment.reading is not EntailmentMode.PLAIN
        self.of_answer = tables.roles
        self.answer_of = tables.index.answer_of
        with_role = np.array([role is not None for role in (*tables.roles, None)], bool)
        self.has_role: NDArray[np.bool_] = with_role[self.answer_of]
        """[members]"""
        self.first: I64 = np.searchsorted(tables.registrations, tables.registrations)
        """[members] the first member of the same subscription."""
        self._questions: dict[int, Questions | QueryRefused | QuerySyntaxError] = {}
        self._alike: dict[Residuals, Questions] = {}
        self._filters: dict[Residual, Filter] = {}

    def questions(self, first: int) -> Questions:
        """What is calculated of the rows of the subscription whose first member this is; one object for those that
        calculate the same. Read once. Raises as `residuals_of`."""
        found = self._found(first)
        if isinstance(found, Questions):
            return found
        raise found.with_traceback(None)

    def _found(self, first: int) -> Questions | QueryRefused | QuerySyntaxError:
        found = self._questions.get(first)
        if found is None:
            found = self._questions[first] = self._read(first)
        return found

    def _read(self, first: int) -> Questions | QueryRefused | QuerySyntaxError:
        text, language = self.texts.of(first)
        try:
            residuals = residuals_of(text, language, self.entailed, self.operators)
        except (QueryRefused, QuerySyntaxError) as fault:
            return fault
        found = self._alike.get(residuals)
        if found is None:
            found = self._alike[residuals] = Questions(residuals, self._filters, self.operators)
        return found

    def calculates(self, first: int) -> bool:
        """Whether anything is calculated of the rows of the subscription whose first member this is."""
        role = self.of_answer[self.answer_of[first]]
        return role is not None and role.combination.residual

    def asks(self, first: int) -> Questions | QueryRefused | QuerySyntaxError | None:
        """What is calculated where operators are called for that, or why that cannot be read any more; else None."""
        if not self.calculates(first):
            return None
        found = self._found(first)
        return None if isinstance(found, Questions) and not found.asks else found

    def split(self, pairs: Pairs) -> tuple[Pairs, Pairs]:
        """Pairs of members without a role, and the pairs of subscriptions (first members) of the others."""
        role = self.has_role[pairs.subscription]
        first = self.first[pairs.subscription[role]].astype(np.int32)
        return (
            Pairs(pairs.publication[~role], pairs.subscription[~role]),
            Pairs(pairs.publication[role], first),
        )


class Combined(NamedTuple):
    """What rows make."""

    plain: Decided
    """By uniting and comparing them."""
    calculated: Decided
    """By calculating too."""
    costly: Pairs
    """(first members) of which too much would have to be calculated."""
    asking: list[Asking]
    """Pairs that operators have to be asked about, by publication and registration."""


def combine(members: Members, rows: Rows, sheets: Sheets, terms: Terms, spent: Pairs) -> Combined:
    """The matches that the rows make together; none of the `spent` pairs, whose rows are not all there."""
    first = members.first[rows.member]
    order = np.lexsort((rows.member, first, rows.publication))
    lost = set(zip(spent.publication.tolist(), spent.subscription.tolist(), strict=True))
    columns = (rows.publication[order], first[order], rows.member[order], rows.sheet[order])
    writer = _Writer(members, sheets, terms)
    found: tuple[list[_Made], list[_Made]] = ([], [])
    beyond: list[tuple[int, int]] = []
    asking: list[Asking] = []
    together = zip(*(column.tolist() for column in columns), strict=True)
    for pair, group in groupby(together, lambda row: row[:2]):
        if pair in lost:
            continue
        members_found = tuple((member, sheet) for _, _, member, sheet in group)
        questions = members.asks(pair[1])
        if questions is not None:
            asking.append(writer.asking(pair, members_found, questions))
            continue
        try:
            made = writer.answer(pair[1], members_found)
        except BudgetExceeded:
            beyond.append(pair)
            continue
        if made is not None:
            registration = int(members.tables.registrations[pair[1]])
            found[members.calculates(pair[1])].append(_Made(pair[0], registration, made))
    costly = np.array(beyond, np.int32).reshape(-1, 2)
    return Combined(_matches(found[0]), _matches(found[1]), Pairs(costly[:, 0], costly[:, 1]), asking)


class _Made(NamedTuple):
    publication: int
    registration: int
    bindings: bytes


def _matches(made: list[_Made]) -> Decided:
    return make_matches(
        [each.publication for each in made], [each.registration for each in made], [each.bindings for each in made]
    )


class _Writer:
    """Answers of one batch, those made before kept."""

    def __init__(self, members: Members, sheets: Sheets, terms: Terms) -> None:
        self._members = members
        self._sheets = sheets
        self._terms = terms
        self._made: dict[tuple[tuple[tuple[int, int], ...], Residuals], bytes | None] = {}
        self._tables_of: dict[
            tuple[int, tuple[tuple[int, int], ...]], tuple[Combination, dict[int, list[dict[str, Term]]]]
        ] = {}
        self._named_rows: dict[tuple[int, tuple[str, ...]], list[dict[str, Term]]] = {}
        self._rows: dict[int, list[Row]] = {}
        self._texts: dict[int, str] = {UNBOUND: ""}
        self._terms_made: dict[int, Term] = {}
        self._numbers: dict[Term, int] = {}

    def answer(self, first: int, found: tuple[tuple[int, int], ...]) -> bytes | None:
        """The bindings that (member, sheet) pairs of one subscription make; None where nothing is left. Raises
        `BudgetExceeded`."""
        answers = [int(self._members.answer_of[member]) for member, _ in found]
        parts = tuple((answer, sheet) for answer, (_, sheet) in zip(answers, found, strict=True))
        role = self._members.of_answer[answers[0]]
        assert role is not None
        residuals = self._members.questions(first).residuals if role.combination.residual else ()
        key = parts, residuals
        if key not in self._made:
            self._made[key] = self._make(role.combination, parts, residuals)
        return self._made[key]

    def asking(
        self,
        pair: tuple[int, int],
        found: tuple[tuple[int, int], ...],
        questions: Questions | QueryRefused | QuerySyntaxError,
    ) -> Asking:
        """The rows that (member, sheet) pairs of a subscription have, before anything is calculated of them. Pairs of a
        publication that have the same rows share their tables."""
        publication, first = pair
        registration = int(self._members.tables.registrations[first])
        key = publication, tuple([(int(self._members.answer_of[member]), sheet) for member, sheet in found])
        known = self._tables_of.get(key)
        if known is None:
            known = self._tables_of[key] = self._tables(key[1])
        if isinstance(questions, Questions):
            return Asking(publication, registration, known[0], questions, known[1], "")
        return Asking(
            publication,
            registration,
            known[0],
            Questions((), {}, self._members.operators),
            known[1],
            f"query: {questions}",
        )

    def _tables(self, found: tuple[tuple[int, int], ...]) -> tuple[Combination, dict[int, list[dict[str, Term]]]]:
        tables: dict[int, list[dict[str, Term]]] = {}
        combination: Combination | None = None
        for answer, sheet in found:
            role = self._members.of_answer[answer]
            assert role is not None
            combination = role.combination
            tables[role.branch] = self._named(sheet, combination.columns[role.branch])
        assert combination is not None
        return combination, tables

    def _named(self, sheet: int, columns: tuple[str, ...]) -> list[dict[str, Term]]:
        """The rows of a sheet, one list for all who name its columns alike; nobody changes them."""
        named = self._named_rows.get((sheet, columns))
        if named is None:
            named = self._named_rows[sheet, columns] = [
                {name: self._term(term) for name, term in zip(columns, row, strict=False)}
                for row in self._rows_of(sheet)
            ]
        return named

    def _make(self, combination: Combination, found: tuple[tuple[int, int], ...], residuals: Residuals) -> bytes | None:
        tables: dict[int, list[Row]] = {}
        for answer, sheet in found:
            role = self._members.of_answer[answer]
            assert role is not None
            tables[role.branch] = self._rows_of(sheet)
        if residuals:
            calculation = Calculation(DEFAULT_STEPS)
            for branch, rows in tables.items():
                tables[branch] = self._calculated(combination.columns[branch], rows, residuals[branch], calculation)
        made = [row for part in combination.parts for row in rows_of_part(combination, part, tables)]
        if not made:
            return None
        if combination.ask:
            return b"[{}]"
        if combination.distinct:
            made = list(dict.fromkeys(made))
        if len(made) > 1:
            made.sort(key=lambda row: [self._text(term) for term in row])
        return write_rows(combination.names, made, self._text)

    def _calculated(
        self, columns: Sequence[str], rows: list[Row], residual: tuple[Residual, ...], calculation: Calculation
    ) -> list[Row]:
        """The rows with what is calculated of them, in the branch's columns."""
        named = ({name: self._term(term) for name, term in zip(columns, row, strict=False)} for row in rows)
        return [
            tuple([self._number(row[name]) if name in row else UNBOUND for name in columns])
            for row in calculate(residual, named, calculation)
        ]

    def _term(self, number: int) -> Term:
        term = self._terms_made.get(number)
        if term is None:
            term = self._terms_made[number] = from_ntriples(self._text(number))
            self._numbers.setdefault(term, number)
        return term

    def _number(self, term: Term) -> int:
        """That of a publication's term, else one of its own."""
        number = self._numbers.get(term)
        if number is None:
            number = self._numbers[term] = -2 - len(self._numbers)
            self._texts[number] = str(term)
        return number

    def _rows_of(self, sheet: int) -> list[Row]:
        rows = self._rows.get(sheet)
        if rows is None:
            sheets, answers = self._sheets, self._members.tables.answers
            answer = sheets.answer[sheet]
            variables = answers.variable[answers.offsets[answer] : answers.offsets[answer + 1]]
            cells = sheets.rows[sheets.offsets[sheet] : sheets.offsets[sheet + 1]]
            rows = [()] * len(cells)
            if len(variables):
                rows = list(map(tuple, sheets.cells[cells[:, None] + variables].tolist()))
            self._rows[sheet] = rows
        return rows

    def _text(self, term: int) -> str:
        text = self._texts.get(term)
        if text is None:
            terms = self._terms
            start = terms.start[term]
            text = self._texts[term] = terms.text[start : start + terms.length[term]].tobytes().decode()
        return text


def rows_of_part(combination: Combination, part: Part, tables: dict[int, list[Row]]) -> Iterable[Row]:
    """The part's rows, by the combination's names; `tables` holds the branches that have rows."""
    rows = tables.get(part.branch, [])
    own = combination.columns[part.branch]
    for check in part.checks:
        if not rows:
            return rows
        sides = [_sides(combination, own, choice, tables) for choice in check.choices]
        rows = [row for row in rows if any(key(row) in known for key, known in sides) is check.wanted]
    return map(_picker(own, combination.names), rows)


def _sides(
    combination: Combination, own: Sequence[str], choice: Agreement, tables: dict[int, list[Row]]
) -> tuple[Callable[[Row], Row], set[Row]]:
    """What of a row has to be the same, and what it may be."""
    other = _picker(combination.columns[choice.branch], choice.names)
    return _picker(own, choice.names), set(map(other, tables.get(choice.branch, [])))


def _picker(columns: Sequence[str], names: Sequence[str]) -> Callable[[Row], Row]:
    """A row of `columns` to a row of `names`, `UNBOUND` where it has none."""
    if tuple(columns) == tuple(names):
        return lambda row: row
    places = [columns.index(name) if name in columns else UNBOUND for name in names]
    return lambda row: tuple([row[place] if place >= 0 else UNBOUND for place in places])


def write_rows(names: Sequence[str], rows: Iterable[Row], text: Callable[[int], str]) -> bytes:
    """`MatchedBatch.bindings` of one pair: a row after the other, unbound names left out."""
    heads = [f"{json.dumps(name, ensure_ascii=False)}:" for name in names]
    written: dict[int, str] = {}
    for row in rows:
        for term in row:
            if term not in written:
                written[term] = json.dumps(text(term), ensure_ascii=False)
    told = (
        ",".join([head + written[term] for head, term in zip(heads, row, strict=True) if term != UNBOUND])
        for row in rows
    )
    return f"[{','.join([f'{{{each}}}' for each in told])}]".encode()
