"""Patterns and expressions in words close to the query's own, for explanations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from pyoxigraph import Literal

from triplecast.model.algebra import (
    Aggregate,
    Alternative,
    BasicPattern,
    Call,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Group,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    NegatedSet,
    Node,
    Operation,
    PathExpression,
    PathPattern,
    Pattern,
    Repeat,
    Sequence,
    Slice,
    Slot,
    Term,
    TriplePattern,
    Union,
    Values,
    Variable,
)
from triplecast.terms.values import XSD, XSD_BOOLEAN, XSD_DECIMAL, XSD_INTEGER, XSD_STRING

_BARE: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        XSD_INTEGER: re.compile(r"[+-]?[0-9]+"),
        XSD_DECIMAL: re.compile(r"[+-]?[0-9]*\.[0-9]+"),
        XSD_BOOLEAN: re.compile(r"true|false"),
    }
)
"""What SPARQL lets one write without quotes."""

_TEXTUAL: Mapping[str, str] = MappingProxyType({"=": "eq", "!=": "ne"})
"""What RDQL writes for a comparison of texts."""


def word_node(node: Node | Term) -> str:
    """Plain integers, decimals and booleans bare, XSD's types as ``xsd:``, all else in N-Triples form."""
    if isinstance(node, Variable):
        return node.name if node.hidden else f"?{node.name}"
    if isinstance(node, Slot):
        return f"slot {node.index}"
    if isinstance(node, Literal) and node.datatype.value.startswith(XSD) and node.datatype.value != XSD_STRING:
        if node.datatype.value in _BARE and _BARE[node.datatype.value].fullmatch(node.value):
            return node.value
        return f"{Literal(node.value)}^^xsd:{node.datatype.value.removeprefix(XSD)}"
    return str(node)


def word_triple(pattern: TriplePattern | PathPattern) -> str:
    middle = word_node(pattern.predicate) if isinstance(pattern, TriplePattern) else word_path(pattern.path)
    return f"{word_node(pattern.subject)} {middle} {word_node(pattern.object)}"


def word_path(path: PathExpression) -> str:
    if isinstance(path, Inverse):
        return f"^{word_path(path.path)}"
    if isinstance(path, Sequence):
        return "(" + "/".join(map(word_path, path.steps)) + ")"
    if isinstance(path, Alternative):
        return "(" + "|".join(map(word_path, path.choices)) + ")"
    if isinstance(path, Repeat):
        return word_path(path.path) + (("*", "+")[path.at_least] if path.many else "?")
    if isinstance(path, NegatedSet):
        names = [word_node(name) for name in path.forward] + [f"^{word_node(name)}" for name in path.inverse]
        return f"!({'|'.join(names)})"
    return word_node(path)


def word_expression(expression: Expression) -> str:
    if isinstance(expression, Exists):
        return f"{'NOT ' if expression.negated else ''}EXISTS {{ {word_pattern(expression.pattern)} }}"
    if isinstance(expression, Call) and expression.function in ("NUMBER", "TEXT"):
        return word_expression(expression.arguments[0])
    if isinstance(expression, Call):
        name = f"<{expression.function}>" if ":" in expression.function else expression.function
        return f"{name}({_listed(expression.arguments)})"
    if not isinstance(expression, Operation):
        return word_node(expression)
    operator, arguments = expression.operator, expression.arguments
    if operator in ("in", "not in"):
        return f"{word_expression(arguments[0])} {operator.upper()} ({_listed(arguments[1:])})"
    if len(arguments) == 1:
        return f"{operator.removeprefix('u')}{word_expression(arguments[0])}"
    if operator in _TEXTUAL and any(isinstance(part, Call) and part.function == "TEXT" for part in arguments):
        operator = _TEXTUAL[operator]
    return "(" + f" {operator} ".join(map(word_expression, arguments)) + ")"


def word_aggregate(aggregate: Aggregate) -> str:
    distinct = "DISTINCT " if aggregate.distinct else ""
    argument = "*" if aggregate.argument is None else word_expression(aggregate.argument)
    return f"{aggregate.function}({distinct}{argument})"


def word_pattern(pattern: Pattern) -> str:
    """The pattern on one line."""
    if isinstance(pattern, BasicPattern):
        return " . ".join(map(word_triple, pattern.triples))
    if isinstance(pattern, Join):
        return f"{word_pattern(pattern.left)} . {word_pattern(pattern.right)}"
    if isinstance(pattern, LeftJoin):
        return f"{word_pattern(pattern.left)} OPTIONAL {{ {word_pattern(pattern.right)} }}"
    if isinstance(pattern, Union):
        return f"{{ {word_pattern(pattern.left)} }} UNION {{ {word_pattern(pattern.right)} }}"
    if isinstance(pattern, Minus):
        return f"{word_pattern(pattern.left)} MINUS {{ {word_pattern(pattern.right)} }}"
    if isinstance(pattern, Filter):
        return f"{word_pattern(pattern.pattern)} FILTER({word_expression(pattern.condition)})"
    if isinstance(pattern, Graph):
        return f"GRAPH {word_node(pattern.name)} {{ {word_pattern(pattern.pattern)} }}"
    if isinstance(pattern, Extend):
        bound = f"BIND({word_expression(pattern.expression)} AS {word_node(pattern.variable)})"
        return f"{word_pattern(pattern.pattern)} {bound}"
    if isinstance(pattern, Values):
        names = " ".join(word_node(variable) for variable in pattern.variables)
        return f"VALUES ({names}) {{ {len(pattern.rows)} rows }}"
    if isinstance(pattern, Group):
        names = " ".join(word_node(key) for key in pattern.keys)
        return f"{word_pattern(pattern.pattern)} GROUP BY {names}".rstrip()
    if isinstance(pattern, Slice):
        limit = "" if pattern.limit is None else f" LIMIT {pattern.limit}"
        return f"{word_pattern(pattern.pattern)} OFFSET {pattern.offset}{limit}"
    return word_pattern(pattern.pattern)


def _listed(arguments: Iterable[Expression]) -> str:
    return ", ".join(map(word_expression, arguments))
