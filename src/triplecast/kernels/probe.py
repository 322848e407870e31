"""Which keys of an index a view has: the first stage of matching.

All slots of the key table are loaded before any is looked at, so that the loads overlap; hits go to a table of the view's own
that stays in the nearest cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels import njit, inlined
from triplecast.kernels.layout import FACT_ALWAYS, I32, I64, U8, U64, Encoded, Index, hash_key


class Hits(NamedTuple):
    """Scratch of one view: its keys with the chains of triples that have them, and chains by subject and object.

    `slot_key` is an open-addressing table over the first ``size[0]`` slots (a power of two, -1 empty); `keys` lists the keys in it.
    """

    size: I64
    """[2] slots in use; 1 when the chains by subject and object are linked."""
    bits: U64
    """[K / 64] the present keys; all zero between views."""
    slot_key: I32
    slot_head: I32
    slot_count: I32
    keys: I32
    chain: I32
    """[hits, 2] triple, next hit or -1."""
    queue: Queue
    ends: Ends


class Queue(NamedTuple):
    """Lookups under way."""

    hashes: U64
    triple: I32
    mask: U8
    slot: U64


class Ends(NamedTuple):
    """Chains of a view's triples by subject and by object; heads and counts are indexed by local term number."""

    head: I32
    """[terms, 2]"""
    count: I32
    next: I32
    """[triples, 2]"""


def make_hits(index: Index, encoded: Encoded) -> Hits:
    """Scratch that is large enough for every view of a batch."""
    triples = int(np.diff(encoded.view_offsets).max(initial=0))
    terms = int(encoded.view_terms[:, 1].max(initial=0))
    lookups = triples * max(1, len(index.key_masks)) + 1
    slots = 8
    while slots < 2 * lookups:
        slots *= 2
    queue = Queue(*(np.empty(lookups, kind) for kind in (np.uint64, np.int32, np.uint8, np.uint64)))
    ends = Ends(np.empty((terms, 2), np.int32), np.empty((terms, 2), np.int32), np.empty((triples, 2), np.int32))
    return Hits(
        np.zeros(2, np.int64),
        np.zeros((len(index.key_terms) >> 6) + 1, np.uint64),
        np.empty(slots, np.int32),
        np.empty(slots, np.int32),
        np.empty(slots, np.int32),
        np.empty(lookups, np.int32),
        np.empty((lookups, 2), np.int32),
        queue,
        ends,
    )


@inlined
def has_key(bits: U64, key: int) -> bool:
    return (bits[key >> 6] >> np.uint64(key & 63)) & np.uint64(1) != np.uint64(0)


@inlined
def find_slot(slot_key: I32, size: int, key: int) -> int:
    """The slot of a key, or the empty one where it would stand."""
    slot = (key * 40503) & (size - 1)
    while slot_key[slot] != key and slot_key[slot] >= 0:
        slot = (slot + 1) & (size - 1)
    return slot


@njit
def probe(index: Index, encoded: Encoded, view: int, hits: Hits) -> int:
    """Fills `hits` for one view; returns how many keys it has."""
    lookups = _queue_lookups(index, encoded, view, hits.queue)
    size = 8
    while size < 2 * (lookups + 1):
        size *= 2
    hits.size[0] = size
    hits.size[1] = 0
    hits.slot_key[:size] = -1
    keys = 0
    hit = 0
    mask_slots = np.uint64(len(index.key_table) - 1)
    base = encoded.view_offsets[view]
    for lookup in range(lookups - 1, -1, -1):
        entry = hits.queue.slot[lookup]
        tag = hits.queue.hashes[lookup] & np.uint64(0xFFFFFFFF)
        slot = hits.queue.hashes[lookup] >> np.uint64(32)
        triple = hits.queue.triple[lookup]
        mask = hits.queue.mask[lookup]
        subject = encoded.ids[triple, 0] if mask & 1 else np.int32(-1)
        predicate = encoded.ids[triple, 1] if mask & 2 else np.int32(-1)
        end = encoded.ids[triple, 2] if mask & 4 else np.int32(-1)
        key = np.int32(-1)
        while entry != np.uint64(0):
            if entry >> np.uint64(32) == tag:
                key = np.int32((entry & np.uint64(0xFFFFFFFF)) - np.uint64(1))
                terms = index.key_terms[key]
                if terms[0] == subject and terms[1] == predicate and terms[2] == end:
                    break
                key = np.int32(-1)
            slot += np.uint64(1)
            entry = index.key_table[slot & mask_slots]
        if key < 0:
            continue
        place = find_slot(hits.slot_key, size, key)
        if hits.slot_key[place] < 0:
            hits.slot_key[place] = key
            hits.slot_head[place] = -1
            hits.slot_count[place] = 0
            hits.keys[keys] = key
            keys += 1
            hits.bits[key >> 6] |= np.uint64(1) << np.uint64(key & 63)
        hits.chain[hit, 0] = triple - base
        hits.chain[hit, 1] = hits.slot_head[place]
        hits.slot_head[place] = hit
        hits.slot_count[place] += 1
        hit += 1
    always = index.facts[FACT_ALWAYS]
    if always >= 0:
        place = find_slot(hits.slot_key, size, always)
        hits.slot_key[place] = always
        hits.slot_head[place] = -1
        hits.slot_count[place] = 0
        hits.keys[keys] = always
        keys += 1
        hits.bits[always >> 6] |= np.uint64(1) << np.uint64(always & 63)
    return keys


@inlined
def _queue_lookups(index: Index, encoded: Encoded, view: int, queue: Queue) -> int:
    """Every key that the view's triples could have: hashes first, then all slots."""
    lookups = 0
    for triple in range(encoded.view_offsets[view], encoded.view_offsets[view + 1]):
        subject = encoded.ids[triple, 0]
        predicate = encoded.ids[triple, 1]
        end = encoded.ids[triple, 2]
        unknown = (subject < 0) * 1 | (predicate < 0) * 2 | (end < 0) * 4
        for mask in index.key_masks:
            if mask & unknown:
                continue
            hashed = hash_key(
                subject if mask & 1 else np.int32(-1),
                predicate if mask & 2 else np.int32(-1),
                end if mask & 4 else np.int32(-1),
            )
            queue.hashes[lookups] = hashed
            queue.triple[lookups] = triple
            queue.mask[lookups] = mask
            lookups += 1
    mask_slots = np.uint64(len(index.key_table) - 1)
    for lookup in range(lookups):
        queue.slot[lookup] = index.key_table[(queue.hashes[lookup] >> np.uint64(32)) & mask_slots]
    return lookups


@njit
def clear_bits(hits: Hits, keys: int) -> None:
    for i in range(keys):
        hits.bits[hits.keys[i] >> 6] = np.uint64(0)


@njit
def link_ends(encoded: Encoded, view: int, hits: Hits) -> None:
    """Chains the view's triples by subject and by object."""
    base = encoded.view_terms[view, 0]
    terms = encoded.view_terms[view, 1]
    first = encoded.view_offsets[view]
    ends = hits.ends
    for term in range(terms):
        for side in range(2):
            ends.head[term, side] = -1
            ends.count[term, side] = 0
    for triple in range(encoded.view_offsets[view + 1] - first - 1, -1, -1):
        for side in range(2):
            term = encoded.terms[first + triple, 2 * side] - base
            ends.next[triple, side] = ends.head[term, side]
            ends.head[term, side] = triple
            ends.count[term, side] += 1
    hits.size[1] = 1
