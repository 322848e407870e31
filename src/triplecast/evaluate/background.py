"""A publication's graphs with the triples that a taxonomy entails."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from pyoxigraph import NamedNode, RdfFormat, parse

from triplecast.evaluate.graphs import ActiveGraph, PublishedGraphs, TripleSet
from triplecast.model.algebra import Term
from triplecast.model.entailment import Entailment
from triplecast.taxonomy import Classes, Schema, Statements, Taxonomy, Words, entail, restore_taxonomy
from triplecast.taxonomy.taxonomy import BROADER, MEMBER, SUB_CLASS, SUB_PROPERTY, TYPE, is_numbered


class Background(NamedTuple):
    """What a query is evaluated with besides the publication."""

    entailment: Entailment = Entailment.NONE
    taxonomy: bytes = b""
    """`Taxonomy.lines`."""
    broader: bool = False
    """`Taxonomy.broader`."""

    @classmethod
    def of(cls, entailment: Entailment, taxonomy: Taxonomy) -> Background:
        """The part of the taxonomy that an entailment regime uses."""
        if entailment is Entailment.NONE:
            return NO_BACKGROUND
        return cls(entailment, taxonomy.lines, taxonomy.broader)


NO_BACKGROUND = Background()


def entail_graphs(graphs: PublishedGraphs, background: Background) -> PublishedGraphs:
    """Entail each graph of the dataset separately. Raises `EntailmentTooLarge`."""
    if background.entailment is Entailment.NONE:
        return graphs
    made: dict[int, TripleSet] = {}
    for graph in (graphs.default, *graphs.named.values()):
        if id(graph) not in made:
            made[id(graph)] = entail_set(graph, background)
    named = {name: made[id(graph)] for name, graph in graphs.named.items()}
    return PublishedGraphs(made[id(graphs.default)], named, graphs.long)


def entail_set(graph: ActiveGraph, background: Background) -> TripleSet:
    """Entail one graph. Raises `EntailmentTooLarge`."""
    if background.entailment is Entailment.NONE:
        return TripleSet(graph.triples)
    schema = schema_of(background)
    reached = entail(graph.triples, schema, False)
    closed = entail(reached, schema, True) if background.entailment is Entailment.RDFS else reached
    return TripleSet(closed, Classes(Statements(reached, schema), schema), len(graph.triples))


def schema_of(background: Background) -> Schema[Term]:
    return read_schema(background.taxonomy, background.broader)


@lru_cache(maxsize=4)
def read_schema(taxonomy: bytes, broader: bool) -> Schema[Term]:
    """Read a taxonomy as a schema over RDF terms."""
    upward: dict[Term, list[tuple[Term, Term, Term]]] = {}
    for quad in parse(taxonomy, format=RdfFormat.N_TRIPLES):
        upward.setdefault(quad.subject, []).append((quad.subject, quad.predicate, quad.object))
    classes = frozenset(_node(text) for text in restore_taxonomy(taxonomy, broader).classes)
    words = Words[Term](_node(TYPE), _node(SUB_CLASS), _node(SUB_PROPERTY), _node(MEMBER), _node(BROADER))
    return Schema(words, upward, classes, broader, _is_iri, lambda term: is_numbered(str(term)))


def _node(text: str) -> NamedNode:
    return NamedNode(text[1:-1])


def _is_iri(term: Term) -> bool:
    return isinstance(term, NamedNode)
