"""Building an index: canonical structures, join programs, entries, tables. All results are functions of the input's
order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import inlined, njit
from triplecast.kernels.conditions import AT_LEAST, AT_MOST, EQUAL, GREATER, LESS, UNEQUAL, WINDOW
from triplecast.kernels.layout import (
    CONTINUES,
    ENDS,
    F64,
    I32,
    I64,
    SHAPE_FULL,
    SHAPE_NECESSARY,
    SHAPE_VARIABLES,
    STAR,
    STRUCTURE_GROUPS,
    STRUCTURE_KEYS,
    STRUCTURE_PLAIN,
    STRUCTURE_SHAPE,
    TREE,
    U8,
    U64,
    Index,
    empty_index,
    hash_key,
)

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


@njit
def group_equal_rows(offsets: I64, cells: I32) -> tuple[I32, I32]:
    """Numbers the distinct rows ``cells[offsets[i]:offsets[i + 1]]`` in order of appearance: (number of each, first of
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
    """Sorts each item's patterns by key (stable) and renames its variables."""
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


class Programs(NamedTuple):
    """Join steps of shapes, see `Index.join_steps`."""

    offsets: I32
    steps: I32
    stars: I32
    """[H] as `SHAPE_STAR`."""


@njit
def make_programs(offsets: I64, topology: I32, shapes: I32, full: bool) -> tuple[Programs, I32]:
    """The steps of each shape's join, and how many variables each has.

    `full`: all patterns with variables; otherwise only those whose variables are shared, repeated or compared, and of
    their variables only these and subjects. Steps begin with the rarest key and stay connected where they can.
    """
    rows = 0
    for shape in range(len(shapes)):
        rows += (offsets[shapes[shape] + 1] - offsets[shapes[shape]]) // 3
    programs = Programs(
        np.zeros(len(shapes) + 1, np.int32), np.empty((rows, 4), np.int32), np.zeros(len(shapes), np.int32)
    )
    counts = np.zeros(len(shapes), np.int32)
    seen = np.zeros(256, np.int32)
    bound = np.zeros(256, np.uint8)
    filled = 0
    for shape in range(len(shapes)):
        start = offsets[shapes[shape]] + 1
        patterns = (offsets[shapes[shape] + 1] - start) // 3
        seen[:] = 0
        bound[:] = 0
        for cell in range(start, start + 3 * patterns):
            if topology[cell] >= 0:
                seen[topology[cell] >> 1] += 1 + (topology[cell] & 1)
                counts[shape] = max(counts[shape], (topology[cell] >> 1) + 1)
        done = np.zeros(patterns, np.uint8)
        first = filled
        while True:
            chosen = _next_pattern(topology, start, patterns, done, seen, bound, full)
            if chosen < 0:
                break
            done[chosen] = 1
            programs.steps[filled, 0] = chosen
            for place in range(3):
                code = topology[start + 3 * chosen + place]
                keep = code >= 0 and (full or place == 0 or seen[code >> 1] > 1)
                programs.steps[filled, 1 + place] = code >> 1 if keep else -1
                if keep:
                    bound[code >> 1] = 1
            filled += 1
        programs.offsets[shape + 1] = filled
        programs.stars[shape] = _find_kind(topology[start : start + 3 * patterns], programs.steps[first:filled], seen)
    return Programs(programs.offsets, programs.steps[:filled].copy(), programs.stars), counts


@njit
def _find_kind(topology: I32, steps: I32, seen: I32) -> int:
    """`SHAPE_STAR` of the steps of one shape: each subject is a variable, each step but the first has just one such
    variable in common with those before it, and nothing else is shared."""
    subjects, bound = np.zeros(256, np.uint8), np.zeros(256, np.uint8)
    for step in range(len(steps)):
        subject = topology[3 * steps[step, 0]]
        if subject < 0:
            return 0
        subjects[subject >> 1] = 1
    kind = STAR
    for step in range(len(steps)):
        cell = 3 * steps[step, 0]
        subject, predicate, end = topology[cell] >> 1, topology[cell + 1], topology[cell + 2]
        if predicate >= 0 and seen[predicate >> 1] != 1:
            return 0
        shared = int(bound[subject])
        bound[subject] = 1
        if end >= 0 and subjects[end >> 1] == 1:
            kind = TREE
            shared += int(bound[end >> 1])
            if end >> 1 == subject:
                return 0
            bound[end >> 1] = 1
        elif end >= 0 and seen[end >> 1] != 1 + (end & 1):
            return 0
        if shared != int(step > 0):
            return 0
    return kind


@njit
def _next_pattern(topology: I32, start: int, patterns: int, done: U8, seen: I32, bound: U8, full: bool) -> int:
    """Of the patterns that share a bound variable, the first with the most places that are constant, bound or repeated;
    else the first that has a variable to bind; -1 at the end."""
    best = -1
    most = 0
    for pattern in range(patterns):
        if done[pattern] == 1:
            continue
        binds = False
        shares = False
        known = 0
        cells = topology[start + 3 * pattern : start + 3 * pattern + 3]
        for place in range(3):
            code = cells[place]
            if code < 0:
                known += 1
            elif full or seen[code >> 1] > 1:
                binds = True
                repeated = (place > 0 and cells[0] == code) or (place > 1 and cells[1] == code)
                shares = shares or bound[code >> 1] == 1
                known += bound[code >> 1] == 1 or repeated
        rank = 1 + 3 * shares + known * shares if binds else 0
        if rank > most:
            best, most = pattern, rank
    return best


class Entries(NamedTuple):
    """Entries before they are sorted."""

    item: I32
    code: U8
    """[E, 3] variable, operator, lane."""
    value: F64
    width: F64
    atoms: I32


@njit
def make_entries(items: Items, names: I32, name_offsets: I64) -> tuple[Entries, U8, F64]:
    """Chooses each conditional item's access clause and makes one entry per atom of it; returns them with all atoms
    kept."""
    atoms = len(items.atom_value)
    entries = Entries(
        np.empty(atoms, np.int32),
        np.empty((atoms, 3), np.uint8),
        np.empty(atoms, np.float64),
        np.zeros(atoms, np.float64),
        np.empty(atoms, np.int32),
    )
    kept_code = np.empty((atoms, 4), np.uint8)
    kept_value = np.empty(atoms, np.float64)
    filled = 0
    kept = 0
    for item in range(len(items.offsets) - 1):
        start, end = items.atom_offsets[item], items.atom_offsets[item + 1]
        if start == end:
            continue
        base = name_offsets[item]
        stored = -1
        if end - start > 1:
            stored = kept
            for atom in range(start, end):
                kept_code[kept] = items.atom_code[atom]
                kept_code[kept, 0] = names[base + items.atom_code[atom, 0]]
                kept_value[kept] = items.atom_value[atom]
                kept += 1
            kept_code[kept - 1, 3] = ENDS
        access, upper = _choose_access(items, start, end)
        while True:
            entries.item[filled] = item
            entries.code[filled, 0] = names[base + items.atom_code[access, 0]]
            entries.code[filled, 1] = items.atom_code[access, 1] if upper < 0 else WINDOW
            entries.code[filled, 2] = items.atom_code[access, 2]
            entries.value[filled] = items.atom_value[access]
            if upper >= 0:
                entries.width[filled] = items.atom_value[upper] - items.atom_value[access]
            entries.atoms[filled] = stored
            filled += 1
            if upper >= 0 or items.atom_code[access, 3] != CONTINUES:
                break
            access += 1
    return (
        Entries(
            entries.item[:filled].copy(),
            entries.code[:filled].copy(),
            entries.value[:filled].copy(),
            entries.width[:filled].copy(),
            entries.atoms[:filled].copy(),
        ),
        kept_code[:kept].copy(),
        kept_value[:kept].copy(),
    )


@njit
def _choose_access(items: Items, start: int, end: int) -> tuple[int, int]:
    """(first atom of the most selective clause, upper bound of its window or -1): an equality, then a few equalities,
    then the narrowest window, then a one-sided range, then any clause."""
    best = start
    best_upper = -1
    best_cost = 1e300
    clause = start
    while clause < end:
        last = clause
        equalities = items.atom_code[last, 1] == EQUAL
        while items.atom_code[last, 3] == CONTINUES:
            last += 1
            equalities = equalities and items.atom_code[last, 1] == EQUAL
        operator = items.atom_code[clause, 1]
        upper = -1
        if equalities:
            cost = float(last - clause)
        elif last > clause:
            cost = 5e3
        elif operator == UNEQUAL:
            cost = 4e3
        else:
            cost = 2e3
            if operator in (GREATER, AT_LEAST):
                upper = _find_upper(items, start, end, clause)
                if upper >= 0:
                    width = items.atom_value[upper] - items.atom_value[clause]
                    cost = 1e3 + width / (1.0 + width)
        if cost < best_cost:
            best, best_upper, best_cost = clause, upper, cost
        clause = last + 1
    return best, best_upper


@njit
def _find_upper(items: Items, start: int, end: int, lower: int) -> int:
    """The single-atom clause that bounds the same variable from above, -1 without."""
    for atom in range(start, end):
        operator = items.atom_code[atom, 1]
        if (operator != LESS and operator != AT_MOST) or items.atom_code[atom, 3] == CONTINUES:
            continue
        if atom > start and items.atom_code[atom - 1, 3] == CONTINUES:
            continue
        if (
            items.atom_code[atom, 0] == items.atom_code[lower, 0]
            and items.atom_code[atom, 2] == items.atom_code[lower, 2]
        ):
            width = items.atom_value[atom] - items.atom_value[lower]
            if width >= 0.0 and width < 1e300:
                return atom
    return -1


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


@njit
def unfold(index: Index) -> Items:
    """The items that an index was built from, with canonical variables, by structure; equal in meaning, not in
    order."""
    structures = len(index.structures) - 1
    subscriptions = len(index.answer_of)
    last = np.full(subscriptions, np.int32(-1), np.int32)
    items = 0
    patterns = 0
    atoms = 0
    for structure in range(structures):
        members = index.structures[structure + 1, STRUCTURE_PLAIN] - index.structures[structure, STRUCTURE_PLAIN]
        first, end = _entry_range(index, structure)
        for entry in range(first, end):
            if last[index.entries[entry]] != structure:
                last[index.entries[entry]] = structure
                members += 1
                atoms += _condition_size(index, entry)
        items += members
        patterns += members * (
            index.structures[structure + 1, STRUCTURE_KEYS] - index.structures[structure, STRUCTURE_KEYS]
        )
    made = Items(
        np.empty(items, np.int32),
        np.zeros(items + 1, np.int64),
        np.empty((patterns, 3), np.int32),
        np.zeros(items + 1, np.int64),
        np.empty((atoms, 4), np.uint8),
        np.empty(atoms, np.float64),
        np.empty(items, np.uint8),
        np.empty(items, np.int32),
    )
    last[:] = -1
    item = 0
    for structure in range(structures):
        for at in range(index.structures[structure, STRUCTURE_PLAIN], index.structures[structure + 1, STRUCTURE_PLAIN]):
            made.subscription[item] = index.plain[at]
            made.atom_offsets[item + 1] = made.atom_offsets[item]
            _unfold_patterns(index, structure, made, item)
            item += 1
        first, end = _entry_range(index, structure)
        group = index.structures[structure, STRUCTURE_GROUPS]
        for entry in range(first, end):
            while index.groups[group + 1, 1] <= entry:
                group += 1
            if last[index.entries[entry]] == structure:
                continue
            last[index.entries[entry]] = structure
            made.subscription[item] = index.entries[entry]
            _unfold_condition(index, entry, group, made, item)
            _unfold_patterns(index, structure, made, item)
            item += 1
    filled = made.offsets[items]
    return Items(
        made.subscription,
        made.offsets,
        made.patterns[:filled].copy(),
        made.atom_offsets,
        made.atom_code,
        made.atom_value,
        made.verified,
        made.variables,
    )


@inlined
def _entry_range(index: Index, structure: int) -> tuple[int, int]:
    return (
        index.groups[index.structures[structure, STRUCTURE_GROUPS], 1],
        index.groups[index.structures[structure + 1, STRUCTURE_GROUPS], 1],
    )


@njit
def _condition_size(index: Index, entry: int) -> int:
    atom = index.entry_atoms[entry]
    if atom < 0:
        return 1
    size = 1
    while index.atom_code[atom, 3] != ENDS:
        atom += 1
        size += 1
    return size


@njit
def _unfold_condition(index: Index, entry: int, group: int, made: Items, item: int) -> None:
    start = made.atom_offsets[item]
    size = _condition_size(index, entry)
    atom = index.entry_atoms[entry]
    if atom < 0:
        for column in range(3):
            made.atom_code[start, column] = (index.groups[group, 0] >> (8 * column)) & 0xFF
        made.atom_code[start, 3] = 0
        made.atom_value[start] = index.entry_value[entry]
    else:
        for at in range(size):
            made.atom_code[start + at] = index.atom_code[atom + at]
            made.atom_code[start + at, 3] &= CONTINUES
            made.atom_value[start + at] = index.atom_value[atom + at]
    made.atom_offsets[item + 1] = start + size


@njit
def _unfold_patterns(index: Index, structure: int, made: Items, item: int) -> None:
    shape = index.structures[structure, STRUCTURE_SHAPE]
    made.verified[item] = index.shapes[shape, SHAPE_NECESSARY]
    made.variables[item] = index.shapes[shape, SHAPE_VARIABLES]
    first, end = index.structures[structure, STRUCTURE_KEYS], index.structures[structure + 1, STRUCTURE_KEYS]
    start = made.offsets[item]
    row = start
    for at in range(first, end):
        key = index.structure_keys[at]
        if index.key_terms[key, 0] == -2:
            if end - first == 1:
                made.patterns[row] = ALWAYS
                row += 1
            continue
        made.patterns[row] = index.key_terms[key]
        for step in range(index.shapes[shape, SHAPE_FULL], index.shapes[shape + 1, SHAPE_FULL]):
            if index.full_steps[step, 0] == at - first:
                for place in range(3):
                    if index.full_steps[step, 1 + place] >= 0:
                        made.patterns[row, place] = -index.full_steps[step, 1 + place] - 1
        row += 1
    made.offsets[item + 1] = row


def warm_up() -> None:
    items = unfold(empty_index())
    offsets = np.zeros(1, np.int64)
    cells = np.zeros(0, np.int32)
    number, first = group_equal_rows(offsets, cells)
    canonical = canonicalise(items, number, offsets)
    for full in (False, True):
        make_programs(offsets, canonical.topology, first, full)
    make_entries(items, canonical.names, offsets)
    fill_key_table(np.zeros((0, 3), np.int32), 8)
    fill_term_table(np.zeros(0, np.uint64), 8)
