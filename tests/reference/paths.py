"""Property paths by enumeration (SPARQL 9 and 18.4), as multisets of (start, end)."""

from __future__ import annotations

from tests.reference import queries as q
from tests.reference.terms import Term, Triple


def path_pairs(path: q.Path, graph: tuple[Triple, ...], written: tuple[Term, ...]) -> list[tuple[Term, Term]]:
    """All pairs that `path` joins. `written` are the terms of the pattern's ends: a zero-length path joins them with
    themselves also where the graph lacks them (semantics 4.2)."""
    match path:
        case q.Link(predicate):
            return [(s, o) for s, p, o in graph if p == predicate]
        case q.NoneOf(forward, inverse):
            ahead = [(s, o) for s, p, o in graph if forward and p not in forward]
            return ahead + [(o, s) for s, p, o in graph if inverse and p not in inverse]
        case q.Inverse(inner):
            return [(end, start) for start, end in path_pairs(inner, graph, written)]
        case q.Chain(first, second):
            ends = path_pairs(second, graph, written)
            return [(a, d) for a, b in path_pairs(first, graph, written) for c, d in ends if b == c]
        case q.Choice(first, second):
            return path_pairs(first, graph, written) + path_pairs(second, graph, written)
        case q.Repeat(inner, at_least, many):
            return _repeated(path_pairs(inner, graph, written), at_least, many, _nodes(graph, written))
    raise TypeError(f"no path: {path!r}")


def _nodes(graph: tuple[Triple, ...], written: tuple[Term, ...]) -> dict[Term, None]:
    ends = dict.fromkeys(term for s, _, o in graph for term in (s, o))
    return ends | dict.fromkeys(written)


def _repeated(
    pairs: list[tuple[Term, Term]], at_least: int, many: bool, nodes: dict[Term, None]
) -> list[tuple[Term, Term]]:
    found = dict.fromkeys(pairs)
    while many:
        longer = dict.fromkeys((a, d) for a, b in found for c, d in pairs if b == c and (a, d) not in found)
        if not longer:
            break
        found |= longer
    if at_least == 0:
        found |= dict.fromkeys((node, node) for node in nodes)
    return list(found)
