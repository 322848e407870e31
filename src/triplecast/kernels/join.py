"""Which subscriptions match a view: structures under the present keys, joined over their shared variables.

A join walks depth first over the triples of each pattern: while few triples have the pattern's key it walks those,
otherwise the triples of a bound subject or object where these are fewer. Work is bounded per structure and view: a join
that spends `STEPS_LIMIT` is reported instead of decided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.conditions import AT_LEAST, UNEQUAL, WINDOW, all_hold, compares, narrow_range, see
from triplecast.kernels.layout import (
    FACT_STEPS,
    FACT_UNFILTERED,
    FACT_VARIABLES,
    I32,
    I64,
    SHAPE_JOIN,
    SHAPE_STAR,
    SHAPE_VERIFIED,
    STRUCTURE_GROUPS,
    STRUCTURE_KEYS,
    STRUCTURE_PLAIN,
    STRUCTURE_SECOND,
    STRUCTURE_SHAPE,
    U32,
    U64,
    Encoded,
    Index,
    empty_encoded,
    empty_index,
)
from triplecast.kernels.probe import Hits, clear_bits, find_slot, has_key, link_ends, make_hits, probe

STEPS_LIMIT = 200_000
"""Triples that one structure's join may try in one view."""
SHORT = 8
"""Chains no longer than this are walked without looking for a shorter one."""

EXHAUSTED = -2
"""Of `Walk.step`: the budget is spent."""
"""Of `Walk.step`: the budget is spent."""

_CURSOR, _WAY, _UNDO, _KEY, _HEAD, _LENGTH = 0, 1, 2, 5, 6, 7
"""Columns of a join's state, a row per step: the next triple or hit to try; which chain it is in (0: hits of the key,
1: triples of the subject, 2: of the object); the variables the step bound, at each place; its key, first hit, number of
hits."""
STATE_COLUMNS = 8


class Walk(NamedTuple):
    """A join under way."""

    step: int
    """The step whose triple was bound last; -1 when there are no more solutions, or `EXHAUSTED`."""
    budget: int
    """Triples that it may still try."""
    first_step: int
    steps: int
    first_triple: int
    last_triple: int
    """Of the view, the last one excluded."""
    first_term: int
    terms: int


class Matched(NamedTuple):
    """What `match_views` found: runs of subscriptions of one structure in one view."""

    subscription: I32
    entry: I32
    """The entry by which a conditional subscription matched, -1 for others."""
    run_view: I32
    run_structure: I32
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
    run_start: I64
    exhausted: I32
    sizes: I64
    """Subscriptions, runs, exhausted."""


@njit
def make_state(index: Index) -> tuple[I32, I32]:
    """([steps, 10] state, [variables] bound terms) of joins; between joins all variables are -1, and so are the undo
    columns."""
    state = np.full((index.facts[FACT_STEPS] + 1, STATE_COLUMNS), np.int32(-1), np.int32)
    return state, np.full(index.facts[FACT_VARIABLES] + 1, np.int32(-1), np.int32)


@inlined
def begin(walk: Walk, steps: I32, keys: I32, first_key: int, slots: I32, size: int, state: I32) -> None:
    """Looks up the chains of a structure's patterns (its keys begin at `first_key`, all of them present) and enters the
    first."""
    for step in range(walk.steps):
        key = keys[first_key + steps[walk.first_step + step, 0]]
        slot = find_slot(slots, size, key)
        state[step, _KEY] = key
        state[step, _HEAD] = slots[slot, 1]
        state[step, _LENGTH] = slots[slot, 2]
    state[0, _CURSOR] = state[0, _HEAD]
    state[0, _WAY] = 0


@inlined
def enter(walk: Walk, step: int, steps: I32, state: I32, bound: I32, triples: I32, links: I32) -> None:
    """Chooses the chain that a step walks."""
    state[step, _CURSOR] = state[step, _HEAD]
    state[step, _WAY] = 0
    fewest = state[step, _LENGTH]
    if fewest > SHORT:
        for side in range(2):
            variable = steps[walk.first_step + step, 1 + 2 * side]
            if variable >= 0 and bound[variable] >= 0:
                if links[0] == 0:
                    link_ends(triples, walk.first_triple, walk.last_triple, walk.first_term, walk.terms, links)
                head = 1 + 4 * (bound[variable] - walk.first_term) + side
                if links[head + 2] < fewest:
                    fewest = links[head + 2]
                    state[step, _CURSOR] = links[head]
                    state[step, _WAY] = side + 1


@inlined
def release(step: int, state: I32, bound: I32) -> None:
    """Unbinds what a step bound."""
    for place in range(3):
        variable = state[step, _UNDO + place]
        if variable >= 0:
            bound[variable] = -1
            state[step, _UNDO + place] = -1


@borrowing
def abandon(step: int, state: I32, bound: I32) -> None:
    """Ends a join before its last solution."""
    while step >= 0:
        release(step, state, bound)
        step -= 1


@inlined
def advance(
    walk: Walk, steps: I32, state: I32, bound: I32, chain: I32, triples: I32, links: I32, key_terms: I32
) -> Walk:
    """The next solution; its terms are in `bound`. First called after `begin`, with step 0, then with what it gave."""
    step, budget = walk.step, walk.budget
    nexts = 4 * walk.terms
    while step >= 0:
        release(step, state, bound)
        cursor = state[step, _CURSOR]
        if cursor < 0:
            step -= 1
            continue
        if budget == 0:
            abandon(step, state, bound)
            step = EXHAUSTED
            break
        budget -= 1
        way = state[step, _WAY]
        fits = True
        if way == 0:
            triple = walk.first_triple + chain[cursor, 0]
            state[step, _CURSOR] = chain[cursor, 1]
        else:
            triple = walk.first_triple + cursor
            state[step, _CURSOR] = links[nexts + 2 * cursor + way]
            fits = _has_key(triples, triple, key_terms, state[step, _KEY])
        if fits:
            for place in range(3):
                variable = steps[walk.first_step + step, 1 + place]
                if variable >= 0:
                    term = triples[triple, place]
                    known = bound[variable]
                    if known < 0:
                        bound[variable] = term
                        state[step, _UNDO + place] = variable
                    elif known != term:
                        fits = False
                        break
        if not fits:
            continue
        if step == walk.steps - 1:
            break
        step += 1
        enter(walk, step, steps, state, bound, triples, links)
    return Walk(
        step, budget, walk.first_step, walk.steps, walk.first_triple, walk.last_triple, walk.first_term, walk.terms
    )


@inlined
def _has_key(triples: I32, triple: int, key_terms: I32, key: int) -> bool:
    """Whether a triple has the constants of a key."""
    for place in range(3):
        if key_terms[key, place] >= 0 and triples[triple, 3 + place] != key_terms[key, place]:
            return False
    return True


@njit
def match_views(index: Index, encoded: Encoded, work: Work, hits: Hits) -> Matched:
    """Matches every view of a batch against one segment."""
    found = Found(
        np.empty(4096, np.int32),
        np.empty(4096, np.int32),
        np.empty(1024, np.int32),
        np.empty(1024, np.int32),
        np.empty(1024, np.int64),
        np.empty((64, 2), np.int32),
        np.zeros(3, np.int64),
    )
    counts = np.zeros(3, np.int64)
    candidates = np.empty(len(index.structures), np.int32)
    state = make_state(index)
    for view in range(len(encoded.view_mode)):
        keys, size = probe(index, encoded, view, hits)
        chosen, touched, most = _choose(index, encoded.view_mode[view], hits, keys, candidates)
        counts[0] += keys
        counts[1] += touched
        counts[2] += chosen
        if chosen:
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
        found.run_start[: runs + 1],
        found.exhausted[:exhausted],
        counts,
    )


@borrowing
def _choose(index: Index, mode: int, hits: Hits, found: int, candidates: I32) -> tuple[int, int, int]:
    """Structures all of whose keys are present: (how many, how many looked at, subscriptions and entries they have)."""
    structures, structure_keys, groups = index.structures, index.structure_keys, index.groups
    shapes, anchor_offsets, bits, keys = index.shapes, index.anchor_offsets, hits.bits, hits.keys
    chosen = 0
    touched = 0
    most = 0
    unfiltered = index.facts[FACT_UNFILTERED] == 1
    for i in range(found):
        first, last = anchor_offsets[keys[i]], anchor_offsets[keys[i] + 1]
        touched += last - first
        for structure in range(first, last):
            second = structures[structure, STRUCTURE_SECOND]
            if second >= 0 and not unfiltered:
                if (bits[second >> 6] >> np.uint64(second & 63)) & np.uint64(1) == np.uint64(0):
                    continue
                start = structures[structure, STRUCTURE_KEYS] + 2
                end = structures[structure + 1, STRUCTURE_KEYS]
                while start < end:
                    key = structure_keys[start]
                    if (bits[key >> 6] >> np.uint64(key & 63)) & np.uint64(1) == np.uint64(0):
                        break
                    start += 1
                if start < end:
                    continue
            if mode != 0 and (shapes[structures[structure, STRUCTURE_SHAPE], SHAPE_VERIFIED] == 1) != (mode == 2):
                continue
            candidates[chosen] = structure
            chosen += 1
            most += structures[structure + 1, STRUCTURE_PLAIN] - structures[structure, STRUCTURE_PLAIN]
            most += (
                groups[structures[structure + 1, STRUCTURE_GROUPS], 1]
                - groups[structures[structure, STRUCTURE_GROUPS], 1]
            )
    return chosen, touched, most


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
        np.empty(run_room, np.int64),
        np.empty((2 * (exhausted + runs), 2), np.int32),
        found.sizes,
    )
    larger.subscription[:filled] = found.subscription[:filled]
    larger.entry[:filled] = found.entry[:filled]
    larger.run_view[:run] = found.run_view[:run]
    larger.run_structure[:run] = found.run_structure[:run]
    larger.run_start[:run] = found.run_start[:run]
    larger.exhausted[:exhausted] = found.exhausted[:exhausted]
    return larger


@inlined
def _have_subject(
    steps: I32, first_step: int, last_step: int, keys: I32, first_key: int, slots: I32, size: int, subjects: U64
) -> bool:
    """Whether the triples of all steps of a star have a subject in common."""
    common = ~np.uint64(0)
    for step in range(first_step, last_step):
        common &= subjects[find_slot(slots, size, keys[first_key + steps[step, 0]])]
    return bool(common != np.uint64(0))


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
    constants, entries, atom_code, atom_value = index.entry_value, index.entries, index.atom_code, index.atom_value
    triples = encoded.triples
    values, identity, extras = encoded.values, encoded.identity, encoded.extras
    slots, chain, links, bits = hits.slots, hits.chain, hits.links, hits.bits
    state, bound = join_state
    subscription_out, entry_out, stamp = found.subscription, found.entry, work.stamp
    view, size, chosen = view_size_chosen
    filled, runs, lost = found.sizes
    epoch = np.uint32(work.epoch[0])
    unfiltered = index.facts[FACT_UNFILTERED] == 1
    subjects = hits.subjects
    starred = hits.ordinals[0] == 1
    for i in range(chosen):
        structure = candidates[i]
        first_key = structures[structure, STRUCTURE_KEYS]
        if unfiltered and not _all_present(bits, structure_keys, first_key, structures[structure + 1, STRUCTURE_KEYS]):
            continue
        start = filled
        shape = structures[structure, STRUCTURE_SHAPE]
        first_step = shapes[shape, SHAPE_JOIN]
        first_group, last_group = structures[structure, STRUCTURE_GROUPS], structures[structure + 1, STRUCTURE_GROUPS]
        last_step = shapes[shape + 1, SHAPE_JOIN]
        if starred and shapes[shape, SHAPE_STAR] == 1:
            if not _have_subject(steps, first_step, last_step, structure_keys, first_key, slots, size, subjects):
                continue
            if first_group == last_group:
                last_step = first_step
        walk = Walk(
            0,
            STEPS_LIMIT,
            first_step,
            last_step - first_step,
            encoded.view_offsets[view],
            encoded.view_offsets[view + 1],
            encoded.view_terms[view, 0],
            encoded.view_terms[view, 1],
        )
        if walk.steps:
            begin(walk, steps, structure_keys, first_key, slots, size, state)
        unseen = True
        while True:
            if walk.steps:
                walk = advance(walk, steps, state, bound, chain, triples, links, key_terms)
                if walk.step < 0:
                    break
            if unseen:
                for at in range(structures[structure, STRUCTURE_PLAIN], structures[structure + 1, STRUCTURE_PLAIN]):
                    subscription_out[filled] = plain[at]
                    entry_out[filled] = -1
                    filled += 1
                unseen = False
            if first_group == last_group:
                abandon(min(walk.step, walk.steps - 1), state, bound)
                break
            for group in range(first_group, last_group):
                code = groups[group, 0]
                operator = (code >> 8) & 0xFF
                lane = code >> 16
                term = bound[code & 0xFF]
                how, number, strict = see(
                    values, identity, extras, term, AT_LEAST if operator == WINDOW else operator, lane
                )
                low, high = narrow_range(
                    how, number, strict, operator, constants, groups[group, 1], groups[group + 1, 1], widths[group]
                )
                for entry in range(low, high):
                    subscription = entries[entry, 0]
                    if stamp[subscription] == epoch:
                        continue
                    atom = entries[entry, 1]
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
            found.run_view[runs] = view
            found.run_structure[runs] = structure
            found.run_start[runs] = start
            runs += 1
    found.sizes[0] = filled
    found.sizes[1] = runs
    found.sizes[2] = lost


def make_work(subscriptions: int) -> Work:
    return Work(np.zeros(subscriptions, np.uint32), np.zeros(1, np.int64))


def warm_up() -> None:
    index, encoded = empty_index(), empty_encoded()
    match_views(index, encoded, make_work(0), make_hits(index, encoded))
