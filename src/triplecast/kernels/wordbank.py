"""The words of a batch's literals, and the word triples that they give a segment.

A literal is cut once a batch (`cut_texts`) into folded words, each behind a space. A segment's dictionary holds the
words and phrases that its subscriptions need in the same form, so a phrase of n words is a slice: found by its hash,
verified by its bytes (`pairing`). Each found one becomes a row behind its view's triples whose predicate is the
segment's `FACT_WORDS`; only keys with that predicate see it (`probe`, `join`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from triplecast.kernels import borrowing, inlined, njit
from triplecast.kernels.characters import (
    ELSEWHERE,
    SINGLE,
    SKIPPED,
    SPOKEN,
    TABLE_END,
    CharacterTables,
    character_tables,
)
from triplecast.kernels.layout import I32, I64, U8
from triplecast.kernels.resolve import Terms, decode, empty_terms
from triplecast.kernels.words import PADDING, pad
from triplecast.model.algebra import from_ntriples
from triplecast.model.comparison_codes import Lane
from triplecast.text.breaks import Break
from triplecast.text.words import fold, words_of

_LANG, _STRING = int(Lane.LANG), int(Lane.STRING)
_LETTER, _NUMERIC, _CONNECTOR = int(Break.LETTER), int(Break.NUMERIC), int(Break.CONNECTOR)
_KATAKANA = int(Break.KATAKANA)
_MID_LETTER, _MID_NUMBER = int(Break.MID_LETTER), int(Break.MID_NUMBER)
_MID_BOTH, _SINGLE_QUOTE = int(Break.MID_BOTH), int(Break.SINGLE_QUOTE)
_SPACE = ord(" ")
LEFT = 2
"""The mark of a literal that the tables of characters do not suffice for."""


class WordBank(NamedTuple):
    """The folded words of literals: word w is ``text[start[w]:end[w]]`` with the space before it; its literal's next
    word begins at ``end[w]``."""

    text: U8
    """Padded."""
    start: I64
    end: I64
    first: I64
    """[L] first word of a term."""
    sizes: I64
    """[L] its words; -1 where it was not cut."""


@borrowing
def mark_texts(triples: I32, identity: I32, word_predicates: I32, value_class: U8, wanted: U8) -> None:
    """Mark the string literals that are objects of `word_predicates` (-1 among them: of any)."""
    for triple in range(len(triples)):
        term = triples[triple, 2]
        if wanted[term] == 0 and is_text(value_class[term]) and is_among(identity[triples[triple, 1]], word_predicates):
            wanted[term] = 1


@inlined
def is_text(value_class: np.uint8) -> bool:
    return value_class in (_STRING, _LANG)


@inlined
def is_among(predicate: np.int32, word_predicates: I32) -> bool:
    """Tell whether an ascending list has `number`; -1 in it means all."""
    if len(word_predicates) and word_predicates[0] == -1:
        return True
    low, high = 0, len(word_predicates)
    while low < high:
        middle = (low + high) >> 1
        if word_predicates[middle] < predicate:
            low = middle + 1
        else:
            high = middle
    return bool(low < len(word_predicates) and word_predicates[low] == predicate)


def cut_texts(terms: Terms, wanted: U8) -> WordBank:
    """The words of the marked literals."""
    bank, used, words = cut_marked(terms, wanted, character_tables())
    rest = np.flatnonzero(wanted == LEFT)
    if not len(rest):
        return bank
    text: list[bytes] = []
    start: list[int] = []
    end: list[int] = []
    for term in rest.tolist():
        begin = terms.start[term]
        literal = from_ntriples(terms.text[begin : begin + terms.length[term]].tobytes().decode())
        bank.first[term] = words + len(start)
        for word in words_of(literal.value):
            text.append(b" " + fold(word).encode())
            start.append(used)
            used += len(text[-1])
            end.append(used)
        bank.sizes[term] = words + len(start) - bank.first[term]
    return WordBank(
        pad([bank.text[: used - sum(map(len, text))].tobytes(), *text]),
        np.concatenate([bank.start[:words], np.array(start, np.int64)]),
        np.concatenate([bank.end[:words], np.array(end, np.int64)]),
        bank.first,
        bank.sizes,
    )


@njit
def cut_marked(terms: Terms, wanted: U8, tables: CharacterTables) -> tuple[WordBank, int, int]:
    """Cut what the tables can cut and mark the rest as `LEFT`: (bank, bytes and words in use)."""
    room = 0
    for term in range(len(wanted)):
        if wanted[term]:
            room += terms.length[term]
    bank = WordBank(
        np.zeros(3 * room + PADDING, np.uint8),
        np.empty(room, np.int64),
        np.empty(room, np.int64),
        np.zeros(len(wanted), np.int64),
        np.full(len(wanted), np.int64(-1), np.int64),
    )
    used = 0
    words = 0
    for term in range(len(wanted)):
        if wanted[term]:
            now, count = _cut_literal(terms.text, int(terms.start[term]), tables, bank, used, words)
            if count < 0:
                wanted[term] = LEFT
                continue
            bank.first[term] = words
            bank.sizes[term] = count
            used = now
            words += count
    return bank, used, words


@borrowing
def _cut_literal(text: U8, at: int, tables: CharacterTables, bank: WordBank, used: int, words: int) -> tuple[int, int]:
    """Write the words of the literal whose first quote is at `at` (WB5 to WB13b of UAX #29, as `breaks.joins`):
    (bytes in use, how many), -1 where the tables do not suffice."""
    kinds, starts, folded = tables.kinds, tables.starts, tables.folded
    out, start, end = bank.text, bank.start, bank.end
    word = words
    begin = -1
    last = 0
    pending = -1
    spoken = False
    at += 1
    while True:
        point, size = decode(text, at)
        at += size
        flags = 0
        if point >= 0:
            if point >= TABLE_END:
                return used, -1
            flags = int(kinds[point])
            if flags == ELSEWHERE:
                return used, -1
        kind = flags & (SPOKEN - 1)
        if kind == SKIPPED:
            continue
        joining = kind in (_LETTER, _NUMERIC, _CONNECTOR, _KATAKANA)
        both = kind in (_MID_BOTH, _SINGLE_QUOTE)
        if begin >= 0:
            if pending >= 0:
                middle = int(kinds[pending])
                either = middle in (_MID_BOTH, _SINGLE_QUOTE)
                if kind == last and (
                    (kind == _LETTER and (either or middle == _MID_LETTER))
                    or (kind == _NUMERIC and (either or middle == _MID_NUMBER))
                ):
                    used = _append(out, used, starts, folded, pending)
                    pending = -1
            elif (last == _LETTER and (both or kind == _MID_LETTER)) or (
                last == _NUMERIC and (both or kind == _MID_NUMBER)
            ):
                pending = point
                continue
            apart = (kind == _KATAKANA) != (last == _KATAKANA) and kind != _CONNECTOR and last != _CONNECTOR
            if pending >= 0 or not joining or apart:
                if spoken:
                    start[word], end[word] = begin, used
                    word += 1
                else:
                    used = begin
                begin = -1
                pending = -1
        if joining or kind == SINGLE:
            if begin < 0:
                begin = used
                out[used] = _SPACE
                used += 1
                spoken = False
            used = _append(out, used, starts, folded, point)
            spoken = spoken or flags >= SPOKEN
            last = kind
            if kind == SINGLE:
                start[word], end[word] = begin, used
                word += 1
                begin = -1
        if point < 0:
            return used, word - words


@inlined
def _append(out: U8, used: int, starts: I32, folded: U8, point: int) -> int:
    for at in range(starts[point], starts[point + 1]):
        out[used] = folded[at]
        used += 1
    return used


def no_words() -> WordBank:
    """The bank of a batch whose literals need no words."""
    none = np.zeros(0, np.int64)
    return WordBank(np.zeros(PADDING, np.uint8), none, none, none, none)


def warm_up() -> None:
    nothing, wanted = np.zeros((0, 3), np.int32), np.zeros(0, np.uint8)
    mark_texts(nothing, np.zeros(0, np.int32), np.zeros(0, np.int32), wanted, wanted)
    cut_texts(empty_terms(), wanted)
