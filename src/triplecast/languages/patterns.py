"""Paths and triples (SPARQL 1.1 Query, sections 18.2.2.1 to 18.2.2.5): a function for each rule of the grammar."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from lark.lexer import Token
from pyoxigraph import NamedNode

from triplecast.languages.context import FIRST, NIL, REST, Translation
from triplecast.languages.fulltext import Search, magic_predicate, read_searches, refuse_in_path
from triplecast.languages.operators import Production, find_property_function, read_productions, refuse_operator_in_path
from triplecast.model import algebra
from triplecast.model.algebra import Expression, Node, PathExpression, PathPattern, Slot, TriplePattern, Variable

Edge: TypeAlias = TriplePattern | PathPattern


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
    members: tuple[Node, ...] | None = None
    """Of a collection."""
    inner: Sequence[Edge] = ()
    """The triples of a collection's members, without those of its cells."""

    def as_arguments(self) -> tuple[tuple[Node, ...], Sequence[Edge]]:
        """What it gives to an operator, and the triples left: a collection is its members, ``()`` nothing."""
        if self.members is not None:
            return self.members, self.inner
        return () if self.node == NIL else (self.node,), self.edges


# ---- paths -------------------------------------------------------------------------------------------------


def _path_alternative(translation: Translation, children: list[Any]) -> algebra.Alternative:
    choices: list[PathExpression] = []
    for child in children:
        path = translation.node(child)
        choices.extend(path.choices if isinstance(path, algebra.Alternative) else (path,))
    return algebra.Alternative(tuple(choices))


def _path_sequence(translation: Translation, children: list[Any]) -> algebra.Sequence:
    steps: list[PathExpression] = []
    for child in children[::2]:
        path = translation.node(child)
        steps.extend(path.steps if isinstance(path, algebra.Sequence) else (path,))
    return algebra.Sequence(tuple(steps))


def _path_inverse(translation: Translation, children: list[Any]) -> PathExpression:
    path: PathExpression = translation.node(children[1])
    return path.path if isinstance(path, algebra.Inverse) else algebra.Inverse(path)


def _path_repeat(translation: Translation, children: list[Any]) -> algebra.Repeat:
    """A lone predicate is part of the template: which one decides whether the taxonomy knows the path."""
    sign = str(children[1])
    path = translation.node(children[0])
    if isinstance(path, Slot):
        refuse_in_path(translation, path)
        refuse_operator_in_path(translation, path)
        path = translation.pin(path)
    return algebra.Repeat(path, 1 if sign == "+" else 0, sign != "?")


def _path_negated(translation: Translation, children: list[Any]) -> algebra.NegatedSet:
    steps = [child for child in children[1:] if not isinstance(child, Token)]
    forward = tuple(step for inverse, step in steps if not inverse)
    return algebra.NegatedSet(forward, tuple(step for inverse, step in steps if inverse))


def _negated_one(translation: Translation, children: list[Any]) -> tuple[bool, NamedNode | Slot]:
    return children[0] is not None, translation.node(children[1])


def _edge(subject: Node, verb: Variable | PathExpression, target: Node) -> Edge:
    if isinstance(verb, Variable | NamedNode | Slot):
        return TriplePattern(subject, verb, target)
    if isinstance(verb, algebra.Inverse) and isinstance(verb.path, NamedNode | Slot):
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
    given, own = subject.as_arguments()
    listed = not properties
    for verb, objects in properties:
        declared = find_property_function(translation, verb)
        if declared is not None:
            for target in objects:
                members, others = target.as_arguments()
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
                token = translation.tokens[verb.index]
                translation.searches.append(Search(subject.node, search, target.node, target.members, token))
                continue
            edges.append(_edge(subject.node, verb, target.node))
            edges.extend(target.edges)
    return [*(subject.edges if listed else own), *edges]


def _property_list(translation: Translation, children: list[Any]) -> _Node:
    node = translation.fresh("b")
    return _Node(node, _state(translation, _Node(node, []), children[0]))


def _collection(translation: Translation, children: list[Any]) -> _Node:
    members = _objects(translation, children)
    cells: list[Node] = [translation.fresh("b") for _ in members]
    edges: list[Edge] = []
    for cell, following, member in zip(cells, [*cells[1:], NIL], members, strict=True):
        edges += [TriplePattern(cell, FIRST, member.node), *member.edges, TriplePattern(cell, REST, following)]
    inner = [edge for member in members for edge in member.edges]
    return _Node(cells[0], edges, tuple([member.node for member in members]), inner)


def _same_subject(translation: Translation, children: list[Any]) -> list[Edge]:
    return _state(translation, _as_node(translation, children[0]), children[1] or [])


def _triples(translation: Translation, children: list[Any]) -> Triples:
    labels, translation.labels = translation.labels, {}
    edges, conditions = read_searches(translation)
    filters, productions = read_productions(translation)
    found = [*(edge for found in children for edge in found), *edges]
    return Triples(found, labels, [*conditions, *filters], productions)
