"""Plain views to those of an entailment mode: with the taxonomy's triples, their closure, and the marks that keys want.

Views that bring schema triples of their own (semantics 6.1) are entailed one at a time, by `taxonomy.entail`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Segment
from triplecast.kernels.entailment import Plain, PrecomputedViews, entail_all
from triplecast.kernels.layout import F64, I32, I64, U8, VALUE_CLASS
from triplecast.kernels.resolve import Terms, resolve, take_terms
from triplecast.kernels.views import Views
from triplecast.match.closures import (
    NUMBERED_TERM,
    Closures,
    Ground,
    Wanted,
    build_closures,
    lay_ground,
    walk,
    wanted_of,
)
from triplecast.match.views import find_identity
from triplecast.model.entailment import FUNCTION_MARKS, Entailment, EntailmentMode, Mark
from triplecast.model.match import Pairs
from triplecast.taxonomy import (
    TRIPLES_LIMIT,
    Classes,
    EntailmentTooLarge,
    Schema,
    Statements,
    Taxonomy,
    entail,
    holders,
)
from triplecast.taxonomy.taxonomy import NUMBERED
from triplecast.terms.values import ValueClass

CLOSURES_KEPT = 2
"""Taxonomies whose closures are kept: the one that holds and, around a change, the one before."""
_Triple: TypeAlias = tuple[int, int, int]
_PLAIN = np.zeros(0, np.int64)


class ReadViews(NamedTuple):
    """The views that a segment reads."""

    views: Views
    identity: I32
    """[·] the id that its dictionary gives to each of their terms, -1 unknown."""
    source: I64 = _PLAIN
    """[·] of each of their terms, its row in the `Pool` they were made of; empty for plain views."""
    too_large: frozenset[int] = frozenset()
    """Publications (index into the batch) with more than `taxonomy.TRIPLES_LIMIT` triples: their views are empty."""


class EntailedViews(NamedTuple):
    """The views of one entailment mode; as `ReadViews` has them."""

    views: Views
    source: I64
    too_large: frozenset[int]


def all_pairs(publications: Collection[int], segment: Segment) -> Pairs:
    """Each of the publications with each subscription of a segment, by its first member."""
    firsts = segment.firsts if publications else np.zeros(0, np.int32)
    ordered = np.array(sorted(publications), np.int32)
    return Pairs(np.repeat(ordered, len(firsts)), np.tile(firsts, len(ordered)))


class _Kept(NamedTuple):
    """The closures of a taxonomy, for the marks that segments wanted so far."""

    taxonomy: Taxonomy
    wanted: Wanted
    ground: Ground
    closures: Closures
    identities: WeakKeyDictionary[Segment, I32]
    """The ids that a segment's dictionary gives to the terms of the closures."""

    def identity(self, segment: Segment) -> I32:
        found = self.identities.get(segment)
        if found is None:
            found = self.identities[segment] = find_identity(segment, terms_of(self.closures))
        return found


class ClosureCache:
    """Keeps closures from batch to batch, and grows them when new segments want more marks."""

    def __init__(self) -> None:
        self._wanted: WeakKeyDictionary[Segment, Wanted] = WeakKeyDictionary()
        self._kept: list[_Kept] = []

    def entail(self, segments: Sequence[Segment], taxonomy: Taxonomy, plain: Views) -> EntailedBatch | None:
        """Return the views of a batch, whose plain ones are given, for the segments that read others; None without
        such segments."""
        entailed = [segment for segment in segments if segment.mode is not EntailmentMode.PLAIN]
        if not entailed:
            return None
        kept = self._closures(entailed, taxonomy)
        marks: defaultdict[EntailmentMode, set[Mark]] = defaultdict(set)
        for segment in entailed:
            marks[segment.mode].update(mark for mark, _ in self._wanted[segment])
        return EntailedBatch(plain, kept, marks)

    def _closures(self, segments: Sequence[Segment], taxonomy: Taxonomy) -> _Kept:
        wanted: Wanted = frozenset()
        for segment in segments:
            own = self._wanted.get(segment)
            if own is None:
                own = self._wanted[segment] = wanted_of(segment)
            if not own <= wanted:
                wanted |= own
        for kept in self._kept:
            if kept.taxonomy is taxonomy and wanted <= kept.wanted:
                return kept
        others = [kept for kept in self._kept if kept.taxonomy is not taxonomy]
        ground = next((kept.ground for kept in self._kept if kept.taxonomy is taxonomy), None) or lay_ground(taxonomy)
        made = _Kept(taxonomy, wanted, ground, build_closures(ground, wanted), WeakKeyDictionary())
        self._kept = [made, *others][:CLOSURES_KEPT]
        return made


class EntailedBatch:
    """The views of one batch by entailment mode, each made when it is first needed."""

    def __init__(self, plain: Views, kept: _Kept, marks: Mapping[EntailmentMode, Collection[Mark]]) -> None:
        """`marks`: the kinds that the segments of each mode want."""
        self._kept = kept
        self._marks = marks
        self._pool = make_pool(plain, kept.closures)
        self._made: dict[EntailmentMode, EntailedViews] = {}

    def read(self, segment: Segment, identity: I32) -> ReadViews:
        """Return what a segment reads; `identity`: the ids that its dictionary gives terms of the plain views."""
        mode = segment.mode
        made = self._made.get(mode)
        if made is None:
            made = self._made[mode] = entail_views(self._pool, self._kept.closures, mode, self._marks[mode])
        whole = np.concatenate([identity, self._kept.identity(segment)])
        return ReadViews(made.views, whole[made.source], made.source, made.too_large)


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


def entail_views(pool: Pool, closures: Closures, mode: EntailmentMode, marks: Collection[Mark]) -> EntailedViews:
    """The same views, in the same order, with everything that the mode has; of marks these kinds."""
    views, ids = pool.views, pool.ids
    rdfs = mode.entailment is Entailment.RDFS
    plain = Plain(views.offsets, views.spans, views.triples, ids, _numbered(views) if rdfs else np.zeros(0, np.uint8))
    given, too_large = _entail_odd(views, closures, ids, mode)
    grown = entail_all(plain, closures.known, given, rdfs, sum(1 << mark for mark in marks))
    grown.lost[too_large] = 1
    terms, values = take_terms(pool.terms, pool.values, grown.source)
    made = Views(views.publication, views.mode, grown.offsets, grown.spans, grown.triples, terms, values)
    return EntailedViews(made, grown.source, frozenset(views.publication[grown.lost == 1].tolist()))


def _entail_odd(views: Views, closures: Closures, ids: I32, mode: EntailmentMode) -> tuple[PrecomputedViews, list[int]]:
    """The views that bring rules of their own, or all where the taxonomy is odd; and those that grow beyond bounds."""
    alone = _bring_rules(views, closures, ids, mode)
    offsets = np.zeros(len(alone) + 1, np.int64)
    too_large: list[int] = []
    if not alone.any():
        return PrecomputedViews(alone, offsets, np.zeros((0, 3), np.int32)), too_large
    nodes = np.where(ids >= 0, ids, -1 - np.arange(len(ids), dtype=np.int32))
    parts = []
    for view in np.flatnonzero(alone).tolist():
        graph = nodes[views.triples[views.offsets[view] : views.offsets[view + 1]]]
        try:
            parts.append(entail_alone(views.terms, closures, graph, mode))
            offsets[view + 1] = len(parts[-1])
        except EntailmentTooLarge:
            too_large.append(view)
    return PrecomputedViews(alone, np.cumsum(offsets), np.concatenate([np.zeros((0, 3), np.int32), *parts])), too_large


def _bring_rules(views: Views, closures: Closures, ids: I32, mode: EntailmentMode) -> U8:
    """[V] 1 for views whose own triples say something of classes or properties."""
    alone = np.zeros(len(views.mode), np.uint8)
    if closures.odd and mode.entailment is Entailment.RDFS:
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


def entail_alone(terms: Terms, closures: Closures, graph: I32, mode: EntailmentMode) -> I32:
    """[·, 3] everything the mode has for the graph of one view. A node is the number of a term of the closures, or
    ``-1 - t`` for term t of the batch if they lack it. Raises `EntailmentTooLarge`."""
    schema = _schema(terms, closures)
    rdfs = mode.entailment is Entailment.RDFS
    stated = entail([(subject, predicate, end) for subject, predicate, end in graph.tolist()], schema, False)
    closed = entail(stated, schema, True) if rdfs else stated
    found = dict.fromkeys(closed)
    if mode.marked:
        for mark in chain(_function_marks(closures, schema, stated), _path_marks(closures, schema, closed, rdfs)):
            found[mark] = None
            if len(found) > TRIPLES_LIMIT:
                raise EntailmentTooLarge
    return np.array(list(found), np.int32).reshape(-1, 3)


def _schema(terms: Terms, closures: Closures) -> Schema[int]:
    """The closures' schema, for terms of the batch too."""
    known = closures.schema
    return replace(
        known,
        is_iri=lambda node: known.is_iri(node) if node >= 0 else bool(terms.value_class[-1 - node] == ValueClass.IRI),
        is_numbered=lambda node: (
            known.is_numbered(node) if node >= 0 else NUMBERED_TERM.fullmatch(_text(terms, -1 - node)) is not None
        ),
    )


def _function_marks(closures: Closures, schema: Schema[int], stated: Sequence[_Triple]) -> Iterator[_Triple]:
    statements = Statements(stated, schema)
    classes = Classes(statements, schema)
    for mark in FUNCTION_MARKS.values():
        for other in sorted(closures.wanted[mark]):
            for node in holders(statements, classes, mark, other):
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
