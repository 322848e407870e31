"""The value `RdfSchema`: RDFS as MDV reads it (Keidl, Kreutz, Kemper, Kossmann: ICDE 2002, sections 2.3 and 2.4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

from triplecast.taxonomy.taxonomy import SUB_CLASS, TYPE, TermText, TextTriple

_RDFS = "http://www.w3.org/2000/01/rdf-schema#"
_MDV = "urn:triplecast:mdv:"
DOMAIN = f"<{_RDFS}domain>"
RANGE = f"<{_RDFS}range>"
CLASS = f"<{_RDFS}Class>"
PROPERTY = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#Property>"
SET_VALUED = f"<{_MDV}setValued>"
STRONG = f"<{_MDV}strong>"
TRUE = '"true"^^<http://www.w3.org/2001/XMLSchema#boolean>'


@dataclass(frozen=True, eq=False)
class RdfSchema:
    """One version of the schema. Terms are IRIs in N-Triples form, ``<…>``; classes above each other in a circle are
    equal."""

    triples: tuple[TextTriple, ...] = ()
    """Sorted and unique: ``rdfs:domain``, ``rdfs:range``, ``rdfs:subClassOf``, ``rdf:type`` with ``rdfs:Class`` or
    ``rdf:Property``, all between IRIs; ``urn:triplecast:mdv:setValued`` and ``…:strong`` with true."""

    @cached_property
    def lines(self) -> bytes:
        """Canonical N-Triples, as the journal stores them."""
        return "".join(f"{subject} {predicate} {end} .\n" for subject, predicate, end in self.triples).encode()

    @cached_property
    def strong(self) -> frozenset[TermText]:
        """The properties whose references are strong: what they refer to travels with what refers to it."""
        return self._subjects(STRONG)

    @cached_property
    def set_valued(self) -> frozenset[TermText]:
        """The properties of which a resource may have several values."""
        return self._subjects(SET_VALUED)

    @cached_property
    def domains(self) -> Mapping[TermText, frozenset[TermText]]:
        """The classes that have each property; a property without a domain is not there, and every class has it."""
        return self._ends(DOMAIN)

    @cached_property
    def ranges(self) -> Mapping[TermText, frozenset[TermText]]:
        """The classes or datatypes of each property's values, as far as they are declared."""
        return self._ends(RANGE)

    @cached_property
    def superclasses(self) -> Mapping[TermText, frozenset[TermText]]:
        """The classes directly above each class."""
        return self._ends(SUB_CLASS)

    @cached_property
    def classes(self) -> frozenset[TermText]:
        """Every class that is declared or named as one; a range counts where it is declared too."""
        named = {end for predicate in (DOMAIN, SUB_CLASS) for ends in self._ends(predicate).values() for end in ends}
        declared = {subject for subject, predicate, end in self.triples if (predicate, end) == (TYPE, CLASS)}
        return frozenset(named | declared | self._subjects(SUB_CLASS))

    @cached_property
    def properties(self) -> frozenset[TermText]:
        """Every property that is declared or described."""
        declared = {subject for subject, predicate, end in self.triples if (predicate, end) == (TYPE, PROPERTY)}
        described = (self._subjects(predicate) for predicate in (DOMAIN, RANGE, SET_VALUED, STRONG))
        return frozenset(declared.union(*described))

    def above(self, start: TermText) -> frozenset[TermText]:
        """Return a class and all classes above it."""
        return _reach(start, self.superclasses)

    def below(self, start: TermText) -> frozenset[TermText]:
        """Return a class and all classes under it."""
        return _reach(start, self._subclasses)

    @cached_property
    def _subclasses(self) -> Mapping[TermText, frozenset[TermText]]:
        found: dict[TermText, set[TermText]] = {}
        for subject, predicate, end in self.triples:
            if predicate == SUB_CLASS:
                found.setdefault(end, set()).add(subject)
        return {term: frozenset(below) for term, below in found.items()}

    def _subjects(self, wanted: TermText) -> frozenset[TermText]:
        return frozenset(subject for subject, predicate, _ in self.triples if predicate == wanted)

    def _ends(self, wanted: TermText) -> Mapping[TermText, frozenset[TermText]]:
        found: dict[TermText, set[TermText]] = {}
        for subject, predicate, end in self.triples:
            if predicate == wanted:
                found.setdefault(subject, set()).add(end)
        return MappingProxyType({term: frozenset(ends) for term, ends in found.items()})


def _reach(start: TermText, directly: Mapping[TermText, frozenset[TermText]]) -> frozenset[TermText]:
    reached, pending = {start}, [start]
    while pending:
        more = directly.get(pending.pop(), frozenset()) - reached
        reached |= more
        pending += more
    return frozenset(reached)


NO_SCHEMA = RdfSchema()
"""Used before the first schema is loaded: nothing is set-valued or strong, and every class has every property."""
