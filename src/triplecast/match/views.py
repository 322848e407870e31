"""Publications as the kernels see them, against one segment."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from triplecast.index import Segment
from triplecast.kernels.layout import (
    EXTRA_LANGUAGE,
    EXTRA_RANK,
    F64,
    I32,
    I64,
    U8,
    VALUE_CLASS,
    VALUE_EXACT,
    VALUE_NUMBER,
    Encoded,
)
from triplecast.kernels.pairing import SegmentKeys, pair_triples
from triplecast.kernels.resolve import Terms, current_hash_mask, find_languages, rank_strings, resolve
from triplecast.kernels.scan import ScannedBatch, scan
from triplecast.kernels.wordbank import WordBank, cut_texts, mark_texts, no_words
from triplecast.model.publication import Publication

WHOLE, DECIDED_ONLY, VERIFIED_ONLY = 0, 1, 2
"""Modes of a view: a dataset publication has two, its default graph for what the index decides and all its graphs for
the rest."""


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


def scan_views(publications: Sequence[Publication], first: int = 0) -> Views:
    """Scan publications, of which the first is number `first` of its batch."""
    dataset = [publication.dataset for publication in publications]
    scanned = scan([publication.quads for publication in publications], dataset)
    starts = np.repeat(scanned.term_offsets[:-1], np.diff(scanned.triple_offsets))
    triples = (scanned.triples + starts[:, None]).astype(np.int32)
    spans = np.stack([scanned.term_offsets[:-1], np.diff(scanned.term_offsets)], axis=1)
    terms = Terms(scanned.text, scanned.term_start, scanned.term_length, scanned.term_hash, scanned.term_class)
    count = len(spans)
    views = Views(
        np.arange(count, dtype=np.int32),
        np.zeros(count, np.uint8),
        scanned.triple_offsets,
        spans,
        triples,
        terms,
        _make_values(scanned),
    )
    if any(dataset):
        views = _split_datasets(views, scanned, dataset)
    return views._replace(publication=views.publication + np.int32(first))


def _split_datasets(views: Views, scanned: ScannedBatch, dataset: Sequence[bool]) -> Views:
    """A dataset publication's default graph and its whole become views of their own."""
    publication, mode, rows = [], [], []
    for number, split in enumerate(dataset):
        whole = np.arange(scanned.triple_offsets[number], scanned.triple_offsets[number + 1])
        parts = (
            [(DECIDED_ONLY, whole[scanned.graphs[whole] < 0]), (VERIFIED_ONLY, whole)] if split else [(WHOLE, whole)]
        )
        publication += [number] * len(parts)
        mode += [part for part, _ in parts]
        rows += [part for _, part in parts]
    sizes = np.array([len(part) for part in rows], np.int64)
    return views._replace(
        publication=np.array(publication, np.int32),
        mode=np.array(mode, np.uint8),
        offsets=np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)]),
        spans=views.spans[publication],
        triples=views.triples[np.concatenate(rows)],
    )


def _make_values(scanned: ScannedBatch) -> F64:
    values = np.empty((len(scanned.term_class), 3), np.float64)
    values[:, VALUE_CLASS] = scanned.term_class
    values[:, VALUE_NUMBER] = scanned.term_number
    values[:, VALUE_EXACT] = scanned.term_number
    inexact = np.flatnonzero(scanned.term_tie)
    if len(inexact):
        side = np.where(scanned.term_tie[inexact] > 0, np.inf, -np.inf)
        values[inexact, VALUE_EXACT] = np.nextafter(scanned.term_number[inexact], side)
    return values


_NO_EXTRAS = np.zeros((0, 2), np.float64)


def mark_views_texts(segment: Segment, views: Views, identity: I32) -> U8:
    """[L] 1 for the literals whose words a segment searches for; `identity` as of `find_identity`."""
    wanted = np.zeros(len(views.terms.start), np.uint8)
    mark_texts(views.triples, identity, segment.tables.index.word_predicates, views.terms.value_class, wanted)
    return wanted


def cut_views_texts(segment: Segment, views: Views, identity: I32) -> WordBank:
    """The words of those literals."""
    return cut_texts(views.terms, mark_views_texts(segment, views, identity)) if segment.uses_words else no_words()


def find_identity(segment: Segment, terms: Terms) -> I32:
    """[L] the id that the segment's dictionary gives to each term, -1 unknown."""
    return resolve(segment.tables.dictionary, terms)


def encode(segment: Segment, views: Views) -> Encoded:
    """A batch in the numbers of one segment."""
    identity = find_identity(segment, views.terms)
    bank = cut_views_texts(segment, views, identity)
    return encode_found(segment, views, identity, bank, np.zeros(0, np.int64))


def encode_found(segment: Segment, views: Views, identity: I32, bank: WordBank, source: I64) -> Encoded:
    """A batch in the numbers of one segment, of whose terms these are known; the bank has the words of all literals
    that the segment searches for, by `source` as `pair_triples` takes it."""
    tables = segment.tables
    asked = SegmentKeys(tables.dictionary, tables.index.facts, segment.places, tables.index.word_predicates)
    mask = current_hash_mask()
    triples, offsets = pair_triples(asked, bank, source, views.triples, views.offsets, identity, mask)
    extras = _NO_EXTRAS
    if segment.uses_languages or len(tables.dictionary.bounds):
        extras = np.empty((len(views.terms.start), 2), np.float64)
        extras[:, EXTRA_RANK] = rank_strings(tables.dictionary, views.terms)
        extras[:, EXTRA_LANGUAGE] = find_languages(tables.dictionary, views.terms, mask)
    return Encoded(offsets, views.spans, views.mode, triples, views.values, identity, extras)
