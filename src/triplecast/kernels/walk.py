"""The walk over a join's steps, depth first over the triples of each pattern.

While few triples have the pattern's key it walks those, otherwise the triples of a bound subject or object where these
are fewer. Work is bounded: a walk that has tried `STEPS_LIMIT` triples ends as `EXHAUSTED`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import FACT_STEPS, FACT_VARIABLES, I32, Index
from triplecast.kernels.probe import find_slot, link_ends

STEPS_LIMIT = 200_000
"""Triples that one structure's join may try in one view."""
SHORT = 8
"""Chains no longer than this are walked without looking for a shorter one."""

EXHAUSTED = -2
"""Of `Walk.step`: the budget is spent."""

_CURSOR, _WAY, _UNDO, _KEY, HEAD, _LENGTH = 0, 1, 2, 5, 6, 7
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
    end_triple: int
    """Of the view; `end_triple` is the first of the next view."""
    first_term: int
    terms: int
    word_predicate: int
    """`FACT_WORDS`."""


@njit
def make_state(index: Index) -> tuple[I32, I32]:
    """([steps, `STATE_COLUMNS`] state, [variables] bound terms) of joins; between joins all variables are -1, and so
    are the undo columns."""
    state = np.full((index.facts[FACT_STEPS] + 1, STATE_COLUMNS), np.int32(-1), np.int32)
    return state, np.full(index.facts[FACT_VARIABLES] + 1, np.int32(-1), np.int32)


@inlined
def begin(walk: Walk, steps: I32, keys: I32, first_key: int, slots: I32, size: int, state: I32) -> None:
    """Look up the chains of a structure's patterns (its keys begin at `first_key`, all of them present) and enter the
    first."""
    for step in range(walk.steps):
        key = keys[first_key + steps[walk.first_step + step, 0]]
        slot = find_slot(slots, size, key)
        state[step, _KEY] = key
        state[step, HEAD] = slots[slot, 1]
        state[step, _LENGTH] = slots[slot, 2]
    state[0, _CURSOR] = state[0, HEAD]
    state[0, _WAY] = 0


@inlined
def enter(walk: Walk, step: int, steps: I32, state: I32, bound: I32, triples: I32, links: I32) -> None:
    """Choose the chain that a step walks."""
    state[step, _CURSOR] = state[step, HEAD]
    state[step, _WAY] = 0
    fewest = state[step, _LENGTH]
    if fewest > SHORT:
        for side in range(2):
            variable = steps[walk.first_step + step, 1 + 2 * side]
            if variable >= 0 and bound[variable] >= 0:
                if links[0] == 0:
                    link_ends(triples, walk.first_triple, walk.end_triple, walk.first_term, walk.terms, links)
                head = 1 + 4 * (bound[variable] - walk.first_term) + side
                if links[head + 2] < fewest:
                    fewest = links[head + 2]
                    state[step, _CURSOR] = links[head]
                    state[step, _WAY] = side + 1


@inlined
def release(step: int, state: I32, bound: I32) -> None:
    """Unbind what a step bound."""
    for place in range(3):
        variable = state[step, _UNDO + place]
        if variable >= 0:
            bound[variable] = -1
            state[step, _UNDO + place] = -1


@borrowing
def abandon(step: int, state: I32, bound: I32) -> None:
    """End a join before its last solution."""
    while step >= 0:
        release(step, state, bound)
        step -= 1


@inlined
def advance(
    walk: Walk, steps: I32, state: I32, bound: I32, chain: I32, triples: I32, links: I32, key_terms: I32
) -> Walk:
    """Find the next solution; its terms are in `bound`. Call it after `begin` with step 0, then with its result."""
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
            fits = _has_key(triples, triple, key_terms, state[step, _KEY], walk.word_predicate)
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
        step,
        budget,
        walk.first_step,
        walk.steps,
        walk.first_triple,
        walk.end_triple,
        walk.first_term,
        walk.terms,
        walk.word_predicate,
    )


@inlined
def _has_key(triples: I32, triple: int, key_terms: I32, key: int, word_predicate: int) -> bool:
    """Whether a triple has the constants of a key; a word triple, only of a key with its predicate."""
    if word_predicate >= 0 and triples[triple, 4] == word_predicate and key_terms[key, 1] != word_predicate:
        return False
    for place in range(3):
        if key_terms[key, place] >= 0 and triples[triple, 3 + place] != key_terms[key, place]:
            return False
    return True
