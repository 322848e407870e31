"""Runs: the output of matching, and how entries are written to it."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.conditions import AT_LEAST, BY_NUMBER, BY_SINGLE, LESS, UNEQUAL, WINDOW, all_hold, compares
from triplecast.kernels.layout import CONTINUES, ENDS, I32, I64, STRUCTURE_PLAIN, U32, U64, Encoded, Index, read_code
from triplecast.kernels.words import copy_numbers

_LARGEST = 1 << 22
"""The most rows that a buffer begins with."""
_FULFILLED, _FAILED = -1, -2
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
    seen: tuple[int, float, bool],
    found: RunBuffer,
    work: Work,
    filled: int,
) -> int:
    """Write the subscriptions of a range of entries whose conditions a solution fulfils, each once a view; return how
    many are written in all.

    `seen` is the compared term as `conditions.see` gives it, `bound` the terms of the solution's variables.
    """
    code, low, high = code_low_high
    variable, operator, lane = read_code(code)
    how, number, strict = seen
    in_order = operator == WINDOW and how in (BY_NUMBER, BY_SINGLE) and not strict
    entries, atoms, constants, stamp = index.entries, index.entry_atoms, index.entry_value, work.stamp
    values, identity, extras = encoded.values, encoded.identity, encoded.extras
    epoch = np.uint32(work.epoch[0])
    for entry in range(low, high):
        subscription = entries[entry]
        if stamp[subscription] == epoch:
            continue
        atom = atoms[entry]
        if atom >= 0:
            if in_order:
                atom = _skip_bounds(index, atom, (variable, lane), (how, number))
                if atom == _FAILED:
                    continue
            if atom >= 0 and not all_hold(index.atom_code, index.atom_value, atom, values, identity, extras, bound, 0):
                continue
        elif operator == UNEQUAL and not compares(how, number, strict, operator, constants[entry]):
            continue
        stamp[subscription] = epoch
        found.subscription[filled] = subscription
        found.entry[filled] = entry
        filled += 1
    return filled


@inlined
def _skip_bounds(index: Index, atom: int, variable_lane: tuple[int, int], seen: tuple[int, float]) -> int:
    """Decide the bounds of one variable in one lane that a condition begins with, by the compared term as it is seen:
    the first other atom, `_FULFILLED` without any, or `_FAILED`."""
    codes, constants = index.atom_code, index.atom_value
    variable, lane = variable_lane
    how, number = seen
    while (
        codes[atom, 0] == variable
        and codes[atom, 2] == lane
        and codes[atom, 3] != CONTINUES
        and codes[atom, 1] >= LESS
        and codes[atom, 1] <= AT_LEAST
    ):
        if not compares(how, number, False, codes[atom, 1], constants[atom]):
            return _FAILED
        if codes[atom, 3] == ENDS:
            return _FULFILLED
        atom += 1
    return atom
