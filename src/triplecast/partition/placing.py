"""The strategies `anchor` and `hash`: subscriptions in chunks, whose shards are chosen by load and bytes or by hash."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from triplecast.index import Segment
from triplecast.kernels.build import Items
from triplecast.kernels.layout import F64, I32, I64
from triplecast.partition.items import Assignment, FiledItems, RoutedItems, chunk_items, join_leads, place_subscriptions
from triplecast.partition.routing import Router, build_router

CHUNK = 64
"""Items that stay together of a structure, or of an anchor that is cut."""
HEAVY = 4
"""An anchor with more than one in so many of a mean shard's load or bytes is cut."""
ONE_BY_ONE = 256
"""Heaviest units, for each shard, that go to the lightest shard one by one; the rest is dealt in rounds."""
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def mix(numbers: I64) -> I64:
    """Spread numbers (splitmix64), the same everywhere: 62 bits of each."""
    mixed = numbers.astype(np.uint64) * _GOLDEN
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(2)).astype(np.int64)


def assign_by_hash(segment: Segment, filed: FiledItems, shards: int) -> Assignment:
    """Spread the structures, those of more than `CHUNK` items in chunks. Every publication visits every shard."""
    chunk = chunk_items(filed.structure, CHUNK)
    leader = segment.tables.registrations[filed.items.subscription[np.unique(chunk, return_index=True)[1]]]
    return Assignment(place_subscriptions(filed, (mix(leader) % shards).astype(np.int32)[chunk]), None)


def assign_by_anchor(
    segment: Segment, filed: FiledItems, shards: int, count_hits: Callable[[Router], I64]
) -> Assignment:
    """Keep what has one anchor together, and cut heavy anchors. The entries are the anchors, one key each: the
    directory. `count_hits`: in how many publications of a sample each entry is."""
    anchors, inverse = np.unique(filed.anchor, return_inverse=True)
    of_item: I32 = inverse.reshape(-1).astype(np.int32)
    directory = RoutedItems(_as_items(segment, anchors), np.ones(len(anchors), np.int64), True)
    hits = count_hits(build_router(segment, directory))
    sizes = np.bincount(of_item, minlength=len(anchors)).astype(np.float64)
    load, weight = _share(hits * sizes), _share(sizes)
    heavy = np.maximum(load, weight) * shards * HEAVY > 1
    order = np.argsort(of_item, kind="stable")
    unit_of = np.empty(len(order), np.int32)
    within = np.where(heavy[of_item[order]], CHUNK, len(order) + 1)
    unit_of[order] = chunk_items(of_item[order], within)
    anchor_of_unit = of_item[np.unique(unit_of, return_index=True)[1]]
    of_unit = np.bincount(unit_of).astype(np.float64)
    part = of_unit / np.maximum(sizes[anchor_of_unit], 1)
    start = int(mix(segment.tables.registrations[:1].sum(keepdims=True))[0]) if segment.members else 0
    shard_of_unit = balance(load[anchor_of_unit] * part, weight[anchor_of_unit] * part, shards, start)
    shard = place_subscriptions(filed, shard_of_unit[unit_of])
    return Assignment(shard, directory._replace(leads=join_leads(of_item, shard[filed.subscription], len(anchors))))


def balance(load: F64, weight: F64, shards: int, start: int = 0) -> I32:
    """[units] the shard of each, so that neither load nor weight (shares of their sums) is much in one of them: the
    heaviest first, to the shard that has least. `start`: which shard is the first of equals."""
    chosen = np.empty(len(load), np.int32)
    order = np.argsort(-np.maximum(load, weight), kind="stable")
    loads, weights = np.zeros(shards), np.zeros(shards)
    turn = np.roll(np.arange(shards), -(start % shards))
    single = order[: ONE_BY_ONE * shards]
    for unit in single.tolist():
        shard = int(turn[np.argmin(np.maximum(loads + load[unit], weights + weight[unit])[turn])])
        chosen[unit] = shard
        loads[shard] += load[unit]
        weights[shard] += weight[unit]
    for at in range(len(single), len(order), shards):
        units = order[at : at + shards]
        to = turn[np.argsort(np.maximum(loads, weights)[turn], kind="stable")][: len(units)]
        chosen[units] = to
        loads[to] += load[units]
        weights[to] += weight[units]
    return chosen


def _share(amounts: F64) -> F64:
    return amounts / max(1.0, float(amounts.sum()))


def _as_items(segment: Segment, keys: I32) -> Items:
    """Each key as an item of one pattern; places that are no constants are variables."""
    terms = segment.tables.index.key_terms[keys]
    always = terms[:, 0] == -2
    patterns = np.where(terms >= 0, terms, np.array([-1, -2, -3], np.int32)).astype(np.int32)
    patterns[always] = -(2**31)
    numbers = np.arange(len(keys) + 1, dtype=np.int64)
    return Items(
        numbers[:-1].astype(np.int32),
        numbers,
        patterns,
        np.zeros(len(keys) + 1, np.int64),
        np.zeros((0, 4), np.uint8),
        np.zeros(0),
        np.ones(len(keys), np.uint8),
        np.full(len(keys), 3, np.int32),
    )
