"""The entailment of subscriptions: what they match beyond a publication's own triples (docs/taxonomy.md)."""

from __future__ import annotations

from enum import IntEnum

from pyoxigraph import Literal

FUNCTIONS = "urn:triplecast:taxonomy:"
"""The namespace ``tc:`` of G-ToPSS's functions."""
BEFORE = f"{FUNCTIONS}before"
"""What an update's earlier row binds (semantics 10.6); no function of the taxonomy."""


class Entailment(IntEnum):
    """The graph that a query is evaluated against."""

    NONE = 0
    """The publication alone."""
    TAXONOMY = 1
    """With the triples of the taxonomy reached upwards from its terms."""
    RDFS = 2
    """Also closed under rdfs5, rdfs7, rdfs9, rdfs11, and ``rdfs:member`` over ``rdf:_1``, ``rdf:_2``, …."""


ENTAILMENTS = {"taxonomy": Entailment.TAXONOMY, "rdfs": Entailment.RDFS}
"""By the name used in a subscription."""


class EntailmentMode(IntEnum):
    """How the index reads a publication: subscriptions of one mode share segments and views.

    `PLAIN`, then two modes of each other `Entailment` in order, the second without marks. The numbers are stored in
    segment files and keep their meaning.
    """

    PLAIN = 0
    TAXONOMY = 1
    TAXONOMY_BARE = 2
    RDFS = 3
    RDFS_BARE = 4
    """``BARE``: without marks, for variable predicates, which must not match a mark."""

    @property
    def entailment(self) -> Entailment:
        return Entailment((self + 1) // 2)

    @property
    def marked(self) -> bool:
        return self in (EntailmentMode.TAXONOMY, EntailmentMode.RDFS)


def mode_of(entailment: Entailment, bare: bool) -> EntailmentMode:
    return EntailmentMode.PLAIN if entailment is Entailment.NONE else EntailmentMode(2 * entailment - 1 + bare)


class Mark(IntEnum):
    """A synthetic predicate: a relation of a node and a class that a view states if a subscription needs it.

    The index files the condition as a triple pattern whose predicate is the literal `predicate`, which no publication
    can have there.
    """

    INSTANCE = 0
    """``tc:instance``: the class is one of the node's types."""
    DESCENDANT = 1
    """``tc:descendant``: one of the node's types is the class or under it."""
    ANCESTOR = 2
    """``tc:ancestor``: one of the node's types is the class or above it."""
    CLASS_PATH = 3
    """The path ``rdfs:subClassOf*`` leads from the node to the class."""
    PROPERTY_PATH = 4
    """The path ``rdfs:subPropertyOf*``."""
    BROADER_PATH = 5
    """The path ``skos:broader*``."""

    @property
    def predicate(self) -> Literal:
        return Literal(f"mark:{self.name.lower()}")


FUNCTION_MARKS = {
    f"{FUNCTIONS}instance": Mark.INSTANCE,
    f"{FUNCTIONS}descendant": Mark.DESCENDANT,
    f"{FUNCTIONS}ancestor": Mark.ANCESTOR,
}
PATH_MARKS = {
    "http://www.w3.org/2000/01/rdf-schema#subClassOf": Mark.CLASS_PATH,
    "http://www.w3.org/2000/01/rdf-schema#subPropertyOf": Mark.PROPERTY_PATH,
    "http://www.w3.org/2004/02/skos/core#broader": Mark.BROADER_PATH,
}
"""By the predicate that the path repeats."""
