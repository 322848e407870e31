"""Plain views to the views of a reading: with the taxonomy's triples, their closure, and the marks that keys want."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.entailment import Plain, PrecomputedViews, entail_all
from triplecast.kernels.layout import F64, I32, I64, U8, VALUE_CLASS
from triplecast.kernels.resolve import Terms, resolve, take_terms
from triplecast.match.closures import NUMBERED_TERM, Closures
from triplecast.match.own_rules import entail_alone
from triplecast.match.views import Views
from triplecast.model.entailment import Entailment, EntailmentMode, Mark
from triplecast.taxonomy import EntailmentTooLarge
from triplecast.taxonomy.taxonomy import NUMBERED
from triplecast.terms.values import ValueClass


class EntailedViews(NamedTuple):
    views: Views
    lost: frozenset[int]
    """Publications (index into the batch) with more than `taxonomy.TRIPLES_LIMIT` triples: their views are empty."""
    source: I64
    """[·] of each term of the views, its row in the `Pool` they were made of."""


class Pool(NamedTuple):
    """The plain views of a batch, and rows for all terms that its entailed views may have: the batch's, then the
    closures'."""

    views: Views
    ids: I32
    """[L] the number that the closures give to each term of the batch, -1 unknown."""
    terms: Terms
    values: F64


def make_pool(views: Views, closures: Closures) -> Pool:
    dictionary, terms, known = closures.dictionary, views.terms, terms_of(closures)
    values: NDArray[np.float64] = np.zeros((len(closures), 3), np.float64)
    values[:, VALUE_CLASS] = ValueClass.IRI
    pooled = Terms(
        np.concatenate([terms.text, known.text]),
        np.concatenate([terms.start, known.start + len(terms.text)]),
        np.concatenate([terms.length, known.length]),
        np.concatenate([terms.hashes, known.hashes]),
        np.concatenate([terms.value_class, known.value_class]),
    )
    return Pool(views, resolve(dictionary, terms), pooled, np.concatenate([views.values, values]))


def terms_of(closures: Closures) -> Terms:
    """The terms of closures, by number."""
    dictionary = closures.dictionary
    lengths = np.diff(dictionary.offsets).astype(np.int32)
    kinds = np.full(len(closures), ValueClass.IRI, np.uint8)
    return Terms(dictionary.text, dictionary.offsets[:-1], lengths, dictionary.hashes, kinds)


def entail_views(pool: Pool, closures: Closures, reading: EntailmentMode, marks: Collection[Mark]) -> EntailedViews:
    """The same views, in the same order, with everything that the reading has; of marks these kinds."""
    views, ids = pool.views, pool.ids
    rdfs = reading.entailment is Entailment.RDFS
    plain = Plain(views.offsets, views.spans, views.triples, ids, _numbered(views) if rdfs else np.zeros(0, np.uint8))
    given, too_large = _entail_odd(views, closures, ids, reading)
    grown = entail_all(plain, closures.known, given, rdfs, sum(1 << mark for mark in marks))
    grown.lost[too_large] = 1
    terms, values = take_terms(pool.terms, pool.values, grown.source)
    made = Views(views.publication, views.mode, grown.offsets, grown.spans, grown.triples, terms, values)
    return EntailedViews(made, frozenset(views.publication[grown.lost == 1].tolist()), grown.source)


def _entail_odd(
    views: Views, closures: Closures, ids: I32, reading: EntailmentMode
) -> tuple[PrecomputedViews, list[int]]:
    """The views that bring rules of their own, or all where the taxonomy is odd; and those that grow beyond bounds."""
    alone = _bring_rules(views, closures, ids, reading)
    offsets = np.zeros(len(alone) + 1, np.int64)
    too_large: list[int] = []
    if not alone.any():
        return PrecomputedViews(alone, offsets, np.zeros((0, 3), np.int32)), too_large
    nodes = np.where(ids >= 0, ids, -1 - np.arange(len(ids), dtype=np.int32))
    parts = []
    for view in np.flatnonzero(alone).tolist():
        graph = nodes[views.triples[views.offsets[view] : views.offsets[view + 1]]]
        try:
            parts.append(entail_alone(views.terms, closures, graph, reading))
            offsets[view + 1] = len(parts[-1])
        except EntailmentTooLarge:
            too_large.append(view)
    return PrecomputedViews(alone, np.cumsum(offsets), np.concatenate([np.zeros((0, 3), np.int32), *parts])), too_large


def _bring_rules(views: Views, closures: Closures, ids: I32, reading: EntailmentMode) -> U8:
    """[V] 1 for views whose own triples say something of classes or properties."""
    alone = np.zeros(len(views.mode), np.uint8)
    if closures.odd and reading.entailment is Entailment.RDFS:
        alone[:] = 1
        return alone
    words = closures.schema.words
    predicates = ids[views.triples[:, 1]]
    rows = np.flatnonzero(
        (predicates == words.sub_class) | (predicates == words.sub_property) | (predicates == words.broader)
    )
    alone[np.searchsorted(views.offsets, rows, side="right") - 1] = 1
    return alone


def _numbered(views: Views) -> U8:
    """[L] 1 for ``rdf:_1``, ``rdf:_2``, …; empty where there is none."""
    terms = views.terms
    start = np.frombuffer(NUMBERED.encode(), np.uint8)
    likely = np.flatnonzero((terms.value_class == ValueClass.IRI) & (terms.length > len(start) + 1))
    likely = likely[terms.text[terms.start[likely] + len(start) - 1] == start[-1]]
    likely = likely[(terms.text[terms.start[likely][:, None] + np.arange(len(start))] == start).all(axis=1)]
    found = [term for term in likely.tolist() if NUMBERED_TERM.fullmatch(_text(terms, term))]
    if not found:
        return np.zeros(0, np.uint8)
    numbered = np.zeros(len(terms.start), np.uint8)
    numbered[found] = 1
    return numbered


def _text(terms: Terms, term: int) -> str:
    start = terms.start[term]
    return terms.text[start : start + terms.length[term]].tobytes().decode()
