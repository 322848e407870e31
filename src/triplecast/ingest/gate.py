"""What every document passes before a parser sees it: size, nesting, no DTD. Raises DocumentRejected.

Counts come first (a document with fewer brackets than the limit cannot nest deeper), a scan only where they do not
settle it.
"""

from __future__ import annotations

import re

from triplecast.errors import DocumentRejected
from triplecast.ingest.limits import GateLimits

_TEXT_TOKEN = re.compile(
    rb"\"\"\"(?:[^\"\\]++|\\.|\"(?!\"\"))*+(?:\"\"\"|\Z)"
    rb"|'''(?:[^'\\]++|\\.|'(?!''))*+(?:'''|\Z)"
    rb"|\"(?:[^\"\\\n]++|\\.)*+\"?|'(?:[^'\\\n]++|\\.)*+'?"
    rb"|<[^<>\"{}|^`\\\s]*+>|#[^\n]*+|<<|>>|[\[\](){}]",
    re.DOTALL,
)
"""The tokens of Turtle and its relatives that brackets can hide in, and the brackets; without backtracking."""
_JSON_TOKEN = re.compile(rb"\"(?:[^\"\\]++|\\.)*+(?:\"|\Z)|[\[\]{}]", re.DOTALL)
_COMPRESSED = (
    (b"\x1f\x8b", "gzip"),
    (b"PK\x03\x04", "zip"),
    (b"\xfd7zXZ\0", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)
_OPEN = frozenset((b"[", b"(", b"{", b"<<"))
_CLOSE = frozenset((b"]", b")", b"}", b">>"))


def refuse_size(data: bytes, limits: GateLimits) -> None:
    if len(data) > limits.bytes:
        raise DocumentRejected(
            stage="gate",
            reason=f"the document has {len(data)} bytes, {limits.bytes} are allowed",
            hint="split it into smaller documents",
        )


def refuse_compressed(data: bytes) -> None:
    for start, name in _COMPRESSED:
        if data.startswith(start):
            raise DocumentRejected(
                stage="gate", reason=f"the document is compressed ({name})", hint="unpack it, and send what it holds"
            )


def refuse_nesting(data: bytes, limits: GateLimits, json: bool) -> None:
    """For Turtle and its relatives, and JSON."""
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
    return DocumentRejected(
        stage="gate",
        reason=f"it nests deeper than {limits.nesting} levels",
        hint="name the inner nodes and describe them side by side",
        line=line,
        column=column,
    )


def place(data: bytes, offset: int) -> tuple[int, int]:
    """Line and column, from 1, the column in bytes."""
    start = data.rfind(b"\n", 0, offset) + 1
    return data.count(b"\n", 0, offset) + 1, offset - start + 1
