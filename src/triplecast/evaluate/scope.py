"""The variables that a pattern binds, and its parts."""

from __future__ import annotations

from collections.abc import Iterator

from triplecast.model import algebra
from triplecast.model.algebra import Expression, Pattern, TriplePattern, Variable, subexpressions, variables_in


def visible_names(pattern: Pattern) -> frozenset[str]:
    """The names in scope (SPARQL 18.2.1), those of blank nodes left out."""
    return frozenset(name for name in _names(pattern) if not name.startswith("_:"))


def children(pattern: Pattern) -> tuple[Pattern, ...]:
    """The patterns directly inside, in the order in which they are solved."""
    if isinstance(pattern, algebra.Join | algebra.LeftJoin | algebra.Union | algebra.Minus):
        return pattern.left, pattern.right
    if isinstance(pattern, algebra.BasicPattern | algebra.Values):
        return ()
    return (pattern.pattern,)


def parts_of(pattern: Pattern) -> Iterator[Pattern]:
    """Yield the pattern and all patterns inside it, those of EXISTS too, parents first, from left to right."""
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        yield part
        found: list[Pattern] = []
        for expression in expressions_of(part):
            found.extend(inner.pattern for inner in subexpressions(expression) if isinstance(inner, algebra.Exists))
        waiting.extend(reversed((*children(part), *found)))


def expressions_of(pattern: Pattern) -> tuple[Expression, ...]:
    """The expressions directly in a pattern."""
    if isinstance(pattern, algebra.Filter | algebra.LeftJoin):
        return (pattern.condition,) if pattern.condition is not None else ()
    if isinstance(pattern, algebra.Extend):
        return (pattern.expression,)
    if isinstance(pattern, algebra.OrderBy):
        return tuple(condition for condition, _ in pattern.conditions)
    if isinstance(pattern, algebra.Group):
        return tuple(what.argument for _, what in pattern.aggregates if what.argument is not None)
    return ()


def certain_names(pattern: Pattern) -> frozenset[str]:
    """The names that every solution binds, those of blank nodes too. Takes time in proportion to the pattern."""
    if isinstance(pattern, algebra.BasicPattern):
        return frozenset(name for triple in pattern.triples for name in _node_names(triple))
    if isinstance(pattern, algebra.Join):
        return certain_names(pattern.left) | certain_names(pattern.right)
    if isinstance(pattern, algebra.LeftJoin | algebra.Minus):
        return certain_names(pattern.left)
    if isinstance(pattern, algebra.Union):
        return certain_names(pattern.left) & certain_names(pattern.right)
    if isinstance(pattern, algebra.Values):
        columns = enumerate(variable.name for variable in pattern.variables)
        return frozenset(name for column, name in columns if all(row[column] is not None for row in pattern.rows))
    inner = certain_names(pattern.pattern)
    if isinstance(pattern, algebra.Graph) and isinstance(pattern.name, Variable):
        return inner | {pattern.name.name}
    if isinstance(pattern, algebra.Produce):
        return inner | {node.name for node in pattern.arguments if isinstance(node, Variable)}
    if isinstance(pattern, algebra.Project):
        return inner & {variable.name for variable in pattern.variables}
    return inner & {key.name for key in pattern.keys} if isinstance(pattern, algebra.Group) else inner


def condition_names(expression: Expression) -> tuple[str, ...]:
    """The variables an expression names, outside EXISTS, in order of appearance."""
    return tuple(dict.fromkeys(variable.name for variable in variables_in(expression)))


def _names(pattern: Pattern) -> Iterator[str]:
    waiting = [pattern]
    while waiting:
        part = waiting.pop()
        if isinstance(part, algebra.Project | algebra.Values):
            yield from (variable.name for variable in part.variables)
        elif isinstance(part, algebra.BasicPattern):
            for triple in part.triples:
                yield from _node_names(triple)
        elif isinstance(part, algebra.Group):
            yield from (key.name for key in part.keys)
            yield from (variable.name for variable, _ in part.aggregates)
        elif isinstance(part, algebra.Minus):
            waiting.append(part.left)
        else:
            if isinstance(part, algebra.Extend):
                yield part.variable.name
            if isinstance(part, algebra.Produce):
                yield from (node.name for node in part.arguments if isinstance(node, Variable))
            if isinstance(part, algebra.Graph) and isinstance(part.name, Variable):
                yield part.name.name
            waiting.extend(children(part))


def _node_names(triple: TriplePattern | algebra.PathPattern) -> Iterator[str]:
    nodes = (triple.subject, triple.object)
    for node in (*nodes, triple.predicate) if isinstance(triple, TriplePattern) else nodes:
        if isinstance(node, Variable):
            yield node.name
