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
from triplecast.index import Segment
from triplecast.kernels.layout import I32, I64
from triplecast.kernels.resolve import Terms
from triplecast.kernels.rows import Sheets
from triplecast.match.found import Decided, Pairs, make_matches

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
    """What a segment's members are to their subscriptions."""

    def __init__(self, segment: Segment) -> None:
        tables = segment.tables
        self.tables = tables
        self.of_answer = tables.roles
        self.answer_of = tables.index.answer_of
        with_role = np.array([role is not None for role in (*tables.roles, None)], bool)
        self.has_role: NDArray[np.bool_] = with_role[self.answer_of]
        """[members]"""
        self.first: I64 = np.searchsorted(tables.registrations, tables.registrations)
        """[members] the first member of the same subscription."""

    def split(self, pairs: Pairs) -> tuple[Pairs, Pairs]:
        """Pairs of members without a role, and the pairs of subscriptions (first members) of the others."""
        role = self.has_role[pairs.subscription]
        first = self.first[pairs.subscription[role]].astype(np.int32)
        return (
            Pairs(pairs.publication[~role], pairs.subscription[~role]),
            Pairs(pairs.publication[role], first),
        )


def combine(members: Members, rows: Rows, sheets: Sheets, terms: Terms, spent: Pairs) -> Decided:
    """The matches that the rows make together; none of the `spent` pairs, whose rows are not all there."""
    first = members.first[rows.member]
    order = np.lexsort((rows.member, first, rows.publication))
    lost = set(zip(spent.publication.tolist(), spent.subscription.tolist(), strict=True))
    columns = (rows.publication[order], first[order], rows.member[order], rows.sheet[order])
    writer = _Writer(members, sheets, terms)
    publication: list[int] = []
    registration: list[int] = []
    bindings: list[bytes] = []
    together = zip(*(column.tolist() for column in columns), strict=True)
    for pair, group in groupby(together, lambda row: row[:2]):
        if pair in lost:
            continue
        made = writer.answer(tuple((member, sheet) for _, _, member, sheet in group))
        if made is not None:
            publication.append(pair[0])
            registration.append(int(members.tables.registrations[pair[1]]))
            bindings.append(made)
    return make_matches(publication, registration, bindings)


class _Writer:
    """Answers of one batch, those made before kept."""

    def __init__(self, members: Members, sheets: Sheets, terms: Terms) -> None:
        self._members = members
        self._sheets = sheets
        self._terms = terms
        self._made: dict[tuple[tuple[int, int], ...], bytes | None] = {}
        self._rows: dict[int, list[Row]] = {}
        self._texts: dict[int, str] = {UNBOUND: ""}

    def answer(self, found: tuple[tuple[int, int], ...]) -> bytes | None:
        """The bindings that (member, sheet) pairs of one subscription make; None where nothing is left."""
        answers = [int(self._members.answer_of[member]) for member, _ in found]
        key = tuple((answer, sheet) for answer, (_, sheet) in zip(answers, found, strict=True))
        if key not in self._made:
            self._made[key] = self._make(key)
        return self._made[key]

    def _make(self, found: tuple[tuple[int, int], ...]) -> bytes | None:
        tables: dict[int, list[Row]] = {}
        combination: Combination | None = None
        for answer, sheet in found:
            role = self._members.of_answer[answer]
            assert role is not None
            combination = role.combination
            tables[role.branch] = self._rows_of(sheet)
        assert combination is not None
        rows = [row for part in combination.parts for row in rows_of_part(combination, part, tables)]
        if not rows:
            return None
        if combination.ask:
            return b"[{}]"
        if combination.distinct:
            rows = list(dict.fromkeys(rows))
        if len(rows) > 1:
            rows.sort(key=lambda row: [self._text(term) for term in row])
        return write_rows(combination.names, rows, self._text)

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
