"""A publication as graphs with indexes, which are built when first needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeAlias

from pyoxigraph import BlankNode, DefaultGraph, NamedNode, RdfFormat, parse

from triplecast.evaluate.budget import BYTES_A_STEP, LONGEST_FREE, LongTerms, measure
from triplecast.model.algebra import Term
from triplecast.model.publication import Publication
from triplecast.taxonomy import Classes

Triple: TypeAlias = tuple[Term, Term, Term]
GraphName: TypeAlias = NamedNode | BlankNode
_Index: TypeAlias = Mapping[Term, Sequence[Triple]]


class GraphNodes(Protocol):
    """Every subject and object of a graph."""

    def __contains__(self, term: object) -> bool: ...

    def __iter__(self) -> Iterator[Term]: ...


class ActiveGraph(Protocol):
    """A graph as evaluation reads it; `TripleSet` says what each part is."""

    @property
    def triples(self) -> Sequence[Triple]: ...

    @property
    def classes(self) -> Classes[Term] | None: ...

    @property
    def entailed(self) -> frozenset[Triple]: ...

    @property
    def nodes(self) -> GraphNodes: ...

    def candidates(self, subject: Term | None, predicate: Term | None, object_: Term | None) -> Sequence[Triple]: ...


class TripleSet:
    """The triples of one graph in a fixed order."""

    def __init__(self, triples: Iterable[Triple], classes: Classes[Term] | None = None, published: int = 0) -> None:
        self.triples: Sequence[Triple] = tuple(triples)
        self.classes = classes
        """The classes that taxonomy functions look up; None without entailment."""
        self._published = published
        """How many triples of an entailed graph were published; they come first."""

    @cached_property
    def entailed(self) -> frozenset[Triple]:
        """The triples that were not published."""
        return frozenset(() if self.classes is None else self.triples[self._published :])

    def candidates(self, subject: Term | None, predicate: Term | None, object_: Term | None) -> Sequence[Triple]:
        """The shortest indexed list that contains every triple with the given terms (None: any term)."""
        if subject is not None:
            shortest = self._by_subject.get(subject, ())
            if object_ is not None:
                other = self._by_object.get(object_, ())
                if len(other) < len(shortest):
                    return other
            return shortest
        if object_ is not None:
            shortest = self._by_object.get(object_, ())
            if predicate is not None:
                other = self._by_predicate.get(predicate, ())
                if len(other) < len(shortest):
                    return other
            return shortest
        return self.triples if predicate is None else self._by_predicate.get(predicate, ())

    @cached_property
    def nodes(self) -> Mapping[Term, None]:
        """Every subject and object, in order of appearance: what a path of length zero joins to itself."""
        found: dict[Term, None] = {}
        for subject, _, object_ in self.triples:
            found[subject] = None
            found[object_] = None
        return found

    @cached_property
    def _by_subject(self) -> _Index:
        return _index(self.triples, 0)

    @cached_property
    def _by_predicate(self) -> _Index:
        return _index(self.triples, 1)

    @cached_property
    def _by_object(self) -> _Index:
        return _index(self.triples, 2)


@dataclass(frozen=True)
class PublishedGraphs:
    """The RDF dataset that a query is evaluated over (semantics 2.4)."""

    default: ActiveGraph
    named: Mapping[GraphName, ActiveGraph]
    """In the order of their N-Triples text."""
    long: LongTerms
    """Of the default graph and the named ones."""


def open_publication(publication: Publication) -> PublishedGraphs:
    """The dataset of a version: its triples as default graph and, under its identity, as the only named graph; or, for
    a publication declared a dataset, its graphs as published. Raises SyntaxError for quads that are no N-Quads."""
    form = RdfFormat.N_QUADS if publication.dataset else RdfFormat.N_TRIPLES
    quads = parse(publication.quads, format=form)
    if not publication.dataset:
        whole = TripleSet((quad.subject, quad.predicate, quad.object) for quad in quads)
        long = _long_terms(publication.quads, whole.triples)
        return PublishedGraphs(whole, {NamedNode(publication.graph): whole}, long)
    default: list[Triple] = []
    named: dict[GraphName, list[Triple]] = {}
    for quad in quads:
        name = quad.graph_name
        home = default if isinstance(name, DefaultGraph) else named.setdefault(name, [])
        home.append((quad.subject, quad.predicate, quad.object))
    long = _long_terms(publication.quads, [*default, *(triple for home in named.values() for triple in home)])
    return PublishedGraphs(TripleSet(default), {name: TripleSet(named[name]) for name in sorted(named, key=str)}, long)


def _long_terms(quads: bytes, triples: Sequence[Triple]) -> LongTerms:
    """Empty at once where no line is long."""
    if max(map(len, quads.split(b"\n"))) <= LONGEST_FREE:
        return {}
    return {
        id(term): (term, length // BYTES_A_STEP)
        for triple in triples
        for term in triple
        if (length := measure(term)) > LONGEST_FREE
    }


def _index(triples: Sequence[Triple], position: int) -> _Index:
    index: dict[Term, list[Triple]] = {}
    for triple in triples:
        index.setdefault(triple[position], []).append(triple)
    return index
