"""Sheets to JSON, and JSON to the order of the batch (`MatchedBatch.bindings`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import I32, I64, U8, U64, Answers, Integer, empty_answers
from triplecast.kernels.resolve import Terms, empty_terms
from triplecast.kernels.runs import MatchedRuns, Work, make_work
from triplecast.kernels.sheets import BACKSLASH, QUOTE, SheetLimits, Sheets
from triplecast.kernels.words import copy_numbers, count_low_zeros, load_word, multiply_fold

SPARSEST = 16
"""Registrations between the first and the last for each row that is merged by marks."""
_SEED, _STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93)


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


class WrittenRows(NamedTuple):
    """Pairs whose sheets are their answers, by (publication, member)."""

    publication: I32
    member: I32
    sheet: I32
    offsets: I64
    text: U8
    """Row i says ``text[offsets[sheet[i]]:offsets[sheet[i] + 1]]``."""
    bytes: int
    """That all rows say."""
    left: int
    """Pairs that are no rows: what they say is not decided, is part of an answer, or was not written."""


@njit
def write_rows(
    sheets: Sheets,
    answers: Answers,
    terms: Terms,
    limits: SheetLimits,
    matched: MatchedRuns,
    publication: I32,
    work: Work,
) -> WrittenRows:
    """Write the sheets, and the pairs that they answer in order; `publication` is that of each view."""
    text, offsets = render_sheets(sheets, answers, terms, limits)
    pairs = matched.run_start[sheets.runs]
    written = np.empty(pairs, np.int32), np.empty(pairs, np.int32), np.empty(pairs, np.int32)
    filled, left, size, run = 0, 0, 0, 0
    while run < sheets.runs:
        of, first = publication[matched.run_view[run]], run
        while run < sheets.runs and publication[matched.run_view[run]] == of:
            run += 1
        for pair in range(matched.run_start[first], matched.run_start[run]):
            sheet = sheets.of_pair[pair]
            if sheet < 0 or limits.weight[sheets.answer[sheet]] > 0 or offsets[sheet] == offsets[sheet + 1]:
                left += 1
                continue
            size += offsets[sheet + 1] - offsets[sheet]
            _mark(work, matched.subscription[pair], sheet)
        filled = _take_marked(work, of, written, filled)
    rows = written[0][:filled], written[1][:filled], written[2][:filled]
    return WrittenRows(rows[0], rows[1], rows[2], offsets, text, size, left)


@borrowing
def _take_marked(work: Work, publication: Integer, written: tuple[I32, I32 | I64, I32], filled: int) -> int:
    """Write the marked members as rows of a publication, in order, and clear their marks; return how many rows there
    are in all."""
    for line in range(len(work.lines)):
        words = work.lines[line]
        work.lines[line] = np.uint64(0)
        while words:
            word = (line << 6) + count_low_zeros(words)
            words &= words - np.uint64(1)
            members = work.members[word]
            work.members[word] = np.uint64(0)
            while members:
                member = (word << 6) + count_low_zeros(members)
                members &= members - np.uint64(1)
                written[0][filled], written[1][filled] = publication, member
                written[2][filled] = work.sheet[member]
                filled += 1
    return filled


def merge_rows(lengths: Sequence[int], publication: I32, registration: I64, sheet: I32) -> tuple[I32, I64, I32] | None:
    """Rows of so many parts one after the other, in each by publication, as one list by publication and registration.
    None where it takes less to sort them, or must: they are few for how far their registrations are apart, not in
    order, or two of them are of one pair."""
    count = len(publication)
    base = int(registration.min()) if count else 0
    span = int(registration.max()) - base + 1 if count else 0
    if not 0 < span <= SPARSEST * count:
        return None
    merged = _merge_marked(publication, registration, sheet, np.cumsum([0, *lengths]), base, make_work(span, 0))
    return merged if len(merged[0]) == count else None


@njit
def _merge_marked(
    publication: I32, registration: I64, sheet: I32, starts: I64, base: int, work: Work
) -> tuple[I32, I64, I32]:
    """What was merged until the parts prove to be out of order."""
    count, filled, last = len(publication), 0, np.int32(-1)
    written = np.empty(count, np.int32), np.empty(count, np.int64), np.empty(count, np.int32)
    at = starts[:-1].copy()
    while True:
        of, found = np.int32(0), False
        for part in range(len(at)):
            if at[part] < starts[part + 1] and (not found or publication[at[part]] < of):
                of, found = publication[at[part]], True
        if not found or of <= last:
            return written[0][:filled], written[1][:filled], written[2][:filled]
        before = filled
        for part in range(len(at)):
            row = at[part]
            while row < starts[part + 1] and publication[row] == of:
                _mark(work, registration[row] - base, sheet[row])
                row += 1
            at[part] = row
        filled = _take_marked(work, of, written, filled)
        for row in range(before, filled):
            written[1][row] += base
        last = of


@inlined
def _mark(work: Work, member: Integer, sheet: Integer) -> None:
    place = np.uint32(member)
    work.sheet[place] = sheet
    work.members[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
    work.lines[place >> 12] |= np.uint64(1) << np.uint64((place >> 6) & 63)


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


def join_sheets(parts: Sequence[tuple[I32, I64, U8]]) -> tuple[I32, I64, U8]:
    """Join rows, whose texts are ``text[offsets[s]:offsets[s + 1]]`` of each one's sheet `s`: return the number of each
    row's sheet among those that rows need, where these begin, and their texts."""
    used = [np.bincount(sheet, minlength=len(offsets) - 1) > 0 for sheet, offsets, _ in parts]
    if len(parts) == 1 and used[0].all():
        return parts[0]
    lengths = [np.diff(offsets)[kept] for (_, offsets, _), kept in zip(parts, used, strict=True)]
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate([np.zeros(0, np.int64), *lengths]))])
    sheets, text, first = [np.zeros(0, np.int32)], np.empty(starts[-1], np.uint8), 0
    for (sheet, offsets, source), kept, length in zip(parts, used, lengths, strict=True):
        if kept.all():
            sheets.append(sheet + np.int32(first))
            text[starts[first] : starts[first + len(length)]] = source[offsets[0] : offsets[-1]]
        else:
            sheets.append((np.cumsum(kept, dtype=np.int32) + np.int32(first - 1))[sheet])
            source = np.require(source, requirements="W")  # as the kernel was compiled for
            gather(source, offsets[:-1][kept], length, text, starts[first : first + len(length)])
        first += len(length)
    return np.concatenate(sheets), starts, text


class RowColumns(NamedTuple):
    """Rows of publications: row i says ``text[offsets[sheet[i]]:offsets[sheet[i] + 1]]``."""

    registration: I64
    change: U8
    sheet: I32
    offsets: I64
    text: U8


@njit
def digest_rows(starts: I64, rows: RowColumns) -> U64:
    """Return 64 bits for each publication, whose rows begin at ``starts[p]``: of what its rows say, however they share
    sheets. They tell a difference, not a forgery."""
    sheets = len(rows.offsets) - 1
    of_sheet, known = np.empty(sheets, np.uint64), np.zeros(sheets, np.bool_)
    digests = np.empty(len(starts) - 1, np.uint64)
    for publication in range(len(digests)):
        state = _SEED
        for row in range(starts[publication], starts[publication + 1]):
            sheet = rows.sheet[row]
            if not known[sheet]:
                known[sheet] = True
                of_sheet[sheet] = _digest(rows.text, rows.offsets[sheet], rows.offsets[sheet + 1])
            state = multiply_fold(state ^ np.uint64(rows.registration[row]), _STEP) ^ np.uint64(rows.change[row])
            state = multiply_fold(state ^ of_sheet[sheet], _STEP) ^ state
        digests[publication] = state
    return digests


@inlined
def _digest(text: U8, start: int, end: int) -> np.uint64:
    state = _SEED ^ np.uint64(end - start)
    at = start
    while at + 8 <= end:
        state = multiply_fold(state ^ load_word(text, at), _STEP) ^ np.uint64(at - start)
        at += 8
    while at < end:
        state = multiply_fold(state ^ np.uint64(text[at]), _STEP) ^ state
        at += 1
    return state


class RowIds(NamedTuple):
    """What the ids of rows are made of (`model.match.pair_id`)."""

    keys: U8
    """32 bytes for each publication."""
    suffixes: U8
    """Those of the kinds of change, one after the other."""
    suffix_ends: I64
    """[kinds + 1]"""
    publication: I64
    """Of each row, as `registration` and `change` are."""
    registration: I64
    change: U8


@njit
def write_ids(rows: RowIds) -> tuple[U8, I64]:
    """Write the ids of notifications; return them and [rows + 1] where each begins."""
    ends = np.zeros(len(rows.registration) + 1, np.int64)
    text = np.empty(len(rows.registration) * (32 + 1 + 19) + _suffix_bytes(rows), np.uint8)
    filled = 0
    for row in range(len(rows.registration)):
        copy_numbers(text, filled, rows.keys, 32 * rows.publication[row], 32)
        text[filled + 32] = ord("-")
        filled += 33
        left = np.uint64(rows.registration[row])
        digits, bound = 1, np.uint64(10)
        while left >= bound and digits < 19:
            bound *= np.uint64(10)
            digits += 1
        for at in range(digits):
            text[filled + digits - 1 - at] = ord("0") + left % np.uint64(10)
            left //= np.uint64(10)
        filled += digits
        start, end = rows.suffix_ends[rows.change[row]], rows.suffix_ends[rows.change[row] + 1]
        copy_numbers(text, filled, rows.suffixes, start, end - start)
        filled += end - start
        ends[row + 1] = filled
    return text[:filled], ends


@inlined
def _suffix_bytes(rows: RowIds) -> int:
    total = 0
    for change in rows.change:
        total += rows.suffix_ends[change + 1] - rows.suffix_ends[change]
    return total


def warm_up() -> None:
    none, wide = np.zeros(0, np.int32), np.zeros(0, np.int64)
    sheets = Sheets(none, none, np.zeros(1, np.int64), wide, none, wide, 0)
    limits = SheetLimits(0, 0, wide, np.zeros(0, np.uint8))
    runs = MatchedRuns(none, none, none, none, none, np.zeros(1, np.int64), np.zeros((0, 2), np.int32), wide)
    json, _ = render_sheets(sheets, empty_answers(), empty_terms(), limits)
    write_rows(sheets, empty_answers(), empty_terms(), limits, runs, none, make_work(0, 0))
    gather(json, wide, wide, json, wide)
    _merge_marked(none, wide, none, np.zeros(1, np.int64), 0, make_work(0, 0))
    write_ids(RowIds(json, json, np.zeros(1, np.int64), wide, wide, np.zeros(0, np.uint8)))
    digest_rows(np.zeros(2, np.int64), RowColumns(wide, np.zeros(0, np.uint8), none, np.zeros(1, np.int64), json))
