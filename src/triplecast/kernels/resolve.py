"""Terms of a batch against the dictionary of a segment: ids, tags and ranks. A hash finds, bytes decide."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, hashing, inlined, njit
from triplecast.kernels.hashing import hash_slice
from triplecast.kernels.layout import F64, I32, I64, U8, U64, Dictionary
from triplecast.kernels.words import PADDING, Text, keep_low, load_word, prefetch
from triplecast.model.comparison_codes import Lane

_LITERAL = int(Lane.ILL)
"""Value classes from this one on are literals."""
_LANG = int(Lane.LANG)
_STRING = int(Lane.STRING)
_AHEAD = 8
"""Terms between the one that is looked up and the one whose dictionary entry is prefetched."""
_QUOTE, _BACKSLASH, _AT = ord('"'), ord("\\"), ord("@")


class Terms(NamedTuple):
    """The terms of a batch: slices of a padded text."""

    text: Text
    start: I64
    length: I32
    hashes: U64
    value_class: U8


@njit
def resolve(dictionary: Dictionary, terms: Terms) -> I32:
    """The dictionary id of each term, -1 where no subscription mentions it."""
    ids = np.empty(len(terms.start), np.int32)
    _find_all(dictionary, terms, ids)
    return ids


@borrowing
def _find_all(dictionary: Dictionary, terms: Terms, ids: I32) -> None:
    table, hashes, last = dictionary.table, terms.hashes, len(ids) - 1
    for term in range(len(ids)):
        prefetch(table, _first_slot(hashes[min(term + 2 * _AHEAD, last)], len(table)))
        likely = table[_first_slot(hashes[min(term + _AHEAD, last)], len(table))]
        if likely >= 0:
            prefetch(dictionary.hashes, likely)
            prefetch(dictionary.offsets, likely)
        ids[term] = find_term(dictionary, terms.text, terms.start[term], terms.length[term], hashes[term])


@njit
def take_terms(terms: Terms, values: F64, rows: I64) -> tuple[Terms, F64]:
    """The terms of some rows and their values, over the same text."""
    count = len(rows)
    taken = Terms(
        terms.text,
        np.empty(count, np.int64),
        np.empty(count, np.int32),
        np.empty(count, np.uint64),
        np.empty(count, np.uint8),
    )
    valued = np.empty((count, 3), np.float64)
    for at in range(count):
        row = rows[at]
        taken.start[at] = terms.start[row]
        taken.length[at] = terms.length[row]
        taken.hashes[at] = terms.hashes[row]
        taken.value_class[at] = terms.value_class[row]
        for column in range(3):
            valued[at, column] = values[row, column]
    return taken, valued


@inlined
def _first_slot(hashed: np.uint64, size: int) -> int:
    return int(np.int64(hashed >> np.uint64(20)) & (size - 1))


@inlined
def find_term(dictionary: Dictionary, text: Text, start: int, length: int, hashed: np.uint64) -> int:
    last = len(dictionary.table) - 1
    slot = _first_slot(hashed, len(dictionary.table))
    while True:
        found = dictionary.table[slot]
        if found < 0:
            return -1
        if dictionary.hashes[found] == hashed:
            at = dictionary.offsets[found]
            if dictionary.offsets[found + 1] - at == length and _same(dictionary.text, at, text, start, length):
                return int(found)
        slot = (slot + 1) & last


@inlined
def _same(left: Text, left_start: int, right: Text, right_start: int, length: int) -> bool:
    while length >= 8:
        if load_word(left, left_start) != load_word(right, right_start):
            return False
        left_start += 8
        right_start += 8
        length -= 8
    return bool(keep_low(load_word(left, left_start) ^ load_word(right, right_start), length) == np.uint64(0))


@njit
def find_languages(dictionary: Dictionary, terms: Terms, mask: np.uint64) -> I32:
    """For literals the id of their language tag as a string (``""`` without one), -1 unknown; -2 for other terms."""
    found = np.empty(len(terms.start), np.int32)
    longest = 0
    for term in range(len(found)):
        longest = max(longest, terms.length[term] if terms.value_class[term] == _LANG else 0)
    tag = np.zeros(longest + 2 + 2 * PADDING, np.uint8)
    tag[0] = _QUOTE
    for term in range(len(found)):
        if terms.value_class[term] < _LITERAL:
            found[term] = -2
            continue
        size = 0
        if terms.value_class[term] == _LANG:
            end = terms.start[term] + terms.length[term]
            at = end - 1
            while terms.text[at] != _AT:
                at -= 1
            size = end - at - 1
            for i in range(size):
                tag[1 + i] = terms.text[at + 1 + i]
        tag[1 + size] = _QUOTE
        found[term] = find_term(dictionary, tag, 0, size + 2, hash_slice(tag, 0, size + 2) & mask)
    return found


@njit
def rank_strings(dictionary: Dictionary, terms: Terms) -> F64:
    """For strings their place among the dictionary's bounds: ``2 i + 1`` equals bound i, even numbers lie between; else
    NaN."""
    ranks = np.full(len(terms.start), np.nan, np.float64)
    for term in range(len(ranks)):
        if terms.value_class[term] != _STRING:
            continue
        low, high = 0, len(dictionary.bounds)
        while low < high:
            middle = (low + high) >> 1
            bound = dictionary.offsets[dictionary.bounds[middle]]
            order = compare_strings(dictionary.text, bound, terms.text, terms.start[term])
            if order == 0:
                ranks[term] = 2.0 * middle + 1.0
                break
            if order < 0:
                low = middle + 1
            else:
                high = middle
        if low >= high:
            ranks[term] = 2.0 * low
    return ranks


@borrowing
def compare_strings(left: Text, left_start: int, right: Text, right_start: int) -> int:
    """-1, 0 or 1: the order by code point of two string literals in canonical N-Triples, which end at their quote."""
    left_start += 1
    right_start += 1
    while True:
        left_point, left_size = decode(left, left_start)
        right_point, right_size = decode(right, right_start)
        if left_point != right_point:
            return -1 if left_point < right_point else 1
        if left_point < 0:
            return 0
        left_start += left_size
        right_start += right_size


@inlined
def decode(text: Text, at: int) -> tuple[int, int]:
    """(code point, bytes it takes in the text); -1 at the closing quote."""
    byte = int(text[at])
    if byte == _QUOTE:
        return -1, 1
    if byte == _BACKSLASH:
        return _unescape(text, at)
    if byte < 0x80:
        return byte, 1
    size = 2 if byte < 0xE0 else (3 if byte < 0xF0 else 4)
    point = byte & (0xFF >> (size + 1))
    for i in range(1, size):
        point = point << 6 | (int(text[at + i]) & 0x3F)
    return point, size


@borrowing
def _unescape(text: Text, at: int) -> tuple[int, int]:
    byte = int(text[at + 1])
    if byte == ord("n"):
        return 10, 2
    if byte == ord("r"):
        return 13, 2
    if byte == ord("t"):
        return 9, 2
    if byte == ord("b"):
        return 8, 2
    if byte == ord("f"):
        return 12, 2
    if byte not in (ord("u"), ord("U")):
        return byte, 2
    digits = 4 if byte == ord("u") else 8
    point = 0
    for i in range(digits):
        point = point << 4 | _digit(text[at + 2 + i])
    return point, 2 + digits


@inlined
def _digit(byte: int) -> int:
    """The value of a hexadecimal digit."""
    value = int(byte)
    if value <= ord("9"):
        return value - ord("0")
    return (value & 0xDF) - ord("A") + 10


def current_hash_mask() -> np.uint64:
    """The bits of a hash in use (see `hashing.HASH_MASK`)."""
    return hashing.HASH_MASK


def empty_terms() -> Terms:
    return Terms(
        np.zeros(PADDING, np.uint8),
        np.zeros(0, np.int64),
        np.zeros(0, np.int32),
        np.zeros(0, np.uint64),
        np.zeros(0, np.uint8),
    )


def empty_dictionary() -> Dictionary:
    return Dictionary(
        np.zeros(PADDING, np.uint8),
        np.zeros(1, np.int64),
        np.zeros(0, np.uint64),
        np.full(8, -1, np.int32),
        np.zeros(0, np.int32),
    )


def warm_up() -> None:
    dictionary = empty_dictionary()
    resolve(dictionary, empty_terms())
    take_terms(empty_terms(), np.zeros((0, 3), np.float64), np.zeros(0, np.int64))
    find_languages(dictionary, empty_terms(), current_hash_mask())
    rank_strings(dictionary, empty_terms())
