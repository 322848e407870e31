"""What the rules need of a taxonomy, over any kind of term: numbers in the index, RDF terms in the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

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
