"""A batch's triples in the numbers of one segment: those that some key may have, with what is to be looked up of each,
and behind a view's own the triples of its words (`wordbank`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, hashing, inlined, njit
from triplecast.kernels.hashing import hash_slice
from triplecast.kernels.layout import (
    FACT_COUNT,
    FACT_PHRASES,
    FACT_WORDS,
    I32,
    I64,
    LOOKUPS,
    TRIPLE_COLUMNS,
    U8,
    Dictionary,
)
from triplecast.kernels.resolve import empty_dictionary, find_term
from triplecast.kernels.wordbank import WordBank, is_among, no_words

_WORD_LOOKUP = 1 << 6
"""By predicate and object."""
_POSSIBLE = np.array(
    [sum(1 << mask for mask in range(8) if not mask & unknown) for unknown in range(8)],
    np.uint8,
)
"""By the places that no key may have (1 subject, 2 predicate, 4 object) the masks without them."""


class SegmentKeys(NamedTuple):
    """The terms, keys and words of a segment that triples are compared with."""

    dictionary: Dictionary
    facts: I64
    places: U8
    """As `find_places` returns it."""
    word_predicates: I32


@njit
def find_places(key_terms: I32, ids: int) -> U8:
    """[ids + 1] bit m: a key with this predicate has constants at the places of mask m (1 subject, 2 predicate, 4
    object); the last row is of keys with a variable predicate."""
    places = np.zeros(ids + 1, np.uint8)
    for key in range(len(key_terms)):
        subject, predicate, end = key_terms[key, 0], key_terms[key, 1], key_terms[key, 2]
        if subject == -2:
            continue
        mask = (subject >= 0) * 1 + (predicate >= 0) * 2 + (end >= 0) * 4
        places[predicate if predicate >= 0 else ids] |= np.uint8(1 << mask)
    return places


@njit
def pair_triples(
    segment: SegmentKeys, bank: WordBank, source: I64, triples: I32, offsets: I64, identity: I32, mask: np.uint64
) -> tuple[I32, I64]:
    """`Encoded.triples` and `Encoded.view_offsets` of views whose terms have these ids.

    `source` has the row of each term in the bank, beyond its end for one that it lacks; empty: their own.
    """
    ends = np.zeros(len(offsets), np.int64)
    room = len(triples)
    if len(segment.word_predicates):
        room += _count_room(segment, bank, source, triples, identity)
    paired = np.empty((room, TRIPLE_COLUMNS), np.int32)
    seen = np.zeros(len(segment.dictionary.hashes) if room > len(triples) else 0, np.int64)
    done = np.full(len(bank.sizes), np.int64(-1), np.int64)
    _pair(segment, bank, source, (triples, offsets, identity), (paired, ends), seen, done, mask)
    return paired[: ends[len(offsets) - 1]], ends


@borrowing
def _pair(
    segment: SegmentKeys,
    bank: WordBank,
    source: I64,
    views: tuple[I32, I64, I32],
    made: tuple[I32, I64],
    seen: I64,
    done: I64,
    mask: np.uint64,
) -> None:
    """Fill `made`; `done` has the last view in which each literal was seen."""
    triples, offsets, identity = views
    paired, ends = made
    places, word_predicates = segment.places, segment.word_predicates
    free = places[len(places) - 1]
    filled, literal = 0, 0
    for view in range(len(offsets) - 1):
        for triple in range(offsets[view], offsets[view + 1]):
            first, second, third = triples[triple, 0], triples[triple, 1], triples[triple, 2]
            subject, predicate, end = identity[first], identity[second], identity[third]
            wanted = free
            if predicate >= 0:
                wanted |= places[predicate]
            wanted &= _POSSIBLE[(subject < 0) * 1 + (predicate < 0) * 2 + (end < 0) * 4]
            if wanted == 0:
                continue
            paired[filled, 0], paired[filled, 1], paired[filled, 2] = first, second, third
            paired[filled, 3], paired[filled, 4], paired[filled, 5] = subject, predicate, end
            paired[filled, LOOKUPS] = wanted
            filled += 1
        if len(word_predicates):
            for triple in range(offsets[view], offsets[view + 1]):
                term = triples[triple, 2]
                row = _row_of(bank, source, term)
                if row < 0 or done[row] == view or not is_among(identity[triples[triple, 1]], word_predicates):
                    continue
                done[row] = view
                literal += 1
                filled = _add_literal(segment, bank, (identity[term], term, row, literal), seen, paired, filled, mask)
        ends[view + 1] = filled


@inlined
def _row_of(bank: WordBank, source: I64, term: int) -> int:
    """The row of a term in the bank, -1 where it has no words there."""
    row = int(source[term]) if len(source) else int(term)
    return row if row < len(bank.sizes) and bank.sizes[row] > 0 else -1


@borrowing
def _count_room(segment: SegmentKeys, bank: WordBank, source: I64, triples: I32, identity: I32) -> int:
    lengths = 0
    phrases = segment.facts[FACT_PHRASES]
    while phrases:
        lengths += phrases & 1
        phrases >>= 1
    room = 0
    for triple in range(len(triples)):
        row = _row_of(bank, source, triples[triple, 2])
        if row >= 0 and is_among(identity[triples[triple, 1]], segment.word_predicates):
            room += lengths * bank.sizes[row]
    return room


@borrowing
def _add_literal(
    segment: SegmentKeys,
    bank: WordBank,
    id_term_row_literal: tuple[np.int32, np.int32, int, int],
    seen: I64,
    paired: I32,
    filled: int,
    mask: np.uint64,
) -> int:
    """Add the word triples of one literal; `seen` holds the last literal in which each id was found.

    Their three terms are the literal's; their ids are the literal's, `FACT_WORDS` and the phrase's.
    """
    identity, term, row, literal = id_term_row_literal
    first, last = bank.first[row], bank.first[row] + bank.sizes[row]
    phrases = segment.facts[FACT_PHRASES]
    for word in range(first, last):
        start = bank.start[word]
        length = 0
        rest = phrases >> 1
        while rest and word + length < last:
            if rest & 1:
                size = bank.end[word + length] - start
                found = find_term(segment.dictionary, bank.text, start, size, hash_slice(bank.text, start, size) & mask)
                if found >= 0 and seen[found] != literal:
                    seen[found] = literal
                    paired[filled, 0] = paired[filled, 1] = paired[filled, 2] = term
                    paired[filled, 3] = identity
                    paired[filled, 4] = segment.facts[FACT_WORDS]
                    paired[filled, 5] = found
                    paired[filled, LOOKUPS] = _WORD_LOOKUP
                    filled += 1
            rest >>= 1
            length += 1
    return filled


def warm_up() -> None:
    dictionary = empty_dictionary()
    places = find_places(np.zeros((0, 3), np.int32), 0)
    segment = SegmentKeys(dictionary, np.zeros(FACT_COUNT, np.int64), places, np.zeros(0, np.int32))
    terms = np.zeros(0, np.int64), np.zeros((0, 3), np.int32), np.zeros(1, np.int64), np.zeros(0, np.int32)
    pair_triples(segment, no_words(), *terms, hashing.HASH_MASK)
