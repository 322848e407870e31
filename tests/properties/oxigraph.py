"""pyoxigraph as an oracle, and the test that decides where it may be one.

It keeps neither all terms nor all of SPARQL's meaning: each item below was seen to differ from SPARQL or from
docs/semantics.md.
`objection…` functions name what stands against asking it; where all give None, its answer counts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import pyoxigraph as ox

from tests.properties.constructs import parts
from tests.properties.generate import Asked, Published
from tests.reference import queries as q
from tests.reference.expressions import TAXONOMY
from tests.reference.terms import Term, write
from tests.reference.values import DOUBLE, EXACT, FLOAT, ILL, TAGGED, TIMES, UNKNOWN, value_of

Row = tuple[tuple[str, str], ...]
"""(variable, N-Triples form) in name order."""

_CONSTRUCTS = {
    "path |": "gives one row where SPARQL gives one per alternative",
    "path *": "a zero-length path gives nothing for a constant that the graph lacks",
    "path ?": "a zero-length path gives nothing for a constant that the graph lacks",
    "order of a term with itself": "compares without an error what has no order",
    "upper-case tag": "does not lower the case of what LANG is compared with",
    "COUNT(*) with blank nodes": "counts what blank nodes stand for as part of a solution",
    "MINUS in GRAPH ?g": "takes ?g for a variable that both sides of MINUS share",
    "nested EXISTS": "joins the inside of EXISTS with variables of other groups",
    "path !": "gives one row where two predicates join the same nodes",
    "LIMIT": "has no canonical order",
    "CONSTRUCT": "does not tell the solutions of WHERE",
    "REDUCED": "may remove duplicates",
    "OFFSET": "has no canonical order",
}


@lru_cache(maxsize=10_000)
def keeps(term: Term) -> bool:
    """Whether a store gives the term back as it was put in, and the query parser as it was written."""
    if term[1] in ("-9223372036854775808", "-9223372036854775809"):
        return False  # read as minus a number beyond 64 bits
    written = to_oxigraph(term)
    store = ox.Store()
    name = ox.NamedNode("http://example.org/x")
    store.add(ox.Quad(name, name, written))
    (quad,) = store
    return str(quad.object) == str(written)


def to_oxigraph(term: Term) -> ox.NamedNode | ox.BlankNode | ox.Literal:
    if term[0] == "iri":
        return ox.NamedNode(term[1])
    if term[0] == "blank":
        return ox.BlankNode(term[1])
    _, lexical, datatype, language = term
    return ox.Literal(lexical, language=language) if language else ox.Literal(lexical, datatype=ox.NamedNode(datatype))


@dataclass(frozen=True, slots=True)
class Doubts:
    """What has to be known of a query to judge whether pyoxigraph may answer it."""

    objection: str | None
    """What in the query alone stands against it."""
    signs: frozenset[str]
    """Its comparison operators; IN counts as ``=``."""
    constructs: frozenset[str]


def doubts_of(query: q.Query, constructs: frozenset[str], constants: frozenset[Term]) -> Doubts:
    inside = list(parts(query))
    signs = {part.operator for part in inside if isinstance(part, q.Compare)}
    signs |= {"="} if any(isinstance(part, q.Member) for part in inside) else set()
    outer = query.select.pattern
    while isinstance(outer, q.Filter):
        outer = outer.pattern
    nested = {"nested EXISTS"} if any(isinstance(part, q.Exists) for part in parts(outer)) else set()
    if {"COUNT(*)", "blank node"} <= constructs:
        nested.add("COUNT(*) with blank nodes")
    if any(isinstance(part, q.Graph) and isinstance(part.name, q.Var) and _holds_minus(part) for part in inside):
        nested.add("MINUS in GRAPH ?g")
    names = sorted(constructs | nested | {name for part in inside for name in _odd_comparisons(part)})
    objections = [f"{name}: it has no such function" for name in names if name.startswith(("ft:", TAXONOMY))]
    objections += [f"{name}: {_CONSTRUCTS[name]}" for name in names if name in _CONSTRUCTS]
    objections += [f"does not keep {write(term)}" for term in sorted(constants) if not keeps(term)]
    return Doubts(objections[0] if objections else None, frozenset(signs), constructs)


def _holds_minus(graph: q.Graph) -> bool:
    return any(isinstance(part, q.Minus) for part in parts(graph.pattern))


def _odd_comparisons(part: object) -> Iterator[str]:
    sides = (part.left, part.right) if isinstance(part, q.Compare) else ()
    if isinstance(part, q.Member):
        sides = (part.argument, *part.choices)
    constants = [side.term for side in sides if isinstance(side, q.Constant)]
    of_language = any(isinstance(side, q.Call) and side.function == "LANG" for side in sides)
    if of_language and any(term[1] != term[1].lower() for term in constants):
        yield "upper-case tag"
    ordered = isinstance(part, q.Compare) and part.operator not in ("=", "!=")
    if ordered and (not constants or any(term[0] != "literal" for term in constants)):
        yield "order of a term with itself"


def objection_to_terms(published: Published) -> str | None:
    """What in the publication alone stands against it."""
    terms = {term for triple in published.all_triples for term in triple}
    return next((f"does not keep {write(term)}" for term in sorted(terms) if not keeps(term)), None)


def families(terms: frozenset[Term]) -> frozenset[str]:
    """The value families of the literals among `terms`; times are told apart by whether they have a zone, and
    ``fine number`` says that a double is too coarse for one of them, ``NaN`` that one is not a number."""
    found = set()
    for term in terms:
        if term[0] == "literal":
            value = value_of(term)
            if value.family == EXACT and len(term[1].strip("+-0").replace(".", "")) > 15:
                found.add("fine number")
            if value.number != value.number:
                found.add("NaN")
            found.add(
                f"{value.family} {'zoned' if value.zoned else 'local'}" if value.family in TIMES else value.family
            )
    return frozenset(found)


def objection_to_values(doubts: Doubts, met: frozenset[str]) -> str | None:
    """What comparisons could do with the families `met` (of publication and query) that pyoxigraph does otherwise."""
    signs = doubts.signs
    ordered = bool(signs & {"<", "<=", ">", ">="})
    if signs and any(f"{name} zoned" in met and f"{name} local" in met for name in TIMES):
        return "zoneless != zoned is true"
    if signs and {"yearMonthDuration", "dayTimeDuration"} <= met:
        return "the two kinds of duration compare"
    if ordered and "boolean" in met:
        return "booleans have no order"
    if ordered and "NaN" in met:
        return "the order of NaN may be an error"
    if ordered and TAGGED in met:
        return "language-tagged strings have an order"
    if signs and "fine number" in met and met & {FLOAT, DOUBLE}:
        return "a decimal becomes a double that is not the nearest"
    if TAGGED in met and "boolean value" in doubts.constructs:
        return "language-tagged strings have no boolean value"
    if ILL in met and doubts.constructs & {"boolean value", "ISNUMERIC"}:
        return "ill-typed literals"
    if signs and (ILL in met or UNKNOWN in met):
        return "ill-typed literals"
    return None


class Store:
    """One publication in a store, a dataset with its graphs, any other in publication scope."""

    def __init__(self, published: Published) -> None:
        self._store = ox.Store()
        named = ((published.graph, published.triples),) if published.named is None else published.named
        for name, triples in ((None, published.triples), *named):
            graph = ox.DefaultGraph() if name is None else to_oxigraph(name)
            for triple in triples:
                self._store.add(ox.Quad(*map(to_oxigraph, triple), graph))

    def answer(self, asked: Asked, text: str) -> list[Row]:
        """Rows as a sorted multiset; for ``ask`` one empty row when true."""
        result = self._store.query(text)
        if asked.query.form == "ask":
            return [()] if bool(result) else []
        names = [variable.value for variable in result.variables]
        order = sorted(range(len(names)), key=names.__getitem__)
        rows = []
        for solution in result:
            row = [(names[at], str(solution[at])) for at in order if solution[at] is not None]
            rows.append(tuple(row))
        return sorted(rows)
