"""Match views: the structures whose keys are present are joined over their shared variables.

What is read at random is prefetched a stage before it is needed: waiting for memory is most of the time otherwise. Work
is bounded per structure and view: a join that exceeds `STEPS_LIMIT` is reported instead of decided.
"""

from __future__ import annotations

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.conditions import SPAN, narrow_range, see_bounds
from triplecast.kernels.layout import (
    FACT_UNFILTERED,
    FACT_WORDS,
    GROUP_BYTE,
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
    U64,
    Encoded,
    Index,
    empty_encoded,
    empty_index,
    find_place,
    read_code,
)
from triplecast.kernels.probe import Hits, forget_keys, has_key, make_hits, may_join, probe
from triplecast.kernels.runs import (
    MatchedRuns,
    RunBuffer,
    Work,
    close_run,
    make_buffer,
    make_room,
    make_work,
    remember_sizes,
    write_fulfilled,
    write_plain,
)
from triplecast.kernels.trees import common_roots, common_subjects, write_star
from triplecast.kernels.walk import EXHAUSTED, STEPS_LIMIT, Walk, abandon, advance, begin, make_state
from triplecast.kernels.words import prefetch

_AHEAD = 8
"""Candidates between the one that is read and the one that is prefetched."""
_SHORTLY = 3
"""Candidates between the one that is joined and the one whose condition is prefetched."""
_VALUES_A_LINE = 2
"""Whole rows of `Encoded.values` in 64 bytes."""


@njit
def match_views(index: Index, encoded: Encoded, work: Work, room: int) -> MatchedRuns:
    """Match the views of a batch against one segment, up to the one that leaves no room for further pairs."""
    views = len(encoded.view_mode)
    found, hits = make_buffer(work, views), make_hits(index, encoded, work.bits)
    counts = np.zeros(4, np.int64)
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
            found = make_room(found, most, chosen)
            work.epoch[0] += 1
            _emit(index, encoded, (view, size, chosen), hits, candidates, state, found, work)
        forget_keys(hits, keys)
        counts[3] += 1
        if found.sizes[0] >= room:
            break
    remember_sizes(found, work, counts[3])
    filled, runs, exhausted = found.sizes
    found.run_start[runs] = filled
    return MatchedRuns(
        found.subscription[:filled],
        found.entry[:filled],
        found.run_view[:runs],
        found.run_structure[:runs],
        found.run_plain[:runs],
        found.run_start[: runs + 1],
        found.exhausted[:exhausted],
        counts,
    )


@njit
def repeat_publications(publications: I32, run_view: I32, run_start: I64) -> I32:
    """The publication of each matched subscription, given that of each view and the runs as in `MatchedRuns`."""
    repeated = np.empty(run_start[len(run_view)], np.int32)
    for run in range(len(run_view)):
        publication = publications[run_view[run]]
        for pair in range(np.uint64(run_start[run]), np.uint64(run_start[run + 1])):
            repeated[pair] = publication
    return repeated


@borrowing
def _choose(index: Index, mode: int, hits: Hits, found: int, candidates: I32) -> tuple[int, int, int]:
    """Find the structures whose keys are all present: (how many, how many were tried, subscriptions and entries of
    them)."""
    structures, structure_keys = index.structures, index.structure_keys
    next_keys, anchor_offsets, keys = index.next_keys, index.anchor_offsets, hits.keys
    bits, presence = hits.bits, hits.presence
    for i in range(found):
        prefetch(next_keys, anchor_offsets[keys[i]])
    paired = 0
    touched = 0
    for i in range(found):
        first, last = np.uint64(anchor_offsets[keys[i]]), np.uint64(anchor_offsets[keys[i] + 1])
        touched += int(np.int64(last - first))
        subjects = presence[find_place(keys[i])]
        place = np.uint64(paired)  # unsigned, as in `has_key`
        for structure in range(first, last):
            candidates[place] = np.int32(structure)
            place += np.uint64(may_join(presence, subjects, next_keys[structure]))
        paired = int(np.int64(place))
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
            bits, structure_keys, first_key + 1, structures[structure + 1, STRUCTURE_KEYS]
        ):
            continue
        if mode != 0 and (index.shapes[structures[structure, STRUCTURE_SHAPE], SHAPE_NECESSARY] == 1) != (mode == 2):
            continue
        candidates[chosen] = structure
        chosen += 1
        prefetch(structure_keys, first_key)
        prefetch(index.groups, structures[structure, STRUCTURE_GROUPS])
        prefetch(index.group_width, structures[structure, STRUCTURE_GROUPS])
        prefetch(index.plain, structures[structure, STRUCTURE_PLAIN])
    return chosen, touched, _count_most(index, candidates, chosen)


@inlined
def _count_most(index: Index, candidates: I32, chosen: int) -> int:
    """Count the subscriptions and entries of the candidates: the most that can match."""
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
            if not _is_whole(groups[group, 0]):
                prefetch(index.entry_atoms, first)
            elif _is_span(groups[group, 0]):
                prefetch(index.entry_upper, first)
    return most


@inlined
def _is_whole(code: int) -> bool:
    return code >> GROUP_STEP >= STEP_WHOLE


@inlined
def _is_span(code: int) -> bool:
    return (code >> GROUP_OPERATOR) & GROUP_BYTE >= SPAN


@inlined
def _prefetch_atoms(index: Index, structure: int) -> None:
    """Prefetch the condition of the first entry of a structure whose entries have been prefetched."""
    group = index.structures[structure, STRUCTURE_GROUPS]
    if index.structures[structure + 1, STRUCTURE_GROUPS] > group and not _is_whole(index.groups[group, 0]):
        atom = index.entry_atoms[index.groups[group, 1]]
        if atom >= 0:
            prefetch(index.atom_code, atom)
            prefetch(index.atom_value, atom)


@inlined
def _all_present(bits: U64, structure_keys: I32, start: int, end: int) -> bool:
    while start < end and has_key(bits, structure_keys[start]):
        start += 1
    return start >= end


@borrowing
def _emit(
    index: Index,
    encoded: Encoded,
    view_size_chosen: tuple[int, int, int],
    hits: Hits,
    candidates: I32,
    join_state: tuple[I32, I32],
    found: RunBuffer,
    work: Work,
) -> None:
    """Join the candidates of a view and write what matches."""
    structures, structure_keys, shapes = index.structures, index.structure_keys, index.shapes
    state = join_state[0]
    view, size, chosen = view_size_chosen
    filled, runs, lost = found.sizes
    unfiltered = index.facts[FACT_UNFILTERED] == 1
    starred = hits.ordinals[0] == 1
    for i in range(chosen):
        structure = candidates[i]
        if i + _SHORTLY < chosen:
            _prefetch_atoms(index, candidates[i + _SHORTLY])
        first_key = structures[structure, STRUCTURE_KEYS]
        if unfiltered and not _all_present(
            hits.bits, structure_keys, first_key, structures[structure + 1, STRUCTURE_KEYS]
        ):
            continue
        start = filled
        kind = shapes[structures[structure, STRUCTURE_SHAPE], SHAPE_STAR]
        by_star, complete, exhausted = False, False, False
        if starred and kind != 0:
            if kind == STAR:
                common = common_subjects(index, hits, size, structure, state)
            else:
                common = common_roots(index, encoded, view, hits, size, structure, state)
            if common == np.uint64(0):
                continue
            by_star = True
            filled = write_plain(index, structure, found, filled)
            filled, complete = write_star(
                index, encoded, view, hits, (common, structure, filled), join_state, found, work
            )
        if not complete:
            filled, exhausted = _walk(
                index, encoded, (view, size, structure), hits, join_state, found, work, (filled, by_star)
            )
        if exhausted:
            filled = start
            found.exhausted[lost, 0] = view
            found.exhausted[lost, 1] = structure
            lost += 1
        if filled > start:
            runs = close_run(index, found, view, structure, start, runs)
    found.sizes[0] = filled
    found.sizes[1] = runs
    found.sizes[2] = lost


@inlined
def _walk(
    index: Index,
    encoded: Encoded,
    view_size_structure: tuple[int, int, int],
    hits: Hits,
    join_state: tuple[I32, I32],
    found: RunBuffer,
    work: Work,
    filled_by_star: tuple[int, bool],
) -> tuple[int, bool]:
    """Walk the join of a structure and write its subscriptions: (how many are written in all, whether the join exceeded
    its steps). By star, what depends on one variable is written already.
    """
    structures, structure_keys, groups = index.structures, index.structure_keys, index.groups
    shapes, steps, key_terms, widths = index.shapes, index.join_steps, index.key_terms, index.group_width
    values, identity, extras = encoded.values, encoded.identity, encoded.extras
    state, bound = join_state
    view, size, structure = view_size_structure
    filled, by_star = filled_by_star
    shape = structures[structure, STRUCTURE_SHAPE]
    first_group, last_group = structures[structure, STRUCTURE_GROUPS], structures[structure + 1, STRUCTURE_GROUPS]
    unseen = not by_star
    walk = Walk(
        0,
        STEPS_LIMIT,
        shapes[shape, SHAPE_JOIN],
        shapes[shape + 1, SHAPE_JOIN] - shapes[shape, SHAPE_JOIN],
        encoded.view_offsets[view],
        encoded.view_offsets[view + 1],
        encoded.view_terms[view, 0],
        encoded.view_terms[view, 1],
        index.facts[FACT_WORDS],
    )
    if walk.steps:
        begin(walk, steps, structure_keys, structures[structure, STRUCTURE_KEYS], hits.slots, size, state)
    while True:
        if walk.steps:
            walk = advance(walk, steps, state, bound, hits.chain, encoded.triples, hits.links, key_terms)
            if walk.step < 0:
                break
        if unseen:
            filled = write_plain(index, structure, found, filled)
            unseen = False
        if first_group == last_group:
            abandon(min(walk.step, walk.steps - 1), state, bound)
            break
        for group in range(first_group, last_group):
            code = groups[group, 0]
            if by_star and code >> GROUP_STEP != 0:
                continue
            variable, operator, lane = read_code(code)
            seen = see_bounds(values, identity, extras, bound[variable], operator, lane)
            how, number, strict, _ = seen
            low, high = narrow_range(
                how, number, strict, operator, index.entry_value, groups[group, 1], groups[group + 1, 1], widths[group]
            )
            filled = write_fulfilled(index, encoded, bound, (code, low, high), seen, found, work, filled)
    return filled, walk.step == EXHAUSTED


def warm_up() -> None:
    index, encoded = empty_index(), empty_encoded()
    matched = match_views(index, encoded, make_work(0, 0), 1)
    repeat_publications(np.zeros(0, np.int32), matched.run_view, matched.run_start)
