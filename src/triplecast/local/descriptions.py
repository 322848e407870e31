"""Descriptions of resources: all triples with a resource as their subject, blank nodes followed."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from triplecast.ingest.gate import GATE
from triplecast.ingest.rdf import make_draft
from triplecast.kernels.triples import ANY, NOWHERE
from triplecast.local.closure import Node
from triplecast.model.publication import HELD as HELD
from triplecast.model.publication import Draft
from triplecast.repository.store import TripleSource, id_of


def held_graph(node: Node) -> str:
    """The graph in which a local repository has a resource."""
    return HELD + (node[1:-1] if node.startswith("<") else node)


def node_of_graph(graph: str) -> Node:
    """The resource whose graph it is."""
    name = graph.removeprefix(HELD)
    return name if name.startswith("_:") else f"<{name}>"


class Description(NamedTuple):
    """A resource as its triples say."""

    lines: tuple[bytes, ...]
    """N-Triples; blank nodes are labelled as in the store."""
    inside: frozenset[bytes]
    """The blank nodes that were followed."""

    def references(self, strong: Collection[str]) -> frozenset[Node]:
        """The resources that its triples with one of the `strong` properties refer to."""
        wanted = {each.encode() for each in strong}
        found = set()
        for line in self.lines:
            _, predicate, end = line.split(b" ", 2)
            if predicate in wanted and end[:1] == b"<":
                found.add(end[:-3].decode())
        return frozenset(found)

    def draft(self, node: Node) -> Draft | None:
        """The document that a local repository has of the resource; None without triples."""
        return draft_of(held_graph(node), self.lines) if self.lines else None


def draft_of(graph: str, lines: Collection[bytes]) -> Draft:
    """A document of lines, with canonical blank nodes. Raises `DocumentRejected` for what can be no document."""
    text = sorted(lines)
    return make_draft(graph, text, b"".join(text), GATE, is_held=True)


def describe(source: TripleSource, node: Node) -> Description:
    """The description of a resource; without triples where the store has none of it."""
    lines: list[bytes] = []
    inside: set[bytes] = set()
    left = [node.encode()]
    while left:
        subject = left.pop()
        id = id_of(source, subject.decode())
        if id == NOWHERE:
            continue
        for _, predicate, end in source.find(id, ANY, ANY).tolist():
            term = source.bank.term(end)
            lines.append(b"%b %b %b .\n" % (subject, source.bank.term(predicate), term))
            if term.startswith(b"_:") and term not in inside and term != node.encode():
                inside.add(term)
                left.append(term)
    return Description(tuple(sorted(lines)), frozenset(inside))
