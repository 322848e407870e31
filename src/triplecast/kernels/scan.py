"""Scan: the canonical N-Triples text of a batch of publications → local term numbers, hashes, value classes and order
keys.

One pass over the bytes, eight at a time. Per publication, terms are numbered from 0 in the order in which they first
appear (subject, predicate, object, graph); equal terms share a number, decided by hash *and* bytes. Lines of one
subject stand together, so a subject or predicate is first compared with the line above.

The hash is known to everybody, so a publication can be made whose terms all fall on one place of the table of terms,
which would take time in the square of its size. A batch that walks over more occupied places than `WALKED_PER_LINE`
allows is scanned again under a `Key` that the operating system draws for that one scan. The key decides where a term
stands in the table and nothing else: numbers and hashes are the same under any key.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels import borrowing, hashing, inlined, njit
from triplecast.kernels.hashing import hash_slice, hash_under
from triplecast.kernels.literals import PENDING, classify_literal
from triplecast.kernels.terminals import (
    DOT,
    NEWLINE,
    OPEN,
    QUOTE,
    SPACE,
    UNDERSCORE,
    end_of_blank,
    end_of_iri,
    end_of_literal,
)
from triplecast.kernels.words import PADDING, Text, count_equal, keep_low, load_word, pad, same_bytes
from triplecast.terms.values import ValueClass, order_key

LARGEST_BATCH = 2**31 - 1
"""Bytes of text in one batch."""
WALKED_PER_LINE = 16
WALKED_BESIDES = 1024
"""Occupied places that a batch may walk over. The table is at most half full, so honest text walks over two a line."""


class ScannedBatch(NamedTuple):
    """P publications with T triples and L local terms; what every index segment matches against."""

    text: Text
    """uint8[B]: the publications one after the other; `PADDING` zero bytes follow in memory."""
    triple_offsets: NDArray[np.int64]
    """int64[P + 1]: rows of `triples` and `graphs`."""
    triples: NDArray[np.int32]
    """int32[T, 3]: term numbers local to the publication."""
    graphs: NDArray[np.int32]
    """int32[T]: local term number of the graph's name, -1 for the default graph."""
    term_offsets: NDArray[np.int64]
    """int64[P + 1]: rows of the arrays below; local number n of publication p is row ``term_offsets[p] + n``."""
    term_start: NDArray[np.int64]
    term_length: NDArray[np.int32]
    """The term's canonical N-Triples bytes: ``text[term_start:term_start + term_length]``."""
    term_hash: NDArray[np.uint64]
    """`triplecast.kernels.hashing.hash_terms` of those bytes."""
    term_class: NDArray[np.uint8]
    """`triplecast.terms.values.ValueClass`; this and the two below as `order_key` returns them."""
    term_number: NDArray[np.float64]
    term_tie: NDArray[np.int8]

    def term(self, publication: int, number: int) -> bytes:
        row = self.term_offsets[publication] + number
        start = self.term_start[row]
        return self.text[start : start + self.term_length[row]].tobytes()


def scan(texts: Sequence[bytes], dataset: Sequence[bool] | None = None) -> ScannedBatch:
    """Scan canonical N-Triples texts (`Draft.quads`), N-Quads where `dataset` says so.

    Raises ValueError naming publication and byte for text that is not canonical; that never comes from the journal.
    """
    buffer, starts = lay_out(texts)
    quads = np.zeros(len(texts), np.bool_) if dataset is None else np.array(dataset, np.bool_).reshape(len(texts))
    batch, fault, _ = scan_text(buffer, starts, quads, hashing.HASH_MASK, OPEN_KEY)
    if fault == CROWDED:
        batch, fault, _ = scan_text(buffer, starts, quads, hashing.HASH_MASK, draw_key())
    if fault >= 0:
        raise ValueError(_describe(texts, starts, fault))
    _finish_pending(batch)
    return batch


def lay_out(texts: Sequence[bytes]) -> tuple[Text, NDArray[np.int64]]:
    """The padded text of a batch, and where each of its texts begins. Raises ValueError beyond `LARGEST_BATCH`."""
    starts = np.array([0, *accumulate(map(len, texts))], np.int64)
    if starts[-1] > LARGEST_BATCH:
        raise ValueError(f"a batch of {starts[-1]} bytes; split it: at most {LARGEST_BATCH} are scanned at a time")
    return pad([*texts]), starts


class Key(NamedTuple):
    """Under which hash the tables of terms are made."""

    seed: np.uint64
    step: np.uint64
    secret: bool
    """False: under the hash of the terms themselves, and the scan ends as `CROWDED` when that goes badly."""


OPEN_KEY = Key(np.uint64(0), np.uint64(0), secret=False)
CROWDED = 2**62
"""As the offset of a fault: too many places were walked over."""


def draw_key() -> Key:
    seed, step = np.frombuffer(os.urandom(16), np.uint64)
    return Key(seed, step, secret=True)


def _describe(texts: Sequence[bytes], starts: NDArray[np.int64], fault: int) -> str:
    publication = min(int(np.searchsorted(starts, fault, side="right")) - 1, len(texts) - 1)
    while fault == starts[publication] and not texts[publication]:
        publication -= 1
    place = fault - int(starts[publication])
    line = texts[publication].count(b"\n", 0, place) + 1
    seen = texts[publication][max(0, place - 30) : place + 30]
    return f"publication {publication}, byte {place}, line {line}: no canonical N-Triples line near {seen!r}"


def _finish_pending(batch: ScannedBatch) -> None:
    for row in np.flatnonzero(batch.term_class == PENDING):
        start = batch.term_start[row]
        term = batch.text[start : start + batch.term_length[row]].tobytes().decode()
        batch.term_class[row], batch.term_number[row], batch.term_tie[row] = order_key(term)


_IRI = np.uint8(ValueClass.IRI)
_BLANK = np.uint8(ValueClass.BLANK)
_TERMS, _NAMES, _IRIS = range(3)
"""The terms that a place allows: any; IRIs and blank nodes; IRIs."""
_NEWLINES = np.uint64(NEWLINE * 0x0101010101010101)


_TERM = np.dtype(
    [
        ("start", np.int64),
        ("hash", np.uint64),
        ("number", np.float64),
        ("length", np.int32),
        ("kind", np.uint8),
        ("tie", np.int8),
    ],
    align=True,
)
"""A term while its publication is scanned, in half a cache line."""


class _Frame(NamedTuple):
    """What is fixed while one publication is scanned. Scalars only: arrays in a tuple cost reference counts per
    call.
    """

    key: Key
    walkable: int
    """Occupied places that the batch may walk over."""
    mask: np.uint64
    """The bits of a hash that count."""
    base: int
    """The publication's first row of terms."""
    start: int
    stop: int
    """The publication's text."""
    first: int
    last: int
    """Its rows of triples."""
    quads: bool
    """Its lines may name a graph."""


@njit
def scan_text(
    text: Text, starts: NDArray[np.int64], quads: NDArray[np.bool_], mask: np.uint64, key: Key
) -> tuple[ScannedBatch, int, int]:
    """The batch and -1, or rubbish and the offset of the first fault in the padded `text`, or rubbish and `CROWDED`;
    third, how many occupied places were walked over."""
    publications = len(starts) - 1
    offsets, width = _count_lines(text, starts)
    count = offsets[publications]
    rows = np.empty(count * (4 if np.any(quads) else 3), _TERM)
    slots = np.full(width + 1, -1, np.int32)
    slots[width] = 0
    walkable = 2**31 - 1 if key.secret else min(WALKED_PER_LINE * count + WALKED_BESIDES, 2**30)
    triples, graphs = np.empty((count, 3), np.int32), np.empty(count, np.int32)
    bases = np.zeros(publications + 1, np.int64)
    fault = -1
    for p in range(publications):
        frame = _Frame(key, walkable, mask, bases[p], starts[p], starts[p + 1], offsets[p], offsets[p + 1], quads[p])
        bases[p + 1], fault = _scan_publication(text, slots, rows, triples, graphs, frame)
        if fault >= 0:
            break
    terms = bases[publications]
    batch = ScannedBatch(
        text[: len(text) - PADDING],
        offsets,
        triples,
        graphs,
        bases,
        np.empty(terms, np.int64),
        np.empty(terms, np.int32),
        np.empty(terms, np.uint64),
        np.empty(terms, np.uint8),
        np.empty(terms, np.float64),
        np.empty(terms, np.int8),
    )
    _split_columns(rows, batch)
    return batch, fault, slots[width]


@njit
def _count_lines(text: Text, starts: NDArray[np.int64]) -> tuple[NDArray[np.int64], int]:
    """Offsets of each publication's lines, and a power of two that is at least twice the terms of any publication."""
    offsets = np.zeros(len(starts), np.int64)
    longest = 0
    for publication in range(len(starts) - 1):
        lines = 0
        here, stop = starts[publication], starts[publication + 1]
        while here < stop:
            lines += count_equal(keep_low(load_word(text, here), min(stop - here, 8)), _NEWLINES)
            here += 8
        offsets[publication + 1] = offsets[publication] + lines
        longest = max(longest, lines)
    width = 16
    while width < 8 * longest:
        width *= 2
    return offsets, width


@njit
def _split_columns(rows: NDArray[np.void], batch: ScannedBatch) -> None:
    start, length, hashes = batch.term_start, batch.term_length, batch.term_hash
    kinds, numbers, ties = batch.term_class, batch.term_number, batch.term_tie
    for i in range(len(start)):
        row = rows[i]
        start[i] = row.start
        length[i] = row.length
        hashes[i] = row.hash
        kinds[i] = row.kind
        numbers[i] = row.number
        ties[i] = row.tie


@njit
def _scan_publication(
    text: Text,
    slots: NDArray[np.int32],
    rows: NDArray[np.void],
    triples: NDArray[np.int32],
    graphs: NDArray[np.int32],
    frame: _Frame,
) -> tuple[int, int]:
    """Fill the rows of one publication; (one past its last row of terms, offset of its first fault or -1).

    `slots` is an open-addressing table of term rows; rows of earlier publications, and -1, count as empty. Its last
    cell counts the occupied places walked over; from `walkable` on, the rows are rubbish and the result is `CROWDED`.
    """
    base = frame.base
    here = frame.start
    terms = base
    subject, predicate, graph = -1, -1, -1
    for triple in range(frame.first, frame.last):
        subject, terms, here = _scan_term(text, slots, rows, frame, here, terms, subject, _NAMES)
        if here < 0:
            return base, ~here
        predicate, terms, here = _scan_term(text, slots, rows, frame, here, terms, predicate, _IRIS)
        if here < 0:
            return base, ~here
        value, terms, here = _scan_term(text, slots, rows, frame, here, terms, -1, _TERMS)
        if here < 0:
            return base, ~here
        graphs[triple] = -1
        if frame.quads and text[here] != DOT:
            graph, terms, here = _scan_term(text, slots, rows, frame, here, terms, graph, _NAMES)
            if here < 0:
                return base, ~here
            graphs[triple] = graph - base
        if text[here] != DOT or text[here + 1] != NEWLINE:
            return base, here
        here += 2
        triples[triple, 0] = subject - base
        triples[triple, 1] = predicate - base
        triples[triple, 2] = value - base
    if slots[len(slots) - 1] > frame.walkable:
        return base, CROWDED
    return terms, (-1 if here == frame.stop else here)


@inlined
def _scan_term(
    text: Text,
    slots: NDArray[np.int32],
    rows: NDArray[np.void],
    frame: _Frame,
    start: int,
    terms: int,
    above: int,
    allowed: int,
) -> tuple[int, int, int]:
    """(row, rows so far, where the next term begins) of the term at `start` and the space behind it.

    `above` is the row of the term in the same place on the line before, or -1. A fault gives its offset, inverted, as
    place.
    """
    if above >= 0:
        end = start + rows[above].length
        if same_bytes(text, start, rows[above].start, rows[above].length) and text[end] == SPACE:
            return above, terms, end + 1
    quote, escaped = start, False
    if text[start] == OPEN:
        end = end_of_iri(text, start)
    elif text[start] == UNDERSCORE and allowed != _IRIS:
        end = end_of_blank(text, start)
    elif text[start] == QUOTE and allowed == _TERMS:
        end, quote, escaped = end_of_literal(text, start)
    else:
        return -1, terms, ~start
    if end < 0:
        return -1, terms, end
    if text[end] != SPACE:
        return -1, terms, ~end
    row = _find_or_add(text, slots, rows, frame, start, end - start, terms)
    if row == terms:
        terms += 1
        if text[start] == QUOTE:
            kind, number, tie = classify_literal(text, start, quote, end, escaped)
        else:
            kind, number, tie = (_IRI if text[start] == OPEN else _BLANK), 0.0, 0
        rows[row].kind = kind
        rows[row].number = number
        rows[row].tie = tie
    return row, terms, end + 1


@inlined
def _find_or_add(
    text: Text, slots: NDArray[np.int32], rows: NDArray[np.void], frame: _Frame, start: int, length: int, terms: int
) -> int:
    """The row of a term; row `terms`, filled but for the value, when it is new."""
    hashed = hash_slice(text, start, length) & frame.mask
    last = len(slots) - 2
    placed = _hash_secretly(text, start, length, frame.key) if frame.key.secret else hashed
    slot = int(np.int64(placed & np.uint64(last)))
    while slots[slot] >= frame.base:
        row = int(slots[slot])
        if rows[row].hash == hashed and rows[row].length == length and same_bytes(text, start, rows[row].start, length):
            return row
        slot = (slot + 1) & last
        slots[last + 1] += 1
        if slots[last + 1] > frame.walkable:
            break
    slots[slot] = terms
    rows[terms].start = start
    rows[terms].length = length
    rows[terms].hash = hashed
    return terms


@borrowing
def _hash_secretly(text: Text, start: int, length: int, key: Key) -> np.uint64:
    return hash_under(text, start, length, key.seed, key.step)


def warm_up() -> None:
    scan([b'<x:s> <x:p> "1" .\n'], [True])
    scan_text(pad([]), np.zeros(1, np.int64), np.zeros(0, np.bool_), hashing.HASH_MASK, draw_key())
