"""Entries: by which of its conditions a subscription is found, and the conditions that are checked then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import njit
from triplecast.kernels.build import Items, empty_items
from triplecast.kernels.conditions import AT_LEAST, AT_MOST, EQUAL, FEW, GREATER, LESS, SPAN, UNEQUAL
from triplecast.kernels.layout import CONTINUES, ENDS, F64, I32, I64, U8


class Entries(NamedTuple):
    """Entries before they are sorted."""

    item: I32
    code: U8
    """[E, 3] variable, operator, lane."""
    value: F64
    upper: F64
    """Of a span, NaN without; `value` is then its lower bound, or NaN."""
    atoms: I32


@njit
def make_entries(items: Items, names: I32, name_offsets: I64) -> tuple[Entries, U8, F64]:
    """Choose each conditional item's access clause and make one entry per atom of it; return them with all atoms
    kept."""
    atoms = len(items.atom_value)
    owner, first = np.empty(atoms, np.int32), np.empty(atoms, np.int32)
    entries = Entries(owner, np.empty((atoms, 3), np.uint8), np.empty(atoms), np.zeros(atoms), first)
    kept_code = np.empty((atoms, 4), np.uint8)
    kept_value = np.empty(atoms, np.float64)
    filled = 0
    kept = 0
    for item in range(len(items.offsets) - 1):
        start, end = items.atom_offsets[item], items.atom_offsets[item + 1]
        if start == end:
            continue
        base = name_offsets[item]
        access, upper = _choose_access(items, start, end)
        stored = -1
        if end - start > (1 if upper < 0 else 2):
            stored = kept
            for atom in range(start, end):
                kept_code[kept] = items.atom_code[atom]
                kept_code[kept, 0] = names[base + items.atom_code[atom, 0]]
                kept_value[kept] = items.atom_value[atom]
                kept += 1
            kept_code[kept - 1, 3] = ENDS
        while True:
            entries.item[filled] = item
            entries.code[filled, 0] = names[base + items.atom_code[access, 0]]
            entries.code[filled, 1] = items.atom_code[access, 1]
            entries.code[filled, 2] = items.atom_code[access, 2]
            entries.value[filled] = items.atom_value[access]
            if upper >= 0:
                entries.code[filled, 1] = SPAN + (items.atom_code[upper, 1] == AT_MOST)
                entries.code[filled, 1] += 2 * (items.atom_code[access, 1] == GREATER)
                entries.upper[filled] = items.atom_value[upper]
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
            entries.upper[:filled].copy(),
            entries.atoms[:filled].copy(),
        ),
        kept_code[:kept].copy(),
        kept_value[:kept].copy(),
    )


def join_few_bounds(entries: Entries, structure_of: I32) -> Entries:
    """Make spans of one-sided bounds where a structure compares few with a value: they are in one group then."""
    operator = entries.code[:, 1].astype(np.int64)
    above, below = (operator == GREATER) | (operator == AT_LEAST), (operator == LESS) | (operator == AT_MOST)
    span = np.where(above, SPAN + 2 * (operator == GREATER), np.where(below, SPAN + (operator == AT_MOST), operator))
    alike = structure_of[entries.item].astype(np.int64) << 24
    alike |= entries.code[:, 0].astype(np.int64) << 16 | entries.code[:, 2].astype(np.int64) << 8 | span
    _, number, count = np.unique(alike, return_inverse=True, return_counts=True)
    few = count[number] <= FEW
    entries.code[:, 1] = np.where(few, span, operator)
    upper = np.where(few & above, np.nan, np.where(few & below, entries.value, entries.upper))
    return entries._replace(value=np.where(few & below, np.nan, entries.value), upper=upper)


@njit
def _choose_access(items: Items, start: int, end: int) -> tuple[int, int]:
    """(first atom of the most selective clause, upper bound of its span or -1): an equality, then a few equalities,
    then the narrowest span, then a one-sided range, then any clause."""
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


def warm_up() -> None:
    make_entries(empty_items(), np.zeros(0, np.int32), np.zeros(1, np.int64))
