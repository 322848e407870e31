"""A slow reader of entailment (semantics 6): sets of triples of N-Triples texts, every rule tried on every pair until
nothing is new. Nothing is indexed; nothing is shared with the product."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from tests.reference import terms

Triple = tuple[str, str, str]
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
RDFS = "http://www.w3.org/2000/01/rdf-schema#"
A, SUB, PROP, MEMBER = f"<{RDF}type>", f"<{RDFS}subClassOf>", f"<{RDFS}subPropertyOf>", f"<{RDFS}member>"
BROADER = "<http://www.w3.org/2004/02/skos/core#broader>"
_NUMBERED = re.compile(f"<{re.escape(RDF)}_[1-9][0-9]*>")


def entailed(graph: set[Triple], taxonomy: set[Triple], rdfs: bool) -> set[Triple]:
    """The least graph that holds `graph`, the taxonomy's triples whose subject it has, and what RDFS derives."""
    while True:
        terms = {term for triple in graph for term in triple}
        more = graph | {triple for triple in taxonomy if triple[0] in terms}
        if rdfs:
            more |= _rules(more)
        if more == graph:
            return graph
        graph = more


@dataclass(frozen=True)
class Known:
    """A taxonomy, asked in terms of the reference. `broader`: ``skos:broader`` is part of the order of classes."""

    triples: tuple[terms.Triple, ...] = ()
    broader: bool = False

    @property
    def texts(self) -> frozenset[Triple]:
        return frozenset(_texts(self.triples))

    def entail(self, graph: tuple[terms.Triple, ...], rdfs: bool) -> tuple[terms.Triple, ...]:
        """The graph first, then what is entailed, sorted."""
        found = {tuple(map(terms.term, triple)) for triple in entailed(_texts(graph), set(self.texts), rdfs)}
        return (*graph, *sorted(found - set(graph)))

    def is_kin(self, function: str, node: terms.Term, other: terms.Term, graph: tuple[terms.Triple, ...]) -> bool:
        """``tc:instance``, ``tc:descendant`` or ``tc:ancestor`` of a term of a published graph."""
        return _is_kin(self, function, node, other, graph)


@lru_cache(maxsize=10_000)
def _is_kin(known: Known, function: str, node: terms.Term, other: terms.Term, graph: tuple[terms.Triple, ...]) -> bool:
    asked = terms.write(node), terms.write(other)
    return holds(function, *asked, _texts(graph), set(known.texts), known.broader)


def _texts(triples: tuple[terms.Triple, ...]) -> set[Triple]:
    return {(terms.write(s), terms.write(p), terms.write(o)) for s, p, o in triples}


def _rules(graph: set[Triple]) -> set[Triple]:
    new: set[Triple] = set()
    schema = [triple for triple in graph if triple[1] in (SUB, PROP)]
    for (s, p, o), (x, word, y) in product(graph, schema):
        if word == PROP and p == x and y[0] == "<":
            new.add((s, y, o))
        if word == SUB and p == A and o == x:
            new.add((s, A, y))
        if p == word and o == x:
            new.add((s, word, y))
    new |= {(s, MEMBER, o) for s, p, o in graph if _NUMBERED.fullmatch(p)}
    return new


def holds(
    function: str, node: str, other: str, graph: set[Triple], taxonomy: set[Triple], broader: bool = False
) -> bool:
    """``tc:instance``, ``tc:descendant`` or ``tc:ancestor``, of a term of the publication `graph`."""
    reached = entailed(graph, taxonomy, False)
    if all(node not in triple for triple in reached):
        return False
    known = reached | taxonomy
    orders = {SUB, BROADER} if broader else {SUB}
    below = {(s, o) for s, p, o in known if p in orders}
    classes = {term for pair in below for term in pair} | {o for _, p, o in known if p == A}
    types = {o for s, p, o in reached if s == node and p == A} | ({node} & classes)
    if function == "instance":
        return other in types
    if function == "descendant":
        return any(_under(each, other, below) for each in types)
    return any(_under(other, each, below) for each in types)


def _under(low: str, high: str, below: set[tuple[str, str]]) -> bool:
    met = {low}
    while True:
        more = met | {o for s, o in below if s in met}
        if more == met:
            return high in met
        met = more
