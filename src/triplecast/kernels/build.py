"""Building an index: items, their canonical structures, and tables. All results are functions of the input's order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import inlined, njit
from triplecast.kernels.layout import F64, I32, I64, NO_KEY, PLACES, U8, U32, U64, find_place, hash_key

ALWAYS = -(2**31)
"""Stands at all three places of the pattern that every publication fulfils."""


class Items(NamedTuple):
    """Conjunctions before they are indexed; item = one branch of one subscription."""

    subscription: I32
    offsets: I64
    """[M + 1] into `patterns`."""
    patterns: I32
    """[P, 3] dictionary id, or ``-(variable + 1)``, or `ALWAYS`."""
    atom_offsets: I64
    atom_code: U8
    """[A, 4] as in `Index.atom_code`, variables numbered as in `patterns`."""
    atom_value: F64
    verified: U8
    variables: I32
    """How many an item has."""


class Canonical(NamedTuple):
    """Items with their patterns in order of keys and their variables in order of appearance."""

    keys: I32
    """[P]"""
    topology: I32
    """For each item ``verified`` and, per pattern and place, -1 for a constant, else twice the variable, plus 1 if it
    is compared."""
    names: I32
    """The new number of each variable of each item, -1 for one that no pattern has."""


def empty_items() -> Items:
    """For a warm-up."""
    none, offsets = np.zeros(0, np.int32), np.zeros(1, np.int64)
    atoms = np.zeros((0, 4), np.uint8), np.zeros(0)
    return Items(none, offsets, np.zeros((0, 3), np.int32), offsets, *atoms, np.zeros(0, np.uint8), none)


@njit
def group_equal_rows(offsets: I64, cells: I32) -> tuple[I32, I32]:
    """Number the distinct rows ``cells[offsets[i]:offsets[i + 1]]`` in order of appearance: (number of each, first of
    each)."""
    rows = len(offsets) - 1
    size = 8
    while size < 2 * rows:
        size *= 2
    table = np.full(size, np.int32(-1), np.int32)
    number = np.empty(rows, np.int32)
    first = np.empty(rows, np.int32)
    hashes = np.empty(rows, np.uint64)
    groups = 0
    for row in range(rows):
        hashed = np.uint64(0x9E3779B97F4A7C15)
        for at in range(offsets[row], offsets[row + 1]):
            hashed = (hashed ^ np.uint64(np.uint32(cells[at]))) * np.uint64(0xBF58476D1CE4E5B9)
            hashed ^= hashed >> np.uint64(29)
        slot = np.int64(hashed >> np.uint64(20)) & (size - 1)
        while True:
            group = table[slot]
            if group < 0:
                table[slot] = groups
                first[groups] = row
                hashes[groups] = hashed
                number[row] = groups
                groups += 1
                break
            if hashes[group] == hashed and _rows_equal(offsets, cells, first[group], row):
                number[row] = group
                break
            slot = (slot + 1) & (size - 1)
    return number, first[:groups].copy()


@inlined
def _rows_equal(offsets: I64, cells: I32, left: int, right: int) -> bool:
    length = offsets[left + 1] - offsets[left]
    if offsets[right + 1] - offsets[right] != length:
        return False
    at = 0
    while at < length and cells[offsets[left] + at] == cells[offsets[right] + at]:
        at += 1
    return bool(at == length)


@njit
def canonicalise(items: Items, keys: I32, name_offsets: I64) -> Canonical:
    """Sort each item's patterns by key (stable) and rename its variables."""
    count = len(items.offsets) - 1
    patterns = len(keys)
    canonical = Canonical(
        np.empty(patterns, np.int32),
        np.empty(3 * patterns + count, np.int32),
        np.full(name_offsets[count], np.int32(-1), np.int32),
    )
    order = np.empty(64, np.int64)
    compared = np.zeros(256, np.uint8)
    for item in range(count):
        start, end = items.offsets[item], items.offsets[item + 1]
        if end - start > len(order):
            order = np.empty(2 * (end - start), np.int64)
        for row in range(start, end):
            at = row - start
            while at > 0 and keys[order[at - 1]] > keys[row]:
                order[at] = order[at - 1]
                at -= 1
            order[at] = row
        for atom in range(items.atom_offsets[item], items.atom_offsets[item + 1]):
            compared[items.atom_code[atom, 0]] = 1
        names = name_offsets[item]
        cell = 3 * start + item
        canonical.topology[cell] = items.verified[item]
        used = 0
        for at in range(end - start):
            canonical.keys[start + at] = keys[order[at]]
            for place in range(3):
                node = items.patterns[order[at], place]
                cell += 1
                if node >= 0 or node == ALWAYS:
                    canonical.topology[cell] = -1
                    continue
                variable = -node - 1
                if canonical.names[names + variable] < 0:
                    canonical.names[names + variable] = used
                    used += 1
                canonical.topology[cell] = 2 * canonical.names[names + variable] + compared[variable]
        for atom in range(items.atom_offsets[item], items.atom_offsets[item + 1]):
            compared[items.atom_code[atom, 0]] = 0
    return canonical


@njit
def find_next_keys(offsets: I64, keys: I32, topology: I32, items: I32) -> U32:
    """`Index.next_keys` of the structures of some items, given all items' sorted keys and topology: a key that has the
    anchor's subject variable as subject is looked for with it."""
    packed = np.empty(len(items), np.uint32)
    for number in range(len(items)):
        item = items[number]
        start = offsets[item]
        anchor = 3 * start + item + 1
        for at in (2, 1):
            place = np.uint32(NO_KEY)
            if start + at < offsets[item + 1]:
                subject = topology[anchor + 3 * at] >> 1
                shared = subject >= 0 and subject == topology[anchor] >> 1
                place = np.uint32(find_place(keys[start + at]) + np.uint64(0 if shared else PLACES))
            packed[number] = place if at == 2 else packed[number] << np.uint32(16) | place
    return packed


@njit
def fill_key_table(key_terms: I32, size: int) -> U64:
    """The open-addressing table of `Index.key_table`; `size` is a power of two."""
    table = np.zeros(size, np.uint64)
    for key in range(len(key_terms)):
        hashed = hash_key(key_terms[key, 0], key_terms[key, 1], key_terms[key, 2])
        slot = np.int64(hashed >> np.uint64(32)) & (size - 1)
        while table[slot] != np.uint64(0):
            slot = (slot + 1) & (size - 1)
        table[slot] = ((hashed & np.uint64(0xFFFFFFFF)) << np.uint64(32)) | np.uint64(key + 1)
    return table


@njit
def fill_term_table(hashes: U64, size: int) -> I32:
    """The open-addressing table of `Dictionary.table`; `size` is a power of two."""
    table = np.full(size, np.int32(-1), np.int32)
    for term in range(len(hashes)):
        slot = np.int64(hashes[term] >> np.uint64(20)) & (size - 1)
        while table[slot] >= 0:
            slot = (slot + 1) & (size - 1)
        table[slot] = term
    return table


def warm_up() -> None:
    offsets = np.zeros(1, np.int64)
    number, _ = group_equal_rows(offsets, np.zeros(0, np.int32))
    canonical = canonicalise(empty_items(), number, offsets)
    find_next_keys(offsets, number, canonical.topology, number)
    fill_key_table(np.zeros((0, 3), np.int32), 8)
    fill_term_table(np.zeros(0, np.uint64), 8)
