"""Rows of the members of one subscription to its answer: what a segment's members are to their subscriptions, and the
join rows of those whose answer several members, or residual predicates, make.

Subscriptions that are written alike share sheets and plans, so what a plan makes of some sheets is made once a
batch.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from triplecast.evaluate import BudgetExceeded
from triplecast.index import Segment
from triplecast.kernels.layout import I32, I64
from triplecast.kernels.resolve import Terms
from triplecast.kernels.runs import MatchedRuns
from triplecast.kernels.sheets import Sheets
from triplecast.match.answer_limit import AnswerLimit
from triplecast.model.match import PAIR_BYTES, AnswerLimits, MatchRows, MatchStats, Pairs, Undecided
from triplecast.model.open_rows import OpenRowsMaker, QueryText
from triplecast.model.publication import Publication
from triplecast.residual import JoinRows, NumberedTerms, PublicationConditions, ResidualPlan, ResidualPlans, Row
from triplecast.residual.agreement import Verdict, combine_rows, solve_pair

PairSheets: TypeAlias = tuple[tuple[int, int], ...]
"""Of one pair: the answers (by number) that have rows, each with its sheet."""


class Members:
    """What a segment's members are to their subscriptions; kept as long as the segment."""

    def __init__(self, segment: Segment, plans: ResidualPlans) -> None:
        tables = segment.tables
        self.tables, self._texts, self._mode = tables, segment.texts, segment.mode
        self.plans = plans
        self.of_answer = tables.roles
        self.answer_of = tables.index.answer_of
        with_role = np.array([role is not None for role in (*tables.roles, None)], bool)
        self.has_role: NDArray[np.bool_] = with_role[self.answer_of]
        """[members]"""
        self.first: I64 = np.searchsorted(tables.registrations, tables.registrations)
        """[members] the first member of the same subscription."""
        self._plans: dict[int, ResidualPlan | str] = {}
        self._queries: dict[int, QueryText] = {}
        """Of those that call operators."""

    def query(self, first: int) -> QueryText:
        """The query of the subscription whose first member this is."""
        found = self._queries.get(first)
        return QueryText(*self._texts.of(first), self._mode) if found is None else found

    def plan(self, first: int) -> ResidualPlan | str:
        """The plan of a subscription, found once, or why its query is not valid any more."""
        found = self._plans.get(first)
        if found is None:
            role = self.of_answer[self.answer_of[first]]
            assert role is not None
            plain = not role.combination.residual
            query = None if plain else self.query(first)
            found = self.plans.plain(role.combination) if query is None else self.plans.of(query)
            self._plans[first] = found
            if query is not None and not isinstance(found, str) and found.asks:
                self._queries[first] = query
        return found

    def ask(self, members: I32) -> NDArray[np.bool_]:
        """Of each member whether its subscription calls operators."""
        firsts, of = np.unique(self.first[members], return_inverse=True)
        plans = map(self.plan, firsts.tolist())
        return np.array([not isinstance(plan, str) and plan.asks for plan in plans], np.bool_)[of]

    def split(self, pairs: Pairs) -> tuple[Pairs, Pairs]:
        """Pairs of members without a role, and the pairs of subscriptions (first members) of the others."""
        role = self.has_role[pairs.member]
        first = self.first[pairs.member[role]].astype(np.int32)
        return Pairs(pairs.publication[~role], pairs.member[~role]), Pairs(pairs.publication[role], first)


class JoinedRows(NamedTuple):
    """Members that have rows, grouped by publication."""

    publication: I32
    member: I32
    sheet: I32


class BatchMatches:
    """What is found of a batch, segment after segment, of as many of its first publications as there is room for."""

    def __init__(self, publications: Sequence[Publication], limits: AnswerLimits, has_texts: bool = True) -> None:
        """Without texts of the publications, nothing is left to the evaluator."""
        self.publications = publications
        self.has_texts = has_texts
        self.limits = limits
        self.upto = len(publications)
        """All is found of the publications before this one (index into the batch)."""
        self.pairs = self.bytes = 0
        """That match, and what their answers take which are written from sheets."""
        self.limit = AnswerLimit(limits.publication)
        self.open_limit = AnswerLimit(limits.waiting)
        """Of the join rows that wait for operators."""
        self._open_bytes: NDArray[np.float64] | None = None
        self.parts: list[MatchRows] = []
        """Each sorted by (publication, registration)."""
        self.undecided: list[Undecided] = []
        self.open = OpenRowsMaker()
        self.numbers = NumberedTerms()
        """Of the terms of open rows."""
        self._work = 0, 0, 0
        """Keys, structures touched, structures joined."""
        self._combined = self._calculated = 0

    def count(self, matched: MatchedRuns) -> None:
        """Count the work of a segment's kernels."""
        keys, touched, joins, _ = matched.counts.tolist()
        self.add_counts(keys, touched, joins, len(matched.subscription))

    def add_counts(self, keys: int, touched: int, joins: int, pairs: int) -> None:
        """Count work (`MatchedRuns.counts`) that found so many pairs."""
        before = self._work
        self._work = before[0] + keys, before[1] + touched, before[2] + joins
        self.pairs += pairs

    @property
    def is_plain(self) -> bool:
        """Whether all that was found is in `parts`, and fits."""
        added = self.limit.is_empty and self.open_limit.is_empty
        return added and not (self.undecided or len(self.open)) and self.bytes <= self.limits.publication

    def all_stats(self, matches: int) -> MatchStats:
        """Of the publications before `upto`, which have so many matches."""
        keys, touched, joins = self._work
        return MatchStats(self.upto, keys, touched, joins, self._combined, self._calculated, matches=matches)

    def count_combined(self, combined: int, calculated: int) -> None:
        """Count pairs that match by what was made of their rows, and those of them that were calculated."""
        self._combined += combined
        self._calculated += calculated

    def leave_undecided(self, publication: int, registration: int, reason: str) -> None:
        self.undecided.append(Undecided(publication, registration, reason))

    def shorten(self, upto: int) -> None:
        """Leave the publications from `upto` on to another batch."""
        self.upto = min(self.upto, upto)

    def wait(self, rows: JoinedRows, registration: I64, sizes: I64) -> None:
        """Note rows that will wait for operators, with the bytes of each."""
        self.open_limit.measured.append((rows.publication, registration, sizes))
        if self._open_bytes is None:
            self._open_bytes = np.zeros(len(self.publications), np.float64)
        self._open_bytes += np.bincount(rows.publication, sizes, len(self.publications))
        self.shorten(max(1, int(np.searchsorted(np.cumsum(self._open_bytes), 2 * self.limits.waiting, side="right"))))


def combine(
    members: Members, rows: JoinedRows, sheets: Sheets, terms: Terms, exhausted: Pairs, batch: BatchMatches
) -> Pairs:
    """Add to `batch` the matches that the rows make together, and the open rows of pairs that call operators; none of
    the `exhausted` pairs, whose rows are not all there. Return pairs (by first member) too costly to calculate."""
    first = members.first[rows.member]
    order = np.lexsort((rows.member, first, rows.publication))
    incomplete = set(zip(exhausted.publication.tolist(), exhausted.member.tolist(), strict=True))
    answers = members.answer_of[rows.member]
    columns = (rows.publication[order], first[order], answers[order], rows.sheet[order])
    writer = _Writer(members, sheets, terms, batch)
    combined = calculated = 0
    beyond_budget: list[tuple[int, int]] = []
    together = zip(*(column.tolist() for column in columns), strict=True)
    for pair, group in groupby(together, lambda row: row[:2]):
        if pair in incomplete:
            continue
        publication, member = pair
        if publication >= batch.upto:
            break
        found = tuple((answer, sheet) for _, _, answer, sheet in group)
        plan, registration = members.plan(member), int(members.tables.registrations[member])
        if isinstance(plan, str):
            batch.leave_undecided(publication, registration, plan)
        elif plan.asks:
            position = batch.publications[publication].position
            batch.open.add(position, registration, members.query(member), writer.table(found))
        else:
            try:
                verdict = writer.answer(plan, found)
            except BudgetExceeded:
                beyond_budget.append(pair)
                continue
            if verdict.undecided is not None:
                batch.leave_undecided(publication, registration, verdict.undecided)
            elif verdict.bindings is not None:
                batch.limit.add(publication, registration, verdict.bindings)
                combined += 1
                calculated += plan.calculates
                if batch.limit.bytes > batch.limits.publication:
                    batch.shorten(max(1, publication))
    batch.count_combined(combined, calculated)
    beyond = np.array(beyond_budget, np.int32).reshape(-1, 2)
    return Pairs(beyond[:, 0], beyond[:, 1])


class _Writer:
    """Answers of one batch in one segment; those made before are kept, as long as they do not take much."""

    def __init__(self, members: Members, sheets: Sheets, terms: Terms, batch: BatchMatches) -> None:
        self._members = members
        self._sheets = sheets
        self._terms = terms
        self._numbers = batch.numbers
        self._maker = batch.open
        self._conditions = PublicationConditions({}, batch.numbers, members.plans)
        self._made: dict[tuple[ResidualPlan, PairSheets], Verdict] = {}
        self._made_bytes = 0
        self._tables: dict[PairSheets, int] = {}
        self._lists: dict[int, int] = {}
        self._rows: dict[int, list[Row]] = {}
        self._numbered: dict[int, tuple[Row, ...]] = {}
        self._texts: dict[int, str] = {}
        self._number_of: dict[int, int] = {}

    def answer(self, plan: ResidualPlan, found: PairSheets) -> Verdict:
        """What the rows of one subscription make. Raises `BudgetExceeded`."""
        key = plan, found
        made = self._made.get(key)
        if made is None:
            made = self._make(plan, found)
            self._made_bytes += len(made.bindings or b"")
            if self._made_bytes > PAIR_BYTES:
                self._made, self._made_bytes = {}, 0
            self._made[key] = made
        return made

    def table(self, found: PairSheets) -> int:
        """The rows of a subscription that calls operators, before anything is calculated of them. Pairs that have the
        same rows share them."""
        number = self._tables.get(found)
        if number is None:
            table = tuple((self._branch(answer), self._list(sheet)) for answer, sheet in found)
            number = self._tables[found] = self._maker.table(table)
        return number

    def _make(self, plan: ResidualPlan, found: PairSheets) -> Verdict:
        if not plan.calculates:
            return combine_rows(
                plan, {self._branch(answer): self._rows_of(sheet) for answer, sheet in found}, self._text
            )
        rows: JoinRows = {self._branch(answer): self._numbered_rows(sheet) for answer, sheet in found}
        return solve_pair(plan, rows, self._conditions)

    def _branch(self, answer: int) -> int:
        role = self._members.of_answer[answer]
        assert role is not None
        return role.branch

    def _list(self, sheet: int) -> int:
        found = self._lists.get(sheet)
        if found is None:
            found = self._lists[sheet] = self._maker.rows(self._numbered_rows(sheet))
        return found

    def _rows_of(self, sheet: int) -> list[Row]:
        """By the numbers of the batch, in which equal terms of one publication are one."""
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

    def _numbered_rows(self, sheet: int) -> tuple[Row, ...]:
        """By the numbers of their texts, which values that are calculated have too."""
        rows = self._numbered.get(sheet)
        if rows is None:
            rows = self._numbered[sheet] = tuple(tuple(map(self._number, row)) for row in self._rows_of(sheet))
        return rows

    def _number(self, term: int) -> int:
        number = self._number_of.get(term)
        if number is None:
            number = self._number_of[term] = self._numbers.number(self._text(term))
        return number

    def _text(self, term: int) -> str:
        text = self._texts.get(term)
        if text is None:
            terms = self._terms
            start = terms.start[term]
            text = self._texts[term] = terms.text[start : start + terms.length[term]].tobytes().decode()
        return text
