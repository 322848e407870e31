"""What a local repository is to hold, found anew in all documents of a provider: by pyoxigraph, and plain search."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, NamedNode, Quad, RdfFormat, Store, Triple, parse

from tests.reference.reachability import reachable

Held = Mapping[str, tuple[frozenset[str], frozenset[str]]]
"""By resource: the subscriptions that name it, and its description as canonical triples."""


def expected(lines: Iterable[bytes], queries: Mapping[str, str], strong: Iterable[str]) -> Held:
    """What is held of triples under named queries; `strong`: IRIs of properties."""
    triples = [quad.triple for quad in parse(b"".join(lines), format=RdfFormat.N_TRIPLES)]
    store = Store()
    store.extend(Quad(each.subject, each.predicate, each.object) for each in triples)
    names: dict[str, set[str]] = {}
    for name, text in queries.items():
        for solution in store.query(text):  # type: ignore[union-attr]
            for term in solution:  # type: ignore[union-attr]
                if isinstance(term, NamedNode | BlankNode):
                    names.setdefault(str(term), set()).add(name)
    wanted = {*strong}
    described = {str(node): description(triples, node) for node in nodes_of(triples)}
    references = {
        node: [str(each.object) for each in of if each.predicate.value in wanted and isinstance(each.object, NamedNode)]
        for node, of in described.items()
    }
    held = {}
    for node in reachable(names, references):
        of = canonical(described.get(node, []))
        if of or node in names:
            held[node] = (frozenset(names.get(node, ())), of)
    return held


def nodes_of(triples: Iterable[Triple]) -> set[NamedNode | BlankNode]:
    return {each.subject for each in triples if isinstance(each.subject, NamedNode | BlankNode)}


def description(triples: list[Triple], node: NamedNode | BlankNode) -> list[Triple]:
    """All triples with that subject, blank nodes followed."""
    found: list[Triple] = []
    left, seen = [node], {node}
    while left:
        subject = left.pop()
        for each in triples:
            if each.subject == subject:
                found.append(each)
                if isinstance(each.object, BlankNode) and each.object not in seen:
                    seen.add(each.object)
                    left.append(each.object)
    return found


def canonical(triples: Iterable[Triple]) -> frozenset[str]:
    """Triples whose blank nodes are named alike where they are alike (RDFC-1.0)."""
    dataset = Dataset(Quad(each.subject, each.predicate, each.object) for each in triples)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return frozenset(f"{each.subject} {each.predicate} {each.object}" for each in dataset)
