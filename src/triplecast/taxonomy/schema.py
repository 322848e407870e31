"""What the rules need to know, over terms of any kind: numbers in the index, RDF terms in the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

K = TypeVar("K", bound=Hashable)


class Words(NamedTuple, Generic[K]):
    """The words of RDF and RDFS that have a meaning here."""

    type: K
    sub_class: K
    sub_property: K
    member: K
    broader: K


@dataclass(frozen=True, slots=True)
class Schema(Generic[K]):
    """A taxonomy over terms of kind K, and two questions that only terms can answer."""

    words: Words[K]
    upward: Mapping[K, Sequence[tuple[K, K, K]]]
    """`Taxonomy.upward`."""
    classes: Container[K]
    """`Taxonomy.classes`."""
    broader: bool
    """`Taxonomy.broader`."""
    is_iri: Callable[[K], bool]
    """Whether a term may be the predicate of a triple."""
    is_numbered: Callable[[K], bool]
    """Whether it is ``rdf:_1``, ``rdf:_2``, …."""

    @property
    def orders(self) -> tuple[K, ...]:
        return (self.words.sub_class, self.words.broader) if self.broader else (self.words.sub_class,)
