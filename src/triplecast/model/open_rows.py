"""Join rows that wait for operators: frozen, complete but for the publications, which positions name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from triplecast.model.answers import GroundCall
from triplecast.model.entailment import EntailmentMode

EVALUATED: Final = -1
"""The table of a pair that the evaluator decides."""

Cells: TypeAlias = tuple[tuple[int, ...], ...]
"""Rows of term numbers, by the columns that the index keeps of a branch."""
Table: TypeAlias = tuple[tuple[int, int], ...]
"""By branch, the number of its list of rows."""


class QueryText(NamedTuple):
    """What a plan is made of."""

    text: str
    language: str
    mode: EntailmentMode


class PairReason(NamedTuple):
    """A pair, and why it is undecided or still open."""

    position: int
    """Of the publication."""
    registration: int
    reason: str = ""
    """Empty where operators were not called yet."""
    by_removal: bool = False
    """Whether it is of the removal of the version that the position names (`model.match.ChangeKind`)."""


class OpenRows(NamedTuple):
    """Pairs that wait, each with what is needed to decide it once operators have answered. Sorted by position and
    registration; pairs share queries, tables and lists of rows."""

    position: NDArray[np.int64]
    """Of the pair's publication."""
    registration: NDArray[np.int64]
    query: NDArray[np.int32]
    """Into `queries`."""
    table: NDArray[np.int32]
    """Into `tables`, or `EVALUATED`."""
    queries: tuple[QueryText, ...]
    tables: tuple[Table, ...]
    rows: tuple[Cells, ...]
    """Lists of join rows."""
    terms: tuple[str, ...]
    """By number, in N-Triples form."""
    waits: NDArray[np.int64]
    """[pairs + 1] into `needed`."""
    needed: NDArray[np.int32]
    """The calls that a pair needs first, by number."""
    calls: tuple[GroundCall, ...]
    reasons: tuple[str, ...]
    """Of each pair, why its operators could not be called; empty where that was not tried."""

    @property
    def pairs(self) -> int:
        return len(self.position)

    def awaited(self) -> tuple[PairReason, ...]:
        """The pairs, and why their operators could not be called."""
        return tuple(map(PairReason, self.position.tolist(), self.registration.tolist(), self.reasons))

    def only(self, kept: Sequence[int] | NDArray[np.int64]) -> OpenRows:
        """Some of the pairs, in ascending order."""
        if len(kept) == self.pairs:
            return self
        chosen = np.asarray(kept, np.int64)
        lengths = np.diff(self.waits)
        among = np.zeros(self.pairs, np.bool_)
        among[chosen] = True
        return self._replace(
            position=self.position[chosen],
            registration=self.registration[chosen],
            query=self.query[chosen],
            table=self.table[chosen],
            waits=np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[chosen])]),
            needed=self.needed[np.repeat(among, lengths)],
            reasons=tuple(self.reasons[number] for number in chosen.tolist()),
        )


_NOTHING = np.zeros(0, np.int64)
_NONE = np.zeros(0, np.int32)
NO_OPEN_ROWS: Final = OpenRows(_NOTHING, _NOTHING, _NONE, _NONE, (), (), (), (), np.zeros(1, np.int64), _NONE, (), ())


class OpenRowsMaker:
    """Collects pairs, each query, table and list once."""

    def __init__(self) -> None:
        self._pairs: list[tuple[int, int, int, int]] = []
        self._queries: dict[QueryText, int] = {}
        self._tables: dict[Table, int] = {}
        self._rows: list[Cells] = []

    def __len__(self) -> int:
        return len(self._pairs)

    def rows(self, cells: Cells) -> int:
        self._rows.append(cells)
        return len(self._rows) - 1

    def table(self, table: Table) -> int:
        return self._tables.setdefault(table, len(self._tables))

    def add(self, position: int, registration: int, query: QueryText, table: int) -> None:
        self._pairs.append((position, registration, self._queries.setdefault(query, len(self._queries)), table))

    def make(self, terms: Sequence[str]) -> OpenRows:
        """`terms`: the texts that rows have numbers of."""
        if not self._pairs:
            return NO_OPEN_ROWS
        columns = np.array(sorted(self._pairs), np.int64)
        return OpenRows(
            columns[:, 0],
            columns[:, 1],
            columns[:, 2].astype(np.int32),
            columns[:, 3].astype(np.int32),
            tuple(self._queries),
            tuple(self._tables),
            tuple(self._rows),
            tuple(terms),
            np.zeros(len(columns) + 1, np.int64),
            _NONE,
            (),
            ("",) * len(columns),
        )


def join_open_rows(parts: Sequence[OpenRows]) -> OpenRows:
    """The pairs of several, none of which has a pair of another's, with one number for each term and query."""
    parts = [part for part in parts if part.pairs]
    if len(parts) < 2:
        return parts[0] if parts else NO_OPEN_ROWS
    terms: dict[str, int] = {}
    queries: dict[QueryText, int] = {}
    calls: dict[GroundCall, int] = {}
    tables: list[Table] = []
    lists: list[Cells] = []
    query, table, needed = [], [], []
    for part in parts:
        term = [terms.setdefault(text, len(terms)) for text in part.terms]
        call = np.array([calls.setdefault(each, len(calls)) for each in part.calls], np.int32)
        asked = np.array([queries.setdefault(each, len(queries)) for each in part.queries], np.int32)
        query.append(asked[part.query])
        table.append(np.where(part.table == EVALUATED, EVALUATED, part.table + len(tables)))
        needed.append(call[part.needed])
        tables += [tuple((branch, rows + len(lists)) for branch, rows in each) for each in part.tables]
        lists += [tuple(tuple(_renumber(term, cell) for cell in row) for row in rows) for rows in part.rows]
    position = np.concatenate([part.position for part in parts])
    registration = np.concatenate([part.registration for part in parts])
    order = np.lexsort((registration, position))
    lengths = np.concatenate([np.diff(part.waits) for part in parts])
    starts = np.cumsum(lengths) - lengths
    waits = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths[order])])
    at = np.repeat(starts[order] - waits[:-1], lengths[order]) + np.arange(waits[-1])
    reasons = [reason for part in parts for reason in part.reasons]
    return OpenRows(
        position[order],
        registration[order],
        np.concatenate(query)[order],
        np.concatenate(table)[order].astype(np.int32),
        tuple(queries),
        tuple(tables),
        tuple(lists),
        tuple(terms),
        waits,
        np.concatenate(needed)[at].astype(np.int32),
        tuple(calls),
        tuple(reasons[number] for number in order.tolist()),
    )


def _renumber(term: Sequence[int], cell: int) -> int:
    return term[cell] if cell >= 0 else cell
