"""The slow twin of `triplecast.kernels.scan.scan`: one regular expression a line, Python objects, no cleverness."""

from __future__ import annotations

import re
from typing import NamedTuple

_IRI = r'<[^\x00-\x20<>"\\]+>'
_BLANK = r'_:[^\x00-\x20<>"\\]+'
_ESCAPE = r'\\[tbnrf"\\]|\\u[0-9A-F]{4}|\\U[0-9A-F]{8}'
_LITERAL = rf'"(?:[^\x00-\x1f"\\]|{_ESCAPE})*"(?:@[a-z]+(?:-[a-z0-9]+)*|\^\^{_IRI})?'
_LINE = re.compile(rf"({_IRI}|{_BLANK}) ({_IRI}) ({_IRI}|{_BLANK}|{_LITERAL}) (?:({_IRI}|{_BLANK}) )?\.\n".encode())


class SlowPublication(NamedTuple):
    terms: list[bytes]
    """In order of first appearance."""
    triples: list[tuple[int, int, int]]
    graphs: list[int]


def scan_slowly(text: bytes, dataset: bool = False) -> SlowPublication:
    """Raises ValueError where the text is not canonical N-Triples (N-Quads for a dataset)."""
    numbers: dict[bytes, int] = {}
    triples, graphs, place = [], [], 0
    while place < len(text):
        match = _LINE.match(text, place)
        if match is None or (match[4] is not None and not dataset):
            raise ValueError(f"byte {place}")
        subject, predicate, value, graph = (
            -1 if term is None else numbers.setdefault(term, len(numbers)) for term in match.groups()
        )
        triples.append((subject, predicate, value))
        graphs.append(graph)
        place = match.end()
    return SlowPublication(list(numbers), triples, graphs)
