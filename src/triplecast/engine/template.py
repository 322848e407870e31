"""The graph of a ``CONSTRUCT``, made from its solutions by whoever reads them (decision 4)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence

from pyoxigraph import BlankNode, NamedNode, Triple

from triplecast.model.algebra import Node, Slot, Term, TriplePattern, Variable


def construct(template: Sequence[TriplePattern], solutions: Sequence[Mapping[str, Term]], seed: str) -> list[Triple]:
    """The template's triples for each solution (SPARQL 1.1 Query, 16.2), sorted by their text, each once.

    A triple with an unbound variable, a literal subject or a predicate that is no IRI is left out. Blank nodes of the
    template are others for each solution, and the same whenever `seed` and solutions are.
    """
    found: dict[str, Triple] = {}
    for number, solution in enumerate(solutions):
        for pattern in template:
            subject, predicate, object_ = (
                _filled(node, solution, f"{seed}\n{number}")
                for node in (pattern.subject, pattern.predicate, pattern.object)
            )
            if isinstance(subject, NamedNode | BlankNode) and isinstance(predicate, NamedNode) and object_ is not None:
                triple = Triple(subject, predicate, object_)
                found[str(triple)] = triple
    return [found[text] for text in sorted(found)]


def _filled(node: Node, solution: Mapping[str, Term], seed: str) -> Term | None:
    if isinstance(node, Slot):
        raise TypeError("a template with slots has no graph: fill it first")
    if not isinstance(node, Variable):
        return node
    if node.hidden:
        return BlankNode("g" + hashlib.blake2b(f"{seed}\n{node.name}".encode(), digest_size=16).hexdigest())
    return solution.get(node.name)
