"""Which subscriptions match a view: structures under the present keys, joined over their shared variables.

A join walks depth first over the triples of each pattern; while few triples have the pattern's key it walks those, otherwise the
triples of a bound subject or object where these are fewer. Work is bounded per structure and view: a join that spends
`STEPS_LIMIT` is reported instead of decided.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import inlined, njit
from triplecast.kernels.conditions import (
    ALL_TRUE,
    AT_LEAST,
    AT_MOST,
    BY_SINGLE,
    EQUAL,
    FAR_TRUE,
    GREATER,
    LESS,
    NONE_TRUE,
    UNEQUAL,
    WINDOW,
    holds,
    see,
)
from triplecast.kernels.layout import (
    F64,
    FACT_STEPS,
    FACT_UNFILTERED,
    CONTINUES,
    ENDS,
    FACT_VARIABLES,
    I32,
    I64,
    Encoded,
    Index,
    NDArray,
    TermValues,
)
from triplecast.kernels.probe import Hits, clear_bits, find_slot, has_key, link_ends, probe

STEPS_LIMIT = 200_000
"""Triples that one structure's join may try in one view."""
SHORT = 8
"""Chains no longer than this are walked without looking for a shorter one."""


class Search(NamedTuple):
    """The state of one join. Between joins `bound` and `undo` are -1 throughout."""

    bound: I32
    """[variables] batch-global terms."""
    cursor: I32
    """[steps] the next triple or hit to try."""
    way: I32
    """[steps] which chain `cursor` is in: 0 hits of the key, 1 triples of the subject, 2 of the object."""
    undo: I32
    """[steps, 3] variables that the step bound."""
    head: I32
    """[steps, 3] key, first hit and number of hits."""


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
    """keys, structures touched, structures joined."""


class Work(NamedTuple):
    """Scratch kept from batch to batch."""

    stamp: NDArray[np.uint32]
    """[N] the last epoch in which a conditional subscription matched."""
    epoch: I64
    """[1]"""


class Found(NamedTuple):
    """Growing output."""

    subscription: I32
    entry: I32
    run_view: I32
    run_structure: I32
    run_start: I64
    exhausted: I32
    sizes: I64
    """subscriptions, runs, exhausted."""


def make_search(variables: int, steps: int) -> Search:
    return Search(
        np.full(variables + 1, -1, np.int32),
        np.empty(steps + 1, np.int32),
        np.empty(steps + 1, np.int32),
        np.full((steps + 1, 3), -1, np.int32),
        np.empty((steps + 1, 3), np.int32),
    )


@njit
def find_heads(index: Index, hits: Hits, search: Search, first_key: int, patterns: I32) -> bool:
    """Looks up the chains of a structure's patterns; False when one has no triple."""
    for step in range(len(patterns)):
        key = index.structure_keys[first_key + patterns[step]]
        slot = find_slot(hits.slot_key, hits.size[0], key)
        if hits.slot_key[slot] < 0:
            return False
        search.head[step, 0] = key
        search.head[step, 1] = hits.slot_head[slot]
        search.head[step, 2] = hits.slot_count[slot]
    return True


@inlined
def enter(step: int, variables: I32, search: Search, hits: Hits, encoded: Encoded, view: int) -> None:
    """Chooses the chain that a step walks."""
    search.cursor[step] = search.head[step, 1]
    search.way[step] = 0
    fewest = search.head[step, 2]
    if fewest > SHORT:
        base = encoded.view_terms[view, 0]
        for side in range(2):
            variable = variables[step, 2 * side]
            if variable >= 0 and search.bound[variable] >= 0:
                if hits.size[1] == 0:
                    link_ends(encoded, view, hits)
                term = search.bound[variable] - base
                if hits.ends.count[term, side] < fewest:
                    fewest = hits.ends.count[term, side]
                    search.cursor[step] = hits.ends.head[term, side]
                    search.way[step] = side + 1


@inlined
def release(step: int, search: Search) -> None:
    for place in range(3):
        variable = search.undo[step, place]
        if variable >= 0:
            search.bound[variable] = -1
            search.undo[step, place] = -1


@njit
def advance(
    step: int, budget: int, variables: I32, search: Search, hits: Hits, index: Index, encoded: Encoded, view: int
) -> tuple[int, int]:
    """The next solution: (last step, budget left); (-1, budget) when there is none, (-2, 0) when the budget is spent.

    `step` is 0 after `enter(0, …)`, and what the last call returned after that.
    """
    last = len(variables) - 1
    first = encoded.view_offsets[view]
    while step >= 0:
        release(step, search)
        cursor = search.cursor[step]
        if cursor < 0:
            step -= 1
            continue
        if budget == 0:
            while step >= 0:
                release(step, search)
                step -= 1
            return -2, 0
        budget -= 1
        way = search.way[step]
        fits = True
        if way == 0:
            triple = first + hits.chain[cursor, 0]
            search.cursor[step] = hits.chain[cursor, 1]
        else:
            triple = first + cursor
            search.cursor[step] = hits.ends.next[cursor, way - 1]
            key = search.head[step, 0]
            for place in range(3):
                wanted = index.key_terms[key, place]
                if wanted >= 0 and encoded.ids[triple, place] != wanted:
                    fits = False
        if fits:
            for place in range(3):
                variable = variables[step, place]
                if variable >= 0:
                    term = encoded.terms[triple, place]
                    known = search.bound[variable]
                    if known < 0:
                        search.bound[variable] = term
                        search.undo[step, place] = variable
                    elif known != term:
                        fits = False
                        break
        if not fits:
            continue
        if step == last:
            return step, budget
        step += 1
        enter(step, variables, search, hits, encoded, view)
    return -1, budget


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
    candidates = np.empty(len(index.structure_shape), np.int32)
    search = make_search_kernel(index)
    for view in range(len(encoded.view_mode)):
        keys = probe(index, encoded, view, hits)
        chosen, touched, most = _choose(index, encoded.view_mode[view], hits, keys, candidates)
        counts[0] += keys
        counts[1] += touched
        counts[2] += chosen
        if chosen:
            found = _make_room(found, most, chosen)
            work.epoch[0] += 1
            _emit(index, encoded, view, hits, candidates[:chosen], search, found, work)
        clear_bits(hits, keys)
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


@njit
def make_search_kernel(index: Index) -> Search:
    variables = index.facts[FACT_VARIABLES]
    steps = index.facts[FACT_STEPS]
    return Search(
        np.full(variables + 1, np.int32(-1), np.int32),
        np.empty(steps + 1, np.int32),
        np.empty(steps + 1, np.int32),
        np.full((steps + 1, 3), np.int32(-1), np.int32),
        np.empty((steps + 1, 3), np.int32),
    )


@njit
def _choose(index: Index, mode: int, hits: Hits, keys: int, candidates: I32) -> tuple[int, int, int]:
    """Structures all of whose keys are present: (how many, how many looked at, subscriptions and entries they have)."""
    chosen = 0
    touched = 0
    most = 0
    unfiltered = index.facts[FACT_UNFILTERED] == 1
    for i in range(keys):
        key = hits.keys[i]
        touched += index.anchor_offsets[key + 1] - index.anchor_offsets[key]
        for structure in range(index.anchor_offsets[key], index.anchor_offsets[key + 1]):
            if not unfiltered:
                second = index.structure_second[structure]
                if second >= 0:
                    if not has_key(hits.bits, second):
                        continue
                    present = True
                    for at in range(index.structure_offsets[structure] + 2, index.structure_offsets[structure + 1]):
                        if not has_key(hits.bits, index.structure_keys[at]):
                            present = False
                            break
                    if not present:
                        continue
            if mode != 0 and (index.shape_verified[index.structure_shape[structure]] == 1) != (mode == 2):
                continue
            candidates[chosen] = structure
            chosen += 1
            most += index.plain_offsets[structure + 1] - index.plain_offsets[structure]
            most += (
                index.group_start[index.group_offsets[structure + 1]]
                - index.group_start[index.group_offsets[structure]]
            )
    return chosen, touched, most


@njit
def _make_room(found: Found, subscriptions: int, runs: int) -> Found:
    """The same with room for so many more."""
    filled, run, exhausted = found.sizes
    room = (
        max(len(found.subscription), 2 * (filled + subscriptions))
        if filled + subscriptions > len(found.subscription)
        else len(found.subscription)
    )
    run_room = 2 * (run + runs) + 2 if run + runs + 1 > len(found.run_view) else len(found.run_view)
    lost_room = 2 * (exhausted + runs) if exhausted + runs > len(found.exhausted) else len(found.exhausted)
    if room == len(found.subscription) and run_room == len(found.run_view) and lost_room == len(found.exhausted):
        return found
    larger = Found(
        np.empty(room, np.int32),
        np.empty(room, np.int32),
        np.empty(run_room, np.int32),
        np.empty(run_room, np.int32),
        np.empty(run_room, np.int64),
        np.empty((lost_room, 2), np.int32),
        found.sizes,
    )
    larger.subscription[:filled] = found.subscription[:filled]
    larger.entry[:filled] = found.entry[:filled]
    larger.run_view[:run] = found.run_view[:run]
    larger.run_structure[:run] = found.run_structure[:run]
    larger.run_start[:run] = found.run_start[:run]
    larger.exhausted[:exhausted] = found.exhausted[:exhausted]
    return larger


@njit
def _emit(
    index: Index,
    encoded: Encoded,
    view: int,
    hits: Hits,
    candidates: I32,
    search: Search,
    found: Found,
    work: Work,
) -> None:
    """Joins the candidates of a view and writes what matches."""
    filled, runs, lost = found.sizes
    epoch = np.uint32(work.epoch[0])
    for structure in candidates:
        start = filled
        shape = index.structure_shape[structure]
        plain = index.plain_offsets[structure]
        plain_end = index.plain_offsets[structure + 1]
        step_start = index.join_offsets[shape]
        step_end = index.join_offsets[shape + 1]
        if step_start == step_end:
            if index.facts[FACT_UNFILTERED] == 1 and not _all_present(index, hits, structure):
                continue
            for at in range(plain, plain_end):
                found.subscription[filled] = index.plain[at]
                found.entry[filled] = -1
                filled += 1
        else:
            if index.facts[FACT_UNFILTERED] == 1 and not _all_present(index, hits, structure):
                continue
            find_heads(
                index,
                hits,
                search,
                index.structure_offsets[structure],
                index.join_pattern[step_start:step_end],
            )
            variables = index.join_variables[step_start:step_end]
            group = index.group_offsets[structure]
            group_end = index.group_offsets[structure + 1]
            budget = STEPS_LIMIT
            enter(0, variables, search, hits, encoded, view)
            step, budget = advance(0, budget, variables, search, hits, index, encoded, view)
            if step >= 0:
                for at in range(plain, plain_end):
                    found.subscription[filled] = index.plain[at]
                    found.entry[filled] = -1
                    filled += 1
            while step >= 0:
                if group == group_end:
                    while step >= 0:
                        release(step, search)
                        step -= 1
                    break
                for at in range(group, group_end):
                    filled = _emit_group(index, encoded.values, at, search, found, filled, work.stamp, epoch)
                step, budget = advance(step, budget, variables, search, hits, index, encoded, view)
            if step == -2:
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


@njit
def _all_present(index: Index, hits: Hits, structure: int) -> bool:
    for at in range(index.structure_offsets[structure], index.structure_offsets[structure + 1]):
        if not has_key(hits.bits, index.structure_keys[at]):
            return False
    return True


@njit
def _emit_group(
    index: Index,
    values: TermValues,
    group: int,
    search: Search,
    found: Found,
    filled: int,
    stamp: NDArray[np.uint32],
    epoch: np.uint32,
) -> int:
    """Writes the subscriptions of one condition group that the present solution fulfils."""
    operator = index.group_code[group, 1]
    start, end = find_range(index, values, group, search.bound[index.group_code[group, 0]])
    for entry in range(start, end):
        subscription = index.entry_subscription[entry]
        if stamp[subscription] == epoch:
            continue
        atom = index.entry_atoms[entry]
        if atom >= 0:
            if not all_hold(index, values, atom, search.bound):
                continue
        elif operator == UNEQUAL:
            code = index.group_code[group]
            if not holds(values, search.bound[code[0]], operator, code[2], index.entry_value[entry]):
                continue
        stamp[subscription] = epoch
        found.subscription[filled] = subscription
        found.entry[filled] = entry
        filled += 1
    return filled


@njit
def all_hold(index: Index, values: TermValues, atom: int, row: I32) -> bool:
    """Whether a solution (terms by variable) fulfils the condition in conjunctive form that begins with `atom`."""
    clause_true = False
    while True:
        code = index.atom_code[atom]
        if not clause_true:
            clause_true = holds(values, row[code[0]], code[1], code[2], index.atom_value[atom])
        if code[3] != CONTINUES:
            if not clause_true:
                return False
            if code[3] == ENDS:
                return True
            clause_true = False
        atom += 1


@njit
def find_range(index: Index, values: TermValues, group: int, term: int) -> tuple[int, int]:
    """The entries of a group that a term may fulfil: exactly those it does, but for ``!=`` and windows."""
    operator = index.group_code[group, 1]
    lane = index.group_code[group, 2]
    start = index.group_start[group]
    end = index.group_start[group + 1]
    how, number, strict = see(values, term, AT_LEAST if operator == WINDOW else operator, lane)
    if how == NONE_TRUE:
        return start, start
    if how == ALL_TRUE or how == FAR_TRUE or operator == UNEQUAL:
        return start, end
    if number != number:
        return start, start
    single = how == BY_SINGLE
    constants = index.entry_value
    if operator == EQUAL:
        return first_from(constants, start, end, number, single), first_beyond(constants, start, end, number, single)
    if operator == LESS or (operator == AT_MOST and strict):
        return first_beyond(constants, start, end, number, single), end
    if operator == AT_MOST:
        return first_from(constants, start, end, number, single), end
    if operator == GREATER or (operator == AT_LEAST and strict):
        return start, first_from(constants, start, end, number, single)
    if operator == AT_LEAST:
        return start, first_beyond(constants, start, end, number, single)
    slack = abs(number) * 1e-6 + index.group_width[group] * 1e-6 + 1e-30
    return (
        first_from(constants, start, end, number - index.group_width[group] - slack, False),
        first_beyond(constants, start, end, number, single),
    )


@inlined
def first_from(constants: F64, start: int, end: int, number: float, single: bool) -> int:
    """The first of the ascending constants that is not less than `number`."""
    while start < end:
        middle = (start + end) >> 1
        constant = float(np.float32(constants[middle])) if single else constants[middle]
        if constant < number:
            start = middle + 1
        else:
            end = middle
    return start


@inlined
def first_beyond(constants: F64, start: int, end: int, number: float, single: bool) -> int:
    """The first of the ascending constants that is greater than `number`."""
    while start < end:
        middle = (start + end) >> 1
        constant = float(np.float32(constants[middle])) if single else constants[middle]
        if constant <= number:
            start = middle + 1
        else:
            end = middle
    return start
