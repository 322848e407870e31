"""A scanned batch as views: one of each publication, with batch-global terms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triplecast.kernels import hashing, njit
from triplecast.kernels.layout import F64, I32, I64, U8, VALUE_CLASS, VALUE_EXACT, VALUE_NUMBER
from triplecast.kernels.literals import PENDING
from triplecast.kernels.resolve import Terms, take_terms
from triplecast.kernels.scan import OPEN_KEY, Key, ScannedBatch, lay_out, scan, scan_text
from triplecast.kernels.words import Text


class Views(NamedTuple):
    """A scanned batch cut into views."""

    publication: I32
    """[V] index into the batch."""
    mode: U8
    offsets: I64
    """[V + 1] into `triples`."""
    spans: I64
    """[V, 2] first term, number of terms."""
    triples: I32
    """[T, 3] batch-global terms."""
    terms: Terms
    values: F64
    """[L, 3] as `Encoded.values`."""


def view_graphs(texts: Sequence[bytes]) -> Views:
    """Scan canonical N-Triples texts to a view of each. Raises ValueError as `scan` does."""
    buffer, starts = lay_out(texts)
    views, sound = _scan_graphs(buffer, starts, hashing.HASH_MASK, OPEN_KEY)
    return views if sound else make_views(scan(texts))


@njit
def _scan_graphs(text: Text, starts: I64, mask: np.uint64, key: Key) -> tuple[Views, bool]:
    """The views, and whether they are sound: no fault, and no term is `PENDING`."""
    scanned, fault, _ = scan_text(text, starts, np.zeros(len(starts) - 1, np.bool_), mask, key)
    sound = fault < 0
    if sound:
        for term in range(len(scanned.term_class)):
            sound = sound and scanned.term_class[term] != PENDING
    return make_views(scanned), sound


@njit
def make_views(scanned: ScannedBatch) -> Views:
    """The views of a batch, one of each publication."""
    count, bases = len(scanned.term_offsets) - 1, scanned.term_offsets
    spans, triples = np.empty((count, 2), np.int64), np.empty((len(scanned.triples), 3), np.int32)
    publication = np.empty(count, np.int32)
    for view in range(count):
        publication[view] = view
        spans[view, 0], spans[view, 1] = bases[view], bases[view + 1] - bases[view]
        for row in range(scanned.triple_offsets[view], scanned.triple_offsets[view + 1]):
            for place in range(3):
                triples[row, place] = scanned.triples[row, place] + bases[view]
    values = np.empty((len(scanned.term_class), 3), np.float64)
    for term in range(len(values)):
        number, tie = scanned.term_number[term], scanned.term_tie[term]
        values[term, VALUE_CLASS], values[term, VALUE_NUMBER] = scanned.term_class[term], number
        values[term, VALUE_EXACT] = number if tie == 0 else np.nextafter(number, np.inf if tie > 0 else -np.inf)
    terms = Terms(scanned.text, scanned.term_start, scanned.term_length, scanned.term_hash, scanned.term_class)
    return Views(publication, np.zeros(count, np.uint8), scanned.triple_offsets, spans, triples, terms, values)


@njit
def take_views(views: Views, rows: I64) -> Views:
    """Some of the views, ascending, over the same text; those of one publication share its terms."""
    count, triple_count, term_count = len(rows), 0, 0
    for row in range(count):
        view = rows[row]
        triple_count += views.offsets[view + 1] - views.offsets[view]
        if row == 0 or views.publication[view] != views.publication[rows[row - 1]]:
            term_count += views.spans[view, 1]
    publication, mode = np.empty(count, np.int32), np.empty(count, np.uint8)
    offsets, spans = np.zeros(count + 1, np.int64), np.empty((count, 2), np.int64)
    triples, kept = np.empty((triple_count, 3), np.int32), np.empty(term_count, np.int64)
    filled, first = 0, 0
    for row in range(count):
        view = rows[row]
        publication[row], mode[row] = views.publication[view], views.mode[view]
        base, size = views.spans[view, 0], views.spans[view, 1]
        if row > 0 and publication[row] == publication[row - 1]:
            first -= size
        spans[row, 0], spans[row, 1] = first, size
        for term in range(size):
            kept[first + term] = base + term
        for triple in range(views.offsets[view], views.offsets[view + 1]):
            for place in range(3):
                triples[filled, place] = views.triples[triple, place] - base + first
            filled += 1
        first += size
        offsets[row + 1] = filled
    terms, values = take_terms(views.terms, views.values, kept)
    return Views(publication, mode, offsets, spans, triples, terms, values)


def warm_up() -> None:
    take_views(view_graphs([]), np.zeros(0, np.int64))
    view_graphs([b'<x:s> <x:p> "1" .\n'])
    make_views(scan([b'<x:s> <x:p> "1" .\n']))
