"""Triples, paths and groups (SPARQL 1.1 Query, sections 18.2.2.1 to 18.2.2.8): one function a rule of the grammar."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple

from lark.lexer import Token
from pyoxigraph import NamedNode

from triplecast.languages.context import NIL, Translation
from triplecast.languages.expressions import conjoin, forbid_aggregates
from triplecast.languages.operators import (
    Production,
    find_property_function,
    order_productions,
    produce,
    read_productions,
    refuse_operator_in_path,
    split_collection,
)
from triplecast.languages.prefixes import RDF
from triplecast.languages.searches import Search, collect_members, magic_predicate, read_searches, refuse_in_path
from triplecast.model.algebra import (
    Alternative,
    BasicPattern,
    Exists,
    Expression,
    Extend,
    Filter,
    Graph,
    Inverse,
    Join,
    LeftJoin,
    Minus,
    NegatedSet,
    Node,
    PathExpression,
    PathPattern,
    Pattern,
    Repeat,
    Sequence,
    Slot,
    TriplePattern,
    Union,
    Values,
    Variable,
)

FIRST = NamedNode(RDF + "first")
REST = NamedNode(RDF + "rest")
Edge = TriplePattern | PathPattern


class Triples(NamedTuple):
    """Triples written side by side, with the blank node labels used in them."""

    edges: list[Edge]
    labels: dict[str, Token]
    conditions: list[Expression]
    """What full-text predicates, and operators that filter, ask among them."""
    productions: list[Production]


class _Node(NamedTuple):
    """A node of the text that brings triples of its own: a collection or ``[ … ]``."""

    node: Node
    edges: list[Edge]


class _Optional(NamedTuple):
    group: Group


class _Minus(NamedTuple):
    pattern: Pattern


class _Filter(NamedTuple):
    condition: Expression


class _Bind(NamedTuple):
    expression: Expression
    variable: Token


@dataclass(slots=True)
class Group:
    """A group in braces; its filters apart, because an OPTIONAL takes them as its condition (section 18.2.2.6)."""

    pattern: Pattern
    visible: dict[Variable, None]
    """In-scope variables (section 18.2.1), hidden ones included, in order of appearance."""
    condition: Expression | None = None

    @property
    def filtered(self) -> Pattern:
        return self.pattern if self.condition is None else Filter(self.condition, self.pattern)


# ---- paths -------------------------------------------------------------------------------------------------


def _path_alternative(translation: Translation, children: list[Any]) -> Alternative:
    choices: list[PathExpression] = []
    for child in children:
        path = translation.node(child)
        choices.extend(path.choices if isinstance(path, Alternative) else (path,))
    return Alternative(tuple(choices))


def _path_sequence(translation: Translation, children: list[Any]) -> Sequence:
    steps: list[PathExpression] = []
    for child in children[::2]:
        path = translation.node(child)
        steps.extend(path.steps if isinstance(path, Sequence) else (path,))
    return Sequence(tuple(steps))


def _path_inverse(translation: Translation, children: list[Any]) -> PathExpression:
    path: PathExpression = translation.node(children[1])
    return path.path if isinstance(path, Inverse) else Inverse(path)


def _path_repeat(translation: Translation, children: list[Any]) -> Repeat:
    """A lone predicate is part of the template: which one decides whether the taxonomy knows the path."""
    sign = str(children[1])
    path = translation.node(children[0])
    if isinstance(path, Slot):
        refuse_in_path(translation, path)
        refuse_operator_in_path(translation, path)
        path = translation.pin(path)
    return Repeat(path, 1 if sign == "+" else 0, sign != "?")


def _path_negated(translation: Translation, children: list[Any]) -> NegatedSet:
    steps = [child for child in children[1:] if not isinstance(child, Token)]
    forward = tuple(step for inverse, step in steps if not inverse)
    return NegatedSet(forward, tuple(step for inverse, step in steps if inverse))


def _negated_one(translation: Translation, children: list[Any]) -> tuple[bool, NamedNode | Slot]:
    return children[0] is not None, translation.node(children[1])


def _edge(subject: Node, verb: Variable | PathExpression, target: Node) -> Edge:
    if isinstance(verb, Variable | NamedNode | Slot):
        return TriplePattern(subject, verb, target)
    if isinstance(verb, Inverse) and isinstance(verb.path, NamedNode | Slot):
        return TriplePattern(target, verb.path, subject)
    return PathPattern(subject, verb, target)


# ---- triples -----------------------------------------------------------------------------------------------


def _as_node(translation: Translation, child: Any) -> _Node:
    return child if isinstance(child, _Node) else _Node(translation.node(child), [])


def _objects(translation: Translation, children: list[Any]) -> list[_Node]:
    return [_as_node(translation, child) for child in children]


def _properties(translation: Translation, children: list[Any]) -> list[tuple[Any, list[_Node]]]:
    pairs = [child for child in children if child is not None]
    return [(translation.node(verb), objects) for verb, objects in zip(pairs[::2], pairs[1::2], strict=True)]


def _state(translation: Translation, subject: _Node, properties: list[tuple[Any, list[_Node]]]) -> list[Edge]:
    """The triples of one subject. A collection that only operators have as subject is their arguments, and no list."""
    edges: list[Edge] = []
    given, own = split_collection(subject.node, subject.edges)
    listed = not properties
    for verb, objects in properties:
        declared = find_property_function(translation, verb)
        if declared is not None:
            for target in objects:
                members, others = split_collection(target.node, target.edges)
                production = Production(declared, (*given, *members), translation.tokens[verb.index])
                translation.productions.append(production)
                edges.extend(others)
            continue
        listed = True
        search = magic_predicate(translation, verb)
        if not isinstance(verb, Variable | NamedNode | Slot):
            refuse_in_path(translation, verb)
            refuse_operator_in_path(translation, verb)
        for target in objects:
            if search is not None:
                members_of_search = collect_members(target.node, target.edges)
                token = translation.tokens[verb.index]
                translation.searches.append(Search(subject.node, search, target.node, members_of_search, token))
                continue
            edges.append(_edge(subject.node, verb, target.node))
            edges.extend(target.edges)
    return [*(subject.edges if listed else own), *edges]


def _property_list(translation: Translation, children: list[Any]) -> _Node:
    node = translation.fresh("b")
    return _Node(node, _state(translation, _Node(node, []), children[0]))


def _collection(translation: Translation, children: list[Any]) -> _Node:
    members = _objects(translation, children)
    cells = [translation.fresh("b") for _ in members]
    following_cells: list[Node] = [*cells[1:], NIL]
    edges: list[Edge] = []
    for cell, following, member in zip(cells, following_cells, members, strict=True):
        edges.append(TriplePattern(cell, FIRST, member.node))
        edges.extend(member.edges)
        edges.append(TriplePattern(cell, REST, following))
    return _Node(cells[0], edges)


def _same_subject(translation: Translation, children: list[Any]) -> list[Edge]:
    return _state(translation, _as_node(translation, children[0]), children[1] or [])


def _triples(translation: Translation, children: list[Any]) -> Triples:
    labels, translation.labels = translation.labels, {}
    edges, conditions = read_searches(translation)
    filters, productions = read_productions(translation)
    found = [*(edge for found in children for edge in found), *edges]
    return Triples(found, labels, [*conditions, *filters], productions)


# ---- groups ------------------------------------------------------------------------------------------------


def balance(operation: Callable[[Pattern, Pattern], Pattern], parts: list[Pattern]) -> Pattern:
    """A tree of least depth over the parts in their order, for an associative operation."""
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
    productions: list[Production] = field(default_factory=list)
    """What operators give for the solutions of the basic graph pattern that is still growing, and of what stands before
    it."""

    def close_triples(self) -> None:
        for label, token in self.labels.items():
            if label in self.translation.homes:
                message = f"the blank node {label} is used in two groups; a label belongs to one basic graph pattern"
                raise self.translation.fault(token, message, ("a variable instead",))
        self.translation.homes.update(self.labels)
        if self.edges:
            self.joined.append(BasicPattern(tuple(self.edges)))
        self.edges, self.labels = [], {}
        productions, self.productions = self.productions, []
        if productions:
            joined = balance(Join, self.joined) if self.joined else BasicPattern(())
            for production in order_productions(productions):
                joined = produce(production, joined)
            self.joined = [joined]

    def pattern(self) -> Pattern:
        self.close_triples()
        return balance(Join, self.joined) if self.joined else BasicPattern(())

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
                self.conditions.append(condition)
            case _Optional(group):
                self.joined = [LeftJoin(self.pattern(), group.pattern, group.condition)]
                self.visible.update(group.visible)
            case _Minus(pattern):
                self.joined = [Minus(self.pattern(), pattern)]
            case _Bind(expression, token):
                self._bind(expression, token)
            case Group():
                self.close_triples()
                if element.filtered != BasicPattern(()):
                    self.joined.append(element.filtered)
                self.visible.update(element.visible)

    def _bind(self, expression: Expression, token: Token) -> None:
        variable = Variable(str(token)[1:])
        if variable in self.visible:
            raise self.translation.fault(
                token, f"{token} has a value already, so BIND cannot give it one", ("another variable",)
            )
        self.joined = [Extend(self.pattern(), variable, expression)]
        self.visible[variable] = None


def _variables(edge: Edge) -> list[Variable]:
    nodes = (edge.subject, edge.predicate if isinstance(edge, TriplePattern) else None, edge.object)
    return [node for node in nodes if isinstance(node, Variable)]


def _group(translation: Translation, children: list[Any]) -> Group:
    assembly = _Assembly(translation)
    for element in children:
        assembly.add(element)
    pattern = assembly.pattern()
    return Group(pattern, assembly.visible, conjoin(assembly.conditions) if assembly.conditions else None)


def _union(translation: Translation, children: list[Any]) -> Group:
    if len(children) == 1:
        only: Group = children[0]
        return only
    visible: dict[Variable, None] = {}
    for group in children:
        visible.update(group.visible)
    return Group(balance(Union, [group.filtered for group in children]), visible)


def _optional(translation: Translation, children: list[Any]) -> _Optional:
    return _Optional(children[0])


def _minus(translation: Translation, children: list[Any]) -> _Minus:
    return _Minus(children[0].filtered)


def _graph(translation: Translation, children: list[Any]) -> Group:
    name = translation.node(children[0])
    group: Group = children[1]
    visible = {name: None} if isinstance(name, Variable) else {}
    if isinstance(name, Slot):
        translation.graphs.add(name.index)
    return Group(Graph(name, group.filtered), visible | group.visible)


def _filter(translation: Translation, children: list[Any]) -> _Filter:
    condition = translation.node(children[0])
    forbid_aggregates(translation, condition, "in FILTER")
    return _Filter(condition)


def _bind(translation: Translation, children: list[Any]) -> _Bind:
    expression = translation.node(children[0])
    forbid_aggregates(translation, expression, "in BIND")
    return _Bind(expression, children[1])


def _exists(translation: Translation, children: list[Any]) -> Exists:
    return Exists(children[0].filtered, negated=False)


def _not_exists(translation: Translation, children: list[Any]) -> Exists:
    return Exists(children[0].filtered, negated=True)


# ---- inline data -------------------------------------------------------------------------------------------


def _value(translation: Translation, child: Token) -> Any:
    return None if child.type == "UNDEF" else translation.node(child)


def _one_column(translation: Translation, children: list[Any]) -> Values:
    variable = translation.node(children[0])
    return Values((variable,), tuple([(_value(translation, child),) for child in children[1:]]))


def _data_names(translation: Translation, children: list[Any]) -> list[Token]:
    return [child for child in children if child.type == "VAR"]


def _data_row(translation: Translation, children: list[Any]) -> list[Token]:
    return children


def _columns(translation: Translation, children: list[Any]) -> Values:
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
    return Values(variables, tuple(rows))


def _inline_data(translation: Translation, children: list[Any]) -> Group:
    values: Values = children[0]
    return Group(values, dict.fromkeys(values.variables))


RULES: Mapping[str, Callable[[Translation, list[Any]], Any]] = MappingProxyType(
    {
        "path_alternative": _path_alternative,
        "path_sequence": _path_sequence,
        "path_inverse": _path_inverse,
        "path_repeat": _path_repeat,
        "path_negated": _path_negated,
        "negated_one": _negated_one,
        "objects": _objects,
        "properties": _properties,
        "property_list": _property_list,
        "collection": _collection,
        "same_subject": _same_subject,
        "triples": _triples,
        "group": _group,
        "union": _union,
        "optional": _optional,
        "minus": _minus,
        "graph": _graph,
        "filter": _filter,
        "bind": _bind,
        "exists": _exists,
        "not_exists": _not_exists,
        "one_column": _one_column,
        "data_names": _data_names,
        "data_row": _data_row,
        "columns": _columns,
        "inline_data": _inline_data,
    }
)
