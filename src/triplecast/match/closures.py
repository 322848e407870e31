"""A taxonomy as flat arrays, with its closures: `Ground` once for a taxonomy, `Closures` for it and the marks that
subscriptions want."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import NamedTuple, TypeAlias

import numpy as np

from triplecast.index import Segment
from triplecast.kernels.build import fill_term_table
from triplecast.kernels.facts import LIST_REACHED, WORD_MEMBER, Known
from triplecast.kernels.hashing import hash_terms
from triplecast.kernels.layout import I32, I64, U8, Dictionary
from triplecast.kernels.words import pad
from triplecast.model.entailment import Mark
from triplecast.taxonomy import Schema, Taxonomy, Words
from triplecast.taxonomy.classes import reach
from triplecast.taxonomy.taxonomy import BROADER, MEMBER, NUMBERED, SUB_CLASS, SUB_PROPERTY, TYPE, TermText

NUMBERED_TERM = re.compile(re.escape(NUMBERED) + "[1-9][0-9]*>")

Wanted: TypeAlias = frozenset[tuple[Mark, TermText]]
"""Marks with the classes that keys of the index name with them. No other mark is put into a view."""
Edges: TypeAlias = Mapping[int, Sequence[int]]
_MARKS = {str(mark.predicate).encode(): mark for mark in Mark}


@dataclass(frozen=True, slots=True, eq=False)
class Closures:
    """N terms: those of the taxonomy, the words of its rules, the marks, and the classes that marks are wanted of."""

    dictionary: Dictionary
    """Finds their numbers."""
    known: Known
    """What the kernel needs."""
    marks: Mapping[Mark, int]
    """The number of each mark's predicate."""
    wanted: Mapping[Mark, frozenset[int]]
    schema: Schema[int]
    """For graphs with rules of their own; its two questions are answered for terms of the taxonomy only."""
    odd: bool
    """Something is under the words of the rules themselves: only `taxonomy.entail` gets that right."""

    def __len__(self) -> int:
        return len(self.known.classes)


@dataclass(frozen=True, slots=True, eq=False)
class Ground:
    """What closures of a taxonomy hold whatever marks are wanted: made once for a taxonomy."""

    taxonomy: Taxonomy
    terms: tuple[TermText, ...]
    """The words of the rules, the marks, and the terms of the taxonomy."""
    encoded: Sequence[bytes]
    triples: I32
    """[T, 3]"""
    classes: U8
    lists: tuple[_Lists, ...]
    """The kinds of lists before those of the marks."""
    order: Edges
    """From each class to those directly above it."""
    down: Mapping[Mark, Edges]
    """For marks that are wanted of what is below: from each term to those directly under it."""
    schema: Schema[int]


class _Lists(NamedTuple):
    """Lists of one kind."""

    items: I32
    counts: I64
    """By term; those behind the last one have none."""


def lay_ground(taxonomy: Taxonomy) -> Ground:
    """Equal taxonomies give equal arrays."""
    words = (TYPE, SUB_CLASS, SUB_PROPERTY, MEMBER, BROADER)
    predicates = (str(mark.predicate) for mark in Mark)
    terms = tuple(dict.fromkeys((*words, *predicates, *taxonomy.terms)))
    number = {text: place for place, text in enumerate(terms)}
    triples = np.array([[number[term] for term in triple] for triple in taxonomy.triples], np.int32).reshape(-1, 3)
    classes = np.zeros(len(terms), np.uint8)
    classes[[number[text] for text in taxonomy.classes]] = 1
    upward: dict[int, list[tuple[int, int, int]]] = {}
    for subject, predicate, end in triples.tolist():
        upward.setdefault(subject, []).append((subject, predicate, end))
    schema = Schema(
        Words(*(number[word] for word in words)),
        upward,
        frozenset(np.flatnonzero(classes).tolist()),
        taxonomy.broader,
        lambda term: True,
        lambda term: False,
    )
    order = _edges(triples, *schema.orders)
    down = {
        Mark.DESCENDANT: _turned(order),
        Mark.CLASS_PATH: _turned(_edges(triples, schema.words.sub_class)),
        Mark.PROPERTY_PATH: _turned(_edges(triples, schema.words.sub_property)),
        Mark.BROADER_PATH: _turned(_edges(triples, schema.words.broader)),
    }
    lists = tuple(_listed(kind, len(terms)) for kind in _ground_lists(triples, schema, len(terms)))
    encoded = [term.encode() for term in terms]
    return Ground(taxonomy, terms, encoded, triples, classes, lists, order, down, schema)


def build_closures(ground: Ground, wanted: Wanted) -> Closures:
    """Equal arguments give equal arrays. In time and room that go with the terms and with what is wanted of them."""
    own = {text: place for place, text in enumerate(ground.terms)}
    asked = [text for text in sorted({text for _, text in wanted}) if text not in own]
    terms = (*ground.terms, *asked)
    own.update(zip(asked, range(len(ground.terms), len(terms)), strict=True))
    classes_of = {mark: frozenset(own[text] for each, text in wanted if each is mark) for mark in Mark}
    lists, offsets = _join_lists(
        (*_with_asked(ground, len(asked)), *_marks(ground, classes_of, len(terms))), len(terms)
    )
    schema = replace(
        ground.schema,
        is_iri=lambda term: terms[term][0] == "<",
        is_numbered=lambda term: NUMBERED_TERM.fullmatch(terms[term]) is not None,
    )
    marks = {mark: own[str(mark.predicate)] for mark in Mark}
    known = Known(
        np.array(schema.words[: WORD_MEMBER + 1], np.int64),
        lists,
        offsets,
        np.ascontiguousarray(ground.triples[:, 1:]),
        np.concatenate([ground.classes, np.zeros(len(asked), np.uint8)]),
        np.array([marks[mark] for mark in Mark], np.int32),
    )
    dictionary = _dictionary([*ground.encoded, *(text.encode() for text in asked)])
    return Closures(dictionary, known, marks, classes_of, schema, _is_odd(ground.taxonomy))


def _dictionary(encoded: Sequence[bytes]) -> Dictionary:
    hashes = hash_terms(encoded)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(term) for term in encoded], dtype=np.int64)])
    size = 1 << max(3, int(2 * len(encoded) - 1).bit_length())
    return Dictionary(pad(list(encoded)), offsets, hashes, fill_term_table(hashes, size), np.zeros(0, np.int32))


def _edges(triples: I32, *predicates: int) -> Edges:
    edges: dict[int, list[int]] = {}
    for subject, predicate, end in triples.tolist():
        if predicate in predicates:
            edges.setdefault(subject, []).append(end)
    return edges


def _turned(edges: Edges) -> Edges:
    turned: dict[int, list[int]] = {}
    for start, ends in edges.items():
        for end in ends:
            turned.setdefault(end, []).append(start)
    return turned


def walk(edges: Edges, start: int) -> list[int]:
    """Return `start` and all that is reached from it."""
    return reach(start, lambda here: edges.get(here, ()))


def walk_all(edges: Edges) -> Mapping[int, list[int]]:
    """`walk` of every term of the edges, in another order behind the first. What a term reaches is joined of what those
    next to it reach; only in a cycle it is walked."""
    done: dict[int, list[int]] = {}
    begun: set[int] = set()
    for start in edges:
        waiting = [start]
        while waiting:
            here = waiting[-1]
            ends = edges.get(here, ())
            if here not in done and here not in begun:
                begun.add(here)
                waiting.extend(end for end in ends if end not in done and end not in begun)
                continue
            waiting.pop()
            if here not in done:
                whole = all(end in done for end in ends)
                joined = chain((here,), *(done[end] for end in ends)) if whole else walk(edges, here)
                done[here] = list(dict.fromkeys(joined))
    return done


def _ground_lists(triples: I32, schema: Schema[int], count: int) -> Iterator[Mapping[int, Sequence[int]]]:
    """The lists of `Known` before those of the marks, kind by kind; a term without an entry has an empty one."""
    own: dict[int, list[int]] = {}
    named: dict[int, list[int]] = {term: [] for term in range(count)}
    for row, (subject, predicate, end) in enumerate(triples.tolist()):
        own.setdefault(subject, []).append(row)
        named[subject].extend((predicate, end))
    yield own
    yield walk_all(named)
    for word in (schema.words.sub_class, schema.words.sub_property):
        yield {term: reached[1:] for term, reached in walk_all(_edges(triples, word)).items()}


def _with_asked(ground: Ground, asked: int) -> Iterator[_Lists]:
    """The ground's lists, for so many terms more, which reach themselves."""
    none = np.zeros(0, np.int32)
    for kind, (items, counts) in enumerate(ground.lists):
        more = np.arange(len(ground.terms), len(ground.terms) + asked, dtype=np.int32) if kind == LIST_REACHED else none
        yield _Lists(np.concatenate([items, more]), np.concatenate([counts, np.ones(len(more), np.int64)]))


def _marks(ground: Ground, wanted: Mapping[Mark, frozenset[int]], count: int) -> Iterator[_Lists]:
    """For each mark the lists of the classes that are wanted of a term."""
    for mark in Mark:
        found: dict[int, list[int]] = {}
        for each in sorted(wanted[mark]):
            reached = [each]
            if mark is Mark.ANCESTOR:
                reached = walk(ground.order, each)
            elif mark in ground.down:
                reached = walk(ground.down[mark], each)
            for term in reached:
                found.setdefault(term, []).append(each)
        yield _listed(found, count)


def _listed(found: Mapping[int, Sequence[int]], count: int) -> _Lists:
    terms = sorted(found)
    counts = np.zeros(count, np.int64)
    counts[terms] = [len(found[term]) for term in terms]
    items = chain.from_iterable(found[term] for term in terms)
    return _Lists(np.fromiter(items, np.int32, int(counts.sum())), counts)


def _join_lists(kinds: Sequence[_Lists], count: int) -> tuple[I32, I64]:
    offsets = np.zeros((len(kinds), count + 1), np.int64)
    start = 0
    for row, (items, counts) in zip(offsets, kinds, strict=True):
        row[1 : len(counts) + 1] = np.cumsum(counts)
        row[len(counts) + 1 :] = len(items)
        row += start
        start += len(items)
    return np.concatenate([items for items, _ in kinds]), offsets


def _is_odd(taxonomy: Taxonomy) -> bool:
    """Whether a rule may make premises of a rule that has been applied before (`match.entailed` applies each once)."""
    words = {SUB_CLASS, SUB_PROPERTY, BROADER}
    return any(
        predicate == SUB_PROPERTY and (end in words or NUMBERED_TERM.fullmatch(end) is not None)
        for _, predicate, end in taxonomy.triples
    )


def wanted_of(segment: Segment) -> Wanted:
    """Of all keys of a segment, in any order."""
    if not segment.mode.marked:
        return frozenset()
    dictionary, keys = segment.tables.dictionary, segment.tables.index.key_terms

    def text(id: int) -> bytes:
        return dictionary.text[dictionary.offsets[id] : dictionary.offsets[id + 1]].tobytes()

    predicates = np.unique(keys[:, 1])
    marks = {id: _MARKS[text(id)] for id in predicates[predicates >= 0].tolist() if text(id) in _MARKS}
    rows = keys[np.isin(keys[:, 1], np.array(list(marks), np.int32))]
    return frozenset((marks[predicate], text(end).decode()) for _, predicate, end in rows.tolist())
