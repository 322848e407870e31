"""The strategy `merging` (Petrovic, Liu and Jacobsen 2007, section 4.3): what publications match together is replaced
in the index stage by a *merger*, the keys that it shares, and spread over the shards.

The paper leaves open how similar publications are to be, which of several mergers is made and how what never matched is
merged. Here a merger shares a key with a constant subject or object, the most frequent one first; others would forward
nearly everything. A merger is decomposed when its segment is cut again: it is made of what is subscribed then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from heapq import heapify, heappop, heappush
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Segment
from triplecast.index.members import join_items, offsets_of
from triplecast.index.merge import keep_items
from triplecast.kernels.build import Items
from triplecast.kernels.layout import I32, STRUCTURE_KEYS, STRUCTURE_PLAIN
from triplecast.model.publication import Position, Publication
from triplecast.partition.items import Assignment, FiledItems, RoutedItems, join_leads

UPPER, LOWER = 0.5, 0.1
"""Entries for each item: an index stage with more than `UPPER` is merged until it has `LOWER`, or nothing is shared."""
LEAST = 64
"""Entries that are not worth merging."""
MERGER_LIMIT = 1_024
"""Entries that one merger replaces."""
SIMILARITY = 0.3
"""Of publications that share a summary: common triples in all of them."""
SUMMARIES_LIMIT = 1_000


class PublicationSummary(NamedTuple):
    """What some similar publications have in common."""

    lines: frozenset[bytes]
    weight: int
    """Pairs that these publications matched."""


class Summaries:
    """`statCollection`: summaries of a sample of the publications, kept apart from matching."""

    def __init__(self, similarity: float = SIMILARITY) -> None:
        self._similarity = similarity
        self._kept: dict[int, PublicationSummary] = {}
        self._having: dict[bytes, set[int]] = {}
        self._last = 0

    def add(self, quads: bytes, matched: int) -> None:
        """Unite a publication that matched so many subscriptions with the most similar summary, as long as there is one
        that is similar enough."""
        summary = PublicationSummary(frozenset(quads.split(b"\n")[:-1]), matched)
        while (other := self._most_similar(summary.lines)) is not None:
            found = self._take(other)
            summary = PublicationSummary(summary.lines & found.lines, summary.weight + found.weight)
        if summary.lines:
            self._last += 1
            self._kept[self._last] = summary
            for line in summary.lines:
                self._having.setdefault(line, set()).add(self._last)
            if len(self._kept) > SUMMARIES_LIMIT:
                self._take(min(self._kept, key=lambda number: (self._kept[number].weight, number)))

    def ranked(self) -> list[Publication]:
        """The summaries as publications, those that matched most first."""
        order = sorted(self._kept, key=lambda number: (-self._kept[number].weight, number))
        texts = (b"".join(line + b"\n" for line in sorted(self._kept[number].lines)) for number in order)
        return [Publication(Position(1), "urn:triplecast:summary", 1, "", text, False) for text in texts]

    def _most_similar(self, lines: frozenset[bytes]) -> int | None:
        common = Counter(number for line in lines for number in self._having.get(line, ()))
        similar = [
            (count / (len(lines) + len(self._kept[number].lines) - count), -number) for number, count in common.items()
        ]
        best = max(similar, default=(0.0, 0))
        return -best[1] if best[0] > self._similarity else None

    def _take(self, number: int) -> PublicationSummary:
        summary = self._kept.pop(number)
        for line in summary.lines:
            having = self._having[line]
            having.discard(number)
            if not having:
                del self._having[line]
        return summary


def assign_by_merging(
    segment: Segment,
    filed: FiledItems,
    shard: I32,
    summaries: Sequence[Publication],
    find: Callable[[Sequence[Publication]], tuple[I32, I32]],
    thresholds: tuple[float, float] = (UPPER, LOWER),
) -> Assignment:
    """Merge what summaries match together, then what nothing matched, and lead from each merger to the shards of its
    members. `shard`: of each subscription; `find`: pairs of publications and members of the segment that match;
    `thresholds`: as `UPPER` and `LOWER`."""
    merger = _Mergers(segment, filed, thresholds[1])
    if merger.entries > max(LEAST, thresholds[0] * len(filed.structure)):
        publication, member = find(summaries)
        for number in range(len(summaries)):
            merger.merge(np.isin(filed.items.subscription, member[publication == number]))
        merger.merge(np.ones(len(filed.structure), np.bool_))
    return merger.assign(shard)


class _Mergers:
    """The entries of an index stage while they are merged."""

    def __init__(self, segment: Segment, filed: FiledItems, lower: float) -> None:
        self._segment, self._filed = segment, filed
        self._lower = lower
        structures = segment.tables.index.structures
        plain = np.diff(structures[:, STRUCTURE_PLAIN])[filed.structure]
        within = np.arange(len(filed.structure)) - filed.first_item[filed.structure]
        self.entry_of = (np.cumsum((within == 0) | (within >= plain)) - 1).astype(np.int32)
        """[M] of each item; equal items without conditions have one from the beginning."""
        self.entries = int(self.entry_of[-1]) + 1 if len(self.entry_of) else 0
        """How many are left."""
        self._first = np.unique(self.entry_of, return_index=True)[1]
        self._merger = np.full(self.entries, -1, np.int32)
        """By entry, the number of its merger."""
        self._keys: list[I32] = []
        """Of each merger."""

    def merge(self, items: NDArray[np.bool_]) -> None:
        """Merge entries of these items that are in no merger yet."""
        least = max(LEAST, int(self._lower * len(self.entry_of)))
        entries = np.unique(self.entry_of[items])
        entries = entries[self._merger[entries] < 0]
        key, entry = self._selective_keys(entries)
        order = np.argsort(key, kind="stable")
        keys, starts = np.unique(key[order], return_index=True)
        parts = np.split(entry[order], starts[1:]) if len(keys) else []
        having = dict(zip(keys.tolist(), parts, strict=True))
        queue = [(-len(those), number) for number, those in having.items() if len(those) > 1]
        heapify(queue)
        while queue and self.entries > least:
            size, number = heappop(queue)
            left = having[number][self._merger[having[number]] < 0][:MERGER_LIMIT]
            if len(left) < 2:
                continue
            if len(left) < min(-size, MERGER_LIMIT):
                heappush(queue, (-len(left), number))
                continue
            self._merger[left] = len(self._keys)
            self._keys.append(self._shared_keys(left))
            self.entries -= len(left) - 1
            heappush(queue, (size + len(left), number))

    def _selective_keys(self, entries: I32) -> tuple[I32, I32]:
        """Pairs of keys with a constant subject or object, and the entries that have them."""
        index = self._segment.tables.index
        first = index.structures[:, STRUCTURE_KEYS]
        structure = self._filed.structure[self._first[entries]]
        sizes = first[structure + 1] - first[structure]
        rows = np.repeat(first[structure] - (np.cumsum(sizes) - sizes), sizes) + np.arange(sizes.sum())
        key, entry = index.structure_keys[rows], np.repeat(entries, sizes)
        selective = (index.key_terms[key, 0] >= 0) | (index.key_terms[key, 2] >= 0)
        pairs = np.unique(np.stack([key[selective], entry[selective]], axis=1), axis=0)
        return pairs[:, 0], pairs[:, 1]

    def _shared_keys(self, entries: I32) -> I32:
        index = self._segment.tables.index
        first = index.structures[:, STRUCTURE_KEYS]
        shared: set[int] | None = None
        for structure in np.unique(self._filed.structure[self._first[entries]]).tolist():
            keys = set(index.structure_keys[first[structure] : first[structure + 1]].tolist())
            shared = keys if shared is None else shared & keys
        return np.array(sorted(shared or ()), np.int32)

    def assign(self, shard: I32) -> Assignment:
        filed = self._filed
        single = np.flatnonzero(self._merger < 0).astype(np.int32)
        number = self._merger + len(single)
        number[single] = np.arange(len(single), dtype=np.int32)
        entry = number[self.entry_of]
        chosen = np.zeros(len(filed.structure), np.bool_)
        chosen[self._first[single]] = True
        items = join_items([keep_items(filed.items, chosen), self._items()])
        count = len(single) + len(self._keys)
        items = items._replace(subscription=np.arange(count, dtype=np.int32))
        leads = join_leads(entry, shard[filed.subscription], count)
        return Assignment(shard, RoutedItems(items, leads, False), entry)

    def _items(self) -> Items:
        """Each merger as an item: its keys, whose other places are variables that nothing shares."""
        sizes = np.array([len(keys) for keys in self._keys], np.int64)
        offsets = offsets_of(sizes)
        terms = self._segment.tables.index.key_terms[np.concatenate([*self._keys, np.zeros(0, np.int32)])]
        within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], sizes)
        variables = -(3 * within[:, None] + np.array([1, 2, 3]))
        return Items(
            np.zeros(len(sizes), np.int32),
            offsets,
            np.where(terms >= 0, terms, variables).astype(np.int32),
            np.zeros(len(sizes) + 1, np.int64),
            np.zeros((0, 4), np.uint8),
            np.zeros(0),
            np.zeros(len(sizes), np.uint8),
            (3 * sizes).astype(np.int32),
        )
