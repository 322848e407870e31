"""Views with what a taxonomy adds: its triples, their closure, and marks, one view after the other.

Every rule is applied once, in an order in which no rule makes premises of an earlier one: rdfs11 and rdfs5 (whose
closures come with the taxonomy, free of cycles), rdfs7, rdfs9, and rdfs7 for what rdfs9 gave. Views for which that is
not enough come with their triples given (`PrecomputedViews`).

Only triples whose predicate the taxonomy knows may follow twice, so that the others are not looked up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.facts import (
    END,
    END_ID,
    LIST_ABOVE_CLASS,
    LIST_ABOVE_PROPERTY,
    LIST_MARKS,
    LIST_OWN,
    PREDICATE,
    PREDICATE_ID,
    SIZE_ADDED,
    SIZE_FACTS,
    SIZE_LOST,
    SIZE_NEEDED,
    SIZE_REACHED,
    SUBJECT,
    WORD_MEMBER,
    WORD_SUB_CLASS,
    WORD_TYPE,
    Known,
    OpenView,
    ViewTerms,
    add_fact,
    append_fact,
    has_room,
    place_term,
    reach_terms,
)
from triplecast.kernels.layout import I32, I64, U8

LARGEST_KEPT = 1 << 16
"""Slots of the table of facts beyond which the next view begins with a small one."""
FUNCTIONS = 3
"""The first marks are functions of types; the others are paths."""
FUNCTION_BITS = (1 << FUNCTIONS) - 1


class Plain(NamedTuple):
    """The plain views, as in `match.views.Views`, and what the taxonomy knows of their terms."""

    offsets: I64
    spans: I64
    triples: I32
    ids: I32
    """[L] the taxonomy's number of each term, -1 unknown."""
    numbered: U8
    """[L] 1 for ``rdf:_1``, ``rdf:_2``, …; empty if no subscription needs them."""


class PrecomputedViews(NamedTuple):
    """Views whose triples are made elsewhere. Nodes are terms of the taxonomy, or ``-1 - t`` for term t of the
    batch."""

    alone: U8
    """[V] 1 for such a view."""
    offsets: I64
    """[V + 1]"""
    nodes: I32
    """[·, 3]"""


class EntailedTriples(NamedTuple):
    """Entailed views."""

    offsets: I64
    spans: I64
    triples: I32
    source: I64
    """[·] for each term its row among those of the batch, or that number of rows more its number in the taxonomy."""
    lost: U8
    """[V] 1 for a view with more than `TRIPLES_LIMIT` triples; it is empty."""


@njit
def entail_all(plain: Plain, known: Known, given: PrecomputedViews, rdfs: bool, marks: int) -> EntailedTriples:
    """Entail the views of an entailment mode, in order; each triple once. Bit n of `marks`: with marks of kind n."""
    views, count = len(plain.offsets) - 1, known.offsets.shape[1] - 1
    scratch = ViewTerms(
        np.empty(count, np.int32),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.zeros(count, np.int64),
        np.empty(count, np.int32),
        np.empty(count, np.int32),
        np.zeros(5, np.int64),
    )
    sizes = scratch.sizes
    offsets, spans = np.zeros(views + 1, np.int64), np.zeros((views, 2), np.int64)
    lost = np.zeros(views, np.uint8)
    triples = np.empty((2 * len(plain.triples) + 64, 3), np.int32)
    source = np.empty(2 * len(plain.ids) + 64, np.int64)
    facts, table = np.empty((256, 5), np.int32), np.empty(512, np.int32)
    base, attempt = 0, 0
    for number in range(views):
        if len(table) > LARGEST_KEPT:
            facts, table = np.empty((256, 5), np.int32), np.empty(512, np.int32)
        attempt += 1
        view = OpenView(number, attempt, plain.spans[number, 0], plain.spans[number, 1])
        _entail(plain, known, given, (view, rdfs, marks), scratch, facts, table)
        while sizes[SIZE_NEEDED] and not sizes[SIZE_LOST]:
            facts = np.empty((2 * sizes[SIZE_NEEDED], 5), np.int32)
            size = len(table)
            while size < 2 * len(facts):
                size *= 2
            table = np.empty(size, np.int32)
            attempt += 1
            view = OpenView(number, attempt, plain.spans[number, 0], plain.spans[number, 1])
            _entail(plain, known, given, (view, rdfs, marks), scratch, facts, table)
        if sizes[SIZE_LOST]:
            lost[number] = 1
            sizes[:] = 0
        start, terms = offsets[number], view.own + sizes[SIZE_ADDED]
        spans[number, 0], spans[number, 1] = base, terms
        source = _with_room(source, base, terms)
        for term in range(view.own):
            source[base + term] = view.first + term
        for term in range(sizes[SIZE_ADDED]):
            source[base + view.own + term] = len(plain.ids) + scratch.added[term]
        if start + sizes[SIZE_FACTS] > len(triples):
            larger = np.empty((2 * (start + sizes[SIZE_FACTS]), 3), np.int32)
            larger[:start] = triples[:start]
            triples = larger
        for fact in range(sizes[SIZE_FACTS]):
            for column in range(3):
                triples[start + fact, column] = base + facts[fact, column]
        offsets[number + 1] = start + sizes[SIZE_FACTS]
        base += terms
    return EntailedTriples(offsets, spans, triples[: offsets[views]], source[:base], lost)


@njit
def _with_room(values: I64, filled: int, more: int) -> I64:
    if filled + more <= len(values):
        return values
    larger = np.empty(2 * (filled + more), np.int64)
    larger[:filled] = values[:filled]
    return larger


@borrowing
def _entail(
    plain: Plain,
    known: Known,
    given: PrecomputedViews,
    how: tuple[OpenView, bool, int],
    scratch: ViewTerms,
    facts: I32,
    table: I32,
) -> None:
    """Fill `facts` and `table` for one view; `SIZE_NEEDED` is set if they are too small."""
    view, rdfs, marks = how
    scratch.sizes[:] = 0
    table[:] = -1
    for term in range(view.own):
        id = plain.ids[view.first + term]
        if id >= 0:
            scratch.place[id] = term
            scratch.placed[id] = view.attempt
    if given.alone[view.number]:
        _copy_given(plain, given, view, scratch, facts, table)
        return
    _copy_graph(plain, known, view, scratch, facts, table)
    _add_own(known, view, scratch, facts, table, 0)
    if marks & FUNCTION_BITS:
        _mark_functions(known, view, marks, scratch, facts, table)
    if rdfs:
        _close(plain, known, view, scratch, facts, table)
    for kind in range(FUNCTIONS, len(known.marks)):
        if marks >> kind & 1:
            for at in range(scratch.sizes[SIZE_REACHED]):
                _mark(known, view, scratch, facts, table, kind, _Holder(scratch.reached[at], -1))


@borrowing
def _copy_given(
    plain: Plain, given: PrecomputedViews, view: OpenView, scratch: ViewTerms, facts: I32, table: I32
) -> None:
    nodes = given.nodes
    first, last = given.offsets[view.number], given.offsets[view.number + 1]
    room = has_room(facts, scratch.sizes, last - first)
    for row in range(first, last if room else first):
        subject = _place_given(scratch, view, nodes[row, 0])
        predicate = _place_given(scratch, view, nodes[row, 1])
        add_fact(facts, table, scratch.sizes, subject, predicate, _place_given(scratch, view, nodes[row, 2]), (-1, -1))


@inlined
def _place_given(scratch: ViewTerms, view: OpenView, node: int) -> int:
    """The number in the view of a node of `PrecomputedViews`."""
    return place_term(scratch, view, node) if node >= 0 else -1 - node - view.first


@borrowing
def _copy_graph(plain: Plain, known: Known, view: OpenView, scratch: ViewTerms, facts: I32, table: I32) -> None:
    """The view's own triples, and what they reach."""
    ids, triples = plain.ids, plain.triples
    first, last = plain.offsets[view.number], plain.offsets[view.number + 1]
    room = has_room(facts, scratch.sizes, last - first)
    for row in range(first, last if room else first):
        subject, predicate, end = triples[row, 0], triples[row, 1], triples[row, 2]
        pair = ids[predicate], ids[end]
        places = subject - view.first, predicate - view.first, end - view.first
        if pair[0] >= 0:
            add_fact(facts, table, scratch.sizes, places[0], places[1], places[2], pair)
        else:
            append_fact(facts, scratch.sizes, places[0], places[1], places[2], pair)
        if ids[subject] >= 0:
            reach_terms(known, scratch, view, ids[subject])
        if pair[0] >= 0:
            reach_terms(known, scratch, view, pair[0])
        if pair[1] >= 0:
            reach_terms(known, scratch, view, pair[1])


@borrowing
def _add_own(known: Known, view: OpenView, scratch: ViewTerms, facts: I32, table: I32, start: int) -> None:
    """The taxonomy's triples of the reached terms from number `start` on."""
    for at in range(start, scratch.sizes[SIZE_REACHED]):
        id = scratch.reached[at]
        first, last = known.offsets[LIST_OWN, id], known.offsets[LIST_OWN, id + 1]
        room = has_room(facts, scratch.sizes, last - first)
        for item in range(first, last if room else first):
            predicate, end = known.triples[known.lists[item], 0], known.triples[known.lists[item], 1]
            subject = place_term(scratch, view, id)
            places = place_term(scratch, view, predicate), place_term(scratch, view, end)
            add_fact(facts, table, scratch.sizes, subject, places[0], places[1], (predicate, end))


class _Holder(NamedTuple):
    """What a mark is put on: a class (or node of a path) and, where that is another, the place of the node."""

    type: int
    place: int


@borrowing
def _mark(known: Known, view: OpenView, scratch: ViewTerms, facts: I32, table: I32, kind: int, holder: _Holder) -> None:
    """Add marks of one kind to a node: a fact for each requested class of its type."""
    row = LIST_MARKS + kind
    first, last = known.offsets[row, holder.type], known.offsets[row, holder.type + 1]
    if first == last:
        return
    room = has_room(facts, scratch.sizes, last - first)
    for item in range(first, last if room else first):
        subject = holder.place if holder.place >= 0 else place_term(scratch, view, holder.type)
        predicate, end = place_term(scratch, view, known.marks[kind]), place_term(scratch, view, known.lists[item])
        add_fact(facts, table, scratch.sizes, subject, predicate, end, (-1, -1))


@borrowing
def _mark_functions(known: Known, view: OpenView, marks: int, scratch: ViewTerms, facts: I32, table: I32) -> None:
    """Functions: of every stated type of a node, and of every class as its own type."""
    stated = scratch.sizes[SIZE_FACTS]
    for fact in range(stated):
        type = facts[fact, END_ID]
        if facts[fact, PREDICATE_ID] == known.words[WORD_TYPE] and type >= 0:
            place = facts[fact, SUBJECT]
            own = scratch.typed[type] != view.attempt
            scratch.typed[type] = view.attempt
            for kind in range(FUNCTIONS):
                if marks >> kind & 1:
                    _mark(known, view, scratch, facts, table, kind, _Holder(type, place))
                    if own:
                        _mark(known, view, scratch, facts, table, kind, _Holder(type, -1))
    for at in range(scratch.sizes[SIZE_REACHED]):
        id = scratch.reached[at]
        if known.classes[id] and scratch.typed[id] != view.attempt:
            for kind in range(FUNCTIONS):
                if marks >> kind & 1:
                    _mark(known, view, scratch, facts, table, kind, _Holder(id, -1))


@borrowing
def _close(plain: Plain, known: Known, view: OpenView, scratch: ViewTerms, facts: I32, table: I32) -> None:
    """RDFS: ``rdfs:member``, rdfs11 and rdfs5, rdfs7, rdfs9, rdfs7."""
    sizes, words = scratch.sizes, known.words
    _add_members(plain, known, view, scratch, facts, table)
    for at in range(sizes[SIZE_REACHED]):
        id = scratch.reached[at]
        for kind in range(2):
            row, word = LIST_ABOVE_CLASS + kind, words[WORD_SUB_CLASS + kind]
            first, last = known.offsets[row, id], known.offsets[row, id + 1]
            room = has_room(facts, sizes, last - first)
            for item in range(first, last if room else first):
                end = known.lists[item]
                subject = place_term(scratch, view, id)
                places = place_term(scratch, view, word), place_term(scratch, view, end)
                add_fact(facts, table, sizes, subject, places[0], places[1], (word, end))
    _raise_predicates(known, view, scratch, facts, table, 0)
    before = sizes[SIZE_FACTS]
    for fact in range(before):
        type = facts[fact, END_ID]
        if facts[fact, PREDICATE_ID] == words[WORD_TYPE] and type >= 0:
            first, last = known.offsets[LIST_ABOVE_CLASS, type], known.offsets[LIST_ABOVE_CLASS, type + 1]
            room = has_room(facts, sizes, last - first)
            for item in range(first, last if room else first):
                end = place_term(scratch, view, known.lists[item])
                pair = words[WORD_TYPE], known.lists[item]
                add_fact(facts, table, sizes, facts[fact, SUBJECT], facts[fact, PREDICATE], end, pair)
    _raise_predicates(known, view, scratch, facts, table, before)


@borrowing
def _add_members(plain: Plain, known: Known, view: OpenView, scratch: ViewTerms, facts: I32, table: I32) -> None:
    """``rdfs:member`` of what has ``rdf:_1``, ``rdf:_2``, …, and what that reaches."""
    if not len(plain.numbered):
        return
    sizes, word = scratch.sizes, known.words[WORD_MEMBER]
    reached = sizes[SIZE_REACHED]
    for row in range(plain.offsets[view.number], plain.offsets[view.number + 1]):
        if plain.numbered[plain.triples[row, 1]] and has_room(facts, sizes, 1):
            subject, end = plain.triples[row, 0] - view.first, plain.triples[row, 2] - view.first
            pair = word, plain.ids[plain.triples[row, 2]]
            add_fact(facts, table, sizes, subject, place_term(scratch, view, word), end, pair)
            reach_terms(known, scratch, view, word)
    _add_own(known, view, scratch, facts, table, reached)


@borrowing
def _raise_predicates(known: Known, view: OpenView, scratch: ViewTerms, facts: I32, table: I32, start: int) -> None:
    """rdfs7, of the facts from number `start` on."""
    sizes = scratch.sizes
    for fact in range(start, sizes[SIZE_FACTS]):
        id = facts[fact, PREDICATE_ID]
        if id < 0:
            continue
        first, last = known.offsets[LIST_ABOVE_PROPERTY, id], known.offsets[LIST_ABOVE_PROPERTY, id + 1]
        if first == last:
            continue
        room = has_room(facts, sizes, last - first)
        for item in range(first, last if room else first):
            predicate = place_term(scratch, view, known.lists[item])
            pair = known.lists[item], facts[fact, END_ID]
            add_fact(facts, table, sizes, facts[fact, SUBJECT], predicate, facts[fact, END], pair)


def warm_up() -> None:
    none = np.zeros((0, 3), np.int32)
    plain = Plain(np.zeros(1, np.int64), np.zeros((0, 2), np.int64), none, np.zeros(0, np.int32), np.zeros(0, np.uint8))
    known = Known(
        np.zeros(4, np.int64),
        np.zeros(0, np.int32),
        np.zeros((4, 1), np.int64),
        np.zeros((0, 2), np.int32),
        np.zeros(0, np.uint8),
        np.zeros(0, np.int32),
    )
    entail_all(plain, known, PrecomputedViews(np.zeros(0, np.uint8), np.zeros(1, np.int64), none), False, 0)
