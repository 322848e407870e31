"""Where a term of N-Triples ends: IRI, blank node, literal with its escapes and language tag."""

from __future__ import annotations

import numpy as np

from triplecast.kernels import borrowing, inlined
from triplecast.kernels.words import Text, count_low_zeros, load_word, mark_equal, mark_less

NEWLINE, SPACE, QUOTE, DOT, COLON = (ord(character) for character in '\n ".:')
OPEN, CLOSE, AT, BACKSLASH, CARET, UNDERSCORE = (ord(character) for character in "<>@\\^_")
_ONES = 0x0101010101010101
_QUOTES = np.uint64(ord('"') * _ONES)
_BACKSLASHES = np.uint64(ord("\\") * _ONES)
_OPENS = np.uint64(ord("<") * _ONES)
_CLOSES = np.uint64(ord(">") * _ONES)
_CONTROLS = np.uint64(0x20 * _ONES)
_BLANKS = np.uint64(0x21 * _ONES)


@inlined
def end_of_iri(text: Text, start: int) -> int:
    """Find the end of the IRI whose ``<`` is at `start`; the inverted offset of a byte that no IRI may have."""
    i = start + 1
    marks = np.uint64(0)
    while not marks:
        word = load_word(text, i)
        marks = mark_equal(word, _CLOSES) | mark_less(word, _BLANKS) | mark_equal(word, _QUOTES)
        marks |= mark_equal(word, _OPENS) | mark_equal(word, _BACKSLASHES)
        i += 8
    found = i - 8 + (count_low_zeros(marks) >> 3)
    return found + 1 if text[found] == CLOSE and found > start + 1 else ~found


@inlined
def _next_in_literal(text: Text, i: int) -> int:
    """Find the first quote, backslash or control character from `i` on."""
    marks = np.uint64(0)
    while not marks:
        word = load_word(text, i)
        marks = mark_equal(word, _QUOTES) | mark_equal(word, _BACKSLASHES) | mark_less(word, _CONTROLS)
        i += 8
    return i - 8 + (count_low_zeros(marks) >> 3)


@borrowing
def end_of_blank(text: Text, start: int) -> int:
    """Find the end of the blank node label at `start`; inverted if there is none."""
    if text[start + 1] != COLON:
        return ~(start + 1)
    i = start + 2
    while text[i] > SPACE and text[i] != OPEN and text[i] != CLOSE and text[i] != QUOTE and text[i] != BACKSLASH:
        i += 1
    return i if i > start + 2 else ~i


@borrowing
def end_of_literal(text: Text, start: int) -> tuple[int, int, bool]:
    """Find (the end of the literal whose first quote is at `start`, its closing quote, whether it has an escape).

    For an invalid literal the first is the inverted offset of the first wrong byte.
    """
    i = _next_in_literal(text, start + 1)
    escaped = False
    while text[i] == BACKSLASH:
        length = _length_of_escape(text, i + 1)
        if length == 0:
            return ~i, i, escaped
        escaped = True
        i = _next_in_literal(text, i + 1 + length)
    if text[i] != QUOTE:
        return ~i, i, escaped
    quote = i
    if text[i + 1] == AT:
        return _end_of_tag(text, i + 2), quote, escaped
    if text[i + 1] == CARET:
        if text[i + 2] != CARET or text[i + 3] != OPEN:
            return ~(i + 2), quote, escaped
        return end_of_iri(text, i + 3), quote, escaped
    return i + 1, quote, escaped


@borrowing
def _length_of_escape(text: Text, i: int) -> int:
    """Count the bytes of the escape whose backslash is before `i`; 0 if N-Triples has no such escape."""
    letter = text[i]
    digits = 4 if letter == ord("u") else 8 if letter == ord("U") else 0
    if digits:
        for k in range(i + 1, i + 1 + digits):
            if not (ord("0") <= text[k] <= ord("9") or ord("A") <= text[k] <= ord("F")):
                return 0
        return 1 + digits
    for known in (ord("t"), ord("b"), ord("n"), ord("r"), ord("f"), QUOTE, BACKSLASH):
        if letter == known:
            return 1
    return 0


@borrowing
def _end_of_tag(text: Text, start: int) -> int:
    """Find the end of the lower-case language tag at `start`; inverted if there is none."""
    i = start
    while ord("a") <= text[i] <= ord("z"):
        i += 1
    while i > start and text[i] == ord("-"):
        part = i + 1
        i = part
        while ord("a") <= text[i] <= ord("z") or ord("0") <= text[i] <= ord("9"):
            i += 1
        if i == part:
            return ~i
    return i if i > start else ~i
