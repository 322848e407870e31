"""Publications as the kernels see them, against one segment."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from triplecast.index import Segment
from triplecast.kernels.layout import EXTRA_LANGUAGE, EXTRA_RANK, I32, I64, U8, Encoded
from triplecast.kernels.pairing import SegmentKeys, pair_triples
from triplecast.kernels.resolve import Terms, current_hash_mask, find_languages, rank_strings, resolve
from triplecast.kernels.scan import ScannedBatch, scan
from triplecast.kernels.views import Views, make_views, take_views, view_graphs
from triplecast.kernels.wordbank import WordBank, mark_texts
from triplecast.model.publication import Publication

WHOLE, DECIDED_ONLY, VERIFIED_ONLY = 0, 1, 2
"""Modes of a view: a dataset publication has two, its default graph for what the index decides and all its graphs for
the rest."""


def scan_views(publications: Sequence[Publication], first: int = 0) -> Views:
    """Scan publications, of which the first is number `first` of its batch."""
    texts, dataset = [each.quads for each in publications], [each.dataset for each in publications]
    if any(dataset):
        scanned = scan(texts, dataset)
        views = _split_datasets(make_views(scanned), scanned, dataset)
    else:
        views = view_graphs(texts)
    return renumber(views, -first)


def renumber(views: Views, first: int) -> Views:
    """The same, with publication number `first` as the first."""
    return views._replace(publication=views.publication - np.int32(first)) if first else views


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


def views_since(views: Views, first: int) -> Views:
    """The views of the publications from this one on, which are numbered from 0 then."""
    start = int(np.searchsorted(views.publication, first))
    if not first and not start:
        return views
    publication, spans = views.publication[start:] - np.int32(first), np.ascontiguousarray(views.spans[start:])
    return views._replace(publication=publication, mode=views.mode[start:], offsets=views.offsets[start:], spans=spans)


def views_between(views: Views, first: int, stop: int) -> Views:
    """The views of the publications from `first` on and before `stop`, and their terms alone."""
    rows = np.flatnonzero((views.publication >= first) & (views.publication < stop))
    return views if len(rows) == len(views.publication) else take_views(views, rows)


def views_upto(views: Views, stop: int) -> Views:
    """The views of the publications before this one."""
    end = int(np.searchsorted(views.publication, stop))
    return views._replace(
        publication=views.publication[:end],
        mode=views.mode[:end],
        offsets=views.offsets[: end + 1],
        spans=views.spans[:end],
    )


_NO_EXTRAS = np.zeros((0, 2), np.float64)


def mark_views_texts(segment: Segment, views: Views, identity: I32) -> U8:
    """[L] 1 for the literals whose words a segment searches for; `identity` as of `find_identity`."""
    wanted = np.zeros(len(views.terms.start), np.uint8)
    mark_texts(views.triples, identity, segment.tables.index.word_predicates, views.terms.value_class, wanted)
    return wanted


def find_identity(segment: Segment, terms: Terms) -> I32:
    """[L] the id that the segment's dictionary gives to each term, -1 unknown."""
    return resolve(segment.tables.dictionary, terms)


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
