"""The subjects that a solution of joined patterns may have, from one of them on.

Patterns of one subject are a node of a graph; two nodes are neighbours where a variable joins them. Whoever follows the
edges from the subject that changed meets all triples of every solution that may change, whatever the constants of a
query are: so this is done once for all queries that differ in other constants than predicates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pyoxigraph import Literal, NamedNode

from triplecast.evaluate.conjuncts import split
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
from triplecast.repository.store import Store, id_of

MOST_NEIGHBOURS = 200_000
"""Subjects that one event may reach backwards for one group; beyond, its queries are evaluated one by one."""


class _Edge(NamedTuple):
    """How a subject leads to others: by the objects of `forward`, where there is one, then the subjects of those that
    have them by `backward`."""

    node: int
    forward: Node | None
    backward: Node | None


class JoinGraph(NamedTuple):
    """The nodes of joined patterns, and their edges."""

    subjects: tuple[Node, ...]
    edges: tuple[tuple[_Edge, ...], ...]
    predicates: tuple[int, ...]
    """The slots that predicates are in."""
    terms: tuple[int, ...]
    """The slots of all terms of the patterns."""


class TooManyNeighbours(Exception):
    """There are more than `MOST_NEIGHBOURS`."""


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
    if len({*_reached(edges, 0)}) < len(subjects):
        return None
    slots = {each.predicate.index for each in patterns if isinstance(each.predicate, Slot)}
    terms = {
        node.index
        for each in patterns
        for node in (each.subject, each.predicate, each.object)
        if isinstance(node, Slot)
    }
    return JoinGraph(subjects, tuple(map(tuple, edges)), tuple(sorted(slots)), tuple(sorted(terms)))


def neighbours(graph: JoinGraph, constants: Sequence[str], first: int, subjects: set[int], store: Store) -> set[int]:
    """The subjects that the other nodes may have where the node `first` has one of `subjects`, before the change or
    after it. Raises `TooManyNeighbours`."""
    found: list[set[int]] = [set() for _ in graph.subjects]
    found[first] = subjects
    room = MOST_NEIGHBOURS
    met, waiting = {first}, deque([first])
    while waiting:
        place = waiting.popleft()
        for edge in graph.edges[place]:
            if edge.node in met:
                continue
            met.add(edge.node)
            waiting.append(edge.node)
            given = constant_of(graph.subjects[edge.node], constants)
            if given is not None:
                found[edge.node] = {id_of(store, given)}
                continue
            found[edge.node] = reached = _follow(edge, constants, found[place], store, room)
            room -= len(reached)
    return set().union(*found)


def _follow(edge: _Edge, constants: Sequence[str], subjects: set[int], store: Store, room: int) -> set[int]:
    reached = subjects
    if edge.forward is not None:
        predicate = _id(edge.forward, constants, store)
        reached = set()
        for each in subjects:
            reached |= _fitting(store, each, predicate, ANY, 2)
    if edge.backward is None:
        return reached
    predicate = _id(edge.backward, constants, store)
    found: set[int] = set()
    for each in reached:
        room -= store.count(ANY, predicate, each)
        if room < 0:
            raise TooManyNeighbours
        found |= _fitting(store, ANY, predicate, each, 0)
    return found


def _fitting(store: Store, subject: int, predicate: int, end: int, column: int) -> set[int]:
    """The subjects (0) or objects (2) of the triples that fit now, and of those that the change removed."""
    found = {*store.find(subject, predicate, end)[:, column].tolist()}
    found.update(each[column] for each in store.before.gone(subject, predicate, end))
    return found


def _id(node: Node, constants: Sequence[str], store: Store) -> int:
    given = constant_of(node, constants)
    return ANY if given is None else id_of(store, given)


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


def _reached(edges: Sequence[Sequence[_Edge]], first: int) -> Iterator[int]:
    met, waiting = {first}, [first]
    while waiting:
        place = waiting.pop()
        yield place
        for edge in edges[place]:
            if edge.node not in met:
                met.add(edge.node)
                waiting.append(edge.node)
