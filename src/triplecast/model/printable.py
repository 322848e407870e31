"""Make text from publishers and file systems safe to print: escape what would control a terminal."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control characters but tab and line feed, direction marks, the byte order mark, halves of characters."""
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Halves of characters that are not from a file name."""
_BREAKS = str.maketrans({"\t": "\\u0009", "\n": "\\u000A"})


def printable(text: str) -> str:
    """Escape each character that controls a terminal as ``\\uXXXX``, which means the same inside JSON; lines stay
    lines."""
    if text.isascii() and text.isprintable():
        return text
    return _CONTROLS.sub(_escape, text)


def json_line(row: Mapping[str, object]) -> str:
    """Write JSON on one line without what controls a terminal."""
    return printable(json.dumps(row, ensure_ascii=False, separators=(",", ":")))


def printable_name(name: str) -> str:
    """Escape a name on one line; bytes of a file name that are no UTF-8 are written ``\\xe9``."""
    return printable(decodable(_HALF.sub(_escape, name))).translate(_BREAKS)


def decodable(name: str) -> str:
    """Return a file's name as text that can be stored: bytes that are no UTF-8 are written ``\\xe9``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def shortened(text: str, most: int) -> str:
    """Return `text`, cut to `most` characters that end with an ellipsis if it is longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"
