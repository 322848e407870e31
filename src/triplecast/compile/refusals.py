"""Queries that are refused before they are planned: too large, with an unbound argument of an operator, in a scope or
with graphs that no publication has."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from triplecast.compile.constants import Constant
from triplecast.errors import QueryRefused
from triplecast.evaluate.scope import children, expressions_of, parts_of, visible_names
from triplecast.languages import Template, place_of_argument
from triplecast.languages.rewriting import calls_in, names_of_path
from triplecast.model import algebra
from triplecast.model.algebra import (
    Call,
    Exists,
    Operation,
    PathPattern,
    Pattern,
    Produce,
    Query,
    Slot,
    TriplePattern,
    Variable,
    subexpressions,
)
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.subscription import SCOPES, Subscription
from triplecast.terms.nearness import nearest_names

TEMPLATES_LIMIT = 20_000
"""Templates whose checks a process caches."""


def refuse_scope(subscription: Subscription) -> None:
    """Refuse a scope that there is not; raises `QueryRefused`."""
    if subscription.scope not in SCOPES:
        raise QueryRefused(f"scope {subscription.scope}", "it is unknown", f"use {' or '.join(SCOPES)}")


class QuerySize(NamedTuple):
    constants: int
    """IRIs and literals, and ``UNDEF`` in ``VALUES``."""
    patterns: int
    """Triple patterns (those that ``CONSTRUCT`` writes too), steps of property paths and clauses that are none, such as
    ``FILTER``, ``VALUES`` or ``OPTIONAL``; not the groups and ``UNION`` that hold them."""
    operators: int
    """Operators, functions and mentions of variables in expressions."""


LARGEST = QuerySize(constants=10_000, patterns=1_000, operators=10_000)


def refuse_large(template: Template) -> None:
    """Raises `QueryRefused`, naming the limit, for a query beyond one of `LARGEST`."""
    excess = _excess(template)
    if excess is not None:
        raise QueryRefused(
            *excess, "split it into several subscriptions, or match what the listed terms have in common"
        )


@lru_cache(maxsize=TEMPLATES_LIMIT)
def _excess(template: Template) -> tuple[str, str] | None:
    for what, found, most in zip(QuerySize._fields, measure(template.query, template.slots), LARGEST, strict=True):
        if found > most:
            return f"a query of {found:,} {what}", f"{most:,} are allowed in one"
    return None


def measure(query: Query, constants: int) -> QuerySize:
    """The size of a query that has so many constants. Walks without recursion."""
    patterns = operators = 0
    waiting: list[Any] = [query.pattern, *query.template]
    while waiting:
        part = waiting.pop()
        match part:
            case tuple():
                waiting += part
            case PathPattern():
                patterns += sum(1 for _ in names_of_path(part.path))
            case algebra.BasicPattern(triples) if triples:
                waiting += triples
            case algebra.Join(left, right) | algebra.Union(left, right):
                waiting += (left, right)
            case Operation() | Call() | algebra.Aggregate() | algebra.Exists():
                operators += 1
                waiting += _fields(part)
            case Variable():
                operators += 1
            case algebra.Values(_, rows):
                patterns += 1
                constants += sum(row.count(None) for row in rows)
            case TriplePattern() | algebra.BasicPattern():
                patterns += 1
            case algebra.Project(inner, _):
                patterns += 1
                waiting.append(inner)
            case _ if hasattr(part, "__dataclass_fields__") and not isinstance(part, Slot):
                patterns += 1
                waiting += _fields(part)
    return QuerySize(constants, patterns, operators)


def _fields(part: Any) -> list[Any]:
    return [getattr(part, name) for name in part.__dataclass_fields__]


def refuse_unbound(template: Template, text: str, language: str, operators: OperatorSet) -> None:
    """Refuse a template whose operators have unbound arguments, with the place in `text`; raises `QueryRefused`."""
    found = _first_unbound(template)
    if found is None:
        return
    operator, variable, visible = found
    near = nearest_names(variable, sorted(visible), 1)
    hint = f"was ?{near[0]} meant?" if near else "bind it in a triple pattern of the same group"
    line, column = place_of_argument(text, language, operator, Variable(variable), operators) or (None, None)
    reason = f"its argument ?{variable} is unbound"
    raise QueryRefused(f"operator <{operator}>", reason, hint, line, column)


@lru_cache(maxsize=TEMPLATES_LIMIT)
def _first_unbound(template: Template) -> tuple[str, str, frozenset[str]] | None:
    return next(_unbound(template.query.pattern, frozenset()), None)


def operators_of(templates: Iterable[Template], operators: OperatorSet) -> list[Operator]:
    """The operators that queries of these templates call, ordered by IRI."""
    if not operators:
        return []
    distinct = {template.key: template for template in templates}
    called = {iri for template in distinct.values() for iri in called_operators(template)}
    return [declared for declared in map(operators.find, sorted(called)) if declared is not None]


@lru_cache(maxsize=TEMPLATES_LIMIT)
def called_operators(template: Template) -> frozenset[str]:
    """Return the IRIs of the operators that a query of this template calls."""
    pattern = template.query.pattern
    produced = (part.operator for part in parts_of(pattern) if isinstance(part, Produce))
    called = (call.function for call in calls_in(pattern) if call.of_operator)
    return frozenset((*produced, *called))


def _unbound(pattern: Pattern, outer: frozenset[str]) -> Iterator[tuple[str, str, frozenset[str]]]:
    """Yield operator, variable and the variables in scope for each argument that is never bound; `outer` are variables
    that EXISTS replaces."""
    inside = frozenset(name for part in children(pattern) for name in visible_names(part)) | outer
    if isinstance(pattern, Produce):
        for node, free in zip(pattern.arguments, pattern.free, strict=True):
            if not free and isinstance(node, Variable) and not _is_bound(node, inside):
                yield pattern.operator, node.name, inside
    for expression in expressions_of(pattern):
        for part in subexpressions(expression):
            if isinstance(part, Exists):
                yield from _unbound(part.pattern, inside)
            elif isinstance(part, Call) and part.of_operator:
                for argument in part.arguments:
                    if isinstance(argument, Variable) and not _is_bound(argument, inside):
                        yield part.function, argument.name, inside
    for child in children(pattern):
        yield from _unbound(child, outer)


def _is_bound(variable: Variable, names: frozenset[str]) -> bool:
    """Whether a variable is in scope; blank nodes are, in the triples that contain them."""
    return variable.hidden or variable.name in names


def refuse_two_graphs(names: tuple[str, ...]) -> None:
    """Refuse a query that needs several named graphs where no publication has them; raises `QueryRefused`."""
    if len(names) > 1:
        raise QueryRefused(
            "GRAPH",
            f"a publication is its own only named graph, so it cannot be both {names[0]} and {names[1]}",
            "name one of them, join both with UNION, or publish datasets (`--dataset`)",
        )


def needed_graphs(pattern: Pattern) -> Iterator[Constant]:
    """Yield the constant graph names that every solution needs."""
    if isinstance(pattern, algebra.Graph) and not isinstance(pattern.name, Variable):
        yield pattern.name
    if isinstance(pattern, algebra.Join):
        parts = children(pattern)
    elif isinstance(pattern, algebra.Union | algebra.Group):
        parts = ()
    else:
        parts = children(pattern)[:1]
    for part in parts:
        yield from needed_graphs(part)
