"""Break classes and foldings of single characters as flat arrays, for the kernels.

They cover code points below `TABLE_END` whose word and folding depend on nothing around them: no marks, no Hebrew (its
quotation marks join), no parts of Hangul syllables. A text with any other character is cut by `words_of`.
"""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.text.breaks import Break, break_of
from triplecast.text.words import fold

TABLE_END = 0xD800
SINGLE = 20
"""A character that is a word by itself."""
SKIPPED = 21
"""A format character: part of the word around it, and removed by folding."""
ELSEWHERE = 22
"""The text is not for the kernels."""
SPOKEN = 64
"""Added to the kind of a letter or number: a segment without one is no word."""
_JAMO = range(0x1100, 0x1200)


class CharacterTables(NamedTuple):
    kinds: NDArray[np.uint8]
    """[TABLE_END] `Break`, `SINGLE`, `SKIPPED` or `ELSEWHERE`; and `SPOKEN`."""
    starts: NDArray[np.int32]
    """[TABLE_END + 1] into `folded`."""
    folded: NDArray[np.uint8]
    """UTF-8 of each character, folded."""


@cache
def character_tables() -> CharacterTables:
    """Callers do not change the arrays."""
    foldings = [fold(chr(code)).encode() for code in range(TABLE_END)]
    starts = np.zeros(TABLE_END + 1, np.int32)
    np.cumsum([len(folded) for folded in foldings], out=starts[1:])
    kinds = np.array([_kind(code) for code in range(TABLE_END)], np.uint8)
    return CharacterTables(kinds, starts, np.frombuffer(bytearray(b"".join(foldings)), np.uint8))


def _kind(code: int) -> int:
    normal = unicodedata.normalize("NFC", chr(code))
    if len(normal) != 1 or code in _JAMO:
        return ELSEWHERE
    kind = break_of(normal)
    if kind is Break.EXTEND:
        return ELSEWHERE if fold(normal) else SKIPPED
    if kind is Break.HEBREW:
        return ELSEWHERE
    if kind in (Break.DOUBLE_QUOTE, Break.LINE_END):
        return int(Break.OTHER)
    if not normal.isalnum():
        return int(kind)
    return SPOKEN + (SINGLE if kind is Break.OTHER else int(kind))
