"""Concise Bounded Descriptions as the W3C member submission of 2005-06-03 defines them, by repetition until nothing is
added: a slow reader for `triplecast.ingest.descriptions`."""

from __future__ import annotations

from collections.abc import Iterable, Set

from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, NamedNode, Quad, Triple

RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
Node = NamedNode | BlankNode


def cut(triples: Set[Triple], roots: Iterable[NamedNode], document: NamedNode) -> dict[str, frozenset[Triple]]:
    """What a document is cut into, by graph."""
    parts = {root.value: description(triples, root) for root in roots}
    parts = {graph: part for graph, part in parts.items() if part}
    left = frozenset(triples).difference(*parts.values())
    if left or not parts:
        parts[document.value] = parts.get(document.value, frozenset()) | closed(triples, left)
    return parts


def description(triples: Set[Triple], root: Node) -> frozenset[Triple]:
    return closed(triples, frozenset(each for each in triples if each.subject == root))


def closed(triples: Set[Triple], part: frozenset[Triple]) -> frozenset[Triple]:
    while True:
        nodes = {each.object for each in part if isinstance(each.object, BlankNode)}
        nodes |= {node for each in part for node in reifications(triples, each)}
        larger = part | {each for each in triples if each.subject in nodes}
        if larger == part:
            return part
        part = larger


def reifications(triples: Set[Triple], statement: Triple) -> set[Node]:
    """The nodes that say this statement, and no other."""
    said = {"subject": statement.subject, "predicate": statement.predicate, "object": statement.object}
    nodes = {each.subject for each in triples if each.predicate.value == f"{RDF}subject"}
    return {
        node
        for node in nodes
        if all(
            {each.object for each in triples if each.subject == node and each.predicate.value == RDF + name} == {value}
            for name, value in said.items()
        )
    }


def canonical(triples: Iterable[Triple]) -> bytes:
    """Sorted canonical lines."""
    graph = Dataset(Quad(*each) for each in triples)
    graph.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    lines = {f"{quad.subject} {quad.predicate} {quad.object} .\n" for quad in graph}
    return "".join(sorted(lines)).encode()
