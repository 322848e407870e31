"""A taxonomy: an immutable set of triples between IRIs, free of cycles."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
TYPE = f"<{_RDF}type>"
SUB_CLASS = f"<{_RDFS}subClassOf>"
SUB_PROPERTY = f"<{_RDFS}subPropertyOf>"
MEMBER = f"<{_RDFS}member>"
BROADER = "<http://www.w3.org/2004/02/skos/core#broader>"
NUMBERED = f"<{_RDF}_"
"""What ``rdf:_1``, ``rdf:_2``, … begin with; a number without leading zeros and ``>`` follow."""
_NUMBERED_TERM = re.compile(re.escape(NUMBERED) + "[1-9][0-9]*>")

TermText: TypeAlias = str
"""A term in canonical N-Triples form."""
TextTriple: TypeAlias = tuple[TermText, TermText, TermText]


@dataclass(frozen=True, eq=False)
class Taxonomy:
    """One version of the taxonomy.

    Only ``rdf:type``, ``rdfs:subClassOf`` and ``rdfs:subPropertyOf`` between IRIs, and ``skos:broader`` where `broader`
    asks for it; neither classes, nor properties, nor concepts go round in a cycle (`read_taxonomy`).
    """

    triples: tuple[TextTriple, ...]
    """Sorted, each once."""
    broader: bool = False
    """Whether ``skos:broader`` is part of the order of classes."""

    @cached_property
    def lines(self) -> bytes:
        """Canonical N-Triples: what the journal keeps."""
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
        """What the triples use as a class (or concept): under or above another, or as a type."""
        orders = self.orders
        return frozenset(
            term
            for subject, predicate, end in self.triples
            for term in ((subject, end) if predicate in orders else (end,) if predicate == TYPE else ())
        )

    @property
    def orders(self) -> tuple[TermText, ...]:
        """The predicates that say that a class is under another."""
        return (SUB_CLASS, BROADER) if self.broader else (SUB_CLASS,)

    def count(self, predicate: TermText) -> int:
        return sum(1 for triple in self.triples if triple[1] == predicate)


def is_numbered(term: TermText) -> bool:
    """Whether it is ``rdf:_1``, ``rdf:_2``, …."""
    return _NUMBERED_TERM.fullmatch(term) is not None


NO_TAXONOMY = Taxonomy(())
"""Before the first one is loaded: nothing is known but what a publication itself says."""
