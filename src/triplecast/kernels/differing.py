"""Which answers differ between the two states of an event."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np

from triplecast.kernels import borrowing, njit
from triplecast.kernels.layout import I32, I64, U8

NONE = -1
"""The row of a state without an answer."""


class Rows(NamedTuple):
    """Answers by publication and registration, of which none repeats: row i says
    ``text[offsets[sheet[i]]:offsets[sheet[i] + 1]]``."""

    publication: I32
    """Twice the number of an event, plus 1 for the state after it."""
    registration: I64
    sheet: I32
    offsets: I64
    text: U8


DifferingAnswers: TypeAlias = tuple[I32, I64, I32, I64, U8]
"""Answers that differ, by event and registration: event, registration, and [n, 2] the sheets of the rows before and
after, `NONE` for none; where the sheets begin, and their texts."""


@njit
def differing_answers(rows: Rows) -> DifferingAnswers:
    """The answers that differ, with the sheets that they need."""
    pairs = _differing_rows(rows)
    count = len(pairs)
    events, registrations, sheets = np.empty(count, np.int32), np.empty(count, np.int64), np.empty_like(pairs)
    numbers = np.full(len(rows.offsets) - 1, np.int32(NONE))
    for place in range(count):
        for side in range(2):
            row = pairs[place, side]
            if row != NONE:
                events[place], registrations[place] = rows.publication[row] >> 1, rows.registration[row]
                numbers[rows.sheet[row]] = 0
    used = size = 0
    for sheet in range(len(numbers)):
        if numbers[sheet] != NONE:
            numbers[sheet] = used
            used += 1
            size += rows.offsets[sheet + 1] - rows.offsets[sheet]
    offsets, text = np.zeros(used + 1, np.int64), np.empty(size, np.uint8)
    for sheet in range(len(numbers)):
        if numbers[sheet] != NONE:
            part = rows.text[rows.offsets[sheet] : rows.offsets[sheet + 1]]
            start = offsets[numbers[sheet]]
            text[start : start + len(part)] = part
            offsets[numbers[sheet] + 1] = start + len(part)
    for place in range(count):
        for side in range(2):
            row = pairs[place, side]
            sheets[place, side] = NONE if row == NONE else numbers[rows.sheet[row]]
    return events, registrations, sheets, offsets, text


@njit
def _differing_rows(rows: Rows) -> I32:
    """[n, 2] the rows of each answer that differs, before the event and after it, by event and registration."""
    found, count = np.empty((len(rows.publication), 2), np.int32), 0
    start = 0
    while start < len(rows.publication):
        event, middle = rows.publication[start] >> 1, start
        while middle < len(rows.publication) and rows.publication[middle] == 2 * event:
            middle += 1
        stop = middle
        while stop < len(rows.publication) and rows.publication[stop] == 2 * event + 1:
            stop += 1
        before, after = start, middle
        while before < middle or after < stop:
            if after == stop or (before < middle and rows.registration[before] < rows.registration[after]):
                found[count, 0], found[count, 1] = before, NONE
                before += 1
                count += 1
            elif before == middle or rows.registration[after] < rows.registration[before]:
                found[count, 0], found[count, 1] = NONE, after
                after += 1
                count += 1
            else:
                if not _say_the_same(rows, before, after):
                    found[count, 0], found[count, 1] = before, after
                    count += 1
                before += 1
                after += 1
        start = stop
    return found[:count]


@borrowing
def _say_the_same(rows: Rows, one: int, other: int) -> bool:
    left, right = rows.sheet[one], rows.sheet[other]
    length = rows.offsets[left + 1] - rows.offsets[left]
    if rows.offsets[right + 1] - rows.offsets[right] != length:
        return False
    for place in range(length):
        if rows.text[rows.offsets[left] + place] != rows.text[rows.offsets[right] + place]:
            return False
    return True


def warm_up() -> None:
    one = np.zeros(1, np.int32)
    differing_answers(Rows(one, np.zeros(1, np.int64), one, np.zeros(2, np.int64), np.zeros(0, np.uint8)))
