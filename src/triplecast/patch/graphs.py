"""What a patch does to named graphs whose blank nodes are their own.

In a patch a blank node is the same wherever its label is, and a graph's own labels mean nothing elsewhere: so they are
written with a prefix that is of the graph's name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from hashlib import sha256
from typing import NamedTuple

from triplecast.errors import DocumentRejected
from triplecast.ingest.canonical import rename, split_line
from triplecast.patch.patch import Patch, PatchRow


class GraphChange(NamedTuple):
    """A line that comes to or goes from a graph."""

    graph: str
    """Its IRI; empty for the default graph."""
    is_added: bool
    line: bytes
    """N-Triples, with the graph's own labels."""


def rows_between(graph: str, before: Iterable[bytes], after: Iterable[bytes]) -> Iterator[PatchRow]:
    """The rows that make one state of a graph, lines of N-Triples, of another."""
    return rows_of(quads_of(graph, before), quads_of(graph, after))


def rows_of(before: Set[bytes], after: Set[bytes]) -> Iterator[PatchRow]:
    """The rows that make some quads of others: removed ones first, each part sorted."""
    for is_added, quads in ((False, before - after), (True, after - before)):
        yield from (PatchRow(is_added, quad) for quad in sorted(quads))


def quads_of(identity: str, lines: Iterable[bytes], dataset: bool = False) -> set[bytes]:
    """The lines of a document as a patch has them: in the graph of its identity, or in those of a dataset."""
    prefix, end = prefix_of(identity), b" .\n" if dataset else b" <%b> .\n" % identity.encode()
    return {line[:-3] + end for line in (_prefixed(line, prefix) if b"_:" in line else line for line in lines)}


def lines_of(identity: str, quads: Iterable[bytes], dataset: bool = False) -> bytes:
    """What `quads_of` was made of, sorted. Raises `DocumentRejected` for a quad of another graph."""
    end = b" .\n" if dataset else b" <%b> .\n" % identity.encode()
    lines = []
    for quad in quads:
        if not quad.endswith(end):
            raise DocumentRejected("patch", f"a row is not in the graph {identity}", "send rows of one document")
        line = quad[: -len(end)] + b" .\n"
        lines.append(own_labels(line, identity, None) if b"_:" in line else line)
    return b"".join(sorted(lines))


def changes_of(patch: Patch) -> Iterator[GraphChange]:
    """What rows of a patch do to graphs named by IRIs. Raises `DocumentRejected` for a blank node of another graph."""
    for row in patch.rows:
        terms = split_line(row.quad)
        if terms is None or terms.graph[:1] not in (b"", b"<"):
            raise DocumentRejected("patch", "a row is in no graph that has a name", "name graphs by IRIs", patch.line)
        graph = terms.graph[1:-1].decode()
        line = b"%b %b %b .\n" % terms[:3]
        yield GraphChange(graph, row.is_added, own_labels(line, graph, patch.line) if b"_:" in line else line)


def prefix_of(graph: str) -> bytes:
    """What the labels of a graph's blank nodes begin with in a patch."""
    return b"_:g%b-" % sha256(graph.encode()).hexdigest()[:16].encode()


def _prefixed(line: bytes, prefix: bytes) -> bytes:
    return rename([line], {node: prefix + node[2:] for node in _nodes(line)})[0]


def own_labels(line: bytes, graph: str, place: int | None) -> bytes:
    """A line with the graph's own labels again."""
    prefix = prefix_of(graph)
    nodes = _nodes(line)
    for node in nodes:
        if not node.startswith(prefix) or node == prefix:
            found = f"the blank node {node.decode()} is not one of the graph {graph}"
            raise DocumentRejected("patch", found, f"begin its label with {prefix.decode()}", place)
    (shown,) = rename([line], {node: b"_:" + node[len(prefix) :] for node in nodes})
    return shown


def _nodes(line: bytes) -> list[bytes]:
    terms = split_line(line)
    return [term for term in terms or () if term.startswith(b"_:")]
