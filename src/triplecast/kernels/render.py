"""Sheets to JSON, and JSON to the order of the batch (`MatchedBatch.bindings`)."""

from __future__ import annotations

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import I64, U8, Answers, empty_answers
from triplecast.kernels.resolve import Terms, empty_terms
from triplecast.kernels.sheets import BACKSLASH, QUOTE, SheetLimits, Sheets


@njit
def render_sheets(sheets: Sheets, answers: Answers, terms: Terms, limits: SheetLimits) -> tuple[U8, I64]:
    """(JSON of the sheets that are written so, as many as there is room for, [sheets + 1] where each begins)."""
    offsets = np.zeros(len(sheets.answer) + 1, np.int64)
    json = np.empty(4096, np.uint8)
    filled = 0
    for sheet in range(len(sheets.answer)):
        answer = sheets.answer[sheet]
        if filled > limits.room or limits.weight[answer] > 0:
            offsets[sheet + 1] = filled
            continue
        first, last = answers.offsets[answer], answers.offsets[answer + 1]
        if filled + 4 > len(json):
            json = _grow(json, filled, 4)
        json[filled] = ord("[")
        filled += 1
        for row in range(sheets.offsets[sheet], sheets.offsets[sheet + 1]):
            cell = sheets.rows[row]
            if filled + 4 > len(json):
                json = _grow(json, filled, 4)
            if row > sheets.offsets[sheet]:
                json[filled] = ord(",")
                filled += 1
            json[filled] = ord("{")
            filled += 1
            for column in range(first, last):
                term = sheets.cells[cell + answers.variable[column]]
                name, name_end = answers.name_offsets[column], answers.name_offsets[column + 1]
                most = name_end - name + 6 * np.int64(terms.length[term]) + 8
                if filled + most > len(json):
                    json = _grow(json, filled, most)
                if column > first:
                    json[filled] = ord(",")
                    filled += 1
                for at in range(name, name_end):
                    json[filled] = answers.names[at]
                    filled += 1
                filled = _write_escaped(json, filled, terms, term)
                json[filled] = QUOTE
                filled += 1
            json[filled] = ord("}")
            filled += 1
            if filled - offsets[sheet] > limits.longest:
                break
        if filled + 4 > len(json):
            json = _grow(json, filled, 4)
        json[filled] = ord("]")
        filled += 1
        if filled - offsets[sheet] > limits.longest:
            filled = offsets[sheet]
        offsets[sheet + 1] = filled
    return json[:filled], offsets


@njit
def _grow(json: U8, filled: int, more: int) -> U8:
    larger = np.empty(2 * (filled + more), np.uint8)
    larger[:filled] = json[:filled]
    return larger


@inlined
def _write_escaped(json: U8, filled: int, terms: Terms, term: int) -> int:
    """A term's text inside a JSON string: quotes, backslashes and control characters escaped as `json.dumps` does."""
    start = terms.start[term]
    for at in range(start, start + terms.length[term]):
        byte = terms.text[at]
        if byte in (QUOTE, BACKSLASH):
            json[filled] = BACKSLASH
            filled += 1
        elif byte < 0x20:
            filled = _write_control(json, filled, byte)
            continue
        json[filled] = byte
        filled += 1
    return filled


@borrowing
def _write_control(json: U8, filled: int, byte: int) -> int:
    json[filled] = BACKSLASH
    short = ord("u")
    if byte == 8:
        short = ord("b")
    elif byte == 9:
        short = ord("t")
    elif byte == 10:
        short = ord("n")
    elif byte == 12:
        short = ord("f")
    elif byte == 13:
        short = ord("r")
    json[filled + 1] = short
    if short != ord("u"):
        return filled + 2
    json[filled + 2] = ord("0")
    json[filled + 3] = ord("0")
    json[filled + 4] = ord("0") + (byte >> 4)
    low = byte & 15
    json[filled + 5] = ord("0") + low if low < 10 else ord("a") + low - 10
    return filled + 6


@borrowing
def gather(source: U8, starts: I64, lengths: I64, target: U8, places: I64) -> None:
    """Copy slices of `source`, each to its place."""
    for i in range(len(starts)):
        start, place = starts[i], places[i]
        for at in range(lengths[i]):
            target[place + at] = source[start + at]


def warm_up() -> None:
    none, wide = np.zeros(0, np.int32), np.zeros(0, np.int64)
    sheets = Sheets(none, none, np.zeros(1, np.int64), wide, none, wide, 0)
    json, _ = render_sheets(sheets, empty_answers(), empty_terms(), SheetLimits(0, 0, wide, np.zeros(0, np.uint8)))
    gather(json, wide, wide, json, wide)
