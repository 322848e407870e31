"""Property paths by enumeration (SPARQL 9 and 18), as multisets of (start, end).

A sequence is two patterns joined by a variable (18.2.2.4), and that variable ranges over the graph's nodes: so of a
sequence only the first step sees the term written at the start, only the last the one at the end (semantics 4.2).
"""

from __future__ import annotations

from tests.reference import queries as q
from tests.reference.terms import Term, Triple

Written = Term | None
"""The term that a query writes at an end of a path; None for a variable."""


def path_pairs(
    path: q.Path, graph: tuple[Triple, ...], start: Written = None, end: Written = None
) -> list[tuple[Term, Term]]:
    """All pairs that `path` joins, those of other terms than the written ones among them. A zero-length path joins a
    written term with itself also where the graph lacks it."""
    match path:
        case q.Link(predicate):
            return [(s, o) for s, p, o in graph if p == predicate]
        case q.NoneOf(forward, inverse):
            ahead = [(s, o) for s, p, o in graph if forward and p not in forward]
            return ahead + [(o, s) for s, p, o in graph if inverse and p not in inverse]
        case q.Inverse(inner):
            return [(last, first) for first, last in path_pairs(inner, graph, end, start)]
        case q.Chain(first, second):
            ends = path_pairs(second, graph, None, end)
            return [(a, d) for a, b in path_pairs(first, graph, start, None) for c, d in ends if b == c]
        case q.Choice(first, second):
            return path_pairs(first, graph, start, end) + path_pairs(second, graph, start, end)
        case q.Repeat(inner, at_least, many):
            # `?` asks for its path between both ends; `*` and `+` walk from the written start, or back from the end.
            back = end if start is None or not many else None
            found = dict.fromkeys(path_pairs(inner, graph, start, back))
            return _repeated(found, at_least, many, _nodes(graph, start, end))
    raise TypeError(f"no path: {path!r}")


def _nodes(graph: tuple[Triple, ...], start: Written, end: Written) -> dict[Term, None]:
    ends = dict.fromkeys(term for s, _, o in graph for term in (s, o))
    return ends | dict.fromkeys(term for term in (start, end) if term is not None)


def _repeated(
    found: dict[tuple[Term, Term], None], at_least: int, many: bool, nodes: dict[Term, None]
) -> list[tuple[Term, Term]]:
    pairs = list(found)
    while many:
        longer = dict.fromkeys((a, d) for a, b in found for c, d in pairs if b == c and (a, d) not in found)
        if not longer:
            break
        found |= longer
    if at_least == 0:
        found |= dict.fromkeys((node, node) for node in nodes)
    return list(found)
