"""The items that an index was built from, read back from it: a merge builds another index from them."""

from __future__ import annotations

import numpy as np

from triplecast.kernels import inlined, njit
from triplecast.kernels.build import ALWAYS, Items
from triplecast.kernels.conditions import SPAN, lower_of, upper_of
from triplecast.kernels.layout import (
    CONTINUES,
    ENDS,
    SHAPE_FULL,
    SHAPE_NECESSARY,
    SHAPE_VARIABLES,
    STRUCTURE_GROUPS,
    STRUCTURE_KEYS,
    STRUCTURE_PLAIN,
    STRUCTURE_SHAPE,
    Index,
    empty_index,
    read_code,
)


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
        group = index.structures[structure, STRUCTURE_GROUPS]
        for entry in range(first, end):
            while index.groups[group + 1, 1] <= entry:
                group += 1
            if last[index.entries[entry]] != structure:
                last[index.entries[entry]] = structure
                members += 1
                atoms += _condition_size(index, entry, group)
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


@inlined
def _has_lower(index: Index, entry: int) -> bool:
    return bool(index.entry_value[entry] == index.entry_value[entry])


@inlined
def _has_upper(index: Index, entry: int) -> bool:
    return bool(index.entry_upper[entry] == index.entry_upper[entry])


@njit
def _condition_size(index: Index, entry: int, group: int) -> int:
    atom = index.entry_atoms[entry]
    if atom < 0:
        _, operator, _ = read_code(index.groups[group, 0])
        return 2 if operator >= SPAN and _has_lower(index, entry) and _has_upper(index, entry) else 1
    size = 1
    while index.atom_code[atom, 3] != ENDS:
        atom += 1
        size += 1
    return size


@njit
def _unfold_condition(index: Index, entry: int, group: int, made: Items, item: int) -> None:
    start = made.atom_offsets[item]
    size = _condition_size(index, entry, group)
    atom = index.entry_atoms[entry]
    if atom < 0:
        variable, operator, lane = read_code(index.groups[group, 0])
        for at in range(start, start + size):
            made.atom_code[at, 0], made.atom_code[at, 2], made.atom_code[at, 3] = variable, lane, 0
            is_lower = at == start and _has_lower(index, entry)
            made.atom_code[at, 1] = lower_of(operator) if is_lower else upper_of(operator)
            made.atom_value[at] = index.entry_value[entry] if is_lower else index.entry_upper[entry]
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
    unfold(empty_index())
