"""The entailed graph of a publication: the rules are applied until nothing new follows."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Generic, TypeAlias

from triplecast.taxonomy.taxonomy import K, Schema

TRIPLES_LIMIT = 1_000_000
"""Most triples of an entailed graph; the pairs of a larger one are undecided."""


class EntailmentTooLarge(Exception):
    """A publication entails more than `TRIPLES_LIMIT` triples."""

    def __str__(self) -> str:
        return f"its entailed graph has more than {TRIPLES_LIMIT:,} triples"


def entail(graph: Iterable[tuple[K, K, K]], schema: Schema[K], rdfs: bool) -> list[tuple[K, K, K]]:
    """Return the least graph that holds `graph` and each triple of the taxonomy whose subject occurs in it, in any
    place.

    With `rdfs` it is also closed under rdfs5, rdfs7, rdfs9, rdfs11 (RDF 1.1 Semantics, section 9.2.1) and
    ``x rdf:_n y → x rdfs:member y``. The triples of `graph` come first, in order. Raises `EntailmentTooLarge`. The time
    is proportional to the result, since a transitive rule joins each triple only with steps that it has not derived.
    """
    closing = _Closing(schema)
    for triple in graph:
        closing.add(triple, _STEP)
    while closing.pending:
        triple, kind = closing.pending.popleft()
        for term in triple:
            closing.look_up(term)
        if rdfs:
            for derived, its_kind in list(closing.derive(triple, kind)):
                closing.add(derived, its_kind)
    return list(closing.known)


class _Kind(Enum):
    """How a triple was first found, and so of which rules it has to be a premise."""

    STEP = 0
    """A premise of all rules."""
    WAY = 1
    """By rdfs5 or rdfs11: in rdfs5, rdfs9 and rdfs11 the steps that it is made of give the same."""
    RAISED = 2
    """By rdfs7: in rdfs7 the triple from which it was raised gives the same."""


_STEP, _WAY, _RAISED = _Kind
_Derived: TypeAlias = tuple[tuple[K, K, K], _Kind]


class _Closing(Generic[K]):
    """The triples found so far; the tables by predicate and object hold those that `derive` has processed."""

    def __init__(self, schema: Schema[K]) -> None:
        self.schema = schema
        self.known: dict[tuple[K, K, K], None] = {}
        self.pending: deque[_Derived[K]] = deque()
        self.seen: set[K] = set()
        self.unraised: dict[K, list[tuple[K, K]]] = {}
        """Subjects and objects by predicate, of triples that were not raised."""
        self.steps: dict[tuple[K, K], list[K]] = {}
        """Objects by (predicate, subject) of ``rdfs:subClassOf`` and ``rdfs:subPropertyOf``, without ways."""
        self.properties: dict[K, list[K]] = {}
        """The properties directly above a predicate, where an IRI."""
        self.below: dict[tuple[K, K], list[K]] = {}
        """Subjects by (predicate, object), for the predicates of the rules."""

    def add(self, triple: tuple[K, K, K], kind: _Kind) -> None:
        if triple not in self.known:
            if len(self.known) >= TRIPLES_LIMIT:
                raise EntailmentTooLarge
            self.known[triple] = None
            self.pending.append((triple, kind))

    def look_up(self, term: K) -> None:
        if term not in self.seen:
            self.seen.add(term)
            for triple in self.schema.upward.get(term, ()):
                self.add(triple, _STEP)

    def derive(self, triple: tuple[K, K, K], kind: _Kind) -> Iterator[_Derived[K]]:
        """Yield what follows from a triple and those before it."""
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
        """Apply rdfs5 and rdfs11, to steps that begin at the triple's end and, if it is a step, to triples that end at
        its beginning; then rdfs9."""
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
