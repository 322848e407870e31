"""Wildcards inside words (XQuery Full Text, section 3.4.2): ``.``, ``.?``, ``.*``, ``.+``, ``.{n,m}``; ``\\`` escapes a
character. RE2 matches them, one word at a time."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Any

import re2

from triplecast.text.query import TextFault, TextRefused
from triplecast.text.words import Form, fold

MOST_CHARACTERS = 100
"""The most that ``.{n,m}`` may allow."""
MOST_POSITIONS = 1_000
"""Most characters of one pattern with its ranges expanded."""
_PIECE = re.compile(r"\\(.)|\.\{([0-9]{1,4}),([0-9]{1,4})\}|\.[?*+]?|[^.\\]+|\\", re.DOTALL)


def split_patterns(text: str) -> tuple[str, ...]:
    """Split a string into patterns at white space; those without letter, number or wildcard are dropped. Raises
    `TextFault`."""
    patterns = []
    for part in text.split():
        positions = count_positions(part)
        if positions > MOST_POSITIONS:
            reason = f"it has {positions:,} characters with its ranges expanded"
            raise TextRefused(0, "a longer pattern of a word", reason, f"at most {MOST_POSITIONS:,} are allowed")
        for match in _PIECE.finditer(part):
            if match[0] == "\\":
                raise TextFault(0, f"the pattern {part} ends with \\", ("\\\\",))
            if match[2] and not int(match[2]) <= int(match[3]) <= MOST_CHARACTERS:
                raise TextFault(0, f"{match[0]} is no range of at most {MOST_CHARACTERS} characters", (".{0,3}",))
        if any(character.isalnum() or character == "." for character in part):
            patterns.append(unicodedata.normalize("NFC", part))
    return tuple(patterns)


def find_stray_sign(pattern: str) -> str | None:
    """The first of ``*``, ``?`` and ``+`` without a ``.`` before it: it is taken literally, which no word holds."""
    plain = (match[0] for match in _PIECE.finditer(pattern) if match[0][0] not in ".\\")
    return next((sign for piece in plain for sign in piece if sign in "*?+"), None)


@lru_cache(maxsize=1024)
def count_positions(pattern: str) -> int:
    """Count the characters of a pattern with its ranges expanded: the most states that RE2 follows at once."""
    pieces = ((match[0], match[3]) for match in _PIECE.finditer(pattern))
    return sum(int(most) if most else 1 if piece[0] in ".\\" else len(piece) for piece, most in pieces)


@lru_cache(maxsize=1024)
def compile_pattern(pattern: str, form: Form) -> Any:
    """Compile the RE2 expression for words folded to `form`; it has `fullmatch`."""
    written = []
    for match in _PIECE.finditer(pattern):
        piece = match[0]
        if match[1]:
            written.append(re2.escape(fold(match[1], form)))
        elif piece.startswith("."):
            written.append(f".{{{int(match[2])},{int(match[3])}}}" if match[2] else piece)
        else:
            written.append(re2.escape(fold(piece, form)))
    options = re2.Options()
    options.dot_nl = True
    options.log_errors = False
    return re2.compile("".join(written), options)
