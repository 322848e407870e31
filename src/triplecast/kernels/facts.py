"""The facts of one entailed view: a growing table of triples, and the terms of the taxonomy that it reaches."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import inlined
from triplecast.kernels.layout import I32, I64, U8
from triplecast.taxonomy.entail import TRIPLES_LIMIT

SUBJECT, PREDICATE, END, PREDICATE_ID, END_ID = range(5)
"""Columns of a fact: terms of its view, and what the taxonomy calls the last two (-1: nothing)."""


class Known(NamedTuple):
    """A taxonomy of N terms; ``lists[offsets[kind, t]:offsets[kind, t + 1]]`` is one list of a term, by the ``LIST_``
    constants."""

    words: I64
    """The ``WORD_`` terms."""
    lists: I32
    offsets: I64
    """[LISTS, N + 1]"""
    triples: I32
    """[·, 2] predicate and end; the list `LIST_OWN` of a subject has their rows."""
    classes: U8
    """[N] 1 for a class."""
    marks: I32
    """[MARKS] the predicate of each mark; its list is ``LIST_MARKS + mark``."""


WORD_TYPE, WORD_SUB_CLASS, WORD_SUB_PROPERTY, WORD_MEMBER = range(4)
LIST_OWN, LIST_REACHED, LIST_ABOVE_CLASS, LIST_ABOVE_PROPERTY, LIST_MARKS = range(5)


class ViewTerms(NamedTuple):
    """Scratch by term of the taxonomy."""

    place: I32
    """Its number in the view of the attempt that `placed` names."""
    placed: I64
    met: I64
    """The last attempt that reached it."""
    typed: I64
    """The last attempt that took it as a class of its own."""
    reached: I32
    """The reached terms of the view, in order."""
    added: I32
    """The terms that its publication lacks, in order of their places."""
    sizes: I64
    """``SIZE_FACTS``, ``SIZE_ADDED``, ``SIZE_REACHED``, ``SIZE_LOST``: 1 once the view is lost, and ``SIZE_NEEDED``: 0
    while all facts have room, else how many there are at least."""


SIZE_FACTS, SIZE_ADDED, SIZE_REACHED, SIZE_LOST, SIZE_NEEDED = range(5)


class OpenView(NamedTuple):
    """The view whose facts are being collected."""

    number: int
    attempt: int
    """Counts from 1 over all views: a view is made again when its facts had no room."""
    first: int
    """Term of the batch."""
    own: int
    """Terms of its publication."""


@inlined
def has_room(facts: I32, sizes: I64, more: int) -> bool:
    """Tell whether there is room for `more` facts; note how much is needed, and a view that would exceed the limit."""
    needed = sizes[SIZE_FACTS] + more
    if needed > TRIPLES_LIMIT:
        sizes[SIZE_LOST] = 1
    elif needed > len(facts):
        sizes[SIZE_NEEDED] = max(needed, sizes[SIZE_NEEDED])
    return bool(needed <= len(facts) and sizes[SIZE_LOST] == 0)


@inlined
def _slot(subject: int, predicate: int, end: int, size: int) -> int:
    mixed = np.uint64(subject) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(predicate) * np.uint64(0xC2B2AE3D27D4EB4F)
    mixed = (mixed + np.uint64(end)) * np.uint64(0x165667B19E3779F9)
    return int(np.int64(mixed >> np.uint64(32)) & (size - 1))


@inlined
def add_fact(facts: I32, table: I32, sizes: I64, subject: int, predicate: int, end: int, ids: tuple[int, int]) -> None:
    """Add a fact for which there is room, unless it is there already; `ids` are those of predicate and end."""
    size = len(table)
    slot = _slot(subject, predicate, end, size)
    while table[slot] >= 0:
        fact = table[slot]
        if facts[fact, SUBJECT] == subject and facts[fact, PREDICATE] == predicate and facts[fact, END] == end:
            return
        slot = (slot + 1) & (size - 1)
    table[slot] = sizes[SIZE_FACTS]
    append_fact(facts, sizes, subject, predicate, end, ids)


@inlined
def append_fact(facts: I32, sizes: I64, subject: int, predicate: int, end: int, ids: tuple[int, int]) -> None:
    """Add a new fact for which there is room."""
    fact = sizes[SIZE_FACTS]
    facts[fact, SUBJECT], facts[fact, PREDICATE], facts[fact, END] = subject, predicate, end
    facts[fact, PREDICATE_ID], facts[fact, END_ID] = ids
    sizes[SIZE_FACTS] = fact + 1


@inlined
def place_term(scratch: ViewTerms, view: OpenView, id: int) -> int:
    """Number a term of the taxonomy in the view; it is added to the view if its publication lacks it."""
    if scratch.placed[id] != view.attempt:
        added = scratch.sizes[SIZE_ADDED]
        scratch.placed[id] = view.attempt
        scratch.place[id] = view.own + added
        scratch.added[added] = id
        scratch.sizes[SIZE_ADDED] = added + 1
    return int(scratch.place[id])


@inlined
def reach_terms(known: Known, scratch: ViewTerms, view: OpenView, id: int) -> None:
    """Mark the terms that a term's list names as reached."""
    if scratch.met[id] == view.attempt:
        return
    for at in range(known.offsets[LIST_REACHED, id], known.offsets[LIST_REACHED, id + 1]):
        other = known.lists[at]
        if scratch.met[other] != view.attempt:
            scratch.met[other] = view.attempt
            scratch.reached[scratch.sizes[SIZE_REACHED]] = other
            scratch.sizes[SIZE_REACHED] += 1
