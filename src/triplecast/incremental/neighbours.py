"""The subjects that a solution of joined patterns may have, from one of them on.

Patterns of one subject are a node of a graph; two nodes are neighbours where a variable joins them. Whoever follows the
edges from the subject that changed meets all triples of every solution that may change, whatever the constants of a
query are: so this is done once for all queries that differ in other constants than predicates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from pyoxigraph import Literal, NamedNode

from triplecast.evaluate.conjuncts import split
from triplecast.kernels.layout import I64
from triplecast.kernels.timeline import SKIPPED
from triplecast.kernels.triples import ANY
from triplecast.model.algebra import (
    BasicPattern,
    Filter,
    Join,
    Node,
    Pattern,
    Slot,
    TriplePattern,
    Variable,
    to_ntriples,
)
from triplecast.repository.store import Store

MOST_NEIGHBOURS = 200_000
"""Triples that one event may look at in one step; beyond, the queries of its group are evaluated one by one."""


class _Edge(NamedTuple):
    """How a subject leads to others: by the objects of `forward`, where there is one, then the subjects of those that
    have them by `backward`."""

    node: int
    forward: Node | None
    backward: Node | None


class _Stride(NamedTuple):
    """An edge on the way from a node: from the node itself (0), or from where a step led (its place, from 1)."""

    origin: int
    forward: Node | None
    backward: Node | None


class JoinGraph(NamedTuple):
    """The nodes of joined patterns, and their edges."""

    subjects: tuple[Node, ...]
    ways: tuple[tuple[_Stride, ...], ...]
    """From each node to all others."""
    predicates: tuple[int, ...]
    """The slots that predicates are in."""
    terms: tuple[int, ...]
    """The slots of all terms of the patterns."""


def join_graph(body: Pattern) -> JoinGraph | None:
    """The graph of patterns that are joined and filtered only; None for others, and where it is not connected."""
    patterns = _joined(body)
    if not patterns:
        return None
    subjects = tuple(dict.fromkeys(each.subject for each in patterns))
    places = {node: place for place, node in enumerate(subjects)}
    edges: list[list[_Edge]] = [[] for _ in subjects]
    by_object: dict[Node, list[TriplePattern]] = {}
    for each in patterns:
        if isinstance(each.object, Variable):
            by_object.setdefault(each.object, []).append(each)
    for node, users in by_object.items():
        for each in users:
            own = places[each.subject]
            if node in places and places[node] != own:
                edges[own].append(_Edge(places[node], each.predicate, None))
                edges[places[node]].append(_Edge(own, None, each.predicate))
            for other in users:
                if other.subject != each.subject:
                    edges[own].append(_Edge(places[other.subject], each.predicate, other.predicate))
    ways = tuple(_way(edges, place) for place in range(len(subjects)))
    if len(ways[0]) < len(subjects) - 1:
        return None
    slots = {each.predicate.index for each in patterns if isinstance(each.predicate, Slot)}
    terms = {
        node.index
        for each in patterns
        for node in (each.subject, each.predicate, each.object)
        if isinstance(node, Slot)
    }
    return JoinGraph(subjects, ways, tuple(sorted(slots)), tuple(sorted(terms)))


class Neighbours(NamedTuple):
    """The subjects around those of some events."""

    keys: I64
    """Packed events and subjects (`timeline.pack`), ascending."""
    beyond: Sequence[int]
    """The events with more than `MOST_NEIGHBOURS`; what is among the keys of theirs is not all."""


def neighbours(
    graph: JoinGraph, constants: Sequence[str], first: int, keys: I64, store: Store, most: int
) -> Neighbours | None:
    """The subjects that the other nodes may have where the node `first` has one of those in `keys`, before the event or
    after it; maybe some more that other events of the run change. None where they are more than `most` by one step, of
    several events. A constant subject is found as any other is, since queries of a group differ in it."""

    def predicate(node: Node | None) -> int:
        if node is None:
            return SKIPPED
        given = constant_of(node, constants)
        return ANY if given is None else store.id(given)

    way = graph.ways[first]
    steps = [(step.origin, predicate(step.forward), predicate(step.backward)) for step in way]
    reached = store.follow(keys, np.array(steps, np.int64).reshape(-1, 3), MOST_NEIGHBOURS, most)
    return Neighbours(reached.keys, reached.beyond.tolist()) if reached.whole else None


def constant_of(node: Node, constants: Sequence[str]) -> str | None:
    """The N-Triples form of a constant of a template; None for a variable."""
    if isinstance(node, Slot):
        return constants[node.index]
    return to_ntriples(node) if isinstance(node, NamedNode | Literal) else None


def _joined(pattern: Pattern) -> list[TriplePattern]:
    """The patterns of joins and filters, in order; none where there is anything else."""
    waiting, found = [pattern], list[TriplePattern]()
    while waiting:
        part = waiting.pop()
        match part:
            case Filter(condition, inner) if not split(condition).staying:
                waiting.append(inner)
            case Join(left, right):
                waiting += (right, left)
            case BasicPattern(triples) if all(isinstance(each, TriplePattern) for each in triples):
                found += (each for each in triples if isinstance(each, TriplePattern))
            case _:
                return []
    return found


def _way(edges: Sequence[Sequence[_Edge]], first: int) -> tuple[_Stride, ...]:
    """The steps from one node to all that are connected with it, each by the fewest."""
    met, steps = [first], list[_Stride]()
    for origin, place in enumerate(met):
        for edge in edges[place]:
            if edge.node not in met:
                met.append(edge.node)
                steps.append(_Stride(origin, edge.forward, edge.backward))
    return tuple(steps)
