"""Lists of rows, and how long they are as JSON: known before anything is written."""

from __future__ import annotations

from typing import NamedTuple

from triplecast.kernels import borrowing
from triplecast.kernels.layout import I32, I64, U8, Answers
from triplecast.kernels.resolve import Terms

QUOTE, BACKSLASH = ord('"'), ord("\\")


class Sheets(NamedTuple):
    """Distinct lists of rows; most matched pairs share theirs with others."""

    of_pair: I32
    """Sheet of each matched subscription; -1: its evaluator decides; -2: too many solutions or steps; -3: not wanted.
    """
    answer: I32
    """[sheets] how a sheet is written."""
    offsets: I64
    """[sheets + 1] into `rows`. A sheet without rows is one that was only measured."""
    rows: I64
    """First cell of each row, in canonical order."""
    cells: I32
    """Batch-global terms, by variable, row after row."""
    sizes: I64
    """[sheets] bytes as JSON: where they are only measured, or read row by row; else 0."""
    runs: int
    """How many runs there was room for."""


class SheetLimits(NamedTuple):
    """What sheets may take."""

    room: int
    """Bytes that rows may take; negative: sheets are only measured."""
    longest: int
    """Bytes of one sheet as JSON; a longer one is not written."""
    weight: I64
    """[answers] 0: its sheets are written as JSON. Another: they are read row by row, and take so many times their
    bytes."""
    wanted: U8
    """[pairs] 0: left out. Empty: all are wanted."""


BYTES_A_ROW = 16
"""In memory, of a row that is written as JSON."""


@borrowing
def escaped_length(terms: Terms, term: int) -> int:
    """Bytes of a term's text inside a JSON string (`render`)."""
    start, more = terms.start[term], 0
    for at in range(start, start + terms.length[term]):  # without a branch, so that many bytes are looked at at once
        byte = terms.text[at]
        escaped = int(byte == QUOTE) + int(byte == BACKSLASH) + 5 * int(byte < 0x20)
        more += escaped - 4 * int((byte >= 8) & (byte <= 13) & (byte != 11))
    return int(terms.length[term]) + more


@borrowing
def sheet_size(answers: Answers, answer: int, selected: I64, cells: I32, terms: Terms, lengths: I32) -> int:
    """Bytes of a sheet as JSON; fills in the lengths of its terms (-1: not known yet)."""
    first, last = answers.offsets[answer], answers.offsets[answer + 1]
    of_row = 3 + max(0, 2 * (last - first) - 1)
    for column in range(first, last):
        of_row += answers.name_offsets[column + 1] - answers.name_offsets[column]
    size = 1 + len(selected) * of_row
    for row in selected:
        for column in range(first, last):
            term = cells[row + answers.variable[column]]
            if lengths[term] < 0:
                lengths[term] = escaped_length(terms, term)
            size += lengths[term]
    return int(size)
