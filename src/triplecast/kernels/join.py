"""Which subscriptions match a view: structures under the present keys, joined over their shared variables.

What is read at random is asked for ahead (`prefetch`), a stage before it is needed: waiting for memory is most of the
time otherwise. Work is bounded per structure and view: a join that spends `STEPS_LIMIT` is reported instead of decided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.conditions import (
    AT_LEAST,
    AT_MOST,
    GREATER,
    LESS,
    UNEQUAL,
    WINDOW,
    all_hold,
    compares,
    narrow_range,
    see,
)
from triplecast.kernels.layout import (
    FACT_UNFILTERED,
    FACT_WORDS,
    GROUP_BYTE,
    GROUP_LANE,
    GROUP_OPERATOR,
    GROUP_STEP,
    I32,
    I64,
    SHAPE_JOIN,
    SHAPE_NECESSARY,
    SHAPE_STAR,
    STAR,
    STEP_WHOLE,
    STRUCTURE_GROUPS,
    STRUCTURE_KEYS,
    STRUCTURE_PLAIN,
    STRUCTURE_SHAPE,
    U32,
    U64,
    Encoded,
    Index,
    empty_encoded,
    empty_index,
)
from triplecast.kernels.probe import SUBJECTS_LIMIT, Hits, clear_bits, find_slot, has_key, make_hits, probe
from triplecast.kernels.walk import EXHAUSTED, HEAD, STEPS_LIMIT, Walk, abandon, advance, begin, make_state
from triplecast.kernels.words import prefetch

_AHEAD = 8
"""Candidates between the one that is looked at and the one that is asked for."""
_SHORTLY = 3
"""Candidates between the one that is joined and the one whose condition is asked for."""
_VALUES_A_LINE = 2
"""Whole rows of `Encoded.values` in 64 bytes."""


class Matched(NamedTuple):
    """What `match_views` found: runs of subscriptions of one structure in one view."""

    subscription: I32
    entry: I32
    """The entry by which a conditional subscription matched; without meaning for others."""
    run_view: I32
    run_structure: I32
    run_plain: I32
    """How many subscriptions without conditions a run begins with."""
    run_start: I64
    """[runs + 1]"""
    exhausted: I32
    """[pairs, 2] view and structure whose join spent its steps; its subscriptions are in no run."""
    counts: I64
    """Keys, structures touched, structures joined."""


class Work(NamedTuple):
    """Scratch kept from batch to batch."""

    stamp: U32
    """[N] the last epoch in which a conditional subscription matched."""
    epoch: I64
    """[1]"""


class Found(NamedTuple):
    """Growing output, as `Matched`."""

    subscription: I32
    entry: I32
    run_view: I32
    run_structure: I32
    run_plain: I32
    run_start: I64
    exhausted: I32
    sizes: I64
    """Subscriptions, runs, exhausted."""


@njit
def match_views(index: Index, encoded: Encoded, work: Work, hits: Hits) -> Matched:
    """Matches every view of a batch against one segment."""
    views = len(encoded.view_mode)
    found = Found(
        np.empty(64 + 256 * views, np.int32),
        np.empty(64 + 256 * views, np.int32),
        np.empty(64 + 32 * views, np.int32),
        np.empty(64 + 32 * views, np.int32),
        np.empty(64 + 32 * views, np.int32),
        np.empty(64 + 32 * views, np.int64),
        np.empty((64, 2), np.int32),
        np.zeros(3, np.int64),
    )
    counts = np.zeros(3, np.int64)
    candidates = np.empty(len(index.structures), np.int32)
    state = make_state(index)
    for view in range(views):
        keys, size = probe(index, encoded, view, hits)
        chosen, touched, most = _choose(index, encoded.view_mode[view], hits, keys, candidates)
        counts[0] += keys
        counts[1] += touched
        counts[2] += chosen
        if chosen:
            first_term, terms = encoded.view_terms[view]
            for term in range(first_term, first_term + terms, _VALUES_A_LINE):
                prefetch(encoded.values, term)
            found = _make_room(found, most, chosen)
            work.epoch[0] += 1
            _emit(index, encoded, (view, size, chosen), hits, candidates, state, found, work)
        clear_bits(hits.bits, hits.keys, keys)
    filled, runs, exhausted = found.sizes
    found.run_start[runs] = filled
    return Matched(
        found.subscription[:filled],
        found.entry[:filled],
        found.run_view[:runs],
        found.run_structure[:runs],
        found.run_plain[:runs],
        found.run_start[: runs + 1],
        found.exhausted[:exhausted],
        counts,
    )


@borrowing
def _choose(index: Index, mode: int, hits: Hits, found: int, candidates: I32) -> tuple[int, int, int]:
    """Structures all of whose keys are present: (how many, how many looked at, subscriptions and entries they have)."""
    structures, structure_keys = index.structures, index.structure_keys
    second_keys, anchor_offsets, bits, keys = index.second_keys, index.anchor_offsets, hits.bits, hits.keys
    for i in range(found):
        prefetch(second_keys, anchor_offsets[keys[i]])
    paired = 0
    touched = 0
    for i in range(found):
        first, last = anchor_offsets[keys[i]], anchor_offsets[keys[i] + 1]
        touched += last - first
        for structure in range(first, last):
            candidates[paired] = structure
            paired += has_key(bits, second_keys[structure])
    unfiltered = index.facts[FACT_UNFILTERED] == 1
    for i in range(min(paired, _AHEAD)):
        prefetch(structures, candidates[i])
    chosen = 0
    for i in range(paired):
        if i + _AHEAD < paired:
            prefetch(structures, candidates[i + _AHEAD])
        structure = candidates[i]
        first_key = structures[structure, STRUCTURE_KEYS]
        if not unfiltered and not _all_present(
            bits, structure_keys, first_key + 2, structures[structure + 1, STRUCTURE_KEYS]
        ):
            continue
        if mode != 0 and (index.shapes[structures[structure, STRUCTURE_SHAPE], SHAPE_NECESSARY] == 1) != (mode == 2):
            continue
        candidates[chosen] = structure
        chosen += 1
        prefetch(structure_keys, first_key)
        prefetch(index.groups, structures[structure, STRUCTURE_GROUPS])
        prefetch(index.plain, structures[structure, STRUCTURE_PLAIN])
    return chosen, touched, _count_most(index, candidates, chosen)


@inlined
def _count_most(index: Index, candidates: I32, chosen: int) -> int:
    """Subscriptions and entries of the candidates: the most that can match."""
    structures, groups = index.structures, index.groups
    most = 0
    for i in range(chosen):
        structure = candidates[i]
        most += structures[structure + 1, STRUCTURE_PLAIN] - structures[structure, STRUCTURE_PLAIN]
        group = structures[structure, STRUCTURE_GROUPS]
        first, last = groups[group, 1], groups[structures[structure + 1, STRUCTURE_GROUPS], 1]
        most += last - first
        if last > first:
            prefetch(index.entry_value, first)
            prefetch(index.entries, first)
            prefetch(index.entry_atoms, first)
    return most


@inlined
def _ask_for_atoms(index: Index, structure: int) -> None:
    """Asks for the condition of the first entry of a structure whose entries have been asked for."""
    group = index.structures[structure, STRUCTURE_GROUPS]
    if index.structures[structure + 1, STRUCTURE_GROUPS] > group:
        atom = index.entry_atoms[index.groups[group, 1]]
        if atom >= 0:
            prefetch(index.atom_code, atom)
            prefetch(index.atom_value, atom)


@inlined
def _all_present(bits: U64, structure_keys: I32, start: int, end: int) -> bool:
    while start < end and has_key(bits, structure_keys[start]):
        start += 1
    return start >= end


@njit
def _make_room(found: Found, subscriptions: int, runs: int) -> Found:
    """The same with room for so many more."""
    filled, run, exhausted = found.sizes
    if (
        filled + subscriptions <= len(found.subscription)
        and run + runs < len(found.run_view)
        and exhausted + runs <= len(found.exhausted)
    ):
        return found
    room = 2 * (filled + subscriptions)
    run_room = 2 * (run + runs + 1)
    larger = Found(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(run_room, np.int32),
        np.empty(run_room, np.int32),
        np.empty(run_room, np.int32),
        np.empty(run_room, np.int64),
        np.empty((2 * (exhausted + runs), 2), np.int32),
        found.sizes,
    )
    larger.subscription[:filled] = found.subscription[:filled]
    larger.entry[:filled] = found.entry[:filled]
    larger.run_view[:run] = found.run_view[:run]
    larger.run_structure[:run] = found.run_structure[:run]
    larger.run_plain[:run] = found.run_plain[:run]
    larger.run_start[:run] = found.run_start[:run]
    larger.exhausted[:exhausted] = found.exhausted[:exhausted]
    return larger


@inlined
def _common_subjects(index: Index, hits: Hits, size: int, structure: int, state: I32) -> np.uint64:
    """Of a star, the bits of the subjects that the triples of all its steps have; the first hit of step n is put into
    `state`."""
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
def _common_roots(
    index: Index, encoded: Encoded, view: int, hits: Hits, size: int, structure: int, state: I32
) -> np.uint64:
    """Of a tree, the bits of the first subject in all solutions; 0 without one. `Hits.nodes` has those of each subject
    variable, `state` the first hit of each step.

    M. Yannakakis, "Algorithms for acyclic database schemes", VLDB 1981: semijoins from the last step to the first leave
    of the first what is in a solution, and back again that of all.
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
    """Leaves of two variables, subject and object of one step, what its triples from `hit` on connect; whether that is
    anything."""
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
def _emit_star(
    index: Index,
    encoded: Encoded,
    view: int,
    hits: Hits,
    common_structure_filled: tuple[np.uint64, int, int],
    state: I32,
    bound: I32,
    found: Found,
    work: Work,
) -> tuple[int, bool]:
    """Writes the conditional subscriptions of a star or tree whose groups name a step: (filled, whether that is all of
    them).

    A compared object depends on nothing but its subject, so a condition on it needs no join: it holds of a hit of its
    step whose subject is in some solution. Conditions on several variables are left to the join.
    """
    common, structure, filled = common_structure_filled
    triples, chain, ordinals, stamp = encoded.triples, hits.chain, hits.ordinals, work.stamp
    values, identity, extras = encoded.values, encoded.identity, encoded.extras
    entries, atoms, constants, groups = index.entries, index.entry_atoms, index.entry_value, index.groups
    first_triple, first_term = encoded.view_offsets[view], encoded.view_terms[view, 0]
    epoch, shape = np.uint32(work.epoch[0]), index.structures[structure, STRUCTURE_SHAPE]
    complete = True
    for group in range(
        index.structures[structure, STRUCTURE_GROUPS], index.structures[structure + 1, STRUCTURE_GROUPS]
    ):
        code = groups[group, 0]
        if code >> GROUP_STEP == 0:
            complete = False
            continue
        variable, operator, lane = _read_code(code)
        first, end = groups[group, 1], groups[group + 1, 1]
        width = float(index.group_width[group]) if operator == WINDOW else 0.0
        whole = code >> GROUP_STEP >= STEP_WHOLE
        rising = whole and operator in (GREATER, AT_LEAST)
        falling = whole and operator in (LESS, AT_MOST)
        low_end, high_end = first, end
        step = ((code >> GROUP_STEP) & (STEP_WHOLE - 1)) - 1
        if index.shapes[shape, SHAPE_STAR] != STAR:
            common = hits.nodes[index.join_steps[index.shapes[shape, SHAPE_JOIN] + step, 1]]
        hit = state[step, HEAD]
        only = whole and operator != UNEQUAL and chain[hit, 1] < 0
        while hit >= 0:
            triple = first_triple + chain[hit, 0]
            hit = chain[hit, 1]
            ordinal = np.uint64(ordinals[1 + triples[triple, 0] - first_term] % SUBJECTS_LIMIT)
            if (common >> ordinal) & np.uint64(1) == np.uint64(0):
                continue
            term = triples[triple, 2]
            how, number, strict = see(
                values, identity, extras, term, AT_LEAST if operator == WINDOW else operator, lane
            )
            low, high = narrow_range(how, number, strict, operator, constants, first, end, width)
            if low >= high:
                continue
            if rising:
                low, low_end = low_end, max(low_end, high)
            elif falling:
                high, high_end = high_end, min(high_end, low)
            if rising or falling or only:
                filled = _emit_entries(entries, low, high, found, filled)
                continue
            bound[variable] = term
            for entry in range(low, high):
                subscription = entries[entry]
                if stamp[subscription] == epoch:
                    continue
                atom = atoms[entry]
                if atom >= 0:
                    if not all_hold(index.atom_code, index.atom_value, atom, values, identity, extras, bound, 0):
                        continue
                elif operator == UNEQUAL and not compares(how, number, strict, operator, constants[entry]):
                    continue
                stamp[subscription] = epoch
                found.subscription[filled] = subscription
                found.entry[filled] = entry
                filled += 1
            bound[variable] = -1
    return filled, complete


@inlined
def _read_code(code: int) -> tuple[int, int, int]:
    """Variable, operator and lane of a group."""
    return code & GROUP_BYTE, (code >> GROUP_OPERATOR) & GROUP_BYTE, (code >> GROUP_LANE) & GROUP_BYTE


@inlined
def _emit_entries(entries: I32, low: int, high: int, found: Found, filled: int) -> int:
    """Writes the subscriptions of a range of entries, each once by construction: how many are written in all."""
    subscriptions, by = found.subscription, found.entry
    for at in range(max(0, high - low)):
        subscriptions[filled + at] = entries[low + at]
    for at in range(max(0, high - low)):
        by[filled + at] = low + at
    return filled + max(0, high - low)


@inlined
def _close_run(found: Found, view: int, structure: int, plain: int, start: int, runs: int) -> int:
    """Notes a run that begins at `start`, with `plain` subscriptions without conditions: the runs so far."""
    found.run_view[runs] = view
    found.run_structure[runs] = structure
    found.run_plain[runs] = plain
    found.run_start[runs] = start
    return runs + 1


@inlined
def _emit_plain(plain: I32, first: int, last: int, found: Found, filled: int) -> int:
    """Writes the subscriptions without conditions of a structure: how many are written in all."""
    subscriptions = found.subscription
    for at in range(last - first):
        subscriptions[filled + at] = plain[first + at]
    return filled + last - first


@borrowing
def _emit(
    index: Index,
    encoded: Encoded,
    view_size_chosen: tuple[int, int, int],
    hits: Hits,
    candidates: I32,
    join_state: tuple[I32, I32],
    found: Found,
    work: Work,
) -> None:
    """Joins the candidates of a view and writes what matches."""
    structures, structure_keys, plain, groups = index.structures, index.structure_keys, index.plain, index.groups
    shapes, steps, key_terms, widths = index.shapes, index.join_steps, index.key_terms, index.group_width
    constants, entries, entry_atoms = index.entry_value, index.entries, index.entry_atoms
    atom_code, atom_value = index.atom_code, index.atom_value
    triples = encoded.triples
    values, identity, extras = encoded.values, encoded.identity, encoded.extras
    slots, chain, links, bits = hits.slots, hits.chain, hits.links, hits.bits
    state, bound = join_state
    subscription_out, entry_out, stamp = found.subscription, found.entry, work.stamp
    view, size, chosen = view_size_chosen
    filled, runs, lost = found.sizes
    epoch = np.uint32(work.epoch[0])
    unfiltered = index.facts[FACT_UNFILTERED] == 1
    starred = hits.ordinals[0] == 1
    for i in range(chosen):
        structure = candidates[i]
        if i + _SHORTLY < chosen:
            _ask_for_atoms(index, candidates[i + _SHORTLY])
        first_key = structures[structure, STRUCTURE_KEYS]
        if unfiltered and not _all_present(bits, structure_keys, first_key, structures[structure + 1, STRUCTURE_KEYS]):
            continue
        start = filled
        shape = structures[structure, STRUCTURE_SHAPE]
        first_step = shapes[shape, SHAPE_JOIN]
        first_group, last_group = structures[structure, STRUCTURE_GROUPS], structures[structure + 1, STRUCTURE_GROUPS]
        last_step = shapes[shape + 1, SHAPE_JOIN]
        first_plain, last_plain = structures[structure, STRUCTURE_PLAIN], structures[structure + 1, STRUCTURE_PLAIN]
        unseen = True
        by_star = False
        if starred and shapes[shape, SHAPE_STAR] != 0:
            if shapes[shape, SHAPE_STAR] == STAR:
                common = _common_subjects(index, hits, size, structure, state)
            else:
                common = _common_roots(index, encoded, view, hits, size, structure, state)
            if common == np.uint64(0):
                continue
            filled = _emit_plain(plain, first_plain, last_plain, found, filled)
            unseen = False
            by_star = True
            filled, complete = _emit_star(
                index, encoded, view, hits, (common, structure, filled), state, bound, found, work
            )
            if complete:
                if filled > start:
                    runs = _close_run(found, view, structure, last_plain - first_plain, start, runs)
                continue
        walk = Walk(
            0,
            STEPS_LIMIT,
            first_step,
            last_step - first_step,
            encoded.view_offsets[view],
            encoded.view_offsets[view + 1],
            encoded.view_terms[view, 0],
            encoded.view_terms[view, 1],
            index.facts[FACT_WORDS],
        )
        if walk.steps:
            begin(walk, steps, structure_keys, first_key, slots, size, state)
        while True:
            if walk.steps:
                walk = advance(walk, steps, state, bound, chain, triples, links, key_terms)
                if walk.step < 0:
                    break
            if unseen:
                filled = _emit_plain(plain, first_plain, last_plain, found, filled)
                unseen = False
            if first_group == last_group:
                abandon(min(walk.step, walk.steps - 1), state, bound)
                break
            for group in range(first_group, last_group):
                code = groups[group, 0]
                if by_star and code >> GROUP_STEP != 0:
                    continue
                variable, operator, lane = _read_code(code)
                term = bound[variable]
                how, number, strict = see(
                    values, identity, extras, term, AT_LEAST if operator == WINDOW else operator, lane
                )
                low, high = narrow_range(
                    how, number, strict, operator, constants, groups[group, 1], groups[group + 1, 1], widths[group]
                )
                for entry in range(low, high):
                    subscription = entries[entry]
                    if stamp[subscription] == epoch:
                        continue
                    atom = entry_atoms[entry]
                    if atom >= 0:
                        if not all_hold(atom_code, atom_value, atom, values, identity, extras, bound, 0):
                            continue
                    elif operator == UNEQUAL and not compares(how, number, strict, operator, constants[entry]):
                        continue
                    stamp[subscription] = epoch
                    subscription_out[filled] = subscription
                    entry_out[filled] = entry
                    filled += 1
        if walk.step == EXHAUSTED:
            filled = start
            found.exhausted[lost, 0] = view
            found.exhausted[lost, 1] = structure
            lost += 1
        if filled > start:
            runs = _close_run(found, view, structure, last_plain - first_plain, start, runs)
    found.sizes[0] = filled
    found.sizes[1] = runs
    found.sizes[2] = lost


def make_work(subscriptions: int) -> Work:
    return Work(np.zeros(subscriptions, np.uint32), np.zeros(1, np.int64))


def warm_up() -> None:
    index, encoded = empty_index(), empty_encoded()
    match_views(index, encoded, make_work(0), make_hits(index, encoded))
