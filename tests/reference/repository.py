"""The repository read slowly: documents as sets of triples, blank nodes by trying every way to name them.

A *component* is the triples of one document that share blank nodes, directly or through others; two are the same where
some naming makes them equal (semantics 2.6). So the one graph is its triples without blank nodes, each once, and a
count of each component, whose graph tells apart what two documents have alike.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import permutations
from typing import NamedTuple, TypeAlias

import pyoxigraph as ox

from triplecast.model.events import Event, Removal
from triplecast.model.publication import Publication

Line: TypeAlias = tuple[str, str, str]
"""A triple in N-Triples form."""
Form: TypeAlias = tuple[Line, ...]
"""A component under the naming whose sorted lines are the least."""


class Content(NamedTuple):
    """Triples without blank nodes, and how often each component occurs."""

    ground: frozenset[Line]
    components: Counter[Form]


class SlowRepository:
    """The current documents."""

    def __init__(self) -> None:
        self.documents: dict[str, Content] = {}

    def apply(self, event: Event) -> tuple[Content, Content]:
        """Take an event; return what it added to the one graph and what it removed."""
        before = self.content()
        if isinstance(event, Publication):
            self.documents[event.graph] = content_of(read_lines(event))
        elif isinstance(event, Removal):
            self.documents.pop(event.graph, None)
        after = self.content()
        return _less(after, before), _less(before, after)

    def content(self) -> Counter[tuple[str, Form] | Line]:
        """The one graph: a count above one is of components that one document has several times."""
        found: Counter[tuple[str, Form] | Line] = Counter()
        for graph, document in self.documents.items():
            found.update({(graph, form): count for form, count in document.components.items()})
        return found + Counter(frozenset().union(*(document.ground for document in self.documents.values())))


def _less(left: Counter[tuple[str, Form] | Line], right: Counter[tuple[str, Form] | Line]) -> Content:
    rest = left - right
    components: Counter[Form] = Counter()
    for item, count in rest.items():
        if len(item) == 2:
            components[item[1]] += count
    return Content(frozenset(item for item in rest if len(item) == 3), components)


def read_lines(publication: Publication) -> set[Line]:
    """The triples of a version, whatever their graph."""
    form = ox.RdfFormat.N_QUADS if publication.dataset else ox.RdfFormat.N_TRIPLES
    quads = ox.parse(publication.quads, format=form)
    return {(str(quad.subject), str(quad.predicate), str(quad.object)) for quad in quads}


def content_of(lines: Iterable[Line]) -> Content:
    lines = set(lines)
    ground = {line for line in lines if not _nodes(line)}
    waiting = lines - ground
    components: Counter[Form] = Counter()
    while waiting:
        component = {waiting.pop()}
        while True:
            nodes = {node for line in component for node in _nodes(line)}
            more = {line for line in waiting if nodes & set(_nodes(line))}
            if not more:
                break
            component |= more
            waiting -= more
        components[_least_form(component)] += 1
    return Content(frozenset(ground), components)


def _least_form(component: set[Line]) -> Form:
    nodes = sorted({node for line in component for node in _nodes(line)})
    names = [f"_:{number}" for number in range(len(nodes))]
    return min(
        tuple(sorted((naming.get(s, s), p, naming.get(o, o)) for s, p, o in component))
        for order in permutations(names)
        for naming in [dict(zip(nodes, order, strict=True))]
    )


def _nodes(line: Line) -> list[str]:
    return [term for term in (line[0], line[2]) if term.startswith("_:")]
