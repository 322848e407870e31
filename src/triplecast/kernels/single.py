"""One publication against one segment in one call: from canonical text to rows.

It is the way of `publish` for one document, where what a batch costs by the call is most of the time: the kernels that
a batch passes one after the other, without an array made or checked in Python between them. What the kernels alone
cannot say, `match_text` leaves to them and their callers in `triplecast.match`.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numba import types
from numba.experimental import structref

from triplecast.kernels import borrowing, hashing, njit
from triplecast.kernels.characters import CharacterTables, character_tables
from triplecast.kernels.join import match_views
from triplecast.kernels.layout import (
    EXTRA_LANGUAGE,
    EXTRA_RANK,
    F64,
    FACT_COUNT,
    FACT_LANGUAGES,
    I32,
    I64,
    U8,
    Answers,
    Dictionary,
    Encoded,
    Index,
    empty_answers,
    empty_index,
)
from triplecast.kernels.literals import PENDING
from triplecast.kernels.pairing import SegmentKeys, find_places, pair_triples
from triplecast.kernels.render import write_rows
from triplecast.kernels.resolve import empty_dictionary, find_languages, rank_strings, resolve
from triplecast.kernels.rows import collect_sheets
from triplecast.kernels.runs import Work, make_work
from triplecast.kernels.scan import OPEN_KEY, scan_text
from triplecast.kernels.sheets import SheetLimits
from triplecast.kernels.views import Views, make_views, view_graphs
from triplecast.kernels.wordbank import LEFT, WordBank, cut_marked, mark_texts
from triplecast.kernels.words import PADDING, Text, pad

_ALL_PAIRS = 1 << 62


class SegmentArrays(NamedTuple):
    """A segment as `match_text` takes it: an argument less for each array that is named once."""

    tables: Index
    dictionary: Dictionary
    places: U8
    """As `find_places` returns it."""
    answers: Answers
    weight: I64
    """As `SheetLimits.weight`."""


@structref.register
class _PackedType(types.StructRef):  # type: ignore[misc]
    """numba's type of `Packed`."""


class Packed(structref.StructRefProxy):  # type: ignore[misc]
    """What `match_text` takes that stays the same from call to call: one argument in place of 50 arrays, each of which
    costs a call a fifth of a microsecond. It keeps the arrays; `Work` is written to through it."""


structref.define_proxy(Packed, _PackedType, ["segment", "work", "characters"])


@njit
def pack(segment: SegmentArrays, work: Work, characters: CharacterTables) -> Packed:
    return Packed(segment, work, characters)


SingleRows: TypeAlias = tuple[I32, I32, I32, I64, U8, bool, int, int, int, int]
"""What views match, by publication and member, as a plain tuple: to make a named one takes numba two microseconds.

Publication, member, sheet, offsets and text: row i says ``text[offsets[sheet[i]]:offsets[sheet[i] + 1]]``; whether
these are whole (if not, there is more to it than rows, or no room, and nothing here is meant to be read); the bytes
that all rows say; keys, structures touched, structures joined."""


@njit
def match_text(text: Text, packed: Packed, room: int, longest: int, mask: np.uint64) -> SingleRows:
    """The rows of the publication whose canonical N-Triples are the padded `text`; limits as `SheetLimits` has them,
    and the bits of a hash that count (`hashing.HASH_MASK`)."""
    starts = np.zeros(2, np.int64)
    starts[1] = len(text) - PADDING
    scanned, fault, _ = scan_text(text, starts, np.zeros(1, np.bool_), mask, OPEN_KEY)
    if fault >= 0:
        return _nothing(False, np.zeros(4, np.int64))
    for term in range(len(scanned.term_class)):
        if scanned.term_class[term] == PENDING:
            return _nothing(False, np.zeros(4, np.int64))
    return match_at_once(make_views(scanned), packed, room, longest, mask)


@njit
def match_at_once(views: Views, packed: Packed, room: int, longest: int, mask: np.uint64) -> SingleRows:
    """The rows of sound views."""
    segment, work = packed.segment, packed.work
    encoded, readable = _encode(views, segment, packed.characters, mask)
    if not readable:
        return _nothing(False, np.zeros(4, np.int64))
    matched = match_views(segment.tables, encoded, work, _ALL_PAIRS)
    if len(matched.exhausted) > 0 or len(matched.subscription) == 0:
        return _nothing(len(matched.exhausted) == 0, matched.counts)
    limits = SheetLimits(room, longest, segment.weight, np.zeros(0, np.uint8))
    sheets = collect_sheets(segment.tables, segment.answers, encoded, matched, views.terms, limits, work)
    written = write_rows(sheets, segment.answers, views.terms, limits, matched, views.publication, work)
    whole = sheets.runs == len(matched.run_view) and written.left == 0 and written.bytes <= room
    keys, touched, joins, _ = matched.counts
    rows = written.publication, written.member, written.sheet, written.offsets, written.text
    return (*rows, whole, written.bytes, keys, touched, joins)


@njit
def _nothing(whole: bool, counts: I64) -> SingleRows:
    none = np.zeros(0, np.int32)
    keys, touched, joins, _ = counts
    return none, none, none, np.zeros(1, np.int64), np.zeros(0, np.uint8), whole, 0, keys, touched, joins


@njit
def _encode(views: Views, segment: SegmentArrays, characters: CharacterTables, mask: np.uint64) -> tuple[Encoded, bool]:
    """The view in the numbers of the segment, and whether the tables of characters suffice for its words."""
    tables, dictionary, terms = segment.tables, segment.dictionary, views.terms
    identity = resolve(dictionary, terms)
    words, readable = _cut_words(views, tables.word_predicates, identity, characters)
    asked = SegmentKeys(dictionary, tables.facts, segment.places, tables.word_predicates)
    own = np.zeros(0, np.int64)
    triples, offsets = pair_triples(asked, words, own, views.triples, views.offsets, identity, mask)
    compares = tables.facts[FACT_LANGUAGES] != 0 or len(dictionary.bounds) > 0
    extras = np.empty((len(identity) if compares else 0, 2), np.float64)
    if compares:
        _fill_extras(extras, rank_strings(dictionary, terms), find_languages(dictionary, terms, mask))
    return Encoded(offsets, views.spans, views.mode, triples, views.values, identity, extras), readable


@njit
def _cut_words(views: Views, word_predicates: I32, identity: I32, characters: CharacterTables) -> tuple[WordBank, bool]:
    """The words of the literals that the segment searches for, and whether these are all."""
    wanted = np.zeros(len(identity) if len(word_predicates) else 0, np.uint8)
    if len(wanted):
        mark_texts(views.triples, identity, word_predicates, views.terms.value_class, wanted)
    bank, _, _ = cut_marked(views.terms, wanted, characters)
    readable = True
    for mark in wanted:
        readable = readable and mark != LEFT
    return bank, readable


@borrowing
def _fill_extras(extras: F64, ranks: F64, languages: I32) -> None:
    for term in range(len(extras)):
        extras[term, EXTRA_RANK] = ranks[term]
        extras[term, EXTRA_LANGUAGE] = languages[term]


def empty_packed() -> Packed:
    """For a warm-up."""
    places = find_places(np.zeros((0, 3), np.int32), 0)
    tables = empty_index()._replace(facts=np.full(FACT_COUNT, -1, np.int64))
    segment = SegmentArrays(tables, empty_dictionary(), places, empty_answers(), np.zeros(0, np.int64))
    return pack(segment, make_work(0, 0), character_tables())


def warm_up() -> None:
    match_text(pad([]), empty_packed(), 0, 0, hashing.HASH_MASK)
    match_at_once(view_graphs([]), empty_packed(), 0, 0, hashing.HASH_MASK)
