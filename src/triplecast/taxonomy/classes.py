"""Types and the order of classes, as ``tc:instance``, ``tc:descendant`` and ``tc:ancestor`` see them.

G-ToPSS (Petrovic, Liu, Jacobsen: WWW 2005), section 3.2: ``=`` is a direct instance, ``<=`` a descendant, ``>=`` an
ancestor. As semantics 6.3 reads it: some type of the node is the class, or under it, or above it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic

from triplecast.model.entailment import Mark
from triplecast.taxonomy.schema import K, Schema


class Classes(Generic[K]):
    """The types of one graph's nodes and what its classes are under. The graph has the triples of the taxonomy that it
    reaches already (`entail` without rdfs); of its own, the order is what it states."""

    def __init__(self, graph: Iterable[tuple[K, K, K]], schema: Schema[K]) -> None:
        self._schema = schema
        self._terms: set[K] = set()
        self._types: dict[K, list[K]] = {}
        self._up: dict[K, list[K]] = {}
        self._used: set[K] = set()
        self._closures: dict[K, frozenset[K]] = {}
        orders = schema.orders
        for subject, predicate, end in graph:
            self._terms.update((subject, predicate, end))
            if predicate == schema.words.type:
                self._types.setdefault(subject, []).append(end)
                self._used.add(end)
            if predicate in orders:
                self._up.setdefault(subject, []).append(end)
                self._used.update((subject, end))

    def types(self, node: K) -> tuple[K, ...]:
        """What the publication or the taxonomy states as its types, and itself if it is a class; none for what does not
        occur in the graph."""
        if node not in self._terms:
            return ()
        own = (node,) if node in self._used or node in self._schema.classes else ()
        return (*self._types.get(node, ()), *own)

    def above(self, start: K) -> frozenset[K]:
        """A class and all that it is under."""
        found = self._closures.get(start)
        if found is None:
            met = {start: None}
            waiting = [start]
            while waiting:
                for end in self._above_directly(waiting.pop()):
                    if end not in met:
                        met[end] = None
                        waiting.append(end)
            found = self._closures[start] = frozenset(met)
        return found

    def way(self, start: K, goal: K) -> tuple[K, ...]:
        """A shortest chain of classes from `start` up to `goal`, both included; empty where there is none."""
        ways: dict[K, tuple[K, ...]] = {start: (start,)}
        waiting = deque([start])
        while waiting and goal not in ways:
            here = waiting.popleft()
            for end in self._above_directly(here):
                if end not in ways:
                    ways[end] = (*ways[here], end)
                    waiting.append(end)
        return ways.get(goal, ())

    def holds(self, function: Mark, node: K, other: K) -> bool:
        """Whether a function is true of a node and a class."""
        types = self.types(node)
        if function is Mark.INSTANCE:
            return other in types
        if function is Mark.DESCENDANT:
            return any(other in self.above(each) for each in types)
        return bool(types) and not self.above(other).isdisjoint(types)

    def _above_directly(self, here: K) -> Iterator[K]:
        """By the graph; by the taxonomy too, for a class that the graph does not hold."""
        yield from self._up.get(here, ())
        yield from (end for _, way, end in self._schema.upward.get(here, ()) if way in self._schema.orders)
