"""The live part behind sorted triples: what came since they were sorted, in chains by hash.

So an event costs what it changes, and the live part is sorted in from time to time (`sort_triples`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import I32, I64
from triplecast.kernels.triples import ANY, SortedTriples, reach_of, row_at, sort_triples

_WHOLE, _SUBJECT, _PREDICATE, _OBJECT = 0, 1, 2, 3
_LEAST_ROOM = 64
_STEP = np.uint64(0x9E3779B97F4A7C15)


class LiveTriples(NamedTuple):
    """Triples that the sorted part lacks, with room at the end of each array, in chains by hash."""

    rows: I32
    """[R, 3]"""
    counts: I32
    """[R] as those of `SortedTriples`."""
    links: I32
    """[R, 4] the next row of the same chain, -1 after the last: by triple, subject, predicate, object."""
    heads: I32
    """[slots, 4] the first row of each chain, -1 for none."""
    lengths: I32
    """[slots, 4] how many rows each chain has."""
    tally: I64
    """[2] rows in use; triples that are there, the sorted ones included."""


def empty_live(present: int) -> LiveTriples:
    """A live part behind `present` sorted triples."""
    return _live_with(_LEAST_ROOM, np.array([0, present], np.int64))


def live_with_room(live: LiveTriples, more: int) -> LiveTriples:
    """The same live part with room for `more` triples."""
    used = int(live.tally[0])
    if used + more <= len(live.rows):
        return live
    grown = _live_with(2 * (used + more), live.tally)
    grown.rows[:used] = live.rows[:used]
    grown.counts[:used] = live.counts[:used]
    _link(grown)
    return grown


def _live_with(room: int, tally: I64) -> LiveTriples:
    slots = _LEAST_ROOM
    while slots < room:
        slots *= 2
    return LiveTriples(
        np.zeros((room, 3), np.int32),
        np.zeros(room, np.int32),
        np.full((room, 4), np.int32(-1)),
        np.full((slots, 4), np.int32(-1)),
        np.zeros((slots, 4), np.int32),
        tally,
    )


@borrowing
def _link(live: LiveTriples) -> None:
    for row in range(live.tally[0]):
        _enter(live, row)


@inlined
def _enter(live: LiveTriples, row: int) -> None:
    """Put a row at the head of its chains."""
    for chain in range(4):
        slot = _slot(live, chain, live.rows[row, 0], live.rows[row, 1], live.rows[row, 2])
        live.links[row, chain] = live.heads[slot, chain]
        live.heads[slot, chain] = row
        live.lengths[slot, chain] += 1


@inlined
def _slot(live: LiveTriples, chain: int, subject: int, predicate: int, end: int) -> int:
    if chain == _WHOLE:
        mixed = ((np.uint64(subject) * _STEP) ^ np.uint64(predicate)) * _STEP ^ np.uint64(end)
    elif chain == _SUBJECT:
        mixed = np.uint64(subject)
    elif chain == _PREDICATE:
        mixed = np.uint64(predicate)
    else:
        mixed = np.uint64(end)
    return int(((mixed * _STEP) >> np.uint64(32)) & np.uint64(len(live.heads) - 1))


@inlined
def _fits(live: LiveTriples, row: int, subject: int, predicate: int, end: int) -> bool:
    return bool(
        (subject == ANY or live.rows[row, 0] == subject)
        and (predicate == ANY or live.rows[row, 1] == predicate)
        and (end == ANY or live.rows[row, 2] == end)
    )


@inlined
def _chain_of(subject: int, predicate: int, end: int) -> int:
    """The chain that is the shortest, -1 where every row fits."""
    if subject != ANY and predicate != ANY and end != ANY:
        return _WHOLE
    if subject != ANY:
        return _SUBJECT
    if end != ANY:
        return _OBJECT
    return _PREDICATE if predicate != ANY else -1


@inlined
def _first_live(live: LiveTriples, chain: int, subject: int, predicate: int, end: int) -> int:
    if chain < 0:
        return int(live.tally[0]) - 1
    return int(live.heads[_slot(live, chain, subject, predicate, end), chain])


@inlined
def _next_live(live: LiveTriples, chain: int, row: int) -> int:
    return row - 1 if chain < 0 else int(live.links[row, chain])


# ---- both -----------------------------------------------------------------------------------------------------------


@borrowing
def retain(stored: SortedTriples, live: LiveTriples, rows: I32, added: I32) -> int:
    """Count `rows` once more, of which each occurs once; those that were not there go to `added`: how many.

    `live` has room for all of them.
    """
    count = 0
    for row in range(len(rows)):
        subject, predicate, end = int(rows[row, 0]), int(rows[row, 1]), int(rows[row, 2])
        _, low, high = reach_of(stored, subject, predicate, end)
        if low < high:
            stored.counts[low] += 1
            new = stored.counts[low] == 1
        else:
            found = _find_live(live, subject, predicate, end)
            if found < 0:
                found = int(live.tally[0])
                live.tally[0] += 1
                for place in range(3):
                    live.rows[found, place] = rows[row, place]
                live.counts[found] = 0
                _enter(live, found)
            live.counts[found] += 1
            new = live.counts[found] == 1
        if new:
            live.tally[1] += 1
            for place in range(3):
                added[count, place] = rows[row, place]
            count += 1
    return count


@borrowing
def release(stored: SortedTriples, live: LiveTriples, rows: I32, removed: I32) -> int:
    """Count `rows`, which are there, once less; those that are there no more go to `removed`: how many."""
    count = 0
    for row in range(len(rows)):
        subject, predicate, end = int(rows[row, 0]), int(rows[row, 1]), int(rows[row, 2])
        _, low, high = reach_of(stored, subject, predicate, end)
        if low < high:
            stored.counts[low] -= 1
            gone = stored.counts[low] == 0
        else:
            found = _find_live(live, subject, predicate, end)
            live.counts[found] -= 1
            gone = live.counts[found] == 0
        if gone:
            live.tally[1] -= 1
            for place in range(3):
                removed[count, place] = rows[row, place]
            count += 1
    return count


@borrowing
def _find_live(live: LiveTriples, subject: int, predicate: int, end: int) -> int:
    row = _first_live(live, _WHOLE, subject, predicate, end)
    while row >= 0 and not _fits(live, row, subject, predicate, end):
        row = int(live.links[row, _WHOLE])
    return row


@borrowing
def reach_fitting(stored: SortedTriples, live: LiveTriples, subject: int, predicate: int, end: int) -> int:
    """How many triples finding those that fit a pattern looks at: at least as many, in a time that does not depend on
    their number."""
    _, low, high = reach_of(stored, subject, predicate, end)
    chain = _chain_of(subject, predicate, end)
    if chain < 0:
        return high - low + int(live.tally[0])
    return high - low + int(live.lengths[_slot(live, chain, subject, predicate, end), chain])


@borrowing
def count_fitting(stored: SortedTriples, live: LiveTriples, subject: int, predicate: int, end: int) -> int:
    """How many triples fit a pattern of ids, `ANY` and `NOWHERE`."""
    order, low, high = reach_of(stored, subject, predicate, end)
    count = 0
    for place in range(low, high):
        if stored.counts[row_at(stored, order, place)] > 0:
            count += 1
    chain = _chain_of(subject, predicate, end)
    row = _first_live(live, chain, subject, predicate, end)
    while row >= 0:
        if live.counts[row] > 0 and _fits(live, row, subject, predicate, end):
            count += 1
        row = _next_live(live, chain, row)
    return count


@njit
def find_fitting(stored: SortedTriples, live: LiveTriples, subject: int, predicate: int, end: int) -> I32:
    """[n, 3] the triples that fit a pattern, the sorted ones first."""
    found = np.empty((count_fitting(stored, live, subject, predicate, end), 3), np.int32)
    order, low, high = reach_of(stored, subject, predicate, end)
    count = 0
    for at in range(low, high):
        row = row_at(stored, order, at)
        if stored.counts[row] > 0:
            for place in range(3):
                found[count, place] = stored.rows[row, place]
            count += 1
    chain = _chain_of(subject, predicate, end)
    row = _first_live(live, chain, subject, predicate, end)
    while row >= 0:
        if live.counts[row] > 0 and _fits(live, row, subject, predicate, end):
            for place in range(3):
                found[count, place] = live.rows[row, place]
            count += 1
        row = _next_live(live, chain, row)
    return found


def warm_up() -> None:
    rows = np.array([[0, 1, 2]], np.int32)
    stored, _ = sort_triples(rows, 3)
    live = live_with_room(empty_live(1), 100)
    retain(stored, live, rows, rows.copy())
    release(stored, live, rows, rows.copy())
    find_fitting(stored, live, 0, ANY, ANY)
    count_fitting(stored, live, 0, ANY, ANY)
    reach_fitting(stored, live, 0, ANY, ANY)
