"""Split text at Unicode's word boundaries (UAX #29, sections 4 and 4.1).

Word_Break classes are derived from `unicodedata`, as UAX #29 derives them, from general categories, scripts and a few
listed characters; `UNICODE` is the version. Rules WB3c and WB15/16 (pictographs, flags) are left out: they make no
words.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from enum import IntEnum
from functools import cache

UNICODE = unicodedata.unidata_version


class Break(IntEnum):
    """Word_Break values; those that no rule about words tells apart are one."""

    OTHER = 0
    """Stands alone: ideographs, Hiragana, Thai, punctuation, spaces."""
    LETTER = 1
    HEBREW = 2
    NUMERIC = 3
    KATAKANA = 4
    CONNECTOR = 5
    """ExtendNumLet."""
    MID_LETTER = 6
    MID_NUMBER = 7
    MID_BOTH = 8
    """MidNumLet."""
    SINGLE_QUOTE = 9
    DOUBLE_QUOTE = 10
    EXTEND = 11
    """Extend, Format and ZWJ: part of the character before (WB4)."""
    LINE_END = 12
    """CR, LF and Newline, which nothing extends."""


_MID_LETTERS = frozenset("\u003a\u00b7\u0387\u055f\u05f4\u2027\ufe13\ufe55\uff1a")
_MID_NUMBERS = frozenset("\u002c\u003b\u037e\u0589\u060c\u060d\u066c\u07f8\u2044\ufe50\ufe54\uff0c\uff1b")
_MID_BOTH = frozenset("\u002e\u2018\u2019\u2024\ufe52\uff07\uff0e")
_LINE_ENDS = frozenset("\r\n\u000b\u000c\u0085\u2028\u2029")
_MORE_LETTERS = frozenset(
    "\u02c2\u02c3\u02c4\u02c5\u02d2\u02d3\u02d4\u02d5\u02d6\u02d7\u02de\u02df\u02e5\u02e6\u02e7\u02e8\u02e9\u02ea\u02eb"
    "\u02ed\u02ef\u02f0\u02f1\u02f2\u02f3\u02f4\u02f5\u02f6\u02f7\u02f8\u02f9\u02fa\u02fb\u02fc\u02fd\u02fe\u02ff"
    "\u055a\u055b\u055c\u055e\u058a\u05f3\u070f\ua708\ua709\ua70a\ua70b\ua70c\ua70d\ua70e\ua70f\ua710\ua711\ua712\ua713"
    "\ua714\ua715\ua716\ua720\ua721\ua789\ua78a\uab5b"
)
"""ALetter by name in UAX #29, table 3."""
_KATAKANA_MARKS = frozenset("\u3031\u3032\u3033\u3034\u3035\u309b\u309c\u30a0\u30fc\uff70")
_ITERATIONS = ("IDEOGRAPHIC ITERATION MARK", "TANGUT ITERATION MARK", "NUSHU ITERATION MARK")
_PREPENDED = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u0890\u0891\u08e2\U000110bd\U000110cd")
"""Format characters that precede numbers."""
_CIRCLED = ((0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189))
"""Letters in circles and squares, which are alphabetic symbols."""
_NO_SPACES = ("THAI ", "LAO ", "MYANMAR ", "KHMER ", "TAI LE ", "NEW TAI LUE ", "TAI THAM ", "TAI VIET ", "AHOM ")
"""Scripts without spaces (Line_Break SA), which UAX #29 leaves to dictionaries."""
_IDEOGRAPHS = ("CJK ", "IDEOGRAPHIC ", "HANGZHOU ", "TANGUT ", "NUSHU ", "KHITAN ")


@cache
def break_of(character: str) -> Break:
    """Return the Word_Break class of a character."""
    for found, listed in (
        (Break.LINE_END, _LINE_ENDS),
        (Break.MID_LETTER, _MID_LETTERS),
        (Break.MID_NUMBER, _MID_NUMBERS),
        (Break.MID_BOTH, _MID_BOTH),
        (Break.LETTER, _MORE_LETTERS),
        (Break.KATAKANA, _KATAKANA_MARKS),
    ):
        if character in listed:
            return found
    if character == "'":
        return Break.SINGLE_QUOTE
    if character == '"':
        return Break.DOUBLE_QUOTE
    return _break_of_category(character, unicodedata.category(character))


def _break_of_category(character: str, category: str) -> Break:
    code = ord(character)
    if character in _PREPENDED:
        return Break.NUMERIC
    if category in ("Mn", "Mc", "Me") or code in (0xFF9E, 0xFF9F) or 0x1F3FB <= code <= 0x1F3FF:
        return Break.EXTEND
    if category == "Cf":
        return Break.OTHER if code == 0x200B else Break.EXTEND
    if category == "Pc" or code == 0x202F:
        return Break.CONNECTOR
    if category == "Nd" or code in (0x066B, 0x19DA):
        return Break.NUMERIC
    if category[0] == "L" or category == "Nl" or any(first <= code <= last for first, last in _CIRCLED):
        return _break_of_letter(unicodedata.name(character, ""))
    return Break.KATAKANA if 0x32D0 <= code <= 0x32FE or 0x3300 <= code <= 0x3357 else Break.OTHER


def _break_of_letter(name: str) -> Break:
    if name in _ITERATIONS:
        return Break.LETTER
    if name.startswith(("HEBREW LETTER", "HEBREW LIGATURE")):
        return Break.HEBREW
    if name.startswith(("KATAKANA ", "HALFWIDTH KATAKANA ")):
        return Break.KATAKANA
    if not name or "HIRAGANA" in name or name.startswith(("HENTAIGANA ", *_NO_SPACES, *_IDEOGRAPHS)):
        return Break.OTHER
    return Break.LETTER


_LETTERS = (Break.LETTER, Break.HEBREW)
_INNER_LETTER = (Break.MID_LETTER, Break.MID_BOTH, Break.SINGLE_QUOTE)
_INNER_NUMBER = (Break.MID_NUMBER, Break.MID_BOTH, Break.SINGLE_QUOTE)
_JOINING = (Break.LETTER, Break.HEBREW, Break.NUMERIC, Break.KATAKANA, Break.CONNECTOR)


def joins(before: Break, left: Break, right: Break, after: Break) -> bool:
    """Whether there is no boundary between `left` and `right` (WB5 to WB13b). Characters of class EXTEND are left out
    before; OTHER replaces a missing neighbour."""
    if left in _JOINING and right in _JOINING:
        if Break.CONNECTOR in (left, right):
            return True
        return (left is Break.KATAKANA) == (right is Break.KATAKANA)
    if left in _LETTERS and right in _INNER_LETTER:
        return after in _LETTERS or (left is Break.HEBREW and right is Break.SINGLE_QUOTE)
    if left in _INNER_LETTER and right in _LETTERS:
        return before in _LETTERS
    if right is Break.DOUBLE_QUOTE:
        return left is Break.HEBREW and after is Break.HEBREW
    if left is Break.DOUBLE_QUOTE:
        return right is Break.HEBREW and before is Break.HEBREW
    if left is Break.NUMERIC and right in _INNER_NUMBER:
        return after is Break.NUMERIC
    return left in _INNER_NUMBER and right is Break.NUMERIC and before is Break.NUMERIC


def split_words(text: str) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each word of a text: the segments between boundaries that hold a letter or number."""
    starts: list[int] = []
    kinds: list[Break] = []
    for place, kind in enumerate(map(break_of, text)):
        if kind is Break.EXTEND and kinds and kinds[-1] is not Break.LINE_END:
            continue
        starts.append(place)
        kinds.append(kind)
    if not kinds:
        return
    starts.append(len(text))
    first = 0
    before, left = Break.OTHER, Break.OTHER
    for at, (right, after) in enumerate(zip(kinds, [*kinds[1:], Break.OTHER], strict=True)):
        if at and (right is Break.OTHER or not joins(before, left, right, after)):
            start, end = starts[first], starts[at]
            if any(map(str.isalnum, text[start:end])):
                yield start, end
            first = at
        before, left = left, right
    if any(map(str.isalnum, text[starts[first] :])):
        yield starts[first], len(text)
