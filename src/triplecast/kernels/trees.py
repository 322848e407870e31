"""Stars and trees: joins whose solutions are found with bits of subjects, without walking them.

A star's patterns share one subject; a tree's patterns are connected, from subject to object, without a cycle.
"""

from __future__ import annotations

import numpy as np

from triplecast.kernels import borrowing, inlined
from triplecast.kernels.conditions import AT_LEAST, AT_MOST, GREATER, LESS, SPAN, UNEQUAL, narrow_range, see_bounds
from triplecast.kernels.layout import (
    GROUP_STEP,
    I32,
    SHAPE_JOIN,
    SHAPE_STAR,
    STAR,
    STEP_WHOLE,
    STRUCTURE_GROUPS,
    STRUCTURE_KEYS,
    STRUCTURE_SHAPE,
    Encoded,
    Index,
    read_code,
)
from triplecast.kernels.probe import SUBJECTS_LIMIT, Hits, find_slot
from triplecast.kernels.runs import RunBuffer, Work, write_entries, write_fulfilled, write_spans
from triplecast.kernels.walk import HEAD


@inlined
def common_subjects(index: Index, hits: Hits, size: int, structure: int, state: I32) -> np.uint64:
    """Find the subjects with triples for all steps of a star, as bits; put the first hit of step n into `state`."""
    shape, first_key = index.structures[structure, STRUCTURE_SHAPE], index.structures[structure, STRUCTURE_KEYS]
    first_step = index.shapes[shape, SHAPE_JOIN]
    common = ~np.uint64(0)
    for step in range(first_step, index.shapes[shape + 1, SHAPE_JOIN]):
        key = index.structure_keys[first_key + index.join_steps[step, 0]]
        slot = find_slot(hits.slots, size, key)
        state[step - first_step, HEAD] = hits.slots[slot, 1]
        common &= hits.subjects[slot]
    return common


@borrowing
def common_roots(
    index: Index, encoded: Encoded, view: int, hits: Hits, size: int, structure: int, state: I32
) -> np.uint64:
    """Find the first subjects of a tree's solutions, as bits; 0 without any. `Hits.nodes` gets those of each subject
    variable, `state` the first hit of each step.

    M. Yannakakis, "Algorithms for acyclic database schemes", VLDB 1981: semijoins from the last step to the first keep
    those of the first that are in a solution, and back again those of all.
    """
    shape, first_key = index.structures[structure, STRUCTURE_SHAPE], index.structures[structure, STRUCTURE_KEYS]
    steps, nodes = index.join_steps, hits.nodes
    first, last = index.shapes[shape, SHAPE_JOIN], index.shapes[shape + 1, SHAPE_JOIN]
    for step in range(first, last):
        if steps[step, 3] >= 0:
            nodes[steps[step, 3]] = np.uint64(0)
    for step in range(first, last):
        nodes[steps[step, 1]] = ~np.uint64(0)
    for step in range(first, last):
        slot = find_slot(hits.slots, size, index.structure_keys[first_key + steps[step, 0]])
        state[step - first, HEAD] = hits.slots[slot, 1]
        nodes[steps[step, 1]] &= hits.subjects[slot]
        if nodes[steps[step, 1]] == np.uint64(0):
            return np.uint64(0)
    links = 0
    for step in range(last - 1, first - 1, -1):
        end = steps[step, 3]
        if end >= 0 and nodes[end] != np.uint64(0):
            links += 1
            if not _narrow(encoded, view, hits, state[step - first, HEAD], steps[step, 1], end):
                return np.uint64(0)
    if links > 1:
        for step in range(first, last):
            end = steps[step, 3]
            if end >= 0 and nodes[end] != np.uint64(0):
                _narrow(encoded, view, hits, state[step - first, HEAD], steps[step, 1], end)
    return np.uint64(nodes[steps[first, 1]])


@inlined
def _narrow(encoded: Encoded, view: int, hits: Hits, hit: int, subject: int, end: int) -> bool:
    """Keep of two variables, subject and object of one step, what its triples from `hit` on connect; return whether
    that is anything."""
    triples, chain, ordinals, nodes = encoded.triples, hits.chain, hits.ordinals, hits.nodes
    first_triple, first_term = encoded.view_offsets[view], encoded.view_terms[view, 0]
    subjects, ends = np.uint64(0), np.uint64(0)
    while hit >= 0:
        triple = first_triple + chain[hit, 0]
        hit = chain[hit, 1]
        ordinal = ordinals[1 + triples[triple, 2] - first_term]
        if ordinal < 0 or ordinal // SUBJECTS_LIMIT != view:
            continue
        end_bit = np.uint64(1) << np.uint64(ordinal % SUBJECTS_LIMIT)
        bit = np.uint64(1) << np.uint64(ordinals[1 + triples[triple, 0] - first_term] % SUBJECTS_LIMIT)
        if nodes[subject] & bit and nodes[end] & end_bit:
            subjects |= bit
            ends |= end_bit
    nodes[subject] = subjects
    nodes[end] = ends
    return bool(subjects != np.uint64(0))


@inlined
def _find_hit(encoded: Encoded, view: int, hits: Hits, hit: int, common: np.uint64) -> int:
    """Find the first hit of a chain, from `hit` on, whose subject is among those in common; -1 at its end."""
    triples, chain, ordinals = encoded.triples, hits.chain, hits.ordinals
    first_triple, first_subject = encoded.view_offsets[view], 1 - encoded.view_terms[view, 0]
    while hit >= 0:
        ordinal = np.uint64(ordinals[first_subject + triples[first_triple + chain[hit, 0], 0]] % SUBJECTS_LIMIT)
        if (common >> ordinal) & np.uint64(1) != np.uint64(0):
            break
        hit = chain[hit, 1]
    return hit


@inlined
def write_star(
    index: Index,
    encoded: Encoded,
    view: int,
    hits: Hits,
    common_structure_filled: tuple[np.uint64, int, int],
    join_state: tuple[I32, I32],
    found: RunBuffer,
    work: Work,
) -> tuple[int, bool]:
    """Write the conditional subscriptions of a star or tree whose groups name a step: (how many are written in all,
    whether there are no others).

    A compared object depends on its subject alone, so a condition on it needs no join: it holds for a hit of its step
    whose subject is in some solution. Conditions on several variables are left to the join.
    """
    common, structure, filled = common_structure_filled
    state, bound = join_state
    triples, chain, first_triple = encoded.triples, hits.chain, encoded.view_offsets[view]
    values, identity, extras = encoded.values, encoded.identity, encoded.extras
    entries, constants, groups = index.entries, index.entry_value, index.groups
    shape = index.structures[structure, STRUCTURE_SHAPE]
    complete = True
    for group in range(
        index.structures[structure, STRUCTURE_GROUPS], index.structures[structure + 1, STRUCTURE_GROUPS]
    ):
        code = groups[group, 0]
        if code >> GROUP_STEP == 0:
            complete = False
            continue
        variable, operator, lane = read_code(code)
        first, end = groups[group, 1], groups[group + 1, 1]
        width = float(index.group_width[group]) if operator >= SPAN else 0.0
        whole = code >> GROUP_STEP >= STEP_WHOLE
        rising = whole and operator in (GREATER, AT_LEAST)
        falling = whole and operator in (LESS, AT_MOST)
        low_end, high_end = first, end
        step = ((code >> GROUP_STEP) & (STEP_WHOLE - 1)) - 1
        if index.shapes[shape, SHAPE_STAR] != STAR:
            common = hits.nodes[index.join_steps[index.shapes[shape, SHAPE_JOIN] + step, 1]]
        hit = _find_hit(encoded, view, hits, state[step, HEAD], common)
        following = _find_hit(encoded, view, hits, chain[hit, 1], common)
        only = whole and operator != UNEQUAL and following < 0
        while hit >= 0:
            term = triples[first_triple + chain[hit, 0], 2]
            hit = following
            if hit >= 0:
                following = _find_hit(encoded, view, hits, chain[hit, 1], common)
            seen = see_bounds(values, identity, extras, term, operator, lane)
            how, number, strict, _ = seen
            low, high = narrow_range(how, number, strict, operator, constants, first, end, width)
            if low >= high:
                continue
            if rising:
                low, low_end = low_end, max(low_end, high)
            elif falling:
                high, high_end = high_end, min(high_end, low)
            if only and operator >= SPAN:
                filled = write_spans(index, (code, low, high), seen, found, filled)
                continue
            if rising or falling or only:
                filled = write_entries(entries, low, high, found, filled)
                continue
            bound[variable] = term
            filled = write_fulfilled(index, encoded, bound, (code, low, high), seen, found, work, filled)
            bound[variable] = -1
    return filled, complete
