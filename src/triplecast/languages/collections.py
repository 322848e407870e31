"""RDF collections in the triples of a query: ``(?a ?b)`` is a list of cells with rdf:first and rdf:rest."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeAlias

from pyoxigraph import NamedNode

from triplecast.languages.context import NIL
from triplecast.languages.vocabularies import RDF
from triplecast.model.algebra import Node, PathPattern, TriplePattern

FIRST, REST = NamedNode(RDF + "first"), NamedNode(RDF + "rest")
Edge: TypeAlias = TriplePattern | PathPattern


def make_collection(cells: Sequence[Node], members: Sequence[Node]) -> Iterator[tuple[TriplePattern, TriplePattern]]:
    """Yield each cell's triples of rdf:first and rdf:rest."""
    for cell, following, member in zip(cells, [*cells[1:], NIL], members, strict=True):
        yield TriplePattern(cell, FIRST, member), TriplePattern(cell, REST, following)


def members_of(node: Node, edges: Sequence[Edge]) -> tuple[Node, ...] | None:
    """The members of the collection whose first cell is `node`; None for any other node."""
    cells = _cells(node, edges)
    return tuple(cells.values()) if cells else None


def split_collection(node: Node, edges: Sequence[Edge]) -> tuple[tuple[Node, ...], list[Edge]]:
    """The members of the collection that starts at `node`, and the triples that are not its own.

    A node that starts none is its only member.
    """
    if node == NIL:
        return (), list(edges)
    cells = _cells(node, edges)
    if not cells:
        return (node,), list(edges)
    return tuple(cells.values()), [edge for edge in edges if edge.subject not in cells]


def _cells(node: Node, edges: Sequence[Edge]) -> dict[Node, Node]:
    """The member of each cell from `node` on; empty where no collection starts there."""
    firsts = _objects(edges, FIRST)
    rests = _objects(edges, REST)
    cells: dict[Node, Node] = {}
    while node in firsts:
        cells[node] = firsts[node]
        node = rests[node]
    return cells


def _objects(edges: Sequence[Edge], predicate: NamedNode) -> dict[Node, Node]:
    return {
        edge.subject: edge.object for edge in edges if isinstance(edge, TriplePattern) and edge.predicate == predicate
    }
