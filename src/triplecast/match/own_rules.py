"""Views that bring rules of their own (schema triples, semantics 6.1), one at a time, by `taxonomy.entail`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

import numpy as np

from triplecast.kernels.layout import I32
from triplecast.kernels.resolve import Terms
from triplecast.match.closures import NUMBERED_TERM, Closures, walk
from triplecast.model.entailment import FUNCTION_MARKS, Entailment, EntailmentMode, Mark
from triplecast.taxonomy import TRIPLES_LIMIT, Classes, EntailmentTooLarge, Schema, entail
from triplecast.terms.values import ValueClass

_Triple: TypeAlias = tuple[int, int, int]


def entail_alone(terms: Terms, closures: Closures, graph: I32, reading: EntailmentMode) -> I32:
    """[·, 3] everything the reading has for the graph of one view. A node is the number of a term of the closures, or
    ``-1 - t`` for term t of the batch if they lack it. Raises `EntailmentTooLarge`."""
    schema = _schema(terms, closures)
    rdfs = reading.entailment is Entailment.RDFS
    stated = entail([(subject, predicate, end) for subject, predicate, end in graph.tolist()], schema, False)
    closed = entail(stated, schema, True) if rdfs else stated
    found = dict.fromkeys(closed)
    if reading.marked:
        for mark in chain(_function_marks(closures, schema, stated), _path_marks(closures, schema, closed, rdfs)):
            found[mark] = None
            if len(found) > TRIPLES_LIMIT:
                raise EntailmentTooLarge
    return np.array(list(found), np.int32).reshape(-1, 3)


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


def _function_marks(closures: Closures, schema: Schema[int], stated: Sequence[_Triple]) -> Iterator[_Triple]:
    classes = Classes(stated, schema)
    for mark in FUNCTION_MARKS.values():
        for other in sorted(closures.wanted[mark]):
            for node in classes.holders(mark, other):
                yield node, closures.marks[mark], other


def _path_marks(closures: Closures, schema: Schema[int], closed: Sequence[_Triple], rdfs: bool) -> Iterator[_Triple]:
    """From each class that is wanted downwards: what does not reach one is not walked."""
    nodes = {node for triple in closed for node in (triple[0], triple[2])}
    words = schema.words
    for mark, word, whole in (
        (Mark.CLASS_PATH, words.sub_class, rdfs),
        (Mark.PROPERTY_PATH, words.sub_property, rdfs),
        (Mark.BROADER_PATH, words.broader, False),
    ):
        down = _edges_down(closed, word) if closures.wanted[mark] else {}
        for other in sorted(closures.wanted[mark]):
            below = (other, *down.get(other, ())) if whole else walk(down, other)
            for node in below:
                if node in nodes:
                    yield node, closures.marks[mark], other


def _edges_down(triples: Sequence[_Triple], word: int) -> Mapping[int, Sequence[int]]:
    edges: dict[int, list[int]] = {}
    for subject, predicate, end in triples:
        if predicate == word:
            edges.setdefault(end, []).append(subject)
    return edges
