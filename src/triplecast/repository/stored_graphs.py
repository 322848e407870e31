"""The store as the graphs that queries are evaluated over: terms are made of ids only where an evaluation reads them.

What is read is spent (`Budget`), so a query over a large store ends as one over a large publication does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeAlias, overload

import numpy as np
from pyoxigraph import NamedNode

from triplecast.evaluate.background import NO_BACKGROUND, Background, entail_set, schema_of
from triplecast.evaluate.budget import LONGEST_FREE, Budget
from triplecast.evaluate.graphs import GraphName, PublishedGraphs, Triple, TripleSet
from triplecast.kernels.layout import I32
from triplecast.kernels.triples import ANY
from triplecast.model.algebra import Term, from_ntriples, to_ntriples
from triplecast.repository.entailed import EntailedSource, is_stated
from triplecast.repository.store import TripleSource, id_of
from triplecast.taxonomy import Classes, Schema

Pattern = tuple[int, int, int]
Source: TypeAlias = TripleSource | EntailedSource
ROWS_AT_ONCE = 1_024


def open_store(source: Source, budget: Budget) -> PublishedGraphs:
    """The one graph as the default graph, each document as a named one (semantics 2.5), for one evaluation; each
    entailed by itself (semantics 6.1)."""
    if not isinstance(source, EntailedSource):
        terms = StoredTerms(source, budget)
        return PublishedGraphs(StoredGraph(terms, budget), StoredDocuments(terms, budget), {})
    entailed, stated = StoredTerms(source.entailed, budget), StoredTerms(source.stated, budget)
    schema = schema_of(source.background)
    classes = Classes(StoredClasses(entailed, stated, schema), schema)
    documents = StoredDocuments(stated, budget, source.background)
    return PublishedGraphs(StoredGraph(entailed, budget, classes), documents, {})


class StoredTerms:
    """The terms of a store, each made once: an evaluation knows a term by its object."""

    def __init__(self, source: TripleSource, budget: Budget) -> None:
        self.source = source
        self._budget = budget
        self._terms: dict[int, Term] = {}
        self._ids: dict[Term, int] = {}

    def term(self, id: int) -> Term:
        found = self._terms.get(id)
        if found is None:
            text = self.source.bank.term(id)
            found = self._terms[id] = from_ntriples(text.decode())
            if len(text) > LONGEST_FREE:
                self._budget.note(found)
        return found

    def id(self, term: Term | None) -> int:
        """The id of a term, `ANY` for None, `NOWHERE` where the store lacks it."""
        if term is None:
            return ANY
        found = self._ids.get(term)
        if found is None:
            found = self._ids[term] = id_of(self.source, to_ntriples(term))
        return found

    def triples(self, rows: I32) -> Iterator[Triple]:
        """The triples of some rows, of which few are made objects at a time."""
        term = self.term
        for start in range(0, len(rows), ROWS_AT_ONCE):
            for subject, predicate, end in rows[start : start + ROWS_AT_ONCE].tolist():
                yield term(subject), term(predicate), term(end)


class FittingTriples(Sequence[Triple]):
    """The triples that fit a pattern of ids, found when they are read; as long as what finding them looks at."""

    def __init__(self, terms: StoredTerms, pattern: Pattern) -> None:
        self._terms = terms
        self._pattern = pattern

    @cached_property
    def _rows(self) -> I32:
        return self._terms.source.find(*self._pattern)

    def __len__(self) -> int:
        return self._terms.source.reach(*self._pattern)

    def __iter__(self) -> Iterator[Triple]:
        return self._terms.triples(self._rows)

    @overload
    def __getitem__(self, index: int) -> Triple: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Triple]: ...
    def __getitem__(self, index: int | slice) -> Triple | Sequence[Triple]:
        if isinstance(index, slice):
            return tuple(self._terms.triples(self._rows[index]))
        return next(self._terms.triples(self._rows[index].reshape(1, 3)))


class StoredNodes:
    """The subjects and objects of the one graph."""

    def __init__(self, terms: StoredTerms, budget: Budget) -> None:
        self._terms = terms
        self._budget = budget

    def __contains__(self, term: object) -> bool:
        self._budget.spend()
        id = self._terms.id(term)  # type: ignore[arg-type]
        source = self._terms.source
        return source.count(id, ANY, ANY) > 0 or source.count(ANY, ANY, id) > 0

    def __iter__(self) -> Iterator[Term]:
        source = self._terms.source
        self._budget.spend(source.size)
        for id in np.unique(source.find(ANY, ANY, ANY)[:, ::2]):
            yield self._terms.term(int(id))


class StoredGraph:
    """The one graph."""

    entailed: frozenset[Triple] = frozenset()

    def __init__(self, terms: StoredTerms, budget: Budget, classes: Classes[Term] | None = None) -> None:
        self._terms = terms
        self.classes = classes
        self.triples = FittingTriples(terms, (ANY, ANY, ANY))
        self.nodes = StoredNodes(terms, budget)

    def candidates(self, subject: Term | None, predicate: Term | None, object_: Term | None) -> Sequence[Triple]:
        """The triples with the given terms (None: any term)."""
        return FittingTriples(
            self._terms, (self._terms.id(subject), self._terms.id(predicate), self._terms.id(object_))
        )


class StoredClasses:
    """What the one graph and the taxonomy say of classes (`taxonomy.Statements`)."""

    def __init__(self, entailed: StoredTerms, stated: StoredTerms, schema: Schema[Term]) -> None:
        self._entailed = entailed
        self._stated = stated
        self._schema = schema

    def has(self, term: Term) -> bool:
        """Only ``rdfs:member`` may be derived and not reached."""
        if is_stated(self._stated.source, self._stated.id(term)):
            return True
        id, source = self._entailed.id(term), self._entailed.source
        return source.count(ANY, ANY, id) > 0 or (term != self._schema.words.member and is_stated(source, id))

    def is_class(self, term: Term) -> bool:
        id, count = self._stated.id(term), self._stated.source.count
        orders = [self._stated.id(order) for order in self._schema.orders]
        return count(ANY, self._stated.id(self._schema.words.type), id) > 0 or any(
            count(id, order, ANY) or count(ANY, order, id) for order in orders
        )

    def types(self, node: Term) -> list[Term]:
        return self._ends(node, (self._schema.words.type,))

    def above(self, node: Term) -> list[Term]:
        return self._ends(node, self._schema.orders)

    def _ends(self, node: Term, predicates: tuple[Term, ...]) -> list[Term]:
        """Of stated triples and of those of the taxonomy, which a node that is there has reached."""
        rows = [(self._stated.id(node), self._stated.id(each), ANY) for each in predicates]
        found = {end: None for row in rows for _, _, end in self._stated.triples(self._stated.source.find(*row))}
        found.update((end, None) for _, way, end in self._schema.upward.get(node, ()) if way in predicates)
        return [*found]


class StoredDocuments(Mapping[GraphName, TripleSet]):
    """The documents by their identities, in no order; one is read when it is first asked for."""

    def __init__(self, terms: StoredTerms, budget: Budget, background: Background = NO_BACKGROUND) -> None:
        self._terms = terms
        self._budget = budget
        self._background = background
        self._read: dict[GraphName, TripleSet] = {}

    def __getitem__(self, name: GraphName) -> TripleSet:
        if name not in self._read:
            rows = self._rows(name)
            if rows is None:
                raise KeyError(name)
            self._budget.spend(1 + len(rows))
            self._read[name] = read = entail_set(TripleSet(self._terms.triples(rows)), self._background)
            self._budget.spend(len(read.triples) - len(rows))
        return self._read[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, NamedNode) and self._rows(name) is not None

    def __iter__(self) -> Iterator[GraphName]:
        for graph in self._terms.source.graphs():
            name = self._terms.term(graph)
            assert isinstance(name, NamedNode)
            yield name

    def __len__(self) -> int:
        return sum(1 for _ in self._terms.source.graphs())

    def _rows(self, name: GraphName) -> I32 | None:
        return self._terms.source.document(self._terms.id(name))
