"""The graph that a subscription with entailment is asked of: rule by rule, until nothing new follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Generic, TypeAlias

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

    It takes time in proportion to what follows: a step up joins what was reached to a step that was not made of two.
    """
    closing = _Closing(schema)
    for triple in graph:
        closing.add(triple, _STEP)
    while closing.waiting:
        triple, kind = closing.waiting.popleft()
        for term in triple:
            closing.meet(term)
        if rdfs:
            for derived, its_kind in list(closing.derive(triple, kind)):
                closing.add(derived, its_kind)
    return list(closing.known)


class _Kind(Enum):
    """How a triple came to be known first; what it may be a premise of."""

    STEP = 0
    """Of any rule."""
    WAY = 1
    """By rdfs5 or rdfs11, so that the steps of which it is made do as well in rdfs5, rdfs9 and rdfs11."""
    RAISED = 2
    """By rdfs7, so that the triple from which it was raised does as well in rdfs7."""


_STEP, _WAY, _RAISED = _Kind
_Derived: TypeAlias = tuple[tuple[K, K, K], _Kind]


class _Closing(Generic[K]):
    """The triples so far; those that `derive` has looked at are in the tables by predicate and by object."""

    def __init__(self, schema: Schema[K]) -> None:
        self.schema = schema
        self.known: dict[tuple[K, K, K], None] = {}
        self.waiting: deque[_Derived[K]] = deque()
        self.met: set[K] = set()
        self.unraised: dict[K, list[tuple[K, K]]] = {}
        """Subjects and objects by predicate, of what was not raised."""
        self.steps: dict[tuple[K, K], list[K]] = {}
        """Objects by (predicate, subject), of ``rdfs:subClassOf`` and ``rdfs:subPropertyOf`` without ways."""
        self.properties: dict[K, list[K]] = {}
        """What a predicate is under, where that may be a predicate."""
        self.below: dict[tuple[K, K], list[K]] = {}
        """Subjects by (predicate, object), for the words of the rules."""

    def add(self, triple: tuple[K, K, K], kind: _Kind) -> None:
        if triple not in self.known:
            if len(self.known) >= TRIPLES_LIMIT:
                raise EntailmentTooLarge
            self.known[triple] = None
            self.waiting.append((triple, kind))

    def meet(self, term: K) -> None:
        if term not in self.met:
            self.met.add(term)
            for triple in self.schema.upward.get(term, ()):
                self.add(triple, _STEP)

    def derive(self, triple: tuple[K, K, K], kind: _Kind) -> Iterator[_Derived[K]]:
        """What follows from a triple and those before it."""
        words = self.schema.words
        subject, predicate, end = triple
        if predicate in (words.type, words.sub_class, words.sub_property):
            self.below.setdefault((predicate, end), []).append(subject)
        if kind is not _RAISED:
            self.unraised.setdefault(predicate, []).append((subject, end))
            for other in self.properties.get(predicate, ()):
                yield (subject, other, end), _RAISED
        if predicate == words.sub_property and self.schema.is_iri(end):
            self.properties.setdefault(subject, []).append(end)
            for first, last in tuple(self.unraised.get(subject, ())):
                yield (first, end, last), _RAISED
        if predicate in (words.sub_class, words.sub_property):
            yield from self._ways(triple, kind)
        if predicate == words.type:
            for other in self.steps.get((words.sub_class, end), ()):
                yield (subject, predicate, other), _STEP
        if self.schema.is_numbered(predicate):
            yield (subject, words.member, end), _STEP

    def _ways(self, triple: tuple[K, K, K], kind: _Kind) -> Iterator[_Derived[K]]:
        """rdfs5 and rdfs11: with the steps from where it ends and, if it is a step, what ends where it begins; then
        rdfs9."""
        words = self.schema.words
        subject, predicate, end = triple
        for other in self.steps.get((predicate, end), ()):
            yield (subject, predicate, other), _WAY
        if kind is _WAY:
            return
        self.steps.setdefault((predicate, subject), []).append(end)
        for other in self.below.get((predicate, subject), ()):
            yield (other, predicate, end), _WAY
        if predicate == words.sub_class:
            for instance in self.below.get((words.type, subject), ()):
                yield (instance, words.type, end), _STEP
