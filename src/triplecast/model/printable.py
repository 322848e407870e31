"""Names and quotations as people may be shown them: whatever a publisher or a file system put into them, a terminal
obeys none of it."""

from __future__ import annotations

import re

_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control characters but tab and line feed, marks that turn the direction of text, the byte order mark, halves of
characters."""
_HALF = re.compile("[\ud800-\udc7f\udd00-\udfff]")
"""Halves of characters that no file name has."""
_BREAKS = str.maketrans({"\t": "\\u0009", "\n": "\\u000A"})


def printable(text: str) -> str:
    """`text` with each character that a terminal obeys written ``\\uXXXX``; its lines stay lines. Inside a JSON text
    the same characters mean the same."""
    if text.isascii() and text.isprintable():
        return text
    return _OBEYED.sub(_escape, text)


def printable_name(name: str) -> str:
    """A name on one line; bytes of a file name that are no UTF-8 are written ``\\xe9``."""
    return printable(decodable(_HALF.sub(_escape, name))).translate(_BREAKS)


def decodable(name: str) -> str:
    """A file's name as the operating system gave it, as text that can be stored: bytes that are no UTF-8 are written
    ``\\xe9``."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def shortened(text: str, most: int) -> str:
    """`text`, or its first `most` characters, the last of which says that there are more."""
    return text if len(text) <= most else text[: most - 1] + "…"


def _escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04X}"
