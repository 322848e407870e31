"""Plain views to the views of a reading: with the taxonomy's triples, their closure, and the marks that keys ask for.

Every rule is applied once, to the whole batch, in an order in which no rule makes premises of an earlier one: the
taxonomy has no cycles, and graphs or taxonomies for which that is not enough go through `match.own_rules`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I64
from triplecast.kernels.resolve import Terms, resolve
from triplecast.match.closures import NUMBERED_TERM, Closures, Lists
from triplecast.match.facts import Facts, join_facts
from triplecast.match.own_rules import entail_alone
from triplecast.match.views import Views
from triplecast.model.entailment import FUNCTION_MARKS, PATH_MARKS, Entailment, Reading
from triplecast.taxonomy import TRIPLES_LIMIT
from triplecast.taxonomy.taxonomy import NUMBERED
from triplecast.terms.values import ValueClass

DENSE_LIMIT = 1 << 21
"""Cells of a table of views and terms up to which it is made; beyond, what is in it is sorted and searched."""


class EntailedViews(NamedTuple):
    views: Views
    lost: frozenset[int]
    """Publications (index into the batch) with more than `TRIPLES_LIMIT` triples: their views are empty."""


def entail_views(views: Views, closures: Closures, reading: Reading) -> EntailedViews:
    """The same views, in the same order, with everything that the reading has."""
    rdfs = reading.entailment is Entailment.RDFS
    batch = _Batch(views, closures)
    graph = batch.graph()
    alone = batch.views_with_rules(graph, rdfs)
    growth = _Growth(len(views.mode))
    parts = [graph]
    numbered = batch.numbered_predicates(graph) if rdfs else np.zeros(len(graph.view), np.bool_)
    if alone.any():
        for view in np.flatnonzero(alone).tolist():
            parts.append(entail_alone(views.terms, closures, graph.of_view(view), reading, growth.lose))
        shared = ~alone[graph.view]
        graph, numbered = graph.keep(shared), numbered[shared]
    reached = batch.reach(graph)
    stated = join_facts([graph, _taxonomy_facts(closures, reached, growth)])
    parts.append(stated)
    if reading.marked:
        parts += _function_marks(closures, stated, reached, batch, growth)
    if rdfs:
        if numbered.any():
            members = graph.keep(numbered)
            graph = join_facts([graph, members._replace(predicate=np.full(len(members.view), closures.words.member))])
            reached = batch.reach(graph)
            stated = join_facts([graph, _taxonomy_facts(closures, reached, growth)])
            parts.append(stated)
        parts += _close(closures, stated, reached, growth)
    if reading.marked:
        parts += _path_marks(closures, reached, growth)
    facts = join_facts(parts)
    if growth.lost.any():
        facts = facts.keep(~growth.lost[facts.view])
    lost = frozenset(views.publication[growth.lost].tolist())
    return EntailedViews(batch.with_facts(facts), lost)


class Reached(NamedTuple):
    """Which terms of the closures each view has, sorted by (view, term), each once."""

    view: I64
    term: I64


class _Growth:
    """Counts what each view grows by, and gives up those that pass `TRIPLES_LIMIT`."""

    def __init__(self, views: int) -> None:
        self._sizes = np.zeros(views, np.int64)
        self.lost = np.zeros(views, np.bool_)

    def lose(self, view: int) -> None:
        self.lost[view] = True

    def expand(self, lists: Lists, view: I64, term: I64) -> tuple[I64, I64]:
        """(index of the row, item) for every item of the list of each row's term."""
        counts = lists.offsets[term + 1] - lists.offsets[term]
        rows = np.arange(len(term))
        self._sizes += np.bincount(view, weights=counts, minlength=len(self._sizes)).astype(np.int64)
        if (self._sizes > TRIPLES_LIMIT).any():
            self.lost |= self._sizes > TRIPLES_LIMIT
            rows = rows[~self.lost[view]]
            counts = counts[rows]
        return _expand(lists, term[rows], counts, rows)


def _expand(lists: Lists, term: I64, counts: I64, rows: I64) -> tuple[I64, I64]:
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    at = np.arange(total) + np.repeat(lists.offsets[term] - (ends - counts), counts)
    return np.repeat(rows, counts), lists.items[at]


def _taxonomy_facts(closures: Closures, reached: Reached, growth: _Growth) -> Facts:
    """The taxonomy's triples whose subjects a view has."""
    row, triple = growth.expand(closures.own, reached.view, reached.term)
    return Facts(reached.view[row], closures.subject[triple], closures.predicate[triple], closures.end[triple])


def _function_marks(closures: Closures, stated: Facts, reached: Reached, batch: _Batch, growth: _Growth) -> list[Facts]:
    """``tc:`` functions: of each stated type of a node, and of each class as its own type."""
    wanted = [mark for mark in FUNCTION_MARKS.values() if mark in closures.wanted]
    if not wanted:
        return []
    typed = stated.keep((stated.predicate == closures.words.type) & (stated.object >= 0))
    known = closures.classes[reached.term]
    nodes = batch.unique(
        np.concatenate([reached.view[known], typed.view]), np.concatenate([reached.term[known], typed.object])
    )
    view = np.concatenate([typed.view, nodes.view])
    node = np.concatenate([typed.subject, nodes.term])
    types = np.concatenate([typed.object, nodes.term])
    found = []
    for mark in wanted:
        row, other = growth.expand(closures.wanted[mark], view, types)
        found.append(Facts(view[row], node[row], np.full(len(row), closures.marks[mark]), other))
    return found


def _path_marks(closures: Closures, reached: Reached, growth: _Growth) -> list[Facts]:
    """Paths along the taxonomy, those without a step too."""
    found = []
    for mark in PATH_MARKS.values():
        if mark in closures.wanted:
            row, other = growth.expand(closures.wanted[mark], reached.view, reached.term)
            found.append(Facts(reached.view[row], reached.term[row], np.full(len(row), closures.marks[mark]), other))
    return found


def _close(closures: Closures, stated: Facts, reached: Reached, growth: _Growth) -> list[Facts]:
    """What follows by rdfs11 and rdfs5, rdfs7, rdfs9, and rdfs7 again for what rdfs9 gave."""
    words = closures.words
    found: list[Facts] = []
    for lists, word in ((closures.above_class, words.sub_class), (closures.above_property, words.sub_property)):
        row, other = growth.expand(lists, reached.view, reached.term)
        found.append(Facts(reached.view[row], reached.term[row], np.full(len(row), word), other))
    found.append(_raise_predicates(closures, join_facts([stated, *found]), growth))
    facts = join_facts([stated, *found])
    typed = facts.keep((facts.predicate == words.type) & (facts.object >= 0))
    row, other = growth.expand(closures.above_class, typed.view, typed.object)
    higher = Facts(typed.view[row], typed.subject[row], typed.predicate[row], other)
    return [*found, higher, _raise_predicates(closures, higher, growth)]


def _raise_predicates(closures: Closures, facts: Facts, growth: _Growth) -> Facts:
    """rdfs7."""
    known = facts.keep(facts.predicate >= 0)
    row, other = growth.expand(closures.above_property, known.view, known.predicate)
    return Facts(known.view[row], known.subject[row], other, known.object[row])


class _Batch:
    """Views beside closures: between the terms of one and of the other."""

    def __init__(self, views: Views, closures: Closures) -> None:
        self.views = views
        self._closures = closures
        self._ids = resolve(closures.dictionary, views.terms).astype(np.int64)
        self._count = len(views.mode)

    def graph(self) -> Facts:
        """The triples of the views."""
        nodes = np.where(self._ids >= 0, self._ids, -1 - np.arange(len(self._ids)))[self.views.triples]
        view = np.repeat(np.arange(self._count), np.diff(self.views.offsets))
        return Facts(view, nodes[:, 0], nodes[:, 1], nodes[:, 2])

    def views_with_rules(self, graph: Facts, rdfs: bool) -> NDArray[np.bool_]:
        """[V] whose own triples say something of classes or properties, or all where the taxonomy is odd."""
        if rdfs and self._closures.odd:
            return np.ones(self._count, np.bool_)
        words = self._closures.words
        found = np.zeros(self._count, np.bool_)
        found[graph.view[np.isin(graph.predicate, (words.sub_class, words.sub_property, words.broader))]] = True
        return found

    def numbered_predicates(self, graph: Facts) -> NDArray[np.bool_]:
        """[T] whether the predicate is ``rdf:_1``, ``rdf:_2``, …."""
        terms = self.views.terms
        start = np.frombuffer(NUMBERED.encode(), np.uint8)
        used = np.unique(self.views.triples[:, 1])
        used = used[(terms.length[used] > len(start) + 1) & (terms.value_class[used] == ValueClass.IRI)]
        same = (terms.text[terms.start[used][:, None] + np.arange(len(start))] == start).all(axis=1)
        found = [term for term in used[same].tolist() if NUMBERED_TERM.fullmatch(_text(terms, term))]
        return np.isin(self.views.triples[:, 1], np.array(found, np.int64))

    def unique(self, view: I64, term: I64) -> Reached:
        codes = view * len(self._closures) + term
        size = self._count * len(self._closures)
        if size <= DENSE_LIMIT:
            present = np.zeros(size, np.bool_)
            present[codes] = True
            codes = np.flatnonzero(present)
        else:
            codes = np.unique(codes)
        return Reached(codes // len(self._closures), codes % len(self._closures))

    def reach(self, graph: Facts) -> Reached:
        """What the graphs have, and what the taxonomy names of it."""
        nodes = np.concatenate([graph.subject, graph.predicate, graph.object])
        known = nodes >= 0
        seeds = self.unique(np.tile(graph.view, 3)[known], nodes[known])
        lists = self._closures.reached
        counts = lists.offsets[seeds.term + 1] - lists.offsets[seeds.term]
        row, term = _expand(lists, seeds.term, counts, np.arange(len(seeds.term)))
        return self.unique(seeds.view[row], term)

    def with_facts(self, facts: Facts) -> Views:
        """Views of these facts; terms that a publication lacks are added behind its own."""
        views, closures = self.views, self._closures
        first, own = views.spans[:, 0], views.spans[:, 1]
        row_view = np.repeat(np.arange(self._count), own)
        old = np.arange(len(row_view)) + np.repeat(first - (np.cumsum(own) - own), own)
        nodes = np.concatenate([facts.subject, facts.predicate, facts.object])
        known = nodes >= 0
        needed = self.unique(np.tile(facts.view, 3)[known], nodes[known])
        place = _Places(self._count, len(closures))
        here = self._ids[old]
        place.put(row_view[here >= 0], here[here >= 0], (old - first[row_view])[here >= 0])
        missing = place.get(needed.view, needed.term) < 0
        added = Reached(needed.view[missing], needed.term[missing])
        new = np.bincount(added.view, minlength=self._count)
        behind = np.arange(len(added.view)) - np.repeat(np.cumsum(new) - new, new)
        place.put(added.view, added.term, own[added.view] + behind)
        base = np.cumsum(own + new) - (own + new)
        source = np.empty(len(old) + len(added.view), np.int64)
        source[base[row_view] + old - first[row_view]] = old
        source[base[added.view] + own[added.view] + behind] = len(self._ids) + added.term
        triples, offsets = _sort_triples(self._rows(facts, place, base, first), base, int((own + new).max(initial=1)))
        spans = np.stack([base, own + new], axis=1)
        terms, values = _joined_terms(views, closures, source)
        return Views(views.publication, views.mode, offsets, spans, triples, terms, values)

    def _rows(self, facts: Facts, place: _Places, base: I64, first: I64) -> I64:
        """[·, 3] the rows of the facts' terms."""
        rows = np.empty((len(facts.view), 3), np.int64)
        for column, node in enumerate((facts.subject, facts.predicate, facts.object)):
            known = node >= 0
            rows[known, column] = place.get(facts.view[known], node[known])
            rows[~known, column] = -1 - node[~known] - first[facts.view[~known]]
        return rows + base[facts.view][:, None]


class _Places:
    """A number for some pairs of a view and a term, -1 for others."""

    def __init__(self, views: int, terms: int) -> None:
        self._terms = terms
        self._dense = np.full(views * terms, -1, np.int32) if views * terms <= DENSE_LIMIT else None
        self._codes, self._numbers = np.zeros(0, np.int64), np.zeros(0, np.int64)

    def put(self, view: I64, term: I64, number: I64) -> None:
        codes = view * self._terms + term
        if self._dense is not None:
            self._dense[codes] = number
            return
        codes, numbers = np.concatenate([self._codes, codes]), np.concatenate([self._numbers, number])
        order = np.argsort(codes, kind="stable")
        self._codes, self._numbers = codes[order], numbers[order]

    def get(self, view: I64, term: I64) -> I64:
        codes = view * self._terms + term
        if self._dense is not None:
            return np.asarray(self._dense[codes], np.int64)
        if not len(self._codes):
            return np.full(len(codes), -1, np.int64)
        at = np.minimum(np.searchsorted(self._codes, codes), len(self._codes) - 1)
        return np.where(self._codes[at] == codes, self._numbers[at], -1)


def _sort_triples(rows: I64, base: I64, largest: int) -> tuple[NDArray[np.int32], I64]:
    """(triples by view, subject, predicate and object, each once; where each view begins); `largest` is the most terms
    of a view. Rows of later views are larger."""
    if not len(rows):
        return np.zeros((0, 3), np.int32), np.zeros(len(base) + 1, np.int64)
    if int(rows.max()) < 2**62 // largest**2:
        start = base[np.searchsorted(base, rows[:, 0], side="right") - 1]
        codes = np.unique((rows[:, 0] * largest + rows[:, 1] - start) * largest + rows[:, 2] - start)
        subject, rest = np.divmod(codes, largest**2)
        start = base[np.searchsorted(base, subject, side="right") - 1]
        rows = np.stack([subject, rest // largest + start, rest % largest + start], axis=1)
    else:
        rows = np.unique(rows, axis=0)
    return rows.astype(np.int32), np.concatenate([np.searchsorted(rows[:, 0], base), [len(rows)]])


def _joined_terms(views: Views, closures: Closures, source: I64) -> tuple[Terms, NDArray[np.float64]]:
    """Rows of the views' terms followed by the closures'."""
    dictionary, terms = closures.dictionary, views.terms
    count = len(closures)
    size = len(terms.text)
    values = np.zeros((count, 3), np.float64)
    values[:, 0] = ValueClass.IRI
    return Terms(
        np.concatenate([terms.text, dictionary.text]),
        np.concatenate([terms.start, dictionary.offsets[:-1] + size])[source],
        np.concatenate([terms.length, np.diff(dictionary.offsets).astype(np.int32)])[source],
        np.concatenate([terms.hashes, dictionary.hashes])[source],
        np.concatenate([terms.value_class, np.full(count, ValueClass.IRI, np.uint8)])[source],
    ), np.concatenate([views.values, values])[source]


def _text(terms: Terms, term: int) -> str:
    start = terms.start[term]
    return terms.text[start : start + terms.length[term]].tobytes().decode()
