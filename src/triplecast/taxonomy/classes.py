"""The functions ``tc:instance``, ``tc:descendant`` and ``tc:ancestor``: some type of a node is a class, is under it, or
is above it (semantics 6.3; G-ToPSS, Petrovic, Liu, Jacobsen: WWW 2005, section 3.2).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Generic, Protocol

from triplecast.model.entailment import Mark
from triplecast.taxonomy.taxonomy import K, Schema

CLASSES_A_STEP = 16
"""Types or classes examined for one step of an evaluation."""
CLASSES_KEPT = 500_000
"""Members of cached closures beyond which all are dropped: those of a chain grow with the square of its length."""


class ClassStatements(Protocol[K]):
    """What a graph, with the triples of the taxonomy that it reaches, states of types and of the order of classes."""

    def has(self, term: K) -> bool:
        """Whether it is in a triple."""

    def is_class(self, term: K) -> bool:
        """Whether it is used as a class, unless the taxonomy does it."""

    def types(self, node: K) -> Sequence[K]:
        """Those that are stated."""

    def above(self, node: K) -> Sequence[K]:
        """The classes directly above."""


class Statements(Generic[K]):
    """The `ClassStatements` of a graph that holds the triples of the taxonomy that it reaches (`entail` without rdfs)
    already."""

    def __init__(self, graph: Iterable[tuple[K, K, K]], schema: Schema[K]) -> None:
        self._terms: set[K] = set()
        self._types: dict[K, list[K]] = {}
        self._up: dict[K, list[K]] = {}
        self._used: set[K] = set()
        orders = schema.orders
        for subject, predicate, end in graph:
            self._terms.update((subject, predicate, end))
            if predicate == schema.words.type:
                self._types.setdefault(subject, []).append(end)
                self._used.add(end)
            if predicate in orders:
                self._up.setdefault(subject, []).append(end)
                self._used.update((subject, end))

    def has(self, term: K) -> bool:
        return term in self._terms

    def is_class(self, term: K) -> bool:
        return term in self._used

    def types(self, node: K) -> Sequence[K]:
        return self._types.get(node, ())

    def above(self, node: K) -> Sequence[K]:
        return self._up.get(node, ())

    @cached_property
    def below(self) -> Mapping[K, Sequence[K]]:
        """By class, those directly under it."""
        return _reversed(self._up)

    @cached_property
    def instances(self) -> Mapping[K, Sequence[K]]:
        """By class, the nodes that it is a stated type of."""
        return _reversed(self._types)


class Classes(Generic[K]):
    """The types of one graph's nodes and the order of its classes."""

    def __init__(self, statements: ClassStatements[K], schema: Schema[K]) -> None:
        self._statements = statements
        self._schema = schema
        self._closures: dict[K, frozenset[K]] = {}
        self._kept = 0

    def types(self, node: K) -> tuple[K, ...]:
        """Return a node's stated types, and itself if it is a class; nothing for a node that is not in the graph."""
        if not self._statements.has(node):
            return ()
        own = (node,) if node in self._schema.classes or self._statements.is_class(node) else ()
        return (*self._statements.types(node), *own)

    def above(self, start: K) -> frozenset[K]:
        """Return a class and all classes above it."""
        found = self._closures.get(start)
        if found is None:
            found = frozenset(reach(start, self.above_directly))
            if self._kept > CLASSES_KEPT:
                self._closures.clear()
                self._kept = 0
            self._closures[start] = found
            self._kept += len(found)
        return found

    def way(self, start: K, goal: K) -> tuple[K, ...]:
        """Return a shortest chain of classes from `start` up to `goal`, both included; empty if there is none."""
        before: dict[K, K] = {start: start}
        waiting = deque([start])
        while waiting and goal not in before:
            here = waiting.popleft()
            for end in self.above_directly(here):
                if end not in before:
                    before[end] = here
                    waiting.append(end)
        if goal not in before:
            return ()
        way = [goal]
        while way[-1] != start:
            way.append(before[way[-1]])
        return tuple(reversed(way))

    def above_directly(self, here: K) -> Iterator[K]:
        """From the graph, and from the taxonomy for a class that is not in the graph."""
        yield from self._statements.above(here)
        yield from (end for _, way, end in self._schema.upward.get(here, ()) if way in self._schema.orders)

    def holds(self, function: Mark, node: K, other: K, spend: Callable[[int], None] = lambda steps: None) -> bool:
        """Whether a function is true of a node and a class. `spend` is called with the steps of work, which do not
        depend on what is cached."""
        types = self.types(node)
        spend(len(types) // CLASSES_A_STEP)
        if function is Mark.INSTANCE:
            return other in types
        if function is Mark.DESCENDANT:
            return any(other in self._above(each, spend) for each in types)
        return bool(types) and not self._above(other, spend).isdisjoint(types)

    def _above(self, start: K, spend: Callable[[int], None]) -> frozenset[K]:
        found = self.above(start)
        spend(len(found) // CLASSES_A_STEP)
        return found


def holders(statements: Statements[K], classes: Classes[K], function: Mark, other: K) -> Iterator[K]:
    """Yield the terms of the graph for which a function with class `other` is true, some perhaps repeatedly."""
    reached: Iterable[K] = (other,)
    if function is Mark.DESCENDANT:  # the graph holds all classes above its own
        reached = reach(other, lambda here: statements.below.get(here, ()))
    elif function is Mark.ANCESTOR:
        reached = reach(other, classes.above_directly)
    for each in reached:
        yield from statements.instances.get(each, ())
        if each in classes.types(each):
            yield each


def reach(start: K, directly: Callable[[K], Iterable[K]]) -> list[K]:
    """Return `start` and all that is reached from it."""
    reached = {start: None}
    pending = [start]
    while pending:
        for end in directly(pending.pop()):
            if end not in reached:
                reached[end] = None
                pending.append(end)
    return list(reached)


def _reversed(edges: Mapping[K, Sequence[K]]) -> Mapping[K, Sequence[K]]:
    found: dict[K, list[K]] = {}
    for start, ends in edges.items():
        for end in ends:
            found.setdefault(end, []).append(start)
    return found
