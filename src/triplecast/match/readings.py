"""One batch as the segments of a snapshot read it: what they have in common is made once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from triplecast.index import Segment
from triplecast.kernels.layout import I32, Encoded
from triplecast.kernels.wordbank import WordBank, cut_texts, no_words
from triplecast.match.closures import Closures, Ground, build_closures, lay_ground
from triplecast.match.entailed import EntailedViews, Pool, entail_views, make_pool, terms_of
from triplecast.match.views import Views, encode_found, find_identity, mark_views_texts
from triplecast.match.wanted import Wanted, wanted_of
from triplecast.model.entailment import EntailmentMode, Mark
from triplecast.taxonomy import Taxonomy

CLOSURES_KEPT = 2
"""Taxonomies whose closures are kept: the one that holds and, around a change, the one before."""


class Readings:
    """Keeps closures from batch to batch, and grows them when new segments want more marks."""

    def __init__(self) -> None:
        self._wanted: WeakKeyDictionary[Segment, Wanted] = WeakKeyDictionary()
        self._kept: list[_Kept] = []

    def of(self, segments: Sequence[Segment], taxonomy: Taxonomy, plain: Views) -> BatchReadings:
        """The views of a batch whose plain ones are given, for the segments of a snapshot."""
        entailed = [segment for segment in segments if segment.reading is not EntailmentMode.PLAIN]
        if not entailed:
            return BatchReadings(plain, None, {})
        kept = self._closures(entailed, taxonomy)
        marks: defaultdict[EntailmentMode, set[Mark]] = defaultdict(set)
        for segment in entailed:
            marks[segment.reading].update(mark for mark, _ in self._wanted[segment])
        return BatchReadings(plain, kept, marks)

    def _closures(self, segments: Sequence[Segment], taxonomy: Taxonomy) -> _Kept:
        wanted: Wanted = frozenset()
        for segment in segments:
            own = self._wanted.get(segment)
            if own is None:
                own = self._wanted[segment] = wanted_of(segment)
            if not own <= wanted:
                wanted |= own
        for kept in self._kept:
            if kept.taxonomy is taxonomy and wanted <= kept.wanted:
                return kept
        others = [kept for kept in self._kept if kept.taxonomy is not taxonomy]
        ground = next((kept.ground for kept in self._kept if kept.taxonomy is taxonomy), None) or lay_ground(taxonomy)
        made = _Kept(taxonomy, wanted, ground, build_closures(ground, wanted), WeakKeyDictionary())
        self._kept = [made, *others][:CLOSURES_KEPT]
        return made


class _Kept(NamedTuple):
    taxonomy: Taxonomy
    wanted: Wanted
    ground: Ground
    closures: Closures
    identities: WeakKeyDictionary[Segment, I32]
    """The ids that a segment's dictionary gives to the terms of the closures."""

    def identity(self, segment: Segment) -> I32:
        found = self.identities.get(segment)
        if found is None:
            found = self.identities[segment] = find_identity(segment, terms_of(self.closures))
        return found


class Read(NamedTuple):
    """A batch as one segment reads it."""

    segment: Segment
    views: Views
    lost: frozenset[int]
    """As `EntailedViews.lost`."""
    encoded: Encoded


class BatchReadings:
    """Each reading is made when it is first asked for."""

    def __init__(self, plain: Views, kept: _Kept | None, marks: Mapping[EntailmentMode, Collection[Mark]]) -> None:
        """`marks`: the kinds that the segments of each reading want."""
        self._kept = kept
        self._marks = marks
        self._pool: Pool | None = None
        self._made = {EntailmentMode.PLAIN: EntailedViews(plain, frozenset(), np.zeros(0, np.int64))}

    def views(self, reading: EntailmentMode) -> EntailedViews:
        made = self._made.get(reading)
        if made is None:
            assert self._kept is not None
            if self._pool is None:
                self._pool = make_pool(self._made[EntailmentMode.PLAIN].views, self._kept.closures)
            made = self._made[reading] = entail_views(self._pool, self._kept.closures, reading, self._marks[reading])
        return made

    def read(self, segments: Sequence[Segment]) -> Iterator[Read]:
        """The batch as each segment reads it, one after the other. Terms are looked up once a segment, and literals cut
        into words once a batch, whatever the readings."""
        terms = self._made[EntailmentMode.PLAIN].views.terms
        identities = [self._widen(segment, find_identity(segment, terms)) for segment in segments]
        bank = self._cut_texts(segments, identities)
        for segment, identity in zip(segments, identities, strict=True):
            views, lost, source = self.views(segment.reading)
            yield Read(segment, views, lost, encode_found(segment, views, identity, bank, source))

    def _widen(self, segment: Segment, identity: I32) -> I32:
        """The ids of the terms of the views that the segment reads; `identity` has those of the plain views."""
        if segment.reading is EntailmentMode.PLAIN:
            return identity
        source = self.views(segment.reading).source
        assert self._kept is not None
        return np.concatenate([identity, self._kept.identity(segment)])[source]

    def _cut_texts(self, segments: Sequence[Segment], identities: Sequence[I32]) -> WordBank:
        """The words of the plain views' literals that some segment asks for."""
        terms = self._made[EntailmentMode.PLAIN].views.terms
        wanted = np.zeros(len(terms.start), np.uint8)
        asked = False
        for segment, identity in zip(segments, identities, strict=True):
            if segment.uses_words:
                views, _, source = self.views(segment.reading)
                rows = np.flatnonzero(mark_views_texts(segment, views, identity))
                wanted[rows if segment.reading is EntailmentMode.PLAIN else source[rows]] = 1
                asked = True
        return cut_texts(terms, wanted) if asked else no_words()
