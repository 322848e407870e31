"""Which variables a pattern can bind, and the parts a pattern is made of."""

from __future__ import annotations

from collections.abc import Iterator

from triplecast.model.algebra import (
    BasicPattern,
    Distinct,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Join,
    LeftJoin,
    Minus,
    OrderBy,
    PathPattern,
    Pattern,
    Project,
    Reduced,
    Slice,
    TriplePattern,
    Union,
    Values,
    Variable,
)


def visible_names(pattern: Pattern) -> frozenset[str]:
    """The names in scope (SPARQL 18.2.1), those of blank nodes left out."""
    return frozenset(name for name in _names(pattern) if not name.startswith("_:"))


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly inside, in the order in which they are solved."""
    if isinstance(pattern, Join | LeftJoin | Union | Minus):
        return pattern.left, pattern.right
    if isinstance(pattern, Filter | Graph | Extend | Group | OrderBy | Project | Distinct | Reduced | Slice):
        return (pattern.pattern,)
    return ()


def condition_names(expression: Expression) -> tuple[str, ...]:
    """The variables an expression names, outside EXISTS, in order of appearance."""
    found: dict[str, None] = {}
    waiting = [expression]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Variable):
            found[part.name] = None
        elif not isinstance(part, Exists):
            waiting.extend(reversed(getattr(part, "arguments", ())))
    return tuple(found)


def _names(pattern: Pattern) -> Iterator[str]:
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Project | Values):
            yield from (variable.name for variable in part.variables)
        elif isinstance(part, BasicPattern):
            for triple in part.triples:
                yield from _node_names(triple)
        elif isinstance(part, Group):
            yield from (key.name for key in part.keys)
            yield from (variable.name for variable, _ in part.aggregates)
        elif isinstance(part, Minus):
            waiting.append(part.left)
        else:
            if isinstance(part, Extend):
                yield part.variable.name
            if isinstance(part, Graph) and isinstance(part.name, Variable):
                yield part.name.name
            waiting.extend(children(part))


def _node_names(triple: TriplePattern | PathPattern) -> Iterator[str]:
    nodes = (triple.subject, triple.object)
    for node in (*nodes, triple.predicate) if isinstance(triple, TriplePattern) else nodes:
        if isinstance(node, Variable):
            yield node.name
