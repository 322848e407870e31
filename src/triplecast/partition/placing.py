"""Where subscriptions are: in pieces of what belongs together, whose shards are chosen by load and bytes."""

from __future__ import annotations

import numpy as np

from triplecast.index import Segment
from triplecast.kernels.build import Items
from triplecast.kernels.layout import F64, I32, I64
from triplecast.partition.items import Assignment, FiledItems, RoutedItems, chunk_items, join_leads, place_subscriptions

CHUNK = 4
"""Items of one structure that stay together where no load is known."""
PIECES = 8
"""What belongs together is cut into pieces of at most one in so many of a mean shard's load and bytes."""
ONE_BY_ONE = 256
"""Heaviest units, for each shard, that go to the lightest shard one by one; the rest is dealt in rounds."""


def spread(segment: Segment, filed: FiledItems, shards: int, matched: I64) -> I32:
    """[subscriptions] the shard of each, if those of one structure stay together, which are joined and written once
    then. `matched`: by member, how many publications of a sample it matches."""
    load, weight = _weigh(filed, matched)
    unit_of = _cut(filed.structure, filed.structure, load, weight, shards)
    if not load.any():
        unit_of = chunk_items(unit_of, CHUNK)
    shard_of_unit = balance(_sums(unit_of, load), _sums(unit_of, weight), shards, _start(segment))
    return place_subscriptions(filed, shard_of_unit[unit_of])


def assign_by_anchor(segment: Segment, filed: FiledItems, shards: int, matched: I64) -> Assignment:
    """Keep what has one anchor together, and cut heavy anchors. The entries are the anchors, one key each: the
    directory. `matched` as `spread` takes it.

    Anchors without a constant subject or object are there in publications of all kinds, so they count as one, and are
    in as few shards as hold them."""
    anchors, inverse = np.unique(filed.anchor, return_inverse=True)
    of_item: I32 = inverse.reshape(-1).astype(np.int32)
    terms = segment.tables.index.key_terms[anchors]
    common = (terms[:, 0] < 0) & (terms[:, 2] < 0)
    group = np.where(common, np.int32(0), np.arange(1, len(anchors) + 1, dtype=np.int32))[of_item]
    load, weight = _weigh(filed, matched)
    unit_of = _cut(group, of_item, load, weight, shards)
    packed = int(unit_of[group == 0].max(initial=-1)) + 1
    shard_of_unit = balance(_sums(unit_of, load), _sums(unit_of, weight), shards, _start(segment), packed)
    shard = place_subscriptions(filed, shard_of_unit[unit_of])
    leads = join_leads(of_item, shard[filed.subscription], len(anchors))
    return Assignment(shard, RoutedItems(_as_items(segment, anchors), leads, True))


def _cut(group: I32, within: I32, load: F64, weight: F64, shards: int) -> I32:
    """[M] the piece of its group that each item is in; neighbours in one are those that are so `within` it."""
    heaviest = np.maximum(_sums(group, load), _sums(group, weight))
    pieces = np.maximum(1, np.ceil(heaviest * shards * PIECES))
    size = np.maximum(1, np.ceil(np.bincount(group) / pieces)).astype(np.int64)
    order = np.lexsort((within, group))
    unit_of = np.empty(len(order), np.int32)
    unit_of[order] = chunk_items(group[order], size[group[order]])
    return unit_of


def _weigh(filed: FiledItems, matched: I64) -> tuple[F64, F64]:
    """[M] the shares of each item in load and bytes."""
    return _share(matched[filed.items.subscription].astype(np.float64)), _share(np.ones(len(filed.structure)))


def _start(segment: Segment) -> int:
    """Of which shard a segment's first unit is, so that small segments do not meet in one (splitmix64)."""
    mixed = (int(segment.tables.registrations[0]) * 0x9E3779B97F4A7C15) % 2**64 if segment.members else 0
    mixed = ((mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9) % 2**64
    mixed = ((mixed ^ mixed >> 27) * 0x94D049BB133111EB) % 2**64
    return (mixed ^ mixed >> 31) >> 2


def balance(load: F64, weight: F64, shards: int, start: int = 0, packed: int = 0) -> I32:
    """[units] the shard of each, so that neither load nor weight (shares of their sums) is much in one of them: the
    heaviest first, to the shard that has least. `start`: which shard is the first of equals. The first `packed` units
    fill one shard after the other instead."""
    chosen = np.empty(len(load), np.int32)
    loads, weights = np.zeros(shards), np.zeros(shards)
    filled = 0
    for unit in range(packed):
        if max(loads[filled] + load[unit], weights[filled] + weight[unit]) > 1 / shards and filled < shards - 1:
            filled += 1
        chosen[unit] = filled
        loads[filled] += load[unit]
        weights[filled] += weight[unit]
    order = np.argsort(-np.maximum(load, weight)[packed:], kind="stable") + packed
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


def _sums(group: I32, amounts: F64) -> F64:
    sums: F64 = np.bincount(group, amounts).astype(np.float64)
    return sums


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
