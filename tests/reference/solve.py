"""Answers a query by enumerating: every triple is tried for every pattern, nothing is indexed, nothing is planned.

SPARQL 1.1 section 18.5 over lists of solutions (multisets), with the choices of semantics 1.3 and 1.4.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from tests.reference import queries as q
from tests.reference.entailment import Known
from tests.reference.expressions import TRUE, evaluate, holds
from tests.reference.paths import path_pairs
from tests.reference.terms import XSD, Term, Triple, literal, write
from tests.reference.values import ILL, NUMERIC, TAGGED, TIMES, UNKNOWN, NotDetermined, TypeFault, value_of

Solution: TypeAlias = dict[str, Term]

__all__ = ["Dataset", "NotDetermined", "Solution", "answer", "solve"]


@dataclass(frozen=True)
class Dataset:
    default: tuple[Triple, ...]
    named: dict[Term, tuple[Triple, ...]] = field(default_factory=dict)
    stated: Dataset | None = None
    """What was published, where this one is entailed: graph by graph."""
    known: Known | None = None
    """The taxonomy by which it is entailed."""

    @classmethod
    def of_publication(cls, graph: Term, triples: tuple[Triple, ...]) -> Dataset:
        """Publication scope: the publication is the default graph and the only named one (semantics 2.4)."""
        return cls(triples, {graph: triples})

    def entailed(self, known: Known, rdfs: bool) -> Dataset:
        """Each graph with what the taxonomy adds to it (semantics 6.1)."""
        default = known.entail(self.default, rdfs)
        named = {
            name: default if triples is self.default else known.entail(triples, rdfs)
            for name, triples in self.named.items()
        }
        return Dataset(default, named, self, known)

    def stated_in(self, graph: tuple[Triple, ...]) -> tuple[Triple, ...]:
        """The published triples of one of the graphs of an entailed dataset."""
        if graph is self.default:
            return self.stated.default
        return next(self.stated.named[name] for name, triples in self.named.items() if triples is graph)


def answer(query: q.Query, dataset: Dataset) -> list[Solution]:
    """The solutions that a notification would carry (semantics 1.1): for ``ask`` one empty solution when true, for
    ``construct`` those of WHERE when they make a triple. Empty: no match."""
    rows = solve(query.select, dataset, dataset.default)
    if query.form == "ask":
        return [{}] if rows else []
    if query.form == "construct" and not any(_makes_triple(step, row) for row in rows for step in query.template):
        return []
    return [{name: term for name, term in row.items() if not name.startswith("_:")} for row in rows]


def _makes_triple(step: q.Step, row: Solution) -> bool:
    """SPARQL 16.2: no part unbound, no literal as subject, only an IRI as predicate; blank nodes are made."""
    kinds = [_kind_of_part(node, row) for node in (step.subject, step.predicate, step.object)]
    return kinds[0] in ("iri", "blank") and kinds[1] == "iri" and kinds[2] is not None


def _kind_of_part(node: q.Node, row: Solution) -> str | None:
    if not isinstance(node, q.Var):
        return node[0]
    if node.hidden:
        return "blank"
    return row[node.name][0] if node.name in row else None


def solve(pattern: q.Pattern, dataset: Dataset, graph: tuple[Triple, ...]) -> list[Solution]:
    match pattern:
        case q.Basic(steps):
            return list(_basic(steps, {}, graph))
        case q.Join(left, right):
            return _join(solve(left, dataset, graph), solve(right, dataset, graph))
        case q.Union(left, right):
            return solve(left, dataset, graph) + solve(right, dataset, graph)
        case q.Optional(left, right, condition):
            return _optional(pattern, dataset, graph)
        case q.Filter(condition, inner):
            scope = Scope(dataset, graph)
            return [row for row in solve(inner, dataset, graph) if holds(condition, row, scope)]
        case q.Minus(left, right):
            removed = solve(right, dataset, graph)
            return [row for row in solve(left, dataset, graph) if not any(_excludes(row, other) for other in removed)]
        case q.Values(variables, rows):
            return [{v.name: t for v, t in zip(variables, row, strict=True) if t is not None} for row in rows]
        case q.Bind(inner, variable, expression):
            scope = Scope(dataset, graph)
            return [_extended(row, variable, expression, scope) for row in solve(inner, dataset, graph)]
        case q.Graph(name, inner):
            return _in_graphs(name, inner, dataset)
        case q.Group():
            return _group(pattern, dataset, graph)
        case q.Select():
            return _select(pattern, dataset, graph)
    raise TypeError(f"no pattern: {pattern!r}")


# ---- basic patterns ---------------------------------------------------------------------------------------


def _basic(steps: tuple[q.Step, ...], row: Solution, graph: tuple[Triple, ...]) -> Iterator[Solution]:
    if not steps:
        yield row
        return
    first, rest = steps[0], steps[1:]
    for extended in _matches(first, row, graph):
        yield from _basic(rest, extended, graph)


def _matches(step: q.Step, row: Solution, graph: tuple[Triple, ...]) -> Iterator[Solution]:
    if isinstance(step.predicate, q.Var | tuple):
        nodes = (step.subject, step.predicate, step.object)
        subject, predicate, object = (row.get(node.name) if isinstance(node, q.Var) else node for node in nodes)
        for triple in graph:
            if (
                (predicate is None or triple[1] == predicate)
                and (subject is None or triple[0] == subject)
                and (object is None or triple[2] == object)
            ):
                extended = _bound(nodes, triple, row)
                if extended is not None:
                    yield extended
        return
    start, end = (None if isinstance(node, q.Var) else node for node in (step.subject, step.object))
    for pair in path_pairs(step.predicate, graph, start, end):
        extended = _bound((step.subject, step.object), pair, row)
        if extended is not None:
            yield extended


def _bound(nodes: tuple[q.Node, ...], terms: tuple[Term, ...], row: Solution) -> Solution | None:
    extended = dict(row)
    for node, term in zip(nodes, terms, strict=True):
        if isinstance(node, q.Var):
            if extended.setdefault(node.name, term) != term:
                return None
        elif node != term:
            return None
    return extended


# ---- the other operators ----------------------------------------------------------------------------------


def _compatible(one: Solution, two: Solution) -> bool:
    return all(two.get(name, term) == term for name, term in one.items())


def _join(left: list[Solution], right: list[Solution]) -> list[Solution]:
    return [one | two for one in left for two in right if _compatible(one, two)]


def _optional(pattern: q.Optional, dataset: Dataset, graph: tuple[Triple, ...]) -> list[Solution]:
    right, scope = solve(pattern.right, dataset, graph), Scope(dataset, graph)
    rows: list[Solution] = []
    for one in solve(pattern.left, dataset, graph):
        joined = [one | two for two in right if _compatible(one, two)]
        if pattern.condition is not None:
            joined = [row for row in joined if holds(pattern.condition, row, scope)]
        rows += joined or [one]
    return rows


def _excludes(row: Solution, other: Solution) -> bool:
    return not row.keys().isdisjoint(other) and _compatible(row, other)


def _extended(row: Solution, variable: q.Var, expression: q.Expression, scope: Scope) -> Solution:
    try:
        return row | {variable.name: evaluate(expression, row, scope)}
    except TypeFault:
        return row


def _in_graphs(name: q.Node, inner: q.Pattern, dataset: Dataset) -> list[Solution]:
    if not isinstance(name, q.Var):
        return solve(inner, dataset, dataset.named[name]) if name in dataset.named else []
    rows: list[Solution] = []
    for graph, triples in dataset.named.items():
        rows += _join([{name.name: graph}], solve(inner, dataset, triples))
    return rows


def _group(pattern: q.Group, dataset: Dataset, graph: tuple[Triple, ...]) -> list[Solution]:
    names = [key.name for key in pattern.keys]
    groups: dict[tuple[Term | None, ...], list[Solution]] = {} if names else {(): []}
    for row in solve(pattern.pattern, dataset, graph):
        groups.setdefault(tuple(row.get(name) for name in names), []).append(row)
    rows = []
    for key, members in groups.items():
        row = {name: term for name, term in zip(names, key, strict=True) if term is not None}
        rows.append(row | {each.name.name: _count(each, members) for each in pattern.counts})
    if pattern.having is None:
        return rows
    return [row for row in rows if holds(pattern.having, row, None)]


def _count(count: q.Count, rows: list[Solution]) -> Term:
    """``COUNT(*)`` of solutions, ``COUNT(?x)`` of those that bind x; DISTINCT: of different ones (SPARQL 18.5.1.2).

    What a blank node of the query stands for is no part of a solution (SPARQL 18.3.1).
    """
    if count.argument is None:
        counted: list[object] = [tuple(sorted(pair for pair in row.items() if pair[0][0] != "_")) for row in rows]
    else:
        counted = [row[count.argument.name] for row in rows if count.argument.name in row]
    return literal(str(len(set(counted) if count.distinct else counted)), XSD + "integer")


@dataclass(frozen=True)
class Scope:
    """What an expression may ask of the graph around it."""

    dataset: Dataset
    graph: tuple[Triple, ...]

    def exists(self, pattern: q.Pattern, row: Solution) -> bool:
        """The row's terms replace its variables in the pattern (SPARQL 18.6)."""
        return bool(solve(substitute(pattern, row), self.dataset, self.graph))

    def is_kin(self, function: str, node: Term, other: Term) -> bool:
        """The functions of semantics 6.3, of what is stated in the graph."""
        return self.dataset.known.is_kin(function, node, other, self.dataset.stated_in(self.graph))


# ---- modifiers --------------------------------------------------------------------------------------------


def _select(select: q.Select, dataset: Dataset, graph: tuple[Triple, ...]) -> list[Solution]:
    rows = solve(select.pattern, dataset, graph)
    variables = q.variables_of(select.pattern) if select.variables is None else select.variables
    names = [variable.name for variable in variables]
    projected = [({name: row[name] for name in names if name in row}, row) for row in rows]
    if select.limit is None and not select.offset:
        answers = [row for row, _ in projected]
        return _distinct(answers) if select.distinct else answers
    projected.sort(key=lambda pair: canonical(pair[0], names))
    for expression, descending in reversed(select.order):
        projected.sort(key=lambda pair: order_key(_value(expression, pair[1])), reverse=descending)
    answers = [row for row, _ in projected]
    if select.distinct:
        answers = _distinct(answers)
    end = None if select.limit is None else select.offset + select.limit
    return answers[select.offset : end]


def canonical(row: Solution, names: Iterable[str]) -> tuple[str, ...]:
    """The key of canonical order (semantics 1.4): the variables in name order, unbound before any term."""
    return tuple(write(row[name]) if name in row else "" for name in sorted(names))


def _distinct(rows: list[Solution]) -> list[Solution]:
    return list({tuple(sorted(row.items())): row for row in rows}.values())


def _value(expression: q.Expression, row: Solution) -> Term | None:
    try:
        return evaluate(expression, row, None)
    except TypeFault:
        return None


_FAMILIES = ("boolean", NUMERIC[0], *TIMES, "yearMonthDuration", "dayTimeDuration")


def order_key(term: Term | None) -> tuple[object, ...]:
    """The key of ORDER BY (SPARQL 15.1): unbound, blank nodes by label, IRIs by text, literals by family and value.

    SPARQL leaves the order of families open, and of what has no value: docs/language.md names it. Numbers are in exact
    order, NaN first; a time without a zone counts as UTC.
    """
    if term is None:
        return (0,)
    if term[0] != "literal":
        return ({"blank": 1, "iri": 2}[term[0]], term[1])
    value = value_of(term)
    if value.family in (ILL, UNKNOWN):
        return (3, 0, write(term))
    if value.family in (TAGGED, "string"):
        return (3, 1, term[1], term[3]) if value.family == TAGGED else (3, 2, term[1])
    family = NUMERIC[0] if value.family in NUMERIC else value.family
    if value.number != value.number:
        return (3, 3 + _FAMILIES.index(family), 0)
    finite = isinstance(value.number, float) and math.isfinite(value.number)
    return (3, 3 + _FAMILIES.index(family), 1, Fraction(value.number) if finite else value.number)


# ---- substitution -----------------------------------------------------------------------------------------


def substitute(pattern: q.Pattern, row: Solution) -> q.Pattern:
    """`pattern` with the row's terms in the place of its variables."""

    def node(value):
        return row.get(value.name, value) if isinstance(value, q.Var) else value

    match pattern:
        case q.Basic(steps):
            return q.Basic(tuple(q.Step(node(s.subject), node(s.predicate), node(s.object)) for s in steps))
        case q.Join(left, right):
            return q.Join(substitute(left, row), substitute(right, row))
        case q.Union(left, right):
            return q.Union(substitute(left, row), substitute(right, row))
        case q.Minus(left, right):
            return q.Minus(substitute(left, row), substitute(right, row))
        case q.Optional(left, right, condition):
            inner = None if condition is None else _in_expression(condition, row)
            return q.Optional(substitute(left, row), substitute(right, row), inner)
        case q.Filter(condition, inner):
            return q.Filter(_in_expression(condition, row), substitute(inner, row))
        case q.Graph(name, inner):
            return q.Graph(node(name), substitute(inner, row))
        case q.Values(variables, _):
            kept = {v.name: row[v.name] for v in variables if v.name in row}
            fixed = q.Values(tuple(q.Var(name) for name in kept), (tuple(kept.values()),))
            return q.Join(pattern, fixed) if kept else pattern
    raise TypeError(f"EXISTS over {type(pattern).__name__} is outside the reference")


def _in_expression(expression: q.Expression, row: Solution) -> q.Expression:
    match expression:
        case q.Var(name):
            return q.Constant(row[name]) if name in row else expression
        case q.Constant():
            return expression
        case q.Compare(operator, left, right):
            return q.Compare(operator, _in_expression(left, row), _in_expression(right, row))
        case q.Logic(operator, arguments):
            return q.Logic(operator, tuple(_in_expression(argument, row) for argument in arguments))
        case q.Not(argument):
            return q.Not(_in_expression(argument, row))
        case q.Member(argument, choices, negated):
            inner = tuple(_in_expression(choice, row) for choice in choices)
            return q.Member(_in_expression(argument, row), inner, negated)
        case q.Call("BOUND", (q.Var(name),)) if name in row:
            return q.Constant(TRUE)
        case q.Call(function, arguments):
            return q.Call(function, tuple(_in_expression(argument, row) for argument in arguments))
        case q.FullText(argument, selection):
            return q.FullText(_in_expression(argument, row), selection)
        case q.Exists(pattern, negated):
            return q.Exists(substitute(pattern, row), negated)
    raise TypeError(f"no expression: {expression!r}")
