"""The dictionary of a store: terms to ids and back.

An id counts up from 0 in order of appearance and is never given to another term, until `compact_terms` renumbers the
terms that are still in use, in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.hashing import hash_under
from triplecast.kernels.layout import I32, I64, U8, U64
from triplecast.kernels.words import PADDING, copy_numbers, keep_low, load_word, pad

ABSENT = -1
"""The id of no term."""
_LOW = np.uint64(0xFFFFFFFF)
_SPACE, _NEWLINE = ord(" "), ord("\n")
_LEAST_SLOTS = 64


class TermBank(NamedTuple):
    """Terms in N-Triples form: term i is ``text[offsets[i]:offsets[i + 1]]``.

    Arrays but `table` have room at their ends; a table is at most half full.
    """

    text: U8
    """Padded."""
    offsets: I64
    table: U64
    """Open addressing: ``upper half of the hash << 32 | id + 1``, 0 empty; the bytes decide."""
    secret: U64
    """[2] what the hash is made with, so that nobody can construct collisions."""
    used: I64
    """[1] how many terms there are."""

    @property
    def size(self) -> int:
        """How many terms there are."""
        return int(self.used[0])

    def term(self, id: int) -> bytes:
        """The N-Triples form of a term."""
        return self.text[self.offsets[id] : self.offsets[id + 1]].tobytes()


def empty_bank(secret: Sequence[int]) -> TermBank:
    """A bank without terms, made with two secret 64-bit numbers."""
    return TermBank(
        np.zeros(PADDING, np.uint8),
        np.zeros(1, np.int64),
        np.zeros(_LEAST_SLOTS, np.uint64),
        np.array(secret, np.uint64),
        np.zeros(1, np.int64),
    )


def number_lines(bank: TermBank, lines: bytes, terms: Sequence[bytes] = ()) -> tuple[TermBank, I32, I32]:
    """Number the terms of canonical N-Triples lines, and then terms in N-Triples form: (the bank with the new ones,
    [n, 3] a row for each line, [m] an id for each term)."""
    count = lines.count(b"\n")
    offsets = np.empty(len(terms) + 1, np.int64)
    offsets[0], offsets[1:] = len(lines), [*map(len, terms)]
    np.cumsum(offsets, out=offsets)
    bank = _with_room(bank, 3 * count + len(terms), int(offsets[-1]))
    rows, ids = np.empty((count, 3), np.int32), np.empty(len(terms), np.int32)
    _number_lines(pad([lines, *terms]), offsets, bank, rows, ids)
    return bank, rows, ids


def find_term(bank: TermBank, term: bytes) -> int:
    """The id of a term in N-Triples form, `ABSENT` where the bank lacks it."""
    return int(_find(pad([term]), len(term), bank))


def compact_terms(bank: TermBank, kept: U8) -> tuple[TermBank, I32]:
    """A bank of the terms that are marked alone, without room, in the same order; and the new id of each term."""
    count = bank.size
    lengths = np.where(kept[:count] != 0, np.diff(bank.offsets[: count + 1]), 0)
    terms = int(np.count_nonzero(kept[:count]))
    slots = _slots_for(terms)
    compacted = TermBank(
        np.zeros(int(lengths.sum()) + PADDING, np.uint8),
        np.zeros(terms + 1, np.int64),
        np.zeros(slots, np.uint64),
        bank.secret,
        np.zeros(1, np.int64),
    )
    ids = np.empty(count, np.int32)
    _copy_kept(bank, kept, compacted, ids)
    _fill_table(compacted)
    return compacted, ids


def _with_room(bank: TermBank, terms: int, size: int) -> TermBank:
    """The same bank with room for more terms that have `size` bytes in all."""
    count = bank.size
    text, offsets, table = bank.text, bank.offsets, bank.table
    end = int(offsets[count])
    if end + size + PADDING > len(text):
        text = np.zeros(2 * (end + size) + PADDING, np.uint8)
        text[:end] = bank.text[:end]
    if count + terms + 1 > len(offsets):
        offsets = np.zeros(2 * (count + terms) + 1, np.int64)
        offsets[: count + 1] = bank.offsets[: count + 1]
    grown = bank._replace(text=text, offsets=offsets)
    if _slots_for(count + terms) > len(table):
        grown = grown._replace(table=np.zeros(_slots_for(count + terms), np.uint64))
        _fill_table(grown)
    return grown


def _slots_for(terms: int) -> int:
    slots = _LEAST_SLOTS
    while slots < 2 * terms:
        slots *= 2
    return slots


@borrowing
def _number_lines(lines: U8, offsets: I64, bank: TermBank, rows: I32, ids: I32) -> None:
    """Number the terms of padded lines, which end where `offsets` begin, and those between these; a subject that is the
    line's before is not looked up again."""
    size, at = offsets[0], 0
    subject_start = 0
    subject_length = 0
    subject = np.int32(ABSENT)
    for line in range(len(rows)):
        start = at
        while lines[at] != _SPACE:
            at += 1
        if at - start != subject_length or not _same(lines, start, lines, subject_start, subject_length):
            subject = _number(lines, start, at - start, bank)
            subject_start = start
            subject_length = at - start
        at += 1
        start = at
        while lines[at] != _SPACE:
            at += 1
        predicate = _number(lines, start, at - start, bank)
        at += 1
        start = at
        while at < size and lines[at] != _NEWLINE:
            at += 1
        rows[line, 0] = subject
        rows[line, 1] = predicate
        rows[line, 2] = _number(lines, start, at - start - 2, bank)
        at += 1
    for index in range(len(ids)):
        ids[index] = _number(lines, offsets[index], offsets[index + 1] - offsets[index], bank)


@borrowing
def _number(text: U8, start: int, length: int, bank: TermBank) -> np.int32:
    """The id of ``text[start:start + length]``, a new one where the bank lacks it."""
    hashed = hash_under(text, start, length, bank.secret[0], bank.secret[1])
    slot = _probe(text, start, length, bank, hashed)
    entry = bank.table[slot]
    if entry != 0:
        return np.int32(entry & _LOW) - np.int32(1)
    id = bank.used[0]
    end = bank.offsets[id]
    copy_numbers(bank.text, end, text, start, length)
    bank.offsets[id + 1] = end + length
    bank.used[0] = id + 1
    bank.table[slot] = (hashed & ~_LOW) | np.uint64(id + 1)
    return np.int32(id)


@borrowing
def _find(text: U8, length: int, bank: TermBank) -> int:
    hashed = hash_under(text, 0, length, bank.secret[0], bank.secret[1])
    return int(np.int64(bank.table[_probe(text, 0, length, bank, hashed)] & _LOW)) - 1


@inlined
def _probe(text: U8, start: int, length: int, bank: TermBank, hashed: np.uint64) -> int:
    """The slot of a term, or the empty one that it would take."""
    mask = len(bank.table) - 1
    slot = np.int64(hashed & np.uint64(mask))
    while True:
        entry = bank.table[slot]
        if entry == 0:
            return int(slot)
        if (entry ^ hashed) >> np.uint64(32) == 0:
            id = np.int64(entry & _LOW) - 1
            begin = bank.offsets[id]
            if bank.offsets[id + 1] - begin == length and _same(text, start, bank.text, begin, length):
                return int(slot)
        slot = (slot + 1) & mask


@inlined
def _same(left: U8, left_at: int, right: U8, right_at: int, length: int) -> bool:
    """Whether slices of two padded texts hold the same bytes."""
    while length >= 8:
        if load_word(left, left_at) != load_word(right, right_at):
            return False
        left_at += 8
        right_at += 8
        length -= 8
    return bool(keep_low(load_word(left, left_at) ^ load_word(right, right_at), length) == np.uint64(0))


@borrowing
def _fill_table(bank: TermBank) -> None:
    """Enter every term of a bank in its empty table."""
    mask = len(bank.table) - 1
    for id in range(bank.used[0]):
        start = bank.offsets[id]
        hashed = hash_under(bank.text, start, bank.offsets[id + 1] - start, bank.secret[0], bank.secret[1])
        slot = np.int64(hashed & np.uint64(mask))
        while bank.table[slot] != 0:
            slot = (slot + 1) & mask
        bank.table[slot] = (hashed & ~_LOW) | np.uint64(id + 1)


@borrowing
def _copy_kept(bank: TermBank, kept: U8, compacted: TermBank, ids: I32) -> None:
    count = 0
    end = 0
    for id in range(len(ids)):
        ids[id] = ABSENT
        if kept[id]:
            length = bank.offsets[id + 1] - bank.offsets[id]
            copy_numbers(compacted.text, end, bank.text, bank.offsets[id], length)
            end += length
            ids[id] = count
            count += 1
            compacted.offsets[count] = end
    compacted.used[0] = count


@njit
def terms_of(rows: I32, count: int) -> U8:
    """[count] 1 for each term that is in `rows`."""
    found = np.zeros(count, np.uint8)
    for row in range(len(rows)):
        for place in range(3):
            found[rows[row, place]] = 1
    return found


def warm_up() -> None:
    bank, rows, _ = number_lines(empty_bank((1, 2)), b"<x:s> <x:p> <x:o> .\n", [b"<x:g>"])
    find_term(bank, b"<x:s>")
    compact_terms(bank, np.append(terms_of(rows, bank.size), np.uint8(0)))
