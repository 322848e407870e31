"""A directory of keys: which shards a view may have matches in, by the hashes of its terms alone.

A slot has 16 bits of a key's hash and the number of the set of shards that it leads to: five bytes a key. A key that is
there is found; what only looks like one leads a publication to a shard in vain, once in some hundred views.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import I32, I64, U8, U32, U64
from triplecast.kernels.views import Views, view_graphs
from triplecast.kernels.words import prefetch

SETS_LIMIT = (1 << 16) - 1
"""Sets of shards; keys of others lead to all."""
_FILLED = 0.8
_TAG = np.uint32(0xFFFF0000)
_AT_ONCE = 8
"""Triples whose slots are loaded before any is looked at."""


class Directory(NamedTuple):
    """Open addressing: ``tag << 16 | set + 1``, 0 empty; a place is a hash's share of the slots."""

    slots: U32
    sets: I64
    """Bit k: shard k."""
    masks: U8
    """Which places the keys have constants at (1 subject, 2 predicate, 4 object), each mask once."""


def build_directory(terms: U64, masks: U8, leads: I64) -> Directory:
    """The directory of N keys: the hashes of their constants ([N, 3], 0 for a variable), where these are, and the
    shards that each leads to."""
    sets, number, uses = np.unique(leads, return_inverse=True, return_counts=True)
    number = number.reshape(-1)
    if len(sets) > SETS_LIMIT:
        order = np.argsort(-uses, kind="stable")
        rank = np.empty(len(order), np.int64)
        rank[order] = np.arange(len(order))
        number, sets = np.minimum(rank[number], SETS_LIMIT - 1), sets[order][:SETS_LIMIT].copy()
        sets[-1] = np.bitwise_or.reduce(leads)
    slots = np.zeros(int(len(leads) / _FILLED) + 2, np.uint32)
    _fill(np.ascontiguousarray(terms), masks, number.astype(np.int32), slots)
    return Directory(slots, sets, np.unique(masks).astype(np.uint8))


@borrowing
def _fill(terms: U64, masks: U8, number: I32, slots: U32) -> None:
    for key in range(len(number)):
        hashed = _hash_key(terms[key, 0], terms[key, 1], terms[key, 2], masks[key])
        slot = _find_first(hashed, len(slots))
        while slots[slot] != 0:
            slot = slot + 1 if slot + 1 < len(slots) else 0
        slots[slot] = (np.uint32(hashed) & _TAG) | np.uint32(number[key] + 1)


@njit
def route_views(directory: Directory, views: Views, always: int) -> I64:
    """[V] the shards that each view has to visit: bit k for shard k, `always` among them."""
    visits, everywhere = np.empty(len(views.mode), np.int64), np.int64(always)
    for leads in directory.sets:
        everywhere |= leads
    queued = np.empty(_AT_ONCE * len(directory.masks), np.uint64)
    _route(directory, views.offsets, views.triples, views.terms.hashes, (always, everywhere), queued, visits)
    return visits


@borrowing
def _route(
    directory: Directory,
    offsets: I64,
    triples: I32,
    hashes: U64,
    always_everywhere: tuple[int, np.int64],
    queued: U64,
    visits: I64,
) -> None:
    slots, sets, masks = directory.slots, directory.sets, directory.masks
    always, everywhere = always_everywhere
    nothing = np.uint64(0)
    for view in range(len(visits)):
        found = np.int64(always)
        next_triple, end_triple = offsets[view], offsets[view + 1]
        while next_triple < end_triple and found != everywhere:
            lookups = 0
            for triple in range(next_triple, min(next_triple + _AT_ONCE, end_triple)):
                subject, predicate = hashes[triples[triple, 0]], hashes[triples[triple, 1]]
                end = hashes[triples[triple, 2]]
                for mask in masks:
                    hashed = _hash_key(
                        subject if mask & 1 else nothing,
                        predicate if mask & 2 else nothing,
                        end if mask & 4 else nothing,
                        mask,
                    )
                    prefetch(slots, _find_first(hashed, len(slots)))
                    queued[lookups] = hashed
                    lookups += 1
            next_triple += _AT_ONCE
            for lookup in range(lookups):
                slot = _find_first(queued[lookup], len(slots))
                tag = np.uint32(queued[lookup]) & _TAG
                while slots[slot] != 0:
                    if slots[slot] & _TAG == tag:
                        found |= sets[np.int64(slots[slot] & ~_TAG) - 1]
                    slot = slot + 1 if slot + 1 < len(slots) else 0
        visits[view] = found


@inlined
def _hash_key(subject: np.uint64, predicate: np.uint64, end: np.uint64, mask: np.uint8) -> np.uint64:
    mixed = (
        subject * np.uint64(0x9E3779B97F4A7C15)
        + predicate * np.uint64(0xC2B2AE3D27D4EB4F)
        + end * np.uint64(0x165667B19E3779F9)
        + np.uint64(mask)
    )
    mixed ^= mixed >> np.uint64(32)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return mixed ^ (mixed >> np.uint64(29))


@inlined
def _find_first(hashed: np.uint64, size: int) -> int:
    return int(np.int64(((hashed >> np.uint64(32)) * np.uint64(size)) >> np.uint64(32)))


def warm_up() -> None:
    none = np.zeros((0, 3), np.uint64), np.zeros(0, np.uint8), np.zeros(0, np.int64)
    route_views(build_directory(*none), view_graphs([]), 0)
