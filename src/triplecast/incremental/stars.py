"""On which triples an answer depends: the stars of a query, and what a changed star says of the solutions that change.

A *star* is what one basic pattern asks of one subject. An event changes the answer of a query only if it changes the
rows of one of its stars, since a solution that comes or goes has a triple that came or went, in whatever part of the
query: ``OPTIONAL``, ``MINUS``, ``EXISTS`` and paths too (semantics 10.4).

The *seeds* of a star are names that every solution which changes through it binds, and binds to what a changed row of
the star does. By induction over the pattern, from the star up: a join, a union, a filter and the left side of
``OPTIONAL`` and ``MINUS`` keep the seeds; the right side of ``OPTIONAL`` and ``MINUS``, and ``EXISTS``, keep those that
are certain on the left; a group keeps those of its keys, a projection those that it shows, and ``LIMIT`` none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import count
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.evaluate.conjuncts import Conjuncts, part_of, split
from triplecast.evaluate.scope import certain_names, expressions_of
from triplecast.languages.rewriting import names_of_path
from triplecast.model import algebra
from triplecast.model.algebra import (
    BasicPattern,
    Exists,
    Filter,
    Inverse,
    Node,
    Operation,
    PathExpression,
    PathPattern,
    Pattern,
    Project,
    Query,
    Repeat,
    Slot,
    TriplePattern,
    Variable,
    subexpressions,
)
from triplecast.model.entailment import FUNCTION_MARKS
from triplecast.taxonomy.taxonomy import BROADER, SUB_CLASS, TYPE

_TYPE, *_ORDERS = (NamedNode(text[1:-1]) for text in (TYPE, SUB_CLASS, BROADER))
PATTERNS_AT_ONCE = 60
"""Patterns of one star; more make several."""
ALTERNATIVES = 64
"""Ways through the alternatives of a path that are told apart."""


class Star(NamedTuple):
    """Patterns with one subject, and conditions that each of their rows fulfils in a solution of the query."""

    subject: Node
    query: Query
    """Its rows bind all variables of the patterns, blank nodes of the query too. ``ask`` where there are none."""
    bare: Query
    """The same without conditions."""
    seeds: tuple[tuple[str, str], ...]
    """Each seed: its name in the star's rows, and in the query."""


class Stars(NamedTuple):
    """All that an answer depends on."""

    stars: tuple[Star, ...]
    every: bool
    """Whether each event that changes a triple may change the answer: a path may have length zero, or a function of
    the taxonomy asks of a node that no pattern has."""
    documents: bool
    """Whether each event that changes a document may: the query asks of named graphs."""


@dataclass(frozen=True, slots=True)
class _Found:
    triples: tuple[TriplePattern, ...]
    conditions: Conjuncts
    seeds: frozenset[str]

    def within(self, names: Iterable[str]) -> _Found:
        return replace(self, seeds=self.seeds & frozenset(names))


class _Walk:
    """One walk through a query's pattern."""

    def __init__(self) -> None:
        self.every = self.documents = False
        self._numbers = count()

    def stars(self, pattern: Pattern, conditions: Conjuncts = ()) -> Iterator[_Found]:
        """The stars of a pattern whose solutions fulfil `conditions`, where they bind all names of one."""
        match pattern:
            case BasicPattern(triples):
                yield from self._basic(triples, conditions)
            case algebra.Join(left, right) | algebra.Union(left, right):
                yield from self.stars(left, conditions)
                yield from self.stars(right, conditions)
            case Filter(condition, inner):
                yield from self.stars(inner, conditions + split(condition).movable)
            case algebra.LeftJoin(left, right, condition):
                yield from self.stars(left, conditions)
                inside = () if condition is None else split(condition).movable
                yield from _all_within(self.stars(right, inside), certain_names(left))
            case algebra.Minus(left, right):
                yield from self.stars(left, conditions)
                yield from _all_within(self.stars(right), certain_names(left))
            case algebra.Group(inner, keys, _):
                yield from _all_within(self.stars(inner), (key.name for key in keys))
            case Project(inner, variables):
                names = frozenset(variable.name for variable in variables)
                yield from _all_within(self.stars(inner, part_of(conditions, names)[0]), names)
            case algebra.Slice(inner, _, _):
                yield from _all_within(self.stars(inner), ())
            case algebra.Graph():
                self.documents = True
            case algebra.Values():
                pass
            case _:
                yield from self.stars(pattern.pattern, conditions)
        yield from self._of_exists(pattern)

    def _of_exists(self, pattern: Pattern) -> Iterator[_Found]:
        outer = pattern.left if isinstance(pattern, algebra.LeftJoin) else getattr(pattern, "pattern", None)
        keys = {key.name for key in pattern.keys} if isinstance(pattern, algebra.Group) else None
        for expression in expressions_of(pattern):
            for part in subexpressions(expression):
                if isinstance(part, Exists):
                    assert outer is not None
                    names = certain_names(outer)
                    yield from _all_within(self.stars(part.pattern), names if keys is None else names & keys)
                elif isinstance(part, algebra.Call) and part.function in FUNCTION_MARKS:
                    assert outer is not None
                    yield from _all_within(self._kin(part, outer), certain_names(outer) if keys is None else keys)

    def _kin(self, call: algebra.Call, outer: Pattern) -> Iterator[_Found]:
        """What a function of the taxonomy asks of its node: its types, whether it is a type, the order of classes."""
        node = call.arguments[0]
        if not isinstance(node, Variable) or node.name not in _matched_names(outer):
            self.every = True
            return
        yield _of_triple(TriplePattern(node, _TYPE, self._fresh()))
        yield _of_triple(TriplePattern(self._fresh(), _TYPE, node))
        for order in _ORDERS:
            yield _of_triple(TriplePattern(self._fresh(), order, self._fresh())).within(())

    def _basic(self, triples: Iterable[TriplePattern | PathPattern], conditions: Conjuncts) -> Iterator[_Found]:
        by_subject: dict[Node, list[TriplePattern]] = {}
        for each in triples:
            if isinstance(each, TriplePattern):
                by_subject.setdefault(each.subject, []).append(each)
            else:
                yield from self._path(each)
        for patterns in by_subject.values():
            for start in range(0, len(patterns), PATTERNS_AT_ONCE):
                own = tuple(patterns[start : start + PATTERNS_AT_ONCE])
                names = frozenset(_names(own))
                yield _Found(own, part_of(conditions, names)[0], names)

    def _path(self, pattern: PathPattern) -> Iterator[_Found]:
        """Each predicate of a path is a star of its own; those of a sequence share the nodes between them."""
        if _is_nullable(pattern.path):
            self.every = True
            return
        for way in _ways(pattern.path):
            nodes = [pattern.subject, *(self._fresh() for _ in way[1:]), pattern.object]
            for step, start, end in zip(way, nodes, nodes[1:], strict=False):
                if isinstance(step, Inverse) and isinstance(step.path, NamedNode | Slot):
                    yield _of_triple(TriplePattern(end, step.path, start))
                elif isinstance(step, NamedNode | Slot):
                    yield _of_triple(TriplePattern(start, step, end))
                else:
                    yield from self._anywhere(step)

    def _anywhere(self, step: PathExpression) -> Iterator[_Found]:
        """A part of a path that repeats or negates: what it joins may be far from the triple that changes."""
        negated = any(isinstance(part, algebra.NegatedSet) for part in _parts(step))
        predicates: Iterable[Node] = (self._fresh(),) if negated else dict.fromkeys(names_of_path(step))
        for predicate in predicates:
            yield _of_triple(TriplePattern(self._fresh(), predicate, self._fresh())).within(())

    def _fresh(self) -> Variable:
        return Variable(f"_: step {next(self._numbers)}")


def find_stars(query: Query) -> Stars:
    """The stars of a query, or of a template; its constants stay as they are."""
    walk = _Walk()
    found = tuple(_star_of(each) for each in dict.fromkeys(walk.stars(query.pattern)))
    return Stars(found, walk.every, walk.documents)


def _star_of(found: _Found) -> Star:
    shown = {name: f".{name[2:]}" if name.startswith("_:") else name for name in _names(found.triples)}

    def show(node: Node) -> Node:
        return Variable(shown[node.name]) if isinstance(node, Variable) else node

    patterns = tuple(
        TriplePattern(*(show(node) for node in (each.subject, each.predicate, each.object))) for each in found.triples
    )
    basic: Pattern = BasicPattern(tuple(dict.fromkeys(patterns)))
    visible = [
        each.expression
        for each in found.conditions
        if not each.reads_graph and not any(name.startswith("_:") for name in each.names)
    ]
    condition = None if not visible else visible[0] if len(visible) == 1 else Operation("&&", tuple(visible))
    narrow = basic if condition is None else Filter(condition, basic)
    seeds = tuple((shown[name], name) for name in sorted(found.seeds))
    variables = tuple(Variable(name) for name in shown.values())
    if not variables:
        return Star(found.triples[0].subject, Query("ask", narrow, ()), Query("ask", basic, ()), seeds)
    return Star(
        found.triples[0].subject,
        Query("select", Project(narrow, variables), variables),
        Query("select", Project(basic, variables), variables),
        seeds,
    )


def _of_triple(pattern: TriplePattern) -> _Found:
    return _Found((pattern,), (), frozenset(_names((pattern,))))


def _matched_names(pattern: Pattern) -> frozenset[str]:
    """The names that every solution binds to a node of a triple."""
    match pattern:
        case BasicPattern(triples):
            return frozenset(_names(each for each in triples if isinstance(each, TriplePattern)))
        case algebra.Join(left, right):
            return _matched_names(left) | _matched_names(right)
        case algebra.Union(left, right):
            return _matched_names(left) & _matched_names(right)
        case algebra.LeftJoin(left, _, _) | algebra.Minus(left, _):
            return _matched_names(left)
        case Project(inner, variables):
            return _matched_names(inner) & {variable.name for variable in variables}
        case Filter(_, inner) | algebra.Extend(inner, _, _) | algebra.Distinct(inner) | algebra.Reduced(inner):
            return _matched_names(inner)
    return frozenset()


def _all_within(found: Iterator[_Found], names: Iterable[str]) -> Iterator[_Found]:
    kept = frozenset(names)
    return (each.within(kept) for each in found)


def _names(triples: Iterable[TriplePattern]) -> tuple[str, ...]:
    nodes = (node for each in triples for node in (each.subject, each.predicate, each.object))
    return tuple(dict.fromkeys(node.name for node in nodes if isinstance(node, Variable)))


def _is_nullable(path: PathExpression) -> bool:
    """Whether a path joins a node to itself without a triple."""
    match path:
        case algebra.Inverse(inner):
            return _is_nullable(inner)
        case algebra.Sequence(steps):
            return all(map(_is_nullable, steps))
        case algebra.Alternative(choices):
            return any(map(_is_nullable, choices))
        case Repeat(inner, at_least, _):
            return at_least == 0 or _is_nullable(inner)
    return False


def _ways(path: PathExpression) -> list[tuple[PathExpression, ...]]:
    """The ways through a path that is not nullable, as steps one after the other; a step that is no predicate stays."""
    match path:
        case algebra.Sequence(steps):
            ways: list[tuple[PathExpression, ...]] = [()]
            for step in steps:
                ways = [(*way, *more) for way in ways for more in _ways(step)]
                if len(ways) > ALTERNATIVES:
                    return [(Repeat(path, 1, True),)]
            return ways
        case algebra.Alternative(choices) if len(choices) <= ALTERNATIVES:
            return [way for choice in choices for way in _ways(choice)]
        case Inverse(algebra.Sequence(steps)):
            return _ways(algebra.Sequence(tuple(Inverse(step) for step in reversed(steps))))
        case Inverse(algebra.Alternative(choices)):
            return _ways(algebra.Alternative(tuple(map(Inverse, choices))))
        case Inverse(Inverse(inner)):
            return _ways(inner)
    return [(path,)]


def _parts(path: PathExpression) -> Iterator[PathExpression]:
    waiting = [path]
    while waiting:
        part = waiting.pop()
        yield part
        match part:
            case algebra.Inverse(inner) | Repeat(inner, _, _):
                waiting.append(inner)
            case algebra.Sequence(several) | algebra.Alternative(several):
                waiting.extend(several)
