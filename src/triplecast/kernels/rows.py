"""Bindings of what matched: all solutions of each structure, per subscription filtered, projected and in canonical
order.

Solutions of a structure in a view are found once; subscriptions without conditions that are written alike share one
*sheet*. Work is bounded: a structure with more than `SOLUTIONS_LIMIT` solutions, or whose join spends `STEPS_LIMIT`,
has no sheets. So is memory: sheets are measured as they are made, and those that there is no room for are not made.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, njit
from triplecast.kernels.conditions import SPAN, all_hold, holds, see_bounds, spans
from triplecast.kernels.layout import (
    ASK_FLAG,
    DISTINCT_FLAG,
    FACT_WORDS,
    GROUP_BYTE,
    GROUP_LANE,
    GROUP_OPERATOR,
    I32,
    I64,
    SHAPE_FULL,
    SHAPE_NECESSARY,
    SHAPE_VARIABLES,
    STRUCTURE_GROUPS,
    STRUCTURE_KEYS,
    STRUCTURE_SHAPE,
    U8,
    Answers,
    Encoded,
    Index,
    empty_answers,
    empty_encoded,
    empty_index,
)
from triplecast.kernels.probe import Hits, find_slot, find_triples, forget_keys, make_hits, probe, table_size
from triplecast.kernels.resolve import Terms, empty_terms
from triplecast.kernels.row_order import drop_repeated, rank_terms, sort_few, sort_rows
from triplecast.kernels.runs import MatchedRuns, Work, make_work
from triplecast.kernels.sheets import BYTES_A_ROW, SheetLimits, Sheets, sheet_size
from triplecast.kernels.walk import EXHAUSTED, STEPS_LIMIT, Walk, abandon, advance, begin, make_state

SOLUTIONS_LIMIT = 10_000
"""Solutions of one structure in one view."""
FEW = 6
"""Rows that are sorted without ranking the terms of their publication first."""
FEW_PATTERNS = 16
"""See `_find_hits`."""
NO_ROOM = -2
"""Of `_solve`: the cells are full; nothing was added."""


class _Growing(NamedTuple):
    answer: I32
    offsets: I64
    rows: I64
    cells: I32
    bytes: I64
    sizes: I64
    """sheets, rows, cells."""


@njit
def collect_sheets(
    index: Index,
    answers: Answers,
    encoded: Encoded,
    matched: MatchedRuns,
    terms: Terms,
    limits: SheetLimits,
    work: Work,
) -> Sheets:
    """The sheets of the decided runs of `matched`, as many as there is room for."""
    of_pair = np.full(len(matched.subscription), np.int32(-1), np.int32)
    ranks = np.empty(len(terms.start), np.int32)
    lengths = np.full(len(terms.start), np.int32(-1), np.int32)
    all_wanted = len(limits.wanted) == 0
    hits = make_hits(index, encoded, work.bits)
    taken = np.int64(0)
    runs = len(matched.run_view)
    ranked = np.int64(-1)
    growing = _Growing(
        np.empty(256, np.int32),
        np.zeros(257, np.int64),
        np.empty(1024, np.int64),
        np.empty(4096, np.int32),
        np.empty(256, np.int64),
        np.zeros(3, np.int64),
    )
    state = make_state(index)
    selected = np.empty(SOLUTIONS_LIMIT, np.int64)
    spare = np.empty(SOLUTIONS_LIMIT, np.int64)
    view = -1
    keys = 0
    size = 0
    for run in range(len(matched.run_view)):
        structure = matched.run_structure[run]
        if index.shapes[index.structures[structure, STRUCTURE_SHAPE], SHAPE_NECESSARY] == 1:
            continue
        if matched.run_view[run] != view:
            forget_keys(hits, keys)
            view = matched.run_view[run]
            keys, size = _find_hits(index, encoded, matched, run, hits)
        start, end = matched.run_start[run], matched.run_start[run + 1]
        first_cell = growing.sizes[2]
        solutions = 1
        wanted = limits.wanted if all_wanted else limits.wanted[start:end]
        if _needs_rows(index.answer_of, answers.flags, matched.subscription[start:end], wanted):
            solutions = _solve(index, encoded, (view, size, structure), hits, state, growing)
            while solutions == NO_ROOM:
                growing = _double_cells(growing)
                solutions = _solve(index, encoded, (view, size, structure), hits, state, growing)
        previous = np.int32(-1)
        for pair in range(start, end):
            if not all_wanted and limits.wanted[pair] == 0:
                of_pair[pair] = -3
                continue
            entry = -1 if pair < start + matched.run_plain[run] else matched.entry[pair]
            answer = index.answer_of[matched.subscription[pair]]
            asks = answers.flags[answer] & ASK_FLAG != 0
            if solutions < 0 and not asks:
                of_pair[pair] = -2
                continue
            shared = entry < 0 or solutions <= 1 or asks
            if shared and previous >= 0 and growing.answer[previous] == answer:
                of_pair[pair] = previous
                continue
            count = 1
            if asks:
                selected[0] = 0
            else:
                count = _select(index, encoded, structure, entry, growing.cells, first_cell, selected, solutions)
            if count > 1:
                base = encoded.view_terms[view, 0]
                columns = answers.variable[answers.offsets[answer] : answers.offsets[answer + 1]]
                if ranked != base and count > FEW:
                    rank_terms(terms, base, encoded.view_terms[view, 1], ranks)
                    ranked = base
                if ranked == base:
                    sort_rows(selected[:count], spare, growing.cells, columns, ranks)
                else:
                    sort_few(selected[:count], growing.cells, columns, terms)
                if answers.flags[answer] & DISTINCT_FLAG:
                    count = drop_repeated(selected[:count], growing.cells, columns)
            written = 4  # [{}]
            weight = limits.weight[answer]
            if not asks and (weight > 0 or limits.room < 0):
                written = sheet_size(answers, answer, selected[:count], growing.cells, terms, lengths)
            taken += written * weight + count * BYTES_A_ROW
            kept = 0 if limits.room < 0 else count
            if growing.sizes[0] == len(growing.answer) or growing.sizes[1] + kept > len(growing.rows):
                growing = _double_sheets(growing, kept)
            _add_sheet(growing, answer, selected[:kept], written)
            of_pair[pair] = growing.sizes[0] - 1
            if shared:
                previous = of_pair[pair]
            if 0 <= limits.room < taken:
                break
        if 0 <= limits.room < taken:
            runs = run
            break
        if limits.room < 0:
            growing.sizes[2] = first_cell
    forget_keys(hits, keys)
    sheets, rows, cells = growing.sizes
    return Sheets(
        of_pair,
        growing.answer[:sheets],
        growing.offsets[: sheets + 1],
        growing.rows[:rows],
        growing.cells[:cells],
        growing.bytes[:sheets],
        runs,
    )


@borrowing
def _find_hits(index: Index, encoded: Encoded, matched: MatchedRuns, run: int, hits: Hits) -> tuple[int, int]:
    """Fill `hits` for the runs of one view, from this on, as `probe` does: (keys to forget, slots in use). Where their
    patterns are few, they are looked for among the triples, which takes less than every key that these may have."""
    run_view, run_structure = matched.run_view, matched.run_structure
    structures, shapes, steps = index.structures, index.shapes, index.full_steps
    view, last, patterns = run_view[run], run, 0
    while last < len(run_view) and run_view[last] == view:
        shape = structures[run_structure[last], STRUCTURE_SHAPE]
        patterns += shapes[shape + 1, SHAPE_FULL] - shapes[shape, SHAPE_FULL]
        last += 1
    if patterns > FEW_PATTERNS:
        return probe(index, encoded, view, hits)
    size = min(table_size(patterns), len(hits.slots))
    hits.slots[:size, 0] = -1
    hits.links[0] = 0
    hit = 0
    for each in range(run, last):
        structure = run_structure[each]
        shape, first_key = structures[structure, STRUCTURE_SHAPE], structures[structure, STRUCTURE_KEYS]
        for step in range(shapes[shape, SHAPE_FULL], shapes[shape + 1, SHAPE_FULL]):
            key = index.structure_keys[first_key + steps[step, 0]]
            slot = find_slot(hits.slots, size, key)
            if hits.slots[slot, 0] < 0:
                hit = find_triples(index, encoded, view, key, slot, hit, hits)
    return 0, size


@borrowing
def _needs_rows(answer_of: I32, flags: U8, subscriptions: I32, wanted: U8) -> bool:
    for at in range(len(subscriptions)):
        if flags[answer_of[subscriptions[at]]] & ASK_FLAG == 0 and (len(wanted) == 0 or wanted[at] == 1):
            return True
    return False


@borrowing
def _solve(
    index: Index,
    encoded: Encoded,
    view_size_structure: tuple[int, int, int],
    hits: Hits,
    join_state: tuple[I32, I32],
    growing: _Growing,
) -> int:
    """Appends all solutions of a structure to the cells; returns how many, -1 beyond the limits, or `NO_ROOM`."""
    view, size, structure = view_size_structure
    steps, key_terms = index.full_steps, index.key_terms
    triples, chain, links = encoded.triples, hits.chain, hits.links
    state, bound = join_state
    cells = growing.cells
    shape = index.structures[structure, STRUCTURE_SHAPE]
    width = index.shapes[shape, SHAPE_VARIABLES]
    first_step = index.shapes[shape, SHAPE_FULL]
    walk = Walk(
        0,
        STEPS_LIMIT,
        first_step,
        index.shapes[shape + 1, SHAPE_FULL] - first_step,
        encoded.view_offsets[view],
        encoded.view_offsets[view + 1],
        encoded.view_terms[view, 0],
        encoded.view_terms[view, 1],
        index.facts[FACT_WORDS],
    )
    if walk.steps == 0:
        return 1
    begin(walk, steps, index.structure_keys, index.structures[structure, STRUCTURE_KEYS], hits.slots, size, state)
    filled = growing.sizes[2]
    solutions = 0
    exhausted = False
    while True:
        walk = advance(walk, steps, state, bound, chain, triples, links, key_terms)
        exhausted = walk.step == EXHAUSTED
        if walk.step < 0:
            break
        if solutions == SOLUTIONS_LIMIT:
            abandon(walk.step, state, bound)
            exhausted = True
            break
        if filled + width > len(cells):
            abandon(walk.step, state, bound)
            return NO_ROOM
        for variable in range(width):
            cells[filled + variable] = bound[variable]
        filled += width
        solutions += 1
    if exhausted:
        return -1
    growing.sizes[2] = filled
    return solutions


@borrowing
def _select(
    index: Index,
    encoded: Encoded,
    structure: int,
    entry: int,
    cells: I32,
    first: int,
    selected: I64,
    solutions: int,
) -> int:
    """The rows (first cells) that fulfil the condition of `entry`; all without one, and a single row, which made the
    match."""
    width = index.shapes[index.structures[structure, STRUCTURE_SHAPE], SHAPE_VARIABLES]
    if entry < 0 or solutions == 1:
        for row in range(solutions):
            selected[row] = first + row * width
        return solutions
    values, identity, extras = encoded.values, encoded.identity, encoded.extras
    atom = index.entry_atoms[entry]
    group = index.structures[structure, STRUCTURE_GROUPS]
    while index.groups[group + 1, 1] <= entry:
        group += 1
    code = index.groups[group, 0]
    constant = index.entry_value[entry]
    count = 0
    for row in range(solutions):
        at = first + row * width
        if atom >= 0:
            fits = all_hold(index.atom_code, index.atom_value, atom, values, identity, extras, cells, at)
        else:
            term = cells[at + (code & GROUP_BYTE)]
            operator = (code >> GROUP_OPERATOR) & GROUP_BYTE
            lane = (code >> GROUP_LANE) & GROUP_BYTE
            if operator >= SPAN:
                seen = see_bounds(values, identity, extras, term, operator, lane)
                fits = spans(seen, operator, constant, index.entry_upper[entry])
            else:
                fits = holds(values, identity, extras, term, operator, lane, constant)
        if fits:
            selected[count] = at
            count += 1
    return count


@njit
def _double_cells(growing: _Growing) -> _Growing:
    cells = np.empty(2 * len(growing.cells), np.int32)
    filled = growing.sizes[2]
    cells[:filled] = growing.cells[:filled]
    return _Growing(growing.answer, growing.offsets, growing.rows, cells, growing.bytes, growing.sizes)


@njit
def _double_sheets(growing: _Growing, more: int) -> _Growing:
    """The same with room for another sheet of `more` rows, twice as large as needed."""
    sheets, rows, _ = growing.sizes
    answer = np.empty(2 * (sheets + 1), np.int32)
    answer[:sheets] = growing.answer[:sheets]
    offsets = np.empty(2 * (sheets + 1) + 1, np.int64)
    offsets[: sheets + 1] = growing.offsets[: sheets + 1]
    row_of = np.empty(2 * (rows + more), np.int64)
    row_of[:rows] = growing.rows[:rows]
    sizes = np.empty(2 * (sheets + 1), np.int64)
    sizes[:sheets] = growing.bytes[:sheets]
    return _Growing(answer, offsets, row_of, growing.cells, sizes, growing.sizes)


@borrowing
def _add_sheet(growing: _Growing, answer: int, selected: I64, size: int) -> None:
    sheets, rows, _ = growing.sizes
    growing.answer[sheets] = answer
    growing.bytes[sheets] = size
    for row in range(len(selected)):
        growing.rows[rows + row] = selected[row]
    growing.offsets[sheets + 1] = rows + len(selected)
    growing.sizes[0] = sheets + 1
    growing.sizes[1] = rows + len(selected)


def warm_up() -> None:
    index, encoded = empty_index(), empty_encoded()
    none, counts = np.zeros(0, np.int32), np.zeros(4, np.int64)
    limits = SheetLimits(0, 0, np.zeros(0, np.int64), np.zeros(0, np.uint8))
    matched = MatchedRuns(none, none, none, none, none, np.zeros(1, np.int64), np.zeros((0, 2), np.int32), counts)
    collect_sheets(index, empty_answers(), encoded, matched, empty_terms(), limits, make_work(0, 0))
