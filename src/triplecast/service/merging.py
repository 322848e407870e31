"""The RDF merge of a document and what is added to it: triples of both, blank nodes of each its own."""

from __future__ import annotations

import re

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|<[^>]*>|_:([^\s<>"]+)')


def merge_lines(before: bytes, added: bytes) -> bytes:
    """N-Triples of two graphs in canonical N-Triples."""
    return _renamed(before, b"b") + _renamed(added, b"a")


def _renamed(lines: bytes, prefix: bytes) -> bytes:
    if b"_:" not in lines:
        return lines
    return _TOKEN.sub(lambda found: found[0] if found[1] is None else b"_:" + prefix + found[1], lines)
