"""The answer to a query, its JSON form, and the triples of a ``CONSTRUCT`` (SPARQL 1.1 Query, 16.2)."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from pyoxigraph import BlankNode, NamedNode, Triple

from triplecast.model.algebra import Node, Slot, Term, TriplePattern, Variable
from triplecast.model.match import PAIR_BYTES

AnswerTriple: TypeAlias = tuple[NamedNode | BlankNode, NamedNode, Term]

_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class Solutions:
    """The answer to a query over one publication version."""

    variables: tuple[str, ...]
    """Projected variables of SELECT as written, visible variables of WHERE for CONSTRUCT, none for ASK."""
    rows: tuple[tuple[Term | None, ...], ...]
    """Aligned with `variables`; after all modifiers; ordered by ORDER BY, then canonically (semantics 1.4)."""
    graph: tuple[AnswerTriple, ...]
    """The triples of CONSTRUCT, distinct, ordered by their N-Triples text."""
    matched: bool
    """Semantics 1.1: a solution or more, true, or a triple or more."""


def bindings_json(solutions: Solutions) -> bytes:
    """Rows as `MatchedBatch.bindings` holds them: a JSON list of objects, keys sorted, unbound absent, no spaces."""
    order = sorted(range(len(solutions.variables)), key=solutions.variables.__getitem__)
    rows = [
        {solutions.variables[index]: str(term) for index in order if (term := row[index]) is not None}
        for row in solutions.rows
    ]
    return _ENCODER.encode(rows).encode()


def bounded_bindings(solutions: Solutions) -> bytes | None:
    """`bindings_json`, None when it is longer than `PAIR_BYTES`, which is found without writing much more."""
    least = 0
    for row in solutions.rows:
        for term in row:
            least += len(str(term)) if term is not None else 0
            if least > PAIR_BYTES:
                return None
    bindings = bindings_json(solutions)
    return bindings if len(bindings) <= PAIR_BYTES else None


def construct(template: Sequence[TriplePattern], solutions: Sequence[Mapping[str, Term]], seed: str) -> list[Triple]:
    """The template's triples for each solution (`instances`), sorted by their text, each once.

    Blank nodes of the template are others for each solution, and the same whenever `seed` and solutions are.
    """
    found: dict[str, Triple] = {}
    for number, solution in enumerate(solutions):
        for terms in instances(template, solution, partial(_blank_node, f"{seed}\n{number}")):
            triple = Triple(*terms)
            found[str(triple)] = triple
    return [found[text] for text in sorted(found)]


def _blank_node(seed: str, name: str) -> BlankNode:
    return BlankNode("g" + hashlib.blake2b(f"{seed}\n{name}".encode(), digest_size=16).hexdigest())


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
