"""The variables that a pattern binds, and its parts."""

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
    Produce,
    Project,
    Reduced,
    Slice,
    TriplePattern,
    Union,
    Values,
    Variable,
    subexpressions,
    variables_in,
)


def visible_names(pattern: Pattern) -> frozenset[str]:
    """The names in scope (SPARQL 18.2.1), those of blank nodes left out."""
    return frozenset(name for name in _names(pattern) if not name.startswith("_:"))


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly inside, in the order in which they are solved."""
    if isinstance(pattern, Join | LeftJoin | Union | Minus):
        return pattern.left, pattern.right
    if isinstance(pattern, Filter | Graph | Extend | Produce | Group | OrderBy | Project | Distinct | Reduced | Slice):
        return (pattern.pattern,)
    return ()


def parts_of(pattern: Pattern) -> Iterator[Pattern]:
    """Yield the pattern and all patterns inside it, those of EXISTS too, parents first, from left to right."""
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        yield part
        found: list[Pattern] = []
        for expression in _expressions(part):
            found.extend(inner.pattern for inner in subexpressions(expression) if isinstance(inner, Exists))
        waiting.extend(reversed((*children(part), *found)))


def _expressions(pattern: Pattern) -> tuple[Expression, ...]:
    if isinstance(pattern, Filter | LeftJoin):
        return (pattern.condition,) if pattern.condition is not None else ()
    if isinstance(pattern, Extend):
        return (pattern.expression,)
    if isinstance(pattern, OrderBy):
        return tuple(condition for condition, _ in pattern.conditions)
    if isinstance(pattern, Group):
        return tuple(what.argument for _, what in pattern.aggregates if what.argument is not None)
    return ()


def certain_names(pattern: Pattern) -> frozenset[str]:
    """The names that every solution binds, those of blank nodes too. Takes time in proportion to the pattern."""
    if isinstance(pattern, BasicPattern):
        return frozenset(name for triple in pattern.triples for name in _node_names(triple))
    if isinstance(pattern, Join):
        return certain_names(pattern.left) | certain_names(pattern.right)
    if isinstance(pattern, LeftJoin | Minus):
        return certain_names(pattern.left)
    if isinstance(pattern, Union):
        return certain_names(pattern.left) & certain_names(pattern.right)
    if isinstance(pattern, Values):
        columns = enumerate(variable.name for variable in pattern.variables)
        return frozenset(name for column, name in columns if all(row[column] is not None for row in pattern.rows))
    inner = certain_names(pattern.pattern)
    if isinstance(pattern, Graph) and isinstance(pattern.name, Variable):
        return inner | {pattern.name.name}
    if isinstance(pattern, Produce):
        return inner | {node.name for node in pattern.arguments if isinstance(node, Variable)}
    if isinstance(pattern, Project):
        return inner & {variable.name for variable in pattern.variables}
    return inner & {key.name for key in pattern.keys} if isinstance(pattern, Group) else inner


def condition_names(expression: Expression) -> tuple[str, ...]:
    """The variables an expression names, outside EXISTS, in order of appearance."""
    return tuple(dict.fromkeys(variable.name for variable in variables_in(expression)))


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
            if isinstance(part, Produce):
                yield from (node.name for node in part.arguments if isinstance(node, Variable))
            if isinstance(part, Graph) and isinstance(part.name, Variable):
                yield part.name.name
            waiting.extend(children(part))


def _node_names(triple: TriplePattern | PathPattern) -> Iterator[str]:
    nodes = (triple.subject, triple.object)
    for node in (*nodes, triple.predicate) if isinstance(triple, TriplePattern) else nodes:
        if isinstance(node, Variable):
            yield node.name
