"""Which items of an index contain which others, found through the index's own anchors.

The patterns of the contained item are frozen: its variables become terms that nothing else has, and it is asked of the
index as if it were a publication (Chandra and Merlin 1977). Item A contains item B iff a mapping of A's variables to
B's nodes makes every pattern of A one of B, and B's conditions imply A's under it.
"""

from __future__ import annotations

import numpy as np

from triplecast.kernels import inlined, njit
from triplecast.kernels.build import ALWAYS, Items, empty_items
from triplecast.kernels.conditions import AT_LEAST, AT_MOST, EQUAL, GREATER, LESS
from triplecast.kernels.layout import (
    CONTINUES,
    FACT_ALWAYS,
    I32,
    I64,
    STRUCTURE_GROUPS,
    STRUCTURE_KEYS,
    STRUCTURE_PLAIN,
    U8,
    Index,
    empty_index,
    hash_key,
)
from triplecast.model.comparison_codes import Lane

TRIES_LIMIT = 256
"""Items with conditions that are tried as containers of one item; beyond, it counts as contained by nobody."""
MAPPING_STEPS = 4_000
"""Patterns tried for one pair of items; beyond, it counts as not contained."""

_FREE = 2**31 - 1
_PATTERNS, _VARIABLES = 65, 257
_ORDERED_FROM, _ORDERED_TO = int(Lane.BOOLEAN), int(Lane.DAYTIMEDURATION)
_STRING_ORDER = int(Lane.STRING_ORDER)


@njit
def count_items(index: Index) -> I64:
    """[S + 1] where the items of each structure begin in `unfold`'s."""
    structures, groups = index.structures, index.groups
    last = np.full(len(index.answer_of), np.int32(-1), np.int32)
    offsets = np.zeros(len(structures), np.int64)
    for structure in range(len(structures) - 1):
        row, end = structures[structure], structures[structure + 1]
        count = np.int64(end[STRUCTURE_PLAIN] - row[STRUCTURE_PLAIN])
        for entry in range(groups[row[STRUCTURE_GROUPS], 1], groups[end[STRUCTURE_GROUPS], 1]):
            if last[index.entries[entry]] != structure:
                last[index.entries[entry]] = structure
                count += 1
        offsets[structure + 1] = offsets[structure] + count
    return offsets


@njit
def find_containers(index: Index, items: Items, first_item: I64, closed: U8, synthetic: U8) -> tuple[I32, I64]:
    """Find an item that contains each: ([M] the first found of another item, -1 without one; structures touched, pairs
    of structures and of items compared). Of items that contain each other only a later one has an earlier one, so that
    the first leads to what is wider.

    `items` and `first_item` are `unfold`'s and `count_items`'; only items of structures that are `closed` are looked
    for. No variable stands for a `synthetic` constant at a predicate's place: publications have no triples of them.
    """
    structures = len(index.structures) - 1
    container = np.full(len(items.subscription), np.int32(-1), np.int32)
    present = np.zeros(len(index.key_terms), np.uint8)
    hits = np.empty(8 * _PATTERNS, np.int32)
    candidates = np.empty(structures, np.int32)
    state = np.empty((_PATTERNS, 4), np.int32)
    bound = np.full(_VARIABLES, np.int32(_FREE), np.int32)
    counts = np.zeros(3, np.int64)
    for structure in range(structures):
        head, end = first_item[structure], first_item[structure + 1]
        if not closed[structure] or head == end:
            continue
        found = _probe_frozen(index, items, head, present, hits)
        chosen = 0
        for hit in range(found):
            first, last = index.anchor_offsets[hits[hit]], index.anchor_offsets[hits[hit] + 1]
            counts[0] += last - first
            for other in range(first, last):
                if first_item[other] < first_item[other + 1] and _all_present(index, present, other):
                    counts[1] += 1
                    if other == structure or _maps(items, first_item[other], head, synthetic, False, bound, state):
                        candidates[chosen] = other
                        chosen += 1
        for hit in range(found):
            present[hits[hit]] = 0
        for item in range(head, end):
            container[item] = _find_one(items, first_item, candidates[:chosen], item, synthetic, bound, state, counts)
    return container, counts


@inlined
def _probe_frozen(index: Index, items: Items, item: int, present: U8, hits: I32) -> int:
    """Mark the keys that the frozen item has; return how many."""
    found = 0
    for row in range(items.offsets[item], items.offsets[item + 1]):
        subject, predicate, end = items.patterns[row]
        if subject == ALWAYS:
            continue
        constants = (1 if subject >= 0 else 0) | (2 if predicate >= 0 else 0) | (4 if end >= 0 else 0)
        for number in range(len(index.key_masks)):
            mask = np.int64(index.key_masks[number])
            if mask & constants == mask:
                key = _find_key(
                    index,
                    subject if mask & 1 else np.int32(-1),
                    predicate if mask & 2 else np.int32(-1),
                    end if mask & 4 else np.int32(-1),
                )
                if key >= 0 and not present[key]:
                    present[key] = 1
                    hits[found] = key
                    found += 1
    always = index.facts[FACT_ALWAYS]
    if always >= 0:
        present[always] = 1
        hits[found] = always
        found += 1
    return found


@inlined
def _find_key(index: Index, subject: np.int32, predicate: np.int32, end: np.int32) -> int:
    table, terms = index.key_table, index.key_terms
    hashed = hash_key(subject, predicate, end)
    tag, last = hashed & np.uint64(0xFFFFFFFF), np.uint64(len(table) - 1)
    slot = (hashed >> np.uint64(32)) & last
    found = -1
    while table[slot] != np.uint64(0):
        if table[slot] >> np.uint64(32) == tag:
            key = np.int64(table[slot] & np.uint64(0xFFFFFFFF)) - 1
            if terms[key, 0] == subject and terms[key, 1] == predicate and terms[key, 2] == end:
                found = int(key)
                break
        slot = (slot + np.uint64(1)) & last
    return found


@inlined
def _all_present(index: Index, present: U8, structure: int) -> bool:
    at, end = index.structures[structure, STRUCTURE_KEYS], index.structures[structure + 1, STRUCTURE_KEYS]
    while at < end and present[index.structure_keys[at]]:
        at += 1
    return bool(at >= end)


@njit
def _find_one(
    items: Items, first_item: I64, candidates: I32, item: int, synthetic: U8, bound: I32, state: I32, counts: I64
) -> int:
    """Find a container of one item among those of structures that it has a mapping of: one without conditions if there
    is one."""
    tries = 0
    for other in candidates:
        general = first_item[other]
        if general == item or items.atom_offsets[general] < items.atom_offsets[general + 1]:
            continue
        if general < item or not _maps(items, item, general, synthetic, True, bound, state):
            return int(general)
    for other in candidates:
        for general in range(first_item[other], first_item[other + 1]):
            if general == item or items.atom_offsets[general] == items.atom_offsets[general + 1]:
                continue
            tries += 1
            if tries > TRIES_LIMIT:
                return -1
            counts[2] += 1
            if _maps(items, general, item, synthetic, True, bound, state) and (
                general < item or not _maps(items, item, general, synthetic, True, bound, state)
            ):
                return int(general)
    return -1


@njit
def _maps(items: Items, general: int, special: int, synthetic: U8, compared: bool, bound: I32, state: I32) -> bool:
    """Whether a mapping makes each pattern of `general` one of `special`, and, if they are `compared`, its conditions
    implied.

    `state`: by pattern the next row to try, and the variables that the row before it bound; `bound` is free between
    calls."""
    first, patterns = items.offsets[general], items.offsets[general + 1] - items.offsets[general]
    rows, end = items.offsets[special], items.offsets[special + 1]
    if patterns == 1 and items.patterns[first, 0] == ALWAYS:
        return not compared or items.atom_offsets[general] == items.atom_offsets[general + 1]
    at, steps, holds = 0, 0, False
    state[0, 0] = 0
    while at >= 0 and steps < MAPPING_STEPS:
        if at == patterns:
            holds = not compared or _implied(items, general, special, bound)
            at -= 1
            _release(state, at, bound)
            if holds:
                break
            continue
        row = rows + state[at, 0]
        if row >= end:
            at -= 1
            if at >= 0:
                _release(state, at, bound)
            continue
        state[at, 0] += 1
        steps += 1
        if _unify(items, first + at, row, synthetic, bound, state, at):
            at += 1
            state[at, 0] = 0
    while at > 0:
        at -= 1
        _release(state, at, bound)
    return holds


@inlined
def _unify(items: Items, general: int, special: int, synthetic: U8, bound: I32, state: I32, at: int) -> bool:
    """Map a pattern to another; the variables that this binds are noted, or free again where it fails."""
    state[at, 1] = state[at, 2] = state[at, 3] = -1
    fits = True
    for place in range(3):
        node, to = items.patterns[general, place], items.patterns[special, place]
        if to == ALWAYS:
            fits = False
        elif node >= 0:
            fits = fits and node == to
        elif place == 1 and to >= 0 and synthetic[to]:
            fits = False
        elif fits:
            variable = -node - 1
            if bound[variable] == _FREE:
                bound[variable] = to
                state[at, 1 + place] = variable
            else:
                fits = bound[variable] == to
    if not fits:
        _release(state, at, bound)
    return fits


@inlined
def _release(state: I32, at: int, bound: I32) -> None:
    for place in range(1, 4):
        if state[at, place] >= 0:
            bound[state[at, place]] = _FREE
            state[at, place] = -1


@inlined
def _implied(items: Items, general: int, special: int, bound: I32) -> bool:
    """Whether each clause of `general` follows from one of `special` alone."""
    at, end = items.atom_offsets[general], items.atom_offsets[general + 1]
    holds = True
    while holds and at < end:
        after = at
        while items.atom_code[after, 3] & CONTINUES:
            after += 1
        after += 1
        holds = False
        start, stop = items.atom_offsets[special], items.atom_offsets[special + 1]
        while not holds and start < stop:
            holds = True
            while True:
                holds = holds and _implies_some(items, start, at, after, bound)
                start += 1
                if not items.atom_code[start - 1, 3] & CONTINUES:
                    break
        at = after
    return holds


@inlined
def _implies_some(items: Items, atom: int, first: int, end: int, bound: I32) -> bool:
    """Whether a comparison implies one of those from `first` on, whose variables are mapped."""
    code, value = items.atom_code, items.atom_value
    variable, operator, lane = -np.int64(code[atom, 0]) - 1, code[atom, 1], code[atom, 2]
    found = False
    for other in range(first, end):
        if bound[code[other, 0]] == variable and code[other, 2] == lane:
            same = operator == code[other, 1] and value[atom] == value[other]
            ordered = (lane >= _ORDERED_FROM and lane <= _ORDERED_TO) or lane == _STRING_ORDER
            found = found or same or (ordered and _is_weaker(operator, value[atom], code[other, 1], value[other]))
    return found


@inlined
def _is_weaker(operator: int, value: float, other: int, bound: float) -> bool:
    """Whether ``x operator value`` implies ``x other bound``, also where both constants are rounded the same way before
    (`conditions.BY_SINGLE`): so nothing strict follows from what is not."""
    if other == LESS:
        return bool(operator == LESS and value <= bound)
    if other == AT_MOST:
        return bool(operator in (LESS, AT_MOST, EQUAL) and value <= bound)
    if other == GREATER:
        return bool(operator == GREATER and value >= bound)
    if other == AT_LEAST:
        return bool(operator in (GREATER, AT_LEAST, EQUAL) and value >= bound)
    return False


def warm_up() -> None:
    index = empty_index()
    offsets = count_items(index)
    find_containers(index, empty_items(), offsets, np.zeros(0, np.uint8), np.zeros(0, np.uint8))
