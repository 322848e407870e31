"""Groups and inline data (SPARQL 1.1 Query, sections 18.2.2.6 to 18.2.2.8): a function for each rule of the grammar."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from lark.lexer import Token

from triplecast.languages.context import Translation
from triplecast.languages.expressions import conjoin, forbid_aggregates
from triplecast.languages.operators import Production, order_productions, produce
from triplecast.languages.patterns import Edge, Triples
from triplecast.languages.updates import is_of_update
from triplecast.model import algebra
from triplecast.model.algebra import Expression, Pattern, Slot, TriplePattern, Variable


class _Optional(NamedTuple):
    group: GroupPattern


class _Minus(NamedTuple):
    pattern: Pattern


class _Filter(NamedTuple):
    condition: Expression


class _Bind(NamedTuple):
    expression: Expression
    variable: Token


@dataclass(slots=True)
class GroupPattern:
    """A group in braces; its filters apart, because an OPTIONAL takes them as its condition (section 18.2.2.6)."""

    pattern: Pattern
    visible: dict[Variable, None]
    """In-scope variables (section 18.2.1), hidden ones included, in order of appearance."""
    condition: Expression | None = None
    updates: tuple[Expression, ...] = ()
    """Its filters that call ``tc:before``."""

    @property
    def filtered(self) -> Pattern:
        return self.pattern if self.condition is None else algebra.Filter(self.condition, self.pattern)


def balance(operation: Callable[[Pattern, Pattern], Pattern], parts: list[Pattern]) -> Pattern:
    """Combine the parts in order in a tree of least depth; the operation is associative."""
    while len(parts) > 1:
        pairs = [operation(left, right) for left, right in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(pairs) * 2 :]
    return parts[0]


@dataclass(slots=True)
class _Assembly:
    """A group while its elements are read from left to right (section 18.2.2.6)."""

    translation: Translation
    joined: list[Pattern] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    """The basic graph pattern that is still growing."""
    labels: dict[str, Token] = field(default_factory=dict)
    visible: dict[Variable, None] = field(default_factory=dict)
    conditions: list[Expression] = field(default_factory=list)
    updates: list[Expression] = field(default_factory=list)
    productions: list[Production] = field(default_factory=list)
    """Operators applied to the solutions so far, those of the growing basic graph pattern included."""

    def close_triples(self) -> None:
        for label, token in self.labels.items():
            if label in self.translation.homes:
                message = f"the blank node {label} is used in two groups; a label belongs to one basic graph pattern"
                raise self.translation.fault(token, message, ("a variable instead",))
        self.translation.homes.update(self.labels)
        if self.edges:
            self.joined.append(algebra.BasicPattern(tuple(self.edges)))
        self.edges, self.labels = [], {}
        productions, self.productions = self.productions, []
        if productions:
            joined = balance(algebra.Join, self.joined) if self.joined else algebra.BasicPattern(())
            for production in order_productions(productions):
                joined = produce(production, joined)
            self.joined = [joined]

    def pattern(self) -> Pattern:
        self.close_triples()
        return balance(algebra.Join, self.joined) if self.joined else algebra.BasicPattern(())

    def add(self, element: Any) -> None:
        match element:
            case Triples(edges, labels, conditions, productions):
                self.edges.extend(edges)
                self.conditions.extend(conditions)
                self.productions.extend(productions)
                for production in productions:
                    self.visible.update(dict.fromkeys(production.variables()))
                self.labels.update(labels)
                for edge in edges:
                    self.visible.update(dict.fromkeys(_variables(edge)))
            case _Filter(condition):
                of_update = is_of_update(self.translation, condition)
                (self.updates if of_update else self.conditions).append(condition)
            case _Optional(group):
                self.joined = [algebra.LeftJoin(self.pattern(), group.pattern, group.condition)]
                self.visible.update(group.visible)
            case _Minus(pattern):
                self.joined = [algebra.Minus(self.pattern(), pattern)]
            case _Bind(expression, token):
                self._bind(expression, token)
            case GroupPattern():
                self.close_triples()
                if element.filtered != algebra.BasicPattern(()):
                    self.joined.append(element.filtered)
                self.visible.update(element.visible)

    def _bind(self, expression: Expression, token: Token) -> None:
        variable = Variable(str(token)[1:])
        if variable in self.visible:
            raise self.translation.fault(
                token, f"{token} has a value already, so BIND cannot give it one", ("another variable",)
            )
        self.joined = [algebra.Extend(self.pattern(), variable, expression)]
        self.visible[variable] = None


def _variables(edge: Edge) -> list[Variable]:
    nodes = (edge.subject, edge.predicate if isinstance(edge, TriplePattern) else None, edge.object)
    return [node for node in nodes if isinstance(node, Variable)]


def make_group(translation: Translation, children: list[Any]) -> GroupPattern:
    assembly = _Assembly(translation)
    for element in children:
        assembly.add(element)
    pattern = assembly.pattern()
    condition = conjoin(assembly.conditions) if assembly.conditions else None
    return GroupPattern(pattern, assembly.visible, condition, tuple(assembly.updates))


_group = make_group


def _union(translation: Translation, children: list[Any]) -> GroupPattern:
    groups: list[GroupPattern] = children
    if len(groups) == 1:
        return groups[0]
    visible = {variable: None for group in groups for variable in group.visible}
    return GroupPattern(balance(algebra.Union, [group.filtered for group in groups]), visible)


def _optional(translation: Translation, children: list[Any]) -> _Optional:
    return _Optional(children[0])


def _minus(translation: Translation, children: list[Any]) -> _Minus:
    return _Minus(children[0].filtered)


def _graph(translation: Translation, children: list[Any]) -> GroupPattern:
    name = translation.node(children[0])
    group: GroupPattern = children[1]
    visible = {name: None} if isinstance(name, Variable) else {}
    if isinstance(name, Slot):
        translation.graphs.add(name.index)
    return GroupPattern(algebra.Graph(name, group.filtered), visible | group.visible)


def _filter(translation: Translation, children: list[Any]) -> _Filter:
    condition = translation.node(children[0])
    forbid_aggregates(translation, condition, "in FILTER")
    return _Filter(condition)


def _bind(translation: Translation, children: list[Any]) -> _Bind:
    expression = translation.node(children[0])
    forbid_aggregates(translation, expression, "in BIND")
    return _Bind(expression, children[1])


def _exists(translation: Translation, children: list[Any]) -> algebra.Exists:
    return algebra.Exists(children[0].filtered, negated=False)


def _not_exists(translation: Translation, children: list[Any]) -> algebra.Exists:
    return algebra.Exists(children[0].filtered, negated=True)


# ---- inline data -------------------------------------------------------------------------------------------


def _value(translation: Translation, child: Token) -> Any:
    return None if child.type == "UNDEF" else translation.node(child)


def _one_column(translation: Translation, children: list[Any]) -> algebra.Values:
    variable = translation.node(children[0])
    return algebra.Values((variable,), tuple([(_value(translation, child),) for child in children[1:]]))


def _data_names(translation: Translation, children: list[Any]) -> list[Token]:
    return [child for child in children if child.type == "VAR"]


def _data_row(translation: Translation, children: list[Any]) -> list[Token]:
    return children


def _columns(translation: Translation, children: list[Any]) -> algebra.Values:
    names: list[Token] = children[0]
    variables = tuple([Variable(str(name)[1:]) for name in names])
    if len(set(variables)) != len(variables):
        raise translation.fault(names[-1], "VALUES names a variable twice", ("different variables",))
    rows = []
    for row in children[1:]:
        values = [value for value in row if value.type != "NIL"]
        if len(values) != len(variables):
            message = f"this row of VALUES has {len(values)} values for {len(variables)} variables"
            raise translation.fault(row[0] if row else names[-1], message, ("one value or UNDEF for each variable",))
        rows.append(tuple([_value(translation, value) for value in values]))
    return algebra.Values(variables, tuple(rows))


def _inline_data(translation: Translation, children: list[Any]) -> GroupPattern:
    values: algebra.Values = children[0]
    return GroupPattern(values, dict.fromkeys(values.variables))
