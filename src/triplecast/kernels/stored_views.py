"""Subjects of the store as views, before and after events: without a text of them, since the store has their terms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, hashing, inlined, njit
from triplecast.kernels.hashing import hash_slice
from triplecast.kernels.layout import I32, I64, VALUE_CLASS, VALUE_EXACT, VALUE_NUMBER
from triplecast.kernels.literals import PENDING, classify_literal
from triplecast.kernels.livetriples import LiveTriples, empty_live, live_with_room
from triplecast.kernels.resolve import Terms
from triplecast.kernels.termbank import TermBank, empty_bank, number_lines
from triplecast.kernels.terminals import OPEN, QUOTE, end_of_literal
from triplecast.kernels.timeline import Replacements, Timeline, replace_documents, rows_after
from triplecast.kernels.triples import SortedTriples, sort_triples
from triplecast.kernels.views import Views
from triplecast.terms.values import ValueClass, order_key

_IRI, _BLANK = np.uint8(ValueClass.IRI), np.uint8(ValueClass.BLANK)
_STEP = np.uint64(0x9E3779B97F4A7C15)


class StoredRows(NamedTuple):
    """Triples of the store, of one view after the other."""

    publication: I32
    """[V] twice the number of an event, plus 1 after it; there is no view without triples."""
    offsets: I64
    """[V + 1]"""
    triples: I32
    """[T, 3]"""


class _Numbered(NamedTuple):
    """Rows in terms that each view numbers for itself."""

    ids: I32
    """[L] of each term, in the bank."""
    first: I64
    """[L] the first term with the same id."""
    spans: I64
    """[V, 2] first term, number of terms."""
    triples: I32


def view_subjects(
    stored: SortedTriples, live: LiveTriples, timeline: Timeline, bank: TermBank, keys: I64, most: int
) -> Views | None:
    """All triples of subjects as before an event and after it; `keys` are ascending packed events and subjects.

    `Views.publication` is twice the number of the event, plus 1 after it, and has gaps where there is no triple. None
    where there are more than `most` triples and more than one event.
    """
    rows = gather_rows(stored, live, timeline, keys, most)
    if len(rows.triples) > most and keys[0] >> 32 != keys[-1] >> 32:
        return None
    views = view_rows(bank, rows, hashing.HASH_MASK)
    for term in np.flatnonzero(views.terms.value_class == PENDING).tolist():
        start = views.terms.start[term]
        text = views.terms.text[start : start + views.terms.length[term]].tobytes().decode()
        kind, number, tie = order_key(text)
        _write_value(views, term, np.uint8(kind), float(number), int(tie))
    return views


@njit
def gather_rows(stored: SortedTriples, live: LiveTriples, timeline: Timeline, keys: I64, most: int) -> StoredRows:
    """The rows of all views, or the first that are more than `most` of several events."""
    publication, offsets = np.empty(2 * len(keys), np.int32), np.zeros(2 * len(keys) + 1, np.int64)
    triples, filled, views, start = np.empty((16 * len(keys) + 16, 3), np.int32), 0, 0, 0
    while start < len(keys):
        event, stop = keys[start] >> 32, start
        while stop < len(keys) and keys[stop] >> 32 == event:
            stop += 1
        for side in range(2):
            begun = filled
            for place in range(start, stop):
                found = rows_after(stored, live, timeline, keys[place] & 0xFFFFFFFF, event - 1 + side)
                if filled + len(found) > len(triples):
                    longer = np.empty((2 * (filled + len(found)), 3), np.int32)
                    longer[:filled] = triples[:filled]
                    triples = longer
                triples[filled : filled + len(found)] = found
                filled += len(found)
            if filled > begun:
                publication[views] = 2 * event + side
                views += 1
                offsets[views] = filled
        start = stop
        if filled > most:
            break
    return StoredRows(publication[:views], offsets[: views + 1], triples[:filled])


@njit
def _number(rows: StoredRows) -> _Numbered:
    count = 0
    slots = 16
    while slots < 6 * len(rows.triples):
        slots *= 2
    table = np.full(slots, np.int32(-1))  # the last term with an id, or one of an earlier view with another
    ids, first = np.empty(3 * len(rows.triples), np.int32), np.empty(3 * len(rows.triples), np.int64)
    spans, triples = np.empty((len(rows.publication), 2), np.int64), np.empty_like(rows.triples)
    for view in range(len(rows.publication)):
        base = count
        for row in range(rows.offsets[view], rows.offsets[view + 1]):
            for place in range(3):
                id = rows.triples[row, place]
                slot = _slot(table, ids, id)
                term = table[slot]
                if term < base:
                    ids[count] = id
                    first[count] = count if term < 0 else first[term]
                    table[slot] = term = np.int32(count)
                    count += 1
                triples[row, place] = term
        spans[view, 0], spans[view, 1] = base, count - base
    return _Numbered(ids[:count], first[:count], spans, triples)


@inlined
def _slot(table: I32, ids: I32, id: int) -> int:
    slot = np.int64(((np.uint64(id) * _STEP) >> np.uint64(32)) & np.uint64(len(table) - 1))
    while table[slot] >= 0 and ids[table[slot]] != id:
        slot = (slot + 1) & (len(table) - 1)
    return int(slot)


@njit
def view_rows(bank: TermBank, rows: StoredRows, mask: np.uint64) -> Views:
    numbered = _number(rows)
    count = len(numbered.ids)
    terms = Terms(
        bank.text,
        np.empty(count, np.int64),
        np.empty(count, np.int32),
        np.empty(count, np.uint64),
        np.empty(count, np.uint8),
    )
    modes = np.zeros(len(rows.publication), np.uint8)
    values = np.empty((count, 3), np.float64)
    views = Views(rows.publication, modes, rows.offsets, numbered.spans, numbered.triples, terms, values)
    for term in range(count):
        first = numbered.first[term]
        if first == term:
            _read_term(bank, numbered.ids[term], mask, views, term)
            continue
        terms.start[term], terms.length[term] = terms.start[first], terms.length[first]
        terms.hashes[term], terms.value_class[term] = terms.hashes[first], terms.value_class[first]
        for column in range(3):
            values[term, column] = values[first, column]
    return views


@borrowing
def _read_term(bank: TermBank, id: int, mask: np.uint64, views: Views, term: int) -> None:
    text, start = bank.text, bank.offsets[id]
    stop = bank.offsets[id + 1]
    views.terms.start[term], views.terms.length[term] = start, stop - start
    views.terms.hashes[term] = hash_slice(text, start, stop - start) & mask
    if text[start] == QUOTE:
        _, quote, escaped = end_of_literal(text, start)
        kind, number, tie = classify_literal(text, start, quote, stop, escaped)
        _write_value(views, term, kind, number, tie)
    else:
        _write_value(views, term, _IRI if text[start] == OPEN else _BLANK, 0.0, 0)


@borrowing
def _write_value(views: Views, term: int, kind: np.uint8, number: float, tie: int) -> None:
    views.terms.value_class[term] = kind
    views.values[term, VALUE_CLASS], views.values[term, VALUE_NUMBER] = kind, number
    exact = number
    if tie != 0:
        exact = np.nextafter(number, np.inf if tie > 0 else -np.inf)
    views.values[term, VALUE_EXACT] = exact


def warm_up() -> None:
    bank, rows, _ = number_lines(empty_bank((1, 2)), b'<x:s> <x:p> "1" .\n')
    stored, _ = sort_triples(rows, bank.size)
    live = live_with_room(empty_live(1), 100)
    offsets = np.array([0, 1], np.int64)
    timeline = replace_documents(stored, live, Replacements(rows, offsets, rows, offsets))
    view_subjects(stored, live, timeline, bank, np.array([0], np.int64), 1)
