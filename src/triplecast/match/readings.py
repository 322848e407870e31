"""The views of one batch, by the reading of the segments that ask for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from weakref import WeakKeyDictionary

from triplecast.index import Segment
from triplecast.kernels.layout import I32
from triplecast.match.closures import Closures, Ground, build_closures, lay_ground
from triplecast.match.entailed import EntailedViews, entail_views, find_known
from triplecast.match.views import Views
from triplecast.match.wanted import Wanted, wanted_of
from triplecast.model.entailment import Reading
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
        entailed = [segment for segment in segments if segment.reading is not Reading.PLAIN]
        closures = self._closures(entailed, taxonomy) if entailed else None
        return BatchReadings(plain, closures)

    def _closures(self, segments: Sequence[Segment], taxonomy: Taxonomy) -> Closures:
        wanted: Wanted = frozenset()
        for segment in segments:
            own = self._wanted.get(segment)
            if own is None:
                own = self._wanted[segment] = wanted_of(segment)
            if not own <= wanted:
                wanted |= own
        for kept in self._kept:
            if kept.taxonomy is taxonomy and wanted <= kept.wanted:
                return kept.closures
        others = [kept for kept in self._kept if kept.taxonomy is not taxonomy]
        ground = next((kept.ground for kept in self._kept if kept.taxonomy is taxonomy), None) or lay_ground(taxonomy)
        made = _Kept(taxonomy, wanted, ground, build_closures(ground, wanted))
        self._kept = [made, *others][:CLOSURES_KEPT]
        return made.closures


class _Kept(NamedTuple):
    taxonomy: Taxonomy
    wanted: Wanted
    ground: Ground
    closures: Closures


class BatchReadings:
    """Each reading is made when it is first asked for."""

    def __init__(self, plain: Views, closures: Closures | None) -> None:
        self._closures = closures
        self._ids: I32 | None = None
        """Of `find_known`."""
        self._made = {Reading.PLAIN: EntailedViews(plain, frozenset())}

    def views(self, reading: Reading) -> EntailedViews:
        made = self._made.get(reading)
        if made is None:
            assert self._closures is not None
            plain = self._made[Reading.PLAIN].views
            if self._ids is None:
                self._ids = find_known(plain, self._closures)
            made = self._made[reading] = entail_views(plain, self._closures, self._ids, reading)
        return made
