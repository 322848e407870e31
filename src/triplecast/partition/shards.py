"""A snapshot cut into shards: each segment by itself, so that a change of the registry cuts only what is new."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from triplecast.errors import InputError
from triplecast.index import Segment, Snapshot
from triplecast.index.merge import take_members
from triplecast.kernels.build import Items
from triplecast.kernels.layout import I32, I64
from triplecast.model.publication import Publication
from triplecast.partition.containment import assign_by_containment
from triplecast.partition.items import Assignment, FiledItems, file_items, mark_shards
from triplecast.partition.merging import Summaries, assign_by_merging
from triplecast.partition.placing import assign_by_anchor, spread
from triplecast.partition.routing import Router, Routing, build_router
from triplecast.taxonomy import NO_TAXONOMIES, Taxonomies

SLICES = "slices"
STRATEGIES = ("anchor", "hash", "containment", "merging")
SHARDS_LIMIT = 64
SAMPLE_LIMIT = 1_000
"""Publications by which shards are balanced and subscriptions merged."""


def check_partition(strategy: str, shards: int) -> None:
    """Raises `InputError` for what no index can be cut by."""
    if strategy not in (SLICES, *STRATEGIES):
        raise InputError(f"unknown partition {strategy}", f"use one of {', '.join((SLICES, *STRATEGIES))}")
    if not 1 <= shards <= SHARDS_LIMIT:
        raise InputError(f"{shards} shards", f"use 1 to {SHARDS_LIMIT}")


class SegmentCut(NamedTuple):
    """One segment in shards."""

    router: Router | None
    """None if every publication visits every part."""
    parts: tuple[Segment | None, ...]
    """By shard; None without subscriptions there."""
    load: I64
    """By shard, pairs of the sample's publications and members that match."""


@dataclass(frozen=True, slots=True)
class Partition:
    """A snapshot in shards. A publication is matched by the shards that `Routing.route` names and those of `always`."""

    routers: tuple[Router, ...]
    always: int
    """Bit k: every publication visits shard k."""
    shards: tuple[Snapshot, ...]
    load: tuple[int, ...]
    """By shard, as of `SegmentCut.load`."""


class Partitioner:
    """Cuts snapshots by one strategy. A segment is cut once, by the sample that there is then; another `Partitioner`
    assigns anew. For one thread at a time."""

    def __init__(
        self, strategy: str, shards: int, sample: Sequence[Publication] = (), taxonomies: Taxonomies = NO_TAXONOMIES
    ) -> None:
        check_partition(strategy, shards)
        self.strategy, self.shards = strategy, shards
        self._sample, self._taxonomies = sample[:SAMPLE_LIMIT], taxonomies
        self._routing = Routing()
        self._cuts: WeakKeyDictionary[Segment, SegmentCut] = WeakKeyDictionary()

    def partition(self, snapshot: Snapshot) -> Partition:
        """Cut what was not cut before."""
        cuts = []
        for segment in snapshot.segments:
            if segment not in self._cuts:
                self._cuts[segment] = self.cut(segment)
            cuts.append(self._cuts[segment])
        return join_cuts(cuts, snapshot, self.shards)

    def cut(self, segment: Segment) -> SegmentCut:
        """The shards of one segment."""
        filed = file_items(segment)
        _, member = self._find(segment, self._sample)
        assigned = self._assign(segment, filed, np.bincount(member, minlength=segment.members))
        of_member = assigned.shard[filed.of_member]
        router = None if assigned.entries is None else build_router(segment, assigned.entries)
        parts = tuple(_take(segment, filed.items, of_member, shard) for shard in range(self.shards))
        return SegmentCut(router, parts, np.bincount(of_member[member], minlength=self.shards))

    def _assign(self, segment: Segment, filed: FiledItems, matched: I64) -> Assignment:
        if self.strategy == "anchor":
            return assign_by_anchor(segment, filed, self.shards, matched)
        shard = spread(segment, filed, self.shards, matched)
        match self.strategy:
            case "hash":
                return Assignment(shard, None)
            case "containment":
                return assign_by_containment(segment, filed, shard)
            case _:
                summaries = self._summarise(segment)
                return assign_by_merging(segment, filed, shard, summaries, lambda asked: self._find(segment, asked))

    def _find(self, segment: Segment, publications: Sequence[Publication]) -> tuple[I32, I32]:
        return self._routing.find(segment, publications, self._taxonomies)

    def _summarise(self, segment: Segment) -> Sequence[Publication]:
        publication, _ = self._find(segment, self._sample)
        matched = np.bincount(publication, minlength=len(self._sample)).tolist()
        summaries = Summaries()
        for each, pairs in zip(self._sample, matched, strict=True):
            if pairs and not each.dataset:  # its lines are quads
                summaries.add(each.quads, pairs)
        return summaries.ranked()


def join_cuts(cuts: Sequence[SegmentCut], snapshot: Snapshot, shards: int) -> Partition:
    """The shards of a snapshot, given those of its segments."""
    always, found = 0, []
    for cut in cuts:
        if cut.router is None:
            always |= mark_shards(cut.parts)
    for shard in range(shards):
        segments = tuple(part for cut in cuts if (part := cut.parts[shard]) is not None)
        removals = snapshot.removals.within(segment.tables.registrations for segment in segments)
        found.append(Snapshot(snapshot.covers, segments, removals))
    load = sum((cut.load for cut in cuts), np.zeros(shards, np.int64))
    return Partition(
        tuple(cut.router for cut in cuts if cut.router is not None), always, tuple(found), tuple(load.tolist())
    )


def _take(segment: Segment, items: Items, of_member: I32, shard: int) -> Segment | None:
    """The subscriptions of one shard; those that are refused, which have no members, are the first's."""
    refused = bool(segment.refused) and not shard
    if refused and not segment.members:
        return segment
    members = of_member == shard
    return take_members(segment, items, members, refused) if refused or members.any() else None
