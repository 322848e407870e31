"""Sheets to JSON, and JSON to the order of the batch (`MatchedBatch.bindings`)."""

from __future__ import annotations

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import I64, U8, Answers, empty_answers
from triplecast.kernels.resolve import Terms, empty_terms
from triplecast.kernels.sheets import BACKSLASH, QUOTE, SheetLimits, Sheets


@njit
def render_sheets(sheets: Sheets, answers: Answers, terms: Terms, limits: SheetLimits) -> tuple[U8, I64]:
    """(JSON of the sheets that are written so, [sheets + 1] where each begins)."""
    offsets = np.zeros(len(sheets.answer) + 1, np.int64)
    for sheet in range(len(sheets.answer)):
        empty = sheets.offsets[sheet] == sheets.offsets[sheet + 1] or limits.weight[sheets.answer[sheet]] > 0
        offsets[sheet + 1] = offsets[sheet] + (0 if empty else sheets.sizes[sheet])
    json = np.empty(offsets[-1], np.uint8)
    filled = 0
    for sheet in range(len(sheets.answer)):
        if offsets[sheet + 1] > offsets[sheet]:
            filled = _write_sheet(sheets, sheet, answers, terms, json, filled)
        assert filled == offsets[sheet + 1]
    return json, offsets


@borrowing
def _write_sheet(sheets: Sheets, sheet: int, answers: Answers, terms: Terms, json: U8, filled: int) -> int:
    """The rows of a sheet, measured by `sheets.sheet_size`; return where they end."""
    answer = sheets.answer[sheet]
    first, last = answers.offsets[answer], answers.offsets[answer + 1]
    json[filled] = ord("[")
    filled += 1
    for row in range(sheets.offsets[sheet], sheets.offsets[sheet + 1]):
        cell = sheets.rows[row]
        if row > sheets.offsets[sheet]:
            json[filled] = ord(",")
            filled += 1
        json[filled] = ord("{")
        filled += 1
        for column in range(first, last):
            term = sheets.cells[cell + answers.variable[column]]
            if column > first:
                json[filled] = ord(",")
                filled += 1
            for at in range(answers.name_offsets[column], answers.name_offsets[column + 1]):
                json[filled] = answers.names[at]
                filled += 1
            if sheets.lengths[term] == terms.length[term]:
                start = terms.start[term]
                for at in range(terms.length[term]):
                    json[filled + at] = terms.text[start + at]
                filled += terms.length[term]
            else:
                filled = _write_escaped(json, filled, terms, term)
            json[filled] = QUOTE
            filled += 1
        json[filled] = ord("}")
        filled += 1
    json[filled] = ord("]")
    return filled + 1


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
    sheets = Sheets(none, none, np.zeros(1, np.int64), wide, none, wide, none, 0)
    json, _ = render_sheets(sheets, empty_answers(), empty_terms(), SheetLimits(0, 0, wide, np.zeros(0, np.uint8)))
    gather(json, wide, wide, json, wide)
