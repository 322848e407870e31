"""The limits of a document, and the checks of its size, compression and nesting before it is parsed, which raise
DocumentRejected.

Brackets are counted first: with fewer than the limit no document nests deeper. Only then is the document scanned.
"""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass

from triplecast.errors import DocumentRejected
from triplecast.sandbox import Limits

MEGABYTE = 1 << 20


@dataclass(frozen=True, slots=True)
class GateLimits:
    """The limits of one document; one beyond them is rejected with the limit's name and value."""

    bytes: int = 16 * MEGABYTE
    """Bytes of the document as received."""
    expanded_bytes: int = 64 * MEGABYTE
    """Bytes of its canonical lines, with prefixes, bases and repeated terms written out."""
    nesting: int = 512
    """Nested brackets, XML elements or JSON values."""
    attributes: int = 1_000
    """Attributes of an XML element, with namespace declarations."""
    triples: int = 1_000_000
    term_bytes: int = MEGABYTE
    """Bytes of a term in canonical form."""
    identity_bytes: int = 4096
    """Bytes of a publication's graph IRI, which each of its matches repeats."""
    publications: int = 10_000
    """Items of a feed, the first of which are taken, graphs of a dataset, or roots of a document that is cut."""
    canonical_steps: int = 20_000
    """Permutations and hashes while blank nodes are named canonically; beyond, they keep their labels."""


GATE = GateLimits()

CHILD = Limits(seconds=30.0, memory=512 * MEGABYTE, answer=192 * MEGABYTE)
"""The limits of a parser's child, beyond which the pre-parse checks do not reach."""

_TEXT_TOKEN = re.compile(
    rb"\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\"|\Z)"
    rb"|'''(?:[^'\\]++|\\.|'(?!''))*+(?:'''|\Z)"
    rb"|\"(?:[^\"\\\n]++|\\.)*+\"?|'(?:[^'\\\n]++|\\.)*+'?"
    rb"|<[^<>\"{}|^`\\\s]*+>|#[^\n]*+|<<|>>|[\[\](){}]",
    re.DOTALL,
)
"""The brackets of Turtle and its relatives, and the tokens that can hide brackets; without backtracking."""
_JSON_TOKEN = re.compile(rb"\"(?:[^\"\\]++|\\.)*+(?:\"|\Z)|[\[\]{}]", re.DOTALL)
_MOST_MEMBERS = 100
"""Of a gzip, those that are unpacked."""
_COMPRESSED = ((b"\x1f\x8b", "gzip"), (b"PK\x03\x04", "zip"), (b"\xfd7zXZ\0", "xz"), (b"\x28\xb5\x2f\xfd", "zstd"))
_STARTS = tuple(start for start, _ in _COMPRESSED)
_OPEN = frozenset((b"[", b"(", b"{", b"<<"))
_CLOSE = frozenset((b"]", b")", b"}", b">>"))


def refuse_size(data: bytes, limits: GateLimits) -> None:
    if len(data) > limits.bytes:
        reason = f"the document has {len(data)} bytes, {limits.bytes} are allowed"
        raise DocumentRejected("gate", reason, "split it into smaller documents")


def unpack(data: bytes, limits: GateLimits) -> bytes:
    """Return the content of gzip, or any other data as it is. Raises DocumentRejected for one that is damaged or too
    large, of which no more than the limit is unpacked."""
    unpacked = bytearray()
    rest = data
    for _ in range(_MOST_MEMBERS):
        if not rest.startswith(b"\x1f\x8b"):
            break
        member = zlib.decompressobj(wbits=31)
        try:
            unpacked += member.decompress(rest, limits.bytes + 1 - len(unpacked))
        except zlib.error as error:
            raise DocumentRejected("gate", f"the gzip is damaged: {error}", "compress the document again") from None
        if len(unpacked) > limits.bytes:
            reason = f"the document has more than {limits.bytes} bytes unpacked"
            raise DocumentRejected("gate", reason, "split it into smaller documents")
        if not member.eof:
            raise DocumentRejected("gate", "the gzip is cut off", "write it whole before it is read")
        rest = member.unused_data
    if rest is data:
        return data
    if rest.strip(b"\0"):
        reason = f"the gzip has more than {_MOST_MEMBERS} members, or bytes behind its end"
        raise DocumentRejected("gate", reason, "compress the document again")
    return bytes(unpacked)


def refuse_compressed(data: bytes) -> None:
    if not data.startswith(_STARTS):
        return
    for start, name in _COMPRESSED:
        if data.startswith(start):
            raise DocumentRejected("gate", f"the document is compressed ({name})", "unpack it, then send the content")


def refuse_nesting(data: bytes, limits: GateLimits, json: bool) -> None:
    """Check the nesting of Turtle and its relatives, or of JSON."""
    openings = data.count(b"[") + data.count(b"{")
    if not json:
        openings += data.count(b"(") + data.count(b"<<")
    if openings <= limits.nesting:
        return
    depth = 0
    for token in (_JSON_TOKEN if json else _TEXT_TOKEN).finditer(data):
        text = token[0]
        if text in _OPEN:
            depth += 1
            if depth > limits.nesting:
                raise too_deep(limits, *place(data, token.start()))
        elif text in _CLOSE:
            depth = max(0, depth - 1)


def too_deep(limits: GateLimits, line: int, column: int) -> DocumentRejected:
    reason = f"it nests deeper than {limits.nesting} levels"
    return DocumentRejected("gate", reason, "name the inner nodes and describe them side by side", line, column)


def place(data: bytes, offset: int) -> tuple[int, int]:
    """Return line and column of an offset, from 1, the column in bytes."""
    start = data.rfind(b"\n", 0, offset) + 1
    return data.count(b"\n", 0, offset) + 1, offset - start + 1
