"""The triples of a ``CONSTRUCT`` template (SPARQL 1.1 Query, 16.2), for the evaluator and for `Match.graph`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from pyoxigraph import BlankNode, NamedNode

from triplecast.evaluate.solutions import AnswerTriple
from triplecast.model.algebra import Node, Slot, Term, TriplePattern, Variable


def instances(
    template: Sequence[TriplePattern], solution: Mapping[str, Term], blank_node: Callable[[str], BlankNode]
) -> Iterator[AnswerTriple]:
    """Yield the template's triples for one solution, in order; `blank_node` makes the solution's node for a name.

    A triple with an unbound variable, a literal subject or a predicate that is no IRI is left out. A `Slot` raises
    TypeError.
    """
    for pattern in template:
        subject, predicate, object_ = (
            _filled(node, solution, blank_node) for node in (pattern.subject, pattern.predicate, pattern.object)
        )
        if isinstance(subject, NamedNode | BlankNode) and isinstance(predicate, NamedNode) and object_ is not None:
            yield subject, predicate, object_


def _filled(node: Node, solution: Mapping[str, Term], blank_node: Callable[[str], BlankNode]) -> Term | None:
    if isinstance(node, Slot):
        raise TypeError("a template with slots has no graph: fill it first")
    if not isinstance(node, Variable):
        return node
    return blank_node(node.name) if node.hidden else solution.get(node.name)
