"""The value `Taxonomy`, an immutable set of triples between IRIs without cycles, and what the rules need of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Generic, NamedTuple, TypeAlias, TypeVar

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TYPE = f"<{_RDF}type>"
SUB_CLASS = f"<{_RDFS}subClassOf>"
SUB_PROPERTY = f"<{_RDFS}subPropertyOf>"
MEMBER = f"<{_RDFS}member>"
BROADER = "<http://www.w3.org/2004/02/skos/core#broader>"
NUMBERED = f"<{_RDF}_"
"""The start of ``rdf:_1``, ``rdf:_2``, …; a number without leading zeros and ``>`` follow."""
_NUMBERED_TERM = re.compile(re.escape(NUMBERED) + "[1-9][0-9]*>")

TermText: TypeAlias = str
"""A term in canonical N-Triples form."""
TextTriple: TypeAlias = tuple[TermText, TermText, TermText]


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """One version of the taxonomy.

    It holds ``rdf:type``, ``rdfs:subClassOf``, ``rdfs:subPropertyOf`` and, if `broader`, ``skos:broader``, between IRIs
    and without cycles of classes, properties or concepts (`read_taxonomy`).
    """

    triples: tuple[TextTriple, ...]
    """Sorted and unique."""
    broader: bool = False
    """Whether ``skos:broader`` orders classes too."""

    @cached_property
    def lines(self) -> bytes:
        """Canonical N-Triples, as the journal stores them."""
        return "".join(f"{subject} {predicate} {end} .\n" for subject, predicate, end in self.triples).encode()

    @cached_property
    def upward(self) -> Mapping[TermText, Sequence[TextTriple]]:
        """The triples by subject."""
        found: dict[TermText, list[TextTriple]] = {}
        for triple in self.triples:
            found.setdefault(triple[0], []).append(triple)
        return found

    @cached_property
    def terms(self) -> tuple[TermText, ...]:
        """Every term of the triples, sorted."""
        return tuple(sorted({term for triple in self.triples for term in triple}))

    @cached_property
    def classes(self) -> frozenset[TermText]:
        """The terms used as a class or concept: under or above another, or as a type."""
        orders = self.orders
        return frozenset(
            term
            for subject, predicate, end in self.triples
            for term in ((subject, end) if predicate in orders else (end,) if predicate == TYPE else ())
        )

    @property
    def orders(self) -> tuple[TermText, ...]:
        """The predicates by which a class is under another."""
        return (SUB_CLASS, BROADER) if self.broader else (SUB_CLASS,)

    def count(self, predicate: TermText) -> int:
        return sum(1 for triple in self.triples if triple[1] == predicate)


def is_numbered(term: TermText) -> bool:
    """Whether a term is ``rdf:_1``, ``rdf:_2``, …."""
    return _NUMBERED_TERM.fullmatch(term) is not None


NO_TAXONOMY = Taxonomy(())
"""Used before the first taxonomy is loaded."""


K = TypeVar("K", bound=Hashable)


class Words(NamedTuple, Generic[K]):
    """The terms of RDF, RDFS and SKOS that the rules know."""

    type: K
    sub_class: K
    sub_property: K
    member: K
    broader: K


@dataclass(frozen=True, slots=True)
class Schema(Generic[K]):
    """A taxonomy over terms of kind K, with two tests of a term."""

    words: Words[K]
    upward: Mapping[K, Sequence[tuple[K, K, K]]]
    """`Taxonomy.upward`."""
    classes: Container[K]
    """`Taxonomy.classes`."""
    broader: bool
    """`Taxonomy.broader`."""
    is_iri: Callable[[K], bool]
    """Whether a term can be a predicate."""
    is_numbered: Callable[[K], bool]
    """Whether a term is ``rdf:_1``, ``rdf:_2``, …."""

    @property
    def orders(self) -> tuple[K, ...]:
        return (self.words.sub_class, self.words.broader) if self.broader else (self.words.sub_class,)
