"""Runs: the output of matching, and how entries are written to it."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.conditions import (
    BY_NUMBER,
    GREATER,
    LESS,
    SPAN,
    UNEQUAL,
    all_hold,
    compares,
    lower_of,
    spans,
    upper_of,
)
from triplecast.kernels.layout import I32, I64, STRUCTURE_PLAIN, U32, U64, Encoded, Index, read_code
from triplecast.kernels.words import copy_numbers

_LARGEST = 1 << 22
"""The most rows that a buffer begins with."""
_Column = TypeVar("_Column", I32, I64)


class MatchedRuns(NamedTuple):
    """The matches of a batch: runs of subscriptions of one structure in one view."""

    subscription: I32
    entry: I32
    """The entry by which a conditional subscription matched; undefined for others."""
    run_view: I32
    run_structure: I32
    run_plain: I32
    """How many subscriptions without conditions a run begins with."""
    run_start: I64
    """[runs + 1]"""
    exhausted: I32
    """[pairs, 2] view and structure whose join exceeded its steps; its subscriptions are in no run."""
    counts: I64
    """Keys, structures touched, structures joined, views matched."""


class Work(NamedTuple):
    """Scratch that is kept from batch to batch."""

    stamp: U32
    """[N] the last epoch in which a conditional subscription matched."""
    epoch: I64
    """[1]"""
    expected: I64
    """[2] subscriptions and runs of a view, as in the batch that had the most."""
    bits: U64
    """[K / 64] the keys that a view has; all zero between views."""
    members: U64
    """[N / 64] the subscriptions that a publication matches, and [N / 4096] which of these words are not zero; all zero
    between publications."""
    lines: U64
    sheet: I32
    """[N] of those that are marked."""


class RunBuffer(NamedTuple):
    """A growing buffer of matches, as `MatchedRuns`."""

    subscription: I32
    entry: I32
    run_view: I32
    run_structure: I32
    run_plain: I32
    run_start: I64
    exhausted: I32
    sizes: I64
    """Subscriptions, runs, exhausted."""


def make_work(subscriptions: int, keys: int) -> Work:
    return Work(
        np.zeros(subscriptions, np.uint32),
        np.zeros(1, np.int64),
        np.array([256, 32], np.int64),
        np.zeros((keys >> 6) + 1, np.uint64),
        np.zeros((subscriptions >> 6) + 1, np.uint64),
        np.zeros((subscriptions >> 12) + 1, np.uint64),
        np.empty(subscriptions, np.int32),
    )


@njit
def make_buffer(work: Work, views: int) -> RunBuffer:
    """A buffer that will do for so many views like those before, up to `_LARGEST`: pages that are not used cost
    nothing, those that are copied do."""
    room = 64 + min(_LARGEST, views * work.expected[0] * 5 // 4)
    runs = 64 + min(_LARGEST, views * work.expected[1] * 5 // 4)
    return RunBuffer(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(runs, np.int32),
        np.empty(runs, np.int32),
        np.empty(runs, np.int32),
        np.empty(runs, np.int64),
        np.empty((64, 2), np.int32),
        np.zeros(3, np.int64),
    )


@borrowing
def remember_sizes(found: RunBuffer, work: Work, views: int) -> None:
    """Expect as much of later batches."""
    if views > 0:
        for column in range(2):
            work.expected[column] = max(work.expected[column], found.sizes[column] // views)


@njit
def make_room(found: RunBuffer, subscriptions: int, runs: int) -> RunBuffer:
    """Return `found`, or a copy that is larger where it must be, with room for as many more subscriptions and runs."""
    filled, run, exhausted = found.sizes
    if (
        filled + subscriptions <= len(found.subscription)
        and run + runs < len(found.run_view)
        and exhausted + runs <= len(found.exhausted)
    ):
        return found
    lost = found.exhausted
    if exhausted + runs > len(lost):
        lost = np.empty((2 * (exhausted + runs), 2), np.int32)
        lost[:exhausted] = found.exhausted[:exhausted]
    return RunBuffer(
        _grow(found.subscription, filled, subscriptions),
        _grow(found.entry, filled, subscriptions),
        _grow(found.run_view, run, runs + 1),
        _grow(found.run_structure, run, runs + 1),
        _grow(found.run_plain, run, runs + 1),
        _grow(found.run_start, run, runs + 1),
        lost,
        found.sizes,
    )


@njit
def _grow(column: _Column, filled: int, more: int) -> _Column:
    """Return `column`, or if it lacks the room a copy twice as large as needed."""
    if filled + more <= len(column):
        return column
    larger = np.empty(2 * (filled + more), column.dtype)
    larger[:filled] = column[:filled]
    return larger


@inlined
def write_entries(entries: I32, low: int, high: int, found: RunBuffer, filled: int) -> int:
    """Write the subscriptions of a range of entries, all different; return how many are written in all."""
    by = found.entry
    if high <= low:
        return filled
    copy_numbers(found.subscription, filled, entries, low, high - low)
    for at in range(high - low):
        by[filled + at] = low + at
    return filled + high - low


@inlined
def write_spans(
    index: Index,
    code_low_high: tuple[int, int, int],
    seen: tuple[int, float, bool, float],
    found: RunBuffer,
    filled: int,
) -> int:
    """Write the subscriptions of those of a range of spans, all different, in which a term lies; return how many are
    written in all."""
    code, low, high = code_low_high
    _, operator, _ = read_code(code)
    how, number, strict, _ = seen
    entries, lowers, uppers = index.entries, index.entry_value, index.entry_upper
    subscription, by = found.subscription, found.entry
    if how == BY_NUMBER and not strict:  # without a branch: half of them hold
        excludes_lower, excludes_upper = lower_of(operator) == GREATER, upper_of(operator) == LESS
        place = np.uint64(filled)
        for entry in range(np.uint64(low), np.uint64(high)):
            subscription[place] = entries[entry]
            by[place] = np.int32(entry)
            outside = (number < lowers[entry]) | (number > uppers[entry])
            outside |= (excludes_lower & (number == lowers[entry])) | (excludes_upper & (number == uppers[entry]))
            place += np.uint64(not outside)
        return int(np.int64(place))
    for entry in range(low, high):
        if spans(seen, operator, lowers[entry], uppers[entry]):
            subscription[filled] = entries[entry]
            by[filled] = entry
            filled += 1
    return filled


@inlined
def close_run(index: Index, found: RunBuffer, view: int, structure: int, start: int, runs: int) -> int:
    """End a run that begins at `start`; return the number of runs."""
    structures = index.structures
    found.run_view[runs] = view
    found.run_structure[runs] = structure
    found.run_plain[runs] = structures[structure + 1, STRUCTURE_PLAIN] - structures[structure, STRUCTURE_PLAIN]
    found.run_start[runs] = start
    return runs + 1


@inlined
def write_plain(index: Index, structure: int, found: RunBuffer, filled: int) -> int:
    """Write the subscriptions without conditions of a structure; return how many are written in all."""
    first, last = index.structures[structure, STRUCTURE_PLAIN], index.structures[structure + 1, STRUCTURE_PLAIN]
    if last > first:
        copy_numbers(found.subscription, filled, index.plain, first, last - first)
    return filled + int(last - first)


@inlined
def write_fulfilled(
    index: Index,
    encoded: Encoded,
    bound: I32,
    code_low_high: tuple[int, int, int],
    seen: tuple[int, float, bool, float],
    found: RunBuffer,
    work: Work,
    filled: int,
) -> int:
    """Write the subscriptions of a range of entries whose conditions a solution fulfils, each once a view; return how
    many are written in all.

    `seen` is the compared term as `conditions.see_bounds` gives it, `bound` the terms of the solution's variables.
    """
    code, low, high = code_low_high
    _, operator, _ = read_code(code)
    how, number, strict, _ = seen
    entries, atoms, stamp = index.entries, index.entry_atoms, work.stamp
    constants, uppers = index.entry_value, index.entry_upper
    values, identity, extras = encoded.values, encoded.identity, encoded.extras
    epoch = np.uint32(work.epoch[0])
    for entry in range(low, high):
        if operator >= SPAN and not spans(seen, operator, constants[entry], uppers[entry]):
            continue
        subscription = entries[entry]
        if stamp[subscription] == epoch:
            continue
        atom = atoms[entry]
        if atom >= 0:
            if not all_hold(index.atom_code, index.atom_value, atom, values, identity, extras, bound, 0):
                continue
        elif operator == UNEQUAL and not compares(how, number, strict, operator, constants[entry]):
            continue
        stamp[subscription] = epoch
        found.subscription[filled] = subscription
        found.entry[filled] = entry
        filled += 1
    return filled
