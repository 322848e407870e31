"""Which keys of an index a view has: the first stage of matching.

All slots of the key table are loaded before any is looked at, so that the loads overlap; hits go to a table of the
view's own that stays in the nearest cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.layout import (
    FACT_ALWAYS,
    FACT_VARIABLES,
    I32,
    I64,
    LOOKUPS,
    NO_KEY,
    PLACES,
    U8,
    U64,
    Encoded,
    Index,
    Integer,
    find_place,
    hash_key,
)
from triplecast.kernels.words import count_low_zeros, prefetch

SUBJECTS_LIMIT = 64
"""Subjects of a view up to which stars are joined by the bits of their keys' subjects."""


class Hits(NamedTuple):
    """Scratch of one view: its keys with the chains of triples that have them."""

    bits: U64
    """[K / 64] `Work.bits`: the present keys."""
    presence: U8
    """[2 * `PLACES` + 1] bit n at the place of a key: a triple with it may have a subject whose number in the view is n
    modulo 8; all bits at that place ``+ PLACES``: the key may be present. `NO_KEY` has all bits. Other places are zero
    between views."""
    slots: I32
    """[power of two, 3] open addressing over the first `table_size` rows: key (-1: empty), first hit, number of
    hits."""
    keys: I32
    """The present keys, in the order found."""
    chain: I32
    """[hits, 2] triple of the view, next hit or -1; triples ascend along a chain."""
    hashes: U64
    """[lookups] of the keys that the view's triples could have."""
    loaded: U64
    """[lookups] the slot of the key table that each begins at."""
    origin: I32
    """[lookups] ``8 * triple + mask``."""
    subjects: U64
    """[slots] bits of the subjects that a key's triples have, for a view with at most 64 of them, as they appear."""
    ordinals: I64
    """[1 + terms] 1 if `subjects` is made; by local term ``64 * view + number of the subject`` of the last view having
    it."""
    nodes: U64
    """[variables] bits of the subjects that each variable of a tree may be."""
    links: I32
    """See `link_ends`; ``links[0]`` is 0 until they are made."""


@njit
def make_hits(index: Index, encoded: Encoded, bits: U64) -> Hits:
    """Scratch that is large enough for every view of a batch; `bits` are those of the segment."""
    triples, terms = 0, 0
    for view in range(len(encoded.view_mode)):
        triples = max(triples, encoded.view_offsets[view + 1] - encoded.view_offsets[view])
        terms = max(terms, encoded.view_terms[view, 1])
    lookups = triples * max(1, len(index.key_masks)) + 1
    return Hits(
        bits,
        _make_presence(),
        np.empty((table_size(lookups), 3), np.int32),
        np.empty(lookups, np.int32),
        np.empty((lookups, 2), np.int32),
        np.empty(lookups, np.uint64),
        np.empty(lookups, np.uint64),
        np.empty(lookups, np.int32),
        np.empty(table_size(lookups), np.uint64),
        np.full(1 + terms, -1, np.int64),
        np.zeros(max(0, index.facts[FACT_VARIABLES]) + 1, np.uint64),
        np.zeros(1 + 4 * terms + 2 * triples, np.int32),
    )


@njit
def _make_presence() -> U8:
    presence = np.zeros(2 * PLACES + 1, np.uint8)
    presence[NO_KEY] = 0xFF
    return presence


@borrowing
def table_size(lookups: int) -> int:
    """The slots of a view's own table."""
    size = 8
    while size < 2 * (lookups + 1):
        size *= 2
    return size


@inlined
def has_key(bits: U64, key: int) -> bool:
    place = np.uint32(key)  # unsigned: the machine code has no case for places from the end
    return bool((bits[place >> np.uint32(6)] >> np.uint64(place & np.uint32(63))) & np.uint64(1) != np.uint64(0))


@inlined
def may_join(presence: U8, subjects: int, places: np.uint32) -> bool:
    """Whether a structure's next keys may be present, of one of these subjects (bits of `Hits.presence`) where they
    share it with the anchor."""
    second, third = np.uint64(places) & np.uint64(0xFFFF), np.uint64(places) >> np.uint64(16)
    return bool(subjects & presence[second] & presence[third] != 0)


@inlined
def find_slot(slots: I32, size: int, key: Integer) -> int:
    """Find the slot of a key, or the empty one where it belongs."""
    last = np.uint64(size - 1)
    slot = (np.uint64(np.uint32(key)) * np.uint64(40503)) & last
    while slots[slot, 0] != key and slots[slot, 0] >= 0:
        slot = (slot + np.uint64(1)) & last
    return int(np.int64(slot))


@borrowing
def probe(index: Index, encoded: Encoded, view: int, hits: Hits) -> tuple[int, int]:
    """Fill `hits` for one view: (how many keys it has, slots of its table in use)."""
    table, key_terms = index.key_table, index.key_terms
    bits, slots, keys, chain, presence = hits.bits, hits.slots, hits.keys, hits.chain, hits.presence
    hashes, loaded, origin, triples = hits.hashes, hits.loaded, hits.origin, encoded.triples
    base = encoded.view_offsets[view]
    lookups = _queue_lookups(
        triples[base : encoded.view_offsets[view + 1]],
        table,
        key_terms,
        hashes,
        loaded,
        origin,
    )
    size = table_size(lookups)
    slots[:size, 0] = -1
    subjects, ordinals = hits.subjects, hits.ordinals
    first_term = encoded.view_terms[view, 0]
    ordinal = 0
    known = 0
    subject = np.int64(-1)
    hits.links[0] = 0
    found = 0
    hit = 0
    last = np.uint64(len(table) - 1)
    for lookup in range(lookups - 1, -1, -1):
        entry = loaded[lookup]
        if entry == np.uint64(0):
            continue
        hashed = hashes[lookup]
        tag = hashed & np.uint64(0xFFFFFFFF)
        slot = hashed >> np.uint64(32)
        triple = origin[lookup] >> 3
        mask = origin[lookup] & 7
        if triples[base + triple, 0] != subject:
            subject = np.int64(triples[base + triple, 0])
            ordinal = ordinals[1 + subject - first_term]
            if ordinal < 0 or ordinal // SUBJECTS_LIMIT != view:
                ordinal = view * SUBJECTS_LIMIT + min(known, SUBJECTS_LIMIT - 1)
                ordinals[1 + subject - first_term] = ordinal
                known += 1
        key = np.int64(-1)
        while entry != np.uint64(0):
            if entry >> np.uint64(32) == tag:
                key = np.int64(entry & np.uint64(0xFFFFFFFF)) - 1
                if _has_terms(key_terms, key, triples, base + triple, mask):
                    break
                key = np.int64(-1)
            slot += np.uint64(1)
            entry = table[slot & last]
        if key < 0:
            continue
        place = find_slot(slots, size, key)
        if slots[place, 0] < 0:
            slots[place, 0] = key
            slots[place, 1] = -1
            slots[place, 2] = 0
            subjects[place] = np.uint64(0)
            keys[found] = key
            prefetch(index.anchor_offsets, key)
            found += 1
            bits[key >> 6] |= np.uint64(1) << np.uint64(key & 63)
            presence[find_place(key) + np.uint64(PLACES)] = 0xFF
        chain[hit, 0] = triple
        chain[hit, 1] = slots[place, 1]
        slots[place, 1] = hit
        slots[place, 2] += 1
        subjects[place] |= np.uint64(1) << np.uint64(ordinal % SUBJECTS_LIMIT)
        presence[find_place(key)] |= np.uint8(1 << (ordinal & 7))
        hit += 1
    ordinals[0] = known <= SUBJECTS_LIMIT
    always = index.facts[FACT_ALWAYS]
    if always >= 0:
        place = find_slot(slots, size, always)
        slots[place, 0] = always
        slots[place, 1] = -1
        slots[place, 2] = 0
        keys[found] = always
        found += 1
        bits[always >> 6] |= np.uint64(1) << np.uint64(always & 63)
        presence[find_place(always)] = presence[find_place(always) + np.uint64(PLACES)] = 0xFF
    return found, size


@inlined
def find_triples(index: Index, encoded: Encoded, view: int, key: int, slot: int, hit: int, hits: Hits) -> int:
    """Look for the triples of a view that have a key, as `probe` finds them; return how many hits there are then."""
    slots, chain, triples, key_terms = hits.slots, hits.chain, encoded.triples, index.key_terms
    slots[slot, 0], slots[slot, 1], slots[slot, 2] = key, -1, 0
    mask = (key_terms[key, 0] >= 0) * 1 + (key_terms[key, 1] >= 0) * 2 + (key_terms[key, 2] >= 0) * 4
    base = encoded.view_offsets[view]
    for triple in range(encoded.view_offsets[view + 1] - 1, base - 1, -1):
        if triples[triple, LOOKUPS] >> mask & 1 and _has_terms(key_terms, key, triples, triple, mask):
            chain[hit, 0] = triple - base
            chain[hit, 1] = slots[slot, 1]
            slots[slot, 1] = hit
            slots[slot, 2] += 1
            hit += 1
    return hit


@inlined
def _has_terms(key_terms: I32, key: Integer, triples: I32, triple: int, mask: int) -> bool:
    """Whether a key is that of a triple under a mask."""
    return bool(
        key_terms[key, 0] == (triples[triple, 3] if mask & 1 else -1)
        and key_terms[key, 1] == (triples[triple, 4] if mask & 2 else -1)
        and key_terms[key, 2] == (triples[triple, 5] if mask & 4 else -1)
    )


@inlined
def _queue_lookups(triples: I32, table: U64, key_terms: I32, hashes: U64, loaded: U64, origin: I32) -> int:
    """Every key that the view's triples could have: all hashes first, then all slots."""
    lookups = 0
    for triple in range(len(triples)):
        subject, predicate, end = triples[triple, 3], triples[triple, 4], triples[triple, 5]
        masks = np.uint64(triples[triple, LOOKUPS])
        while masks:
            mask = count_low_zeros(masks)
            masks &= masks - np.uint64(1)
            hashes[lookups] = hash_key(
                subject if mask & 1 else np.int32(-1),
                predicate if mask & 2 else np.int32(-1),
                end if mask & 4 else np.int32(-1),
            )
            origin[lookups] = 8 * triple + mask
            lookups += 1
    last = np.uint64(len(table) - 1)
    for lookup in range(lookups):
        entry = table[(hashes[lookup] >> np.uint64(32)) & last]
        loaded[lookup] = entry
        prefetch(key_terms, np.int64(entry & np.uint64(0xFFFFFFFF)) - 1)
    return lookups


@borrowing
def forget_keys(hits: Hits, found: int) -> None:
    """Clear `Hits.bits` and `Hits.presence` of a view with so many keys."""
    bits, presence, keys = hits.bits, hits.presence, hits.keys
    for i in range(found):
        bits[keys[i] >> 6] = np.uint64(0)
        presence[find_place(keys[i])] = presence[find_place(keys[i]) + np.uint64(PLACES)] = 0


@borrowing
def link_ends(triples: I32, first: int, last: int, base: int, count: int, links: I32) -> None:
    """Chains the triples of a view (rows `first` to `last`) by subject and by object.

    ``links[1 + 4 * term + side]`` is the first triple with that local term as subject (side 0) or object (side 1), two
    places on their number; ``links[1 + 4 * count + 2 * triple + side]`` is the next triple, -1 at the end.
    """
    links[0] = 1
    for term in range(count):
        links[1 + 4 * term] = links[2 + 4 * term] = -1
        links[3 + 4 * term] = links[4 + 4 * term] = 0
    nexts = 1 + 4 * count
    for triple in range(last - first - 1, -1, -1):
        for side in range(2):
            head = 1 + 4 * (triples[first + triple, 2 * side] - base) + side
            links[nexts + 2 * triple + side] = links[head]
            links[head] = triple
            links[head + 2] += 1
