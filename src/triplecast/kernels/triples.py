"""Triples as integers, sorted in three orders, each with the number of documents that have it.

A triple is there while its count is not 0. What came since the triples were sorted is live (`livetriples`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import I32

ANY = -1
"""In a pattern: any term."""
NOWHERE = -2
"""In a pattern: a term that the dictionary lacks."""
_DIRECT, _BY_PREDICATE, _BY_OBJECT = 0, 1, 2


class SortedTriples(NamedTuple):
    """N triples over terms with ids below M."""

    rows: I32
    """[N, 3] ascending, each once."""
    counts: I32
    """[N] how many documents have it; 0: it is gone."""
    by_predicate: I32
    """[N] rows in the order (predicate, object, subject)."""
    by_object: I32
    """[N] rows in the order (object, subject, predicate)."""
    subjects: I32
    """[M + 1] the first row of each subject."""
    predicates: I32
    """[M + 1] the first place of each predicate in `by_predicate`."""
    objects: I32
    """[M + 1] the first place of each object in `by_object`."""


def sort_triples(rows: I32, terms: int) -> tuple[SortedTriples, I32]:
    """Sort the triples of all documents, [Q, 3] over ids below `terms`: (each once with its count, [Q] its row for
    each).

    Counting sorts from the last column to the first (Knuth, The Art of Computer Programming 3, 5.2.5).
    """
    order, spare = np.arange(len(rows), dtype=np.int32), np.empty(len(rows), np.int32)
    starts = np.empty(terms + 1, np.int32)
    for column in (2, 1, 0):
        _sort_by(rows, column, order, spare, starts)
        order, spare = spare, order
    row_of = spare
    distinct, counts = _drop_equal(rows, order, row_of)
    del order
    by_object, by_predicate = np.empty(len(distinct), np.int32), np.empty(len(distinct), np.int32)
    subjects, predicates, objects = starts, np.empty(terms + 1, np.int32), np.empty(terms + 1, np.int32)
    rest = np.arange(len(distinct), dtype=np.int32)
    _sort_by(distinct, 0, rest, by_object, subjects)
    _sort_by(distinct, 2, rest, by_object, objects)
    _sort_by(distinct, 1, by_object, by_predicate, predicates)
    return SortedTriples(distinct, counts, by_predicate, by_object, subjects, predicates, objects), row_of


@borrowing
def _sort_by(rows: I32, column: int, order: I32, into: I32, starts: I32) -> None:
    """Sort rows stably by one column; `starts` gets the first place of each term."""
    starts[:] = 0
    for row in order:
        starts[rows[row, column] + 1] += 1
    for term in range(1, len(starts)):
        starts[term] += starts[term - 1]
    for row in order:
        term = rows[row, column]
        into[starts[term]] = row
        starts[term] += 1
    for term in range(len(starts) - 1, 0, -1):
        starts[term] = starts[term - 1]
    starts[0] = 0


@njit
def _drop_equal(rows: I32, order: I32, row_of: I32) -> tuple[I32, I32]:
    """The distinct rows in sorted order and their counts; `row_of` gets the place of each row."""
    count = 0
    for at in range(len(order)):
        if at == 0 or not _equal(rows, order[at], rows, order[at - 1]):
            count += 1
    distinct = np.empty((count, 3), np.int32)
    counts = np.zeros(count, np.int32)
    last = -1
    for at in range(len(order)):
        row = order[at]
        if at == 0 or not _equal(rows, row, rows, order[at - 1]):
            last += 1
            for place in range(3):
                distinct[last, place] = rows[row, place]
        counts[last] += 1
        row_of[row] = last
    return distinct, counts


@inlined
def _equal(left: I32, one: int, right: I32, other: int) -> bool:
    return bool(left[one, 0] == right[other, 0] and left[one, 1] == right[other, 1] and left[one, 2] == right[other, 2])


@borrowing
def reach_of(stored: SortedTriples, subject: int, predicate: int, end: int) -> tuple[int, int, int]:
    """The range of sorted triples that fit a pattern, and no others: (order, first place, place after the last)."""
    terms = len(stored.subjects) - 1
    if max(subject, predicate, end) >= terms or min(subject, predicate, end) == NOWHERE:
        return _DIRECT, 0, 0
    if subject >= 0:
        if predicate < 0 and end >= 0:
            low, high = _narrow(stored, _BY_OBJECT, 0, subject, stored.objects[end], stored.objects[end + 1])
            return _BY_OBJECT, low, high
        low, high = int(stored.subjects[subject]), int(stored.subjects[subject + 1])
        if predicate >= 0:
            low, high = _narrow(stored, _DIRECT, 1, predicate, low, high)
        if end >= 0:
            low, high = _narrow(stored, _DIRECT, 2, end, low, high)
        return _DIRECT, low, high
    if predicate >= 0:
        low, high = int(stored.predicates[predicate]), int(stored.predicates[predicate + 1])
        if end >= 0:
            low, high = _narrow(stored, _BY_PREDICATE, 2, end, low, high)
        return _BY_PREDICATE, low, high
    if end >= 0:
        return _BY_OBJECT, int(stored.objects[end]), int(stored.objects[end + 1])
    return _DIRECT, 0, len(stored.rows)


@inlined
def row_at(stored: SortedTriples, order: int, place: int) -> int:
    if order == _BY_PREDICATE:
        return int(stored.by_predicate[place])
    if order == _BY_OBJECT:
        return int(stored.by_object[place])
    return place


@borrowing
def _narrow(stored: SortedTriples, order: int, column: int, term: int, low: int, high: int) -> tuple[int, int]:
    """The part of a range, which is ascending in `column`, that has `term` there."""
    return _first_not_below(stored, order, column, term, low, high), _first_not_below(
        stored, order, column, term + 1, low, high
    )


@borrowing
def _first_not_below(stored: SortedTriples, order: int, column: int, term: int, low: int, high: int) -> int:
    while low < high:
        middle = (low + high) >> 1
        if stored.rows[row_at(stored, order, middle), column] < term:
            low = middle + 1
        else:
            high = middle
    return low


def warm_up() -> None:
    sort_triples(np.array([[0, 1, 2]], np.int32), 3)
