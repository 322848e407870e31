"""Conjunctions of costly predicates while they are decided, and what row-by-row schedules evaluate next.

Predicates and rows are numbers; the paper's two tables (operators paper, section 5.1) are `ConjunctionRows.members` by
row and `ConjunctionRows.rows` by predicate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import I32, I64, U8

UNKNOWN = 0
"""Of a predicate; `OPEN` of a row."""
HOLDS = 1
FALSE = 2
"""Of a predicate, and of a row one of whose predicates is false."""
FAILED = 3
"""Of a predicate, and of a row with one, none of whose predicates is false."""

AT = 0
"""Cell of `ConjunctionRows.cursor`: rows before this place in the order are done with."""
EPOCH = 1
"""What the marks of the present call are equal to."""
MARKED = 2
"""The row that algorithm 1 has marked, -1 before the first."""


class ConjunctionRows(NamedTuple):
    """Row r has ``members[starts[r]:starts[r + 1]]``; predicate p occurs in ``rows[first[p]:first[p + 1]]``."""

    starts: I64
    members: I32
    first: I64
    rows: I32
    """Ascending within a predicate."""
    known: U8
    """[predicates]"""
    outcome: U8
    """[rows]"""
    left: I32
    """[rows] predicates that are not known."""
    failing: U8
    """[rows] 1: one of its predicates failed."""
    wanting: I32
    """[predicates] open rows that have it."""
    affected: I32
    """The rows that were open when the last predicate was settled, and have it."""
    row_mark: I64
    predicate_mark: I64
    cursor: I64
    """[3] `AT`, `EPOCH`, `MARKED`."""


@njit
def make_rows(starts: I64, members: I32, predicates: int) -> ConjunctionRows:
    """All open but those without predicates, which hold. The given arrays are kept, not copied."""
    count = len(starts) - 1
    first = np.zeros(predicates + 1, np.int64)
    for member in members:
        first[member + 1] += 1
    most = np.int64(0)
    for predicate in range(predicates):
        most = max(most, first[predicate + 1])
        first[predicate + 1] += first[predicate]
    filled = first[:-1].copy()
    rows = np.empty(len(members), np.int32)
    left = np.empty(count, np.int32)
    outcome = np.zeros(count, np.uint8)
    for row in range(count):
        left[row] = starts[row + 1] - starts[row]
        if left[row] == 0:
            outcome[row] = HOLDS
        for at in range(starts[row], starts[row + 1]):
            rows[filled[members[at]]] = row
            filled[members[at]] += 1
    wanting = np.empty(predicates, np.int32)
    for predicate in range(predicates):
        wanting[predicate] = first[predicate + 1] - first[predicate]
    return ConjunctionRows(
        starts,
        members,
        first,
        rows,
        np.zeros(predicates, np.uint8),
        outcome,
        left,
        np.zeros(count, np.uint8),
        wanting,
        np.empty(most, np.int32),
        np.zeros(count, np.int64),
        np.zeros(predicates, np.int64),
        np.array([0, 0, -1], np.int64),
    )


@borrowing
def settle(rows: ConjunctionRows, predicate: int, truth: int) -> int:
    """Note that `predicate`, unknown so far, is `truth` (`HOLDS`, `FALSE`, `FAILED`) and close the rows that this
    decides. Return how many open rows had it; they are in `ConjunctionRows.affected`."""
    rows.known[predicate] = truth
    count = 0
    for at in range(rows.first[predicate], rows.first[predicate + 1]):
        row = rows.rows[at]
        if rows.outcome[row] != UNKNOWN:
            continue
        rows.affected[count] = row
        count += 1
        rows.left[row] -= 1
        if truth == FAILED:
            rows.failing[row] = 1
        if truth == FALSE:
            rows.outcome[row] = FALSE
        elif rows.left[row] == 0:
            rows.outcome[row] = FAILED if rows.failing[row] == 1 else HOLDS
        else:
            continue
        for member in range(rows.starts[row], rows.starts[row + 1]):
            rows.wanting[rows.members[member]] -= 1
    return count


@borrowing
def next_naive(rows: ConjunctionRows, found: I32) -> int:
    """What each row by itself looks at next, up to ``len(found)`` of them: how many were found."""
    cursor = rows.cursor
    cursor[EPOCH] += 1
    filled = 0
    finished = True
    row = cursor[AT]
    while row < len(rows.outcome) and filled < len(found):
        predicate = _naive_choice(rows, row)
        if predicate >= 0:
            finished = False
            if rows.predicate_mark[predicate] != cursor[EPOCH]:
                rows.predicate_mark[predicate] = cursor[EPOCH]
                found[filled] = predicate
                filled += 1
        row += 1
        if finished:
            cursor[AT] = row
    return filled


@inlined
def _naive_choice(rows: ConjunctionRows, row: int) -> int:
    """The first predicate that is not known to hold, if it is unknown; else -1."""
    for at in range(rows.starts[row], rows.starts[row + 1]):
        predicate = rows.members[at]
        if rows.known[predicate] == UNKNOWN:
            return int(predicate)
        if rows.known[predicate] == FALSE:
            return -1
    return -1


@borrowing
def next_marked(rows: ConjunctionRows) -> int:
    """The next predicate of algorithm 1, lines 4 to 9, or -1 when all rows are decided."""
    cursor = rows.cursor
    while True:
        if cursor[MARKED] >= 0:
            for at in range(rows.starts[cursor[MARKED]], rows.starts[cursor[MARKED] + 1]):
                predicate = rows.members[at]
                if rows.known[predicate] == UNKNOWN and rows.wanting[predicate] > 0:
                    return int(predicate)
        while cursor[AT] < len(rows.outcome) and rows.outcome[cursor[AT]] != UNKNOWN:
            cursor[AT] += 1
        if cursor[AT] == len(rows.outcome):
            return -1
        cursor[MARKED] = cursor[AT]


@borrowing
def next_open(rows: ConjunctionRows, order: I32, found: I32) -> int:
    """The first unknown predicate of each open row in `order`, up to ``len(found)`` of them and no two in one open row:
    how many were found."""
    cursor = rows.cursor
    cursor[EPOCH] += 1
    filled = 0
    at = cursor[AT]
    while at < len(order) and filled < len(found):
        row = order[at]
        if rows.outcome[row] == UNKNOWN and rows.row_mark[row] != cursor[EPOCH]:
            member = rows.starts[row]
            while rows.known[rows.members[member]] != UNKNOWN:
                member += 1
            if claim(rows, rows.members[member]):
                found[filled] = rows.members[member]
                filled += 1
        elif filled == 0:
            cursor[AT] = at + 1
        at += 1
    return filled


@inlined
def claim(rows: ConjunctionRows, predicate: int) -> bool:
    """Marks the open rows of a predicate; whether none of them was marked in this epoch.

    One that may not be taken marks its rows all the same, so that nothing that comes after it is taken before it.
    """
    epoch = rows.cursor[EPOCH]
    free = True
    for at in range(rows.first[predicate], rows.first[predicate + 1]):
        row = rows.rows[at]
        if rows.row_mark[row] == epoch:
            free = free and rows.outcome[row] != UNKNOWN
        rows.row_mark[row] = epoch
    return free


def warm_up() -> None:
    rows = make_rows(np.array([0, 1], np.int64), np.zeros(1, np.int32), 1)
    found = np.empty(1, np.int32)
    next_naive(rows, found)
    next_marked(rows)
    next_open(rows, np.zeros(1, np.int32), found)
    settle(rows, 0, HOLDS)
