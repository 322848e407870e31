"""Views that bring rules of their own (schema triples, semantics 6.1), one at a time, by `taxonomy.entail`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from triplecast.kernels.layout import I32
from triplecast.kernels.resolve import Terms
from triplecast.match.closures import NUMBERED_TERM, Closures, walk
from triplecast.model.entailment import FUNCTION_MARKS, Entailment, Mark, Reading
from triplecast.taxonomy import Classes, Schema, entail
from triplecast.terms.values import ValueClass

_Triple: TypeAlias = tuple[int, int, int]


def entail_alone(terms: Terms, closures: Closures, graph: I32, reading: Reading) -> I32:
    """[·, 3] everything the reading has for the graph of one view. A node is the number of a term of the closures, or
    ``-1 - t`` for term t of the batch if they lack it. Raises `EntailmentTooLarge`."""
    schema = _schema(terms, closures)
    stated = entail([(subject, predicate, end) for subject, predicate, end in graph.tolist()], schema, False)
    closed = entail(stated, schema, True) if reading.entailment is Entailment.RDFS else stated
    found = [*closed, *_marks(closures, schema, stated, closed)] if reading.marked else closed
    return np.array(found, np.int32).reshape(-1, 3)


def _schema(terms: Terms, closures: Closures) -> Schema[int]:
    """The closures' schema, for terms of the batch too."""
    known = closures.schema

    def text(node: int) -> str:
        start = terms.start[-1 - node]
        return terms.text[start : start + terms.length[-1 - node]].tobytes().decode()

    return replace(
        known,
        is_iri=lambda node: known.is_iri(node) if node >= 0 else bool(terms.value_class[-1 - node] == ValueClass.IRI),
        is_numbered=lambda node: (
            known.is_numbered(node) if node >= 0 else NUMBERED_TERM.fullmatch(text(node)) is not None
        ),
    )


def _marks(
    closures: Closures, schema: Schema[int], stated: Sequence[_Triple], closed: Sequence[_Triple]
) -> Iterator[_Triple]:
    classes = Classes(stated, schema)
    for mark in FUNCTION_MARKS.values():
        wanted = closures.wanted[mark]
        if wanted:
            for node in dict.fromkeys(term for triple in stated for term in triple):
                for other in _classes_of(mark, classes, node, wanted):
                    yield node, closures.marks[mark], other
    words = {
        Mark.CLASS_PATH: schema.words.sub_class,
        Mark.PROPERTY_PATH: schema.words.sub_property,
        Mark.BROADER_PATH: schema.words.broader,
    }
    for mark, word in words.items():
        wanted = closures.wanted[mark]
        if wanted:
            edges = _edges(closed, word)
            for node in dict.fromkeys(node for triple in closed for node in (triple[0], triple[2])):
                for other in walk(edges, node):
                    if other in wanted:
                        yield node, closures.marks[mark], other


def _classes_of(mark: Mark, classes: Classes[int], node: int, wanted: frozenset[int]) -> Iterator[int]:
    types = classes.types(node)
    if mark is Mark.ANCESTOR:
        if types:
            yield from (each for each in wanted if not classes.above(each).isdisjoint(types))
    elif mark is Mark.DESCENDANT:
        for each in types:
            yield from classes.above(each) & wanted
    else:
        yield from wanted.intersection(types)


def _edges(triples: Sequence[_Triple], word: int) -> Mapping[int, Sequence[int]]:
    edges: dict[int, list[int]] = {}
    for subject, predicate, end in triples:
        if predicate == word:
            edges.setdefault(subject, []).append(end)
    return edges
