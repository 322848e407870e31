"""pyoxigraph as an oracle, and the test that decides where it may be one.

It keeps neither all terms nor all of SPARQL's meaning (each item below was seen to differ from semantics.md or SPARQL 1.1), so
`objection` names what stands against asking it; None means that its answer counts.
"""

from __future__ import annotations

from functools import lru_cache

import pyoxigraph as ox

from tests.properties.constructs import constants_of, constructs_of, parts
from tests.properties.generate import Asked, Published
from tests.reference import queries as q
from tests.reference.terms import Term, write
from tests.reference.values import ILL, TAGGED, TIMES, UNKNOWN, value_of

Row = tuple[tuple[str, str], ...]
"""(variable, N-Triples form) in name order."""

_CONSTRUCTS = {
    "path |": "gives one row where SPARQL gives one per alternative",
    "path *": "a zero-length path gives nothing for a constant that the graph lacks",
    "path ?": "a zero-length path gives nothing for a constant that the graph lacks",
    "order of a term with itself": "compares without an error what has no order",
    "path !": "gives one row where two predicates join the same nodes",
    "LIMIT": "has no canonical order",
    "OFFSET": "has no canonical order",
}


@lru_cache(maxsize=10_000)
def keeps(term: Term) -> bool:
    """Whether a store gives the term back as it was put in, and the query parser as it was written."""
    if term[1] == "-9223372036854775808":
        return False  # read as minus 9223372036854775808, which is beyond 64 bits
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


def objection_to_query(query: q.Query) -> str | None:
    """What in the query alone stands against pyoxigraph."""
    odd = {"order of a term with itself"} if any(_may_meet_itself(part) for part in parts(query)) else set()
    for name in sorted(constructs_of(query) | odd):
        if name in _CONSTRUCTS:
            return f"{name}: {_CONSTRUCTS[name]}"
    return next((f"does not keep {write(term)}" for term in sorted(constants_of(query)) if not keeps(term)), None)


def _may_meet_itself(part: object) -> bool:
    """Whether an order comparison may compare an IRI or an unrecognised literal with itself."""
    if not isinstance(part, q.Compare) or part.operator in ("=", "!="):
        return False
    constants = [side.term for side in (part.left, part.right) if isinstance(side, q.Constant)]
    return not constants or any(term[0] != "literal" for term in constants)


def objection_to_terms(published: Published) -> str | None:
    """What in the publication alone stands against it."""
    terms = {term for triple in published.triples for term in triple}
    return next((f"does not keep {write(term)}" for term in sorted(terms) if not keeps(term)), None)


def families(terms: frozenset[Term]) -> frozenset[str]:
    """The value families of the literals among `terms`; times are told apart by whether they have a zone."""
    found = set()
    for term in terms:
        if term[0] == "literal":
            value = value_of(term)
            found.add(f"{value.family} {'zoned' if value.zoned else 'local'}" if value.family in TIMES else value.family)
    return frozenset(found)


def objection_to_values(query: q.Query, met: frozenset[str]) -> str | None:
    """What the query's comparisons could do with the families `met` (of publication and query) that pyoxigraph does otherwise."""
    signs = {part.operator for part in parts(query) if isinstance(part, q.Compare)}
    signs |= {"="} if any(isinstance(part, q.Member) for part in parts(query)) else set()
    ordered = bool(signs & {"<", "<=", ">", ">="})
    if signs and any(f"{name} zoned" in met and f"{name} local" in met for name in TIMES):
        return "zoneless != zoned is true"
    if ordered and "boolean" in met:
        return "booleans have no order"
    if ordered and TAGGED in met:
        return "language-tagged strings have an order"
    if TAGGED in met and "boolean value" in constructs_of(query):
        return "language-tagged strings have no boolean value"
    if ILL in met and constructs_of(query) & {"boolean value", "ISNUMERIC"}:
        return "ill-typed literals"
    if signs and (ILL in met or UNKNOWN in met):
        return "ill-typed literals"
    return None


class Store:
    """One publication in a store, in publication scope."""

    def __init__(self, published: Published) -> None:
        graph = to_oxigraph(published.graph)
        self._store = ox.Store()
        for s, p, o in published.triples:
            triple = (to_oxigraph(s), to_oxigraph(p), to_oxigraph(o))
            self._store.add(ox.Quad(*triple))
            self._store.add(ox.Quad(*triple, graph))

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
