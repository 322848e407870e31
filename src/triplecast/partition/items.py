"""The items of a segment with what they are filed under: where every strategy begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Segment
from triplecast.index.merge import keep_items
from triplecast.kernels.build import Items
from triplecast.kernels.containment import count_items
from triplecast.kernels.layout import I32, I64, U8
from triplecast.kernels.unfold import unfold


class FiledItems(NamedTuple):
    """The M items of a segment, by structure; a subscription is a number by ascending registration."""

    items: Items
    first_item: I64
    """[S + 1] by structure."""
    structure: I32
    """[M]"""
    anchor: I32
    """[M] the key that the structure is filed under."""
    subscription: I32
    """[M]"""
    of_member: I32
    """[members] the subscription."""

    @property
    def subscriptions(self) -> int:
        return int(self.of_member[-1]) + 1 if len(self.of_member) else 0


def file_items(segment: Segment) -> FiledItems:
    index = segment.tables.index
    items, first_item = unfold(index), count_items(index)
    structure = np.repeat(np.arange(len(first_item) - 1, dtype=np.int32), np.diff(first_item))
    anchor = np.searchsorted(index.anchor_offsets, structure, side="right").astype(np.int32) - 1
    new = np.zeros(segment.members, np.int32)
    new[segment.firsts[1:]] = 1
    of_member = np.cumsum(new, dtype=np.int32)
    return FiledItems(items, first_item, structure, anchor, of_member[items.subscription], of_member)


def find_synthetic(segment: Segment) -> U8:
    """[constants] 1 for those that stand for no IRI of a publication: the predicates of words and marks."""
    dictionary = segment.tables.dictionary
    synthetic: U8 = (dictionary.text[dictionary.offsets[:-1]] != ord("<")).astype(np.uint8)
    return synthetic


class RoutedItems(NamedTuple):
    """What the index stage looks for: E conjunctions, in numbers of the segment's dictionary, and where each leads."""

    items: Items
    """`Items.subscription` is the entry's number."""
    leads: I64
    """[E] bit k: to shard k."""
    by_keys: bool
    """Whether an entry is there as soon as all keys are that those behind it share."""

    def only(self, chosen: NDArray[np.bool_]) -> RoutedItems:
        """Some of the entries, numbered anew."""
        kept = keep_items(self.items, chosen)
        numbers = np.arange(len(kept.subscription), dtype=np.int32)
        return RoutedItems(kept._replace(subscription=numbers), self.leads[chosen], self.by_keys)


class Assignment(NamedTuple):
    """Where the subscriptions of a segment are."""

    shard: I32
    """By subscription."""
    entries: RoutedItems | None
    """None if every publication visits every shard."""
    entry: I32 | None = None
    """[M] the entry of each item: its root, or its merger if it has one."""


def chunk_items(group: I32, size: int | I64) -> I32:
    """Number chunks of at most `size` (of each item, or of all) neighbours of one group; `group` ascends."""
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    within = np.arange(len(group)) - np.repeat(starts, np.diff(np.append(starts, len(group))))
    return np.cumsum(within % size == 0).astype(np.int32) - 1


def place_subscriptions(filed: FiledItems, shard_of_item: I32) -> I32:
    """[subscriptions] the shard of the first item of each, by structure: the one with the rarest anchor."""
    shard = np.zeros(filed.subscriptions, np.int32)
    subscription, first = np.unique(filed.subscription, return_index=True)
    shard[subscription] = shard_of_item[first]
    return shard


def join_leads(entry: I32, shard: I32, entries: int) -> I64:
    """[E] the shards that each entry leads to, given pairs of entries and shards; -1 is no entry."""
    leads = np.zeros(entries, np.int64)
    known = entry >= 0
    np.bitwise_or.at(leads, entry[known], np.int64(1) << shard[known].astype(np.int64))
    return leads


def mark_shards(parts: Sequence[object]) -> int:
    """The bits of the shards that have a part, as a signed number of 64 bits."""
    bits = sum(1 << shard for shard, part in enumerate(parts) if part is not None)
    return bits - (1 << 64) if bits >> 63 else bits
