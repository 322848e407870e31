"""The graph that a subscription with entailment is asked of: rule by rule, until nothing new follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import Generic

from triplecast.taxonomy.schema import K, Schema

TRIPLES_LIMIT = 1_000_000
"""Of an entailed graph; a larger one leaves its pairs undecided."""


class EntailmentTooLarge(Exception):
    """More than `TRIPLES_LIMIT` triples follow from a publication."""

    def __str__(self) -> str:
        return f"its entailed graph has more than {TRIPLES_LIMIT:,} triples"


def entail(graph: Iterable[tuple[K, K, K]], schema: Schema[K], rdfs: bool) -> list[tuple[K, K, K]]:
    """The least graph that holds `graph` and each triple of the taxonomy whose subject occurs in it (at any place), and
    with `rdfs` is closed under rdfs5, rdfs7, rdfs9, rdfs11 (RDF 1.1 Semantics, section 9.2.1) and ``x rdf:_n y → x
    rdfs:member y``. The triples of `graph` come first, in their order. Raises `EntailmentTooLarge`.
    """
    closing = _Closing(schema)
    for triple in graph:
        closing.add(triple)
    while closing.waiting:
        triple = closing.waiting.popleft()
        for term in triple:
            closing.meet(term)
        if rdfs:
            for derived in list(closing.derive(triple)):
                closing.add(derived)
    return list(closing.known)


class _Closing(Generic[K]):
    """The triples so far; those that `derive` has looked at are in the tables by predicate and by object."""

    def __init__(self, schema: Schema[K]) -> None:
        self.schema = schema
        self.known: dict[tuple[K, K, K], None] = {}
        self.waiting: deque[tuple[K, K, K]] = deque()
        self.met: set[K] = set()
        self.by_predicate: dict[K, list[tuple[K, K]]] = {}
        self.above: dict[tuple[K, K], list[K]] = {}
        """Objects by (predicate, subject), for the words of the rules."""
        self.below: dict[tuple[K, K], list[K]] = {}

    def add(self, triple: tuple[K, K, K]) -> None:
        if triple not in self.known:
            if len(self.known) >= TRIPLES_LIMIT:
                raise EntailmentTooLarge
            self.known[triple] = None
            self.waiting.append(triple)

    def meet(self, term: K) -> None:
        if term not in self.met:
            self.met.add(term)
            for triple in self.schema.upward.get(term, ()):
                self.add(triple)

    def derive(self, triple: tuple[K, K, K]) -> Iterator[tuple[K, K, K]]:
        """What follows from a triple and those before it."""
        words = self.schema.words
        subject, predicate, end = triple
        self.by_predicate.setdefault(predicate, []).append((subject, end))
        if predicate in (words.type, words.sub_class, words.sub_property):
            self.above.setdefault((predicate, subject), []).append(end)
            self.below.setdefault((predicate, end), []).append(subject)
        for other in self.above.get((words.sub_property, predicate), ()):
            if self.schema.is_iri(other):
                yield subject, other, end
        if predicate == words.sub_property and self.schema.is_iri(end):
            for first, last in tuple(self.by_predicate.get(subject, ())):
                yield first, end, last
        if predicate in (words.sub_class, words.sub_property):
            for other in self.above.get((predicate, end), ()):
                yield subject, predicate, other
            for other in self.below.get((predicate, subject), ()):
                yield other, predicate, end
        if predicate == words.sub_class:
            for instance in self.below.get((words.type, subject), ()):
                yield instance, words.type, end
        if predicate == words.type:
            for other in self.above.get((words.sub_class, end), ()):
                yield subject, words.type, other
        if self.schema.is_numbered(predicate):
            yield subject, words.member, end
