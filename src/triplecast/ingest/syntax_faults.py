"""Say where and why a parser failed, better than the parser does."""

from __future__ import annotations

import re

from pyoxigraph import RdfFormat

from triplecast.errors import TAG_HINT, DocumentRejected
from triplecast.ingest.gate import place

_PREAMBLE = re.compile(r"^Parser error at line \d+ [^:]*: ")
_QUOTED = re.compile(r"parsing (?:IRI|language tag) '(.+)':", re.DOTALL)
"""What a parser that gives no place quotes of the document."""
_TAG = re.compile(r"[\"']@([A-Za-z0-9_-]+)")
_ESCAPE = re.compile(rb"\\(?:u([0-9a-fA-F]{4})|.)", re.DOTALL)
_HIGH, _LOW = range(0xD800, 0xDC00), range(0xDC00, 0xE000)
_LINE = re.compile(
    rb"\s*(?:<[^<>]*>|_:\S+)\s+<[^<>]*>\s+"
    rb"(?:<[^<>]*>|_:\S+|\"(?:[^\"\\]++|\\.)*+\"(?:@[^\s<>]+|\^\^<[^<>]*>)?)\s*(<[^<>\s\\]*>|_:\S+)?\s*\.\s*(?:#.*)?\Z"
)
"""A whole line of N-Quads, with terms that need not be valid, but for the graph."""


def unreadable(error: SyntaxError, form: RdfFormat, data: bytes) -> DocumentRejected:
    """Return the reject of a document in which its parser found `error`."""
    found = _PREAMBLE.sub("", str(error.args[0] if error.args else error))
    line, column = (error.lineno, error.offset) if error.lineno else _find_quoted(found, data)
    hint = f"repair the {form.name}{'' if line is None else ' at this place'}, or give the document's true media type"
    tag = _tag_at(data, line, column)
    if "language tag" in found:
        hint = TAG_HINT
    elif tag is not None:
        found, hint = f"@{tag} is no language tag", TAG_HINT
    elif form == RdfFormat.JSON_LD and (half := _half_character(data)) is not None:
        offset, escape = half
        found, hint = f"{escape} is half a character", "write both halves, or the character itself"
        line, column = place(data, offset)
    return DocumentRejected("parse", f"not {form.name}: {found}", hint, line, column)


def graph_of_line(line: bytes) -> str | None:
    """Return the graph, empty for the default one, of a line of N-Quads with an invalid term; None if unknown."""
    found = _LINE.match(line)
    return None if found is None else (found[1] or b"").decode("utf-8", "replace")


def lines_as_counted(data: bytes) -> list[bytes]:
    """Return the lines of a document as parsers number them: a carriage return ends one, and one follows the last."""
    return [*data.splitlines(), b""]


def _find_quoted(message: str, data: bytes) -> tuple[int | None, int | None]:
    """Return line and column of what a message quotes, in any letter case, as a value of the document."""
    quoted = _QUOTED.search(message)
    if quoted is None:
        return None, None
    value = re.escape(quoted[1].encode())
    found = re.search(rb"[\"'](" + value + rb")[\"']", data, re.IGNORECASE)
    return (None, None) if found is None else place(data, found.start(1))


def _tag_at(data: bytes, line: int | None, column: int | None) -> str | None:
    """Return the language tag in which the place lies, if it lies in one."""
    if line is None or column is None:
        return None
    text = lines_as_counted(data)[line - 1].decode("utf-8", "replace")
    return next((tag[1] for tag in _TAG.finditer(text) if tag.start() < column - 1 <= tag.end()), None)


def _half_character(data: bytes) -> tuple[int, str] | None:
    """Return place and text of the first escape of JSON that is half of a surrogate pair."""
    high: tuple[int, str] | None = None
    end = 0
    for escape in _ESCAPE.finditer(data):
        number = int(escape[1], 16) if escape[1] else 0
        if high is not None and not (number in _LOW and escape.start() == end):
            return high
        if high is None and number in _LOW:
            return escape.start(), escape[0].decode()
        high = (escape.start(), escape[0].decode()) if number in _HIGH else None
        end = escape.end()
    return high
