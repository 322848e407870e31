"""A taxonomy as flat arrays, with its closures: made once for a taxonomy and the marks that subscriptions want."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from triplecast.kernels.build import fill_term_table
from triplecast.kernels.entailment import WORD_MEMBER, Known
from triplecast.kernels.hashing import hash_terms
from triplecast.kernels.layout import I32, I64, Dictionary
from triplecast.kernels.words import pad
from triplecast.match.wanted import Wanted
from triplecast.model.entailment import Mark
from triplecast.taxonomy import Schema, Taxonomy, Words
from triplecast.taxonomy.taxonomy import BROADER, MEMBER, NUMBERED, SUB_CLASS, SUB_PROPERTY, TYPE, TermText

NUMBERED_TERM = re.compile(re.escape(NUMBERED) + "[1-9][0-9]*>")


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


def build_closures(taxonomy: Taxonomy, wanted: Wanted) -> Closures:
    """Equal arguments give equal arrays."""
    words = (TYPE, SUB_CLASS, SUB_PROPERTY, MEMBER, BROADER)
    predicates = {mark: str(mark.predicate) for mark in Mark}
    asked = sorted({text for _, text in wanted})
    terms = tuple(dict.fromkeys((*words, *predicates.values(), *taxonomy.terms, *asked)))
    number = {text: place for place, text in enumerate(terms)}
    triples = np.array([[number[term] for term in triple] for triple in taxonomy.triples], np.int32).reshape(-1, 3)
    classes = np.zeros(len(terms), np.uint8)
    classes[[number[text] for text in taxonomy.classes]] = 1
    classes_of = {mark: frozenset(number[text] for own, text in wanted if own is mark) for mark in Mark}
    upward: dict[int, list[tuple[int, int, int]]] = {}
    for subject, predicate, end in triples.tolist():
        upward.setdefault(subject, []).append((subject, predicate, end))
    schema = Schema(
        Words(*(number[word] for word in words)),
        upward,
        frozenset(np.flatnonzero(classes).tolist()),
        taxonomy.broader,
        lambda term: terms[term][0] == "<",
        lambda term: NUMBERED_TERM.fullmatch(terms[term]) is not None,
    )
    lists, offsets = _join_lists(_all_lists(triples, schema, classes_of, len(terms)), len(terms))
    known = Known(
        np.array(schema.words[: WORD_MEMBER + 1], np.int64),
        lists,
        offsets,
        np.ascontiguousarray(triples[:, 1:]),
        classes,
        np.array([number[predicates[mark]] for mark in Mark], np.int32),
    )
    marks = {mark: number[text] for mark, text in predicates.items()}
    return Closures(_dictionary(terms), known, marks, classes_of, schema, _is_odd(taxonomy))


def _dictionary(terms: Sequence[TermText]) -> Dictionary:
    encoded = [term.encode() for term in terms]
    hashes = hash_terms(encoded)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(term) for term in encoded], dtype=np.int64)])
    size = 1 << max(3, int(2 * len(terms) - 1).bit_length())
    return Dictionary(pad(encoded), offsets, hashes, fill_term_table(hashes, size), np.zeros(0, np.int32))


def _edges(triples: I32, *predicates: int) -> Mapping[int, Sequence[int]]:
    edges: dict[int, list[int]] = {}
    for subject, predicate, end in triples.tolist():
        if predicate in predicates:
            edges.setdefault(subject, []).append(end)
    return edges


def walk(edges: Mapping[int, Sequence[int]], start: int) -> list[int]:
    """`start` and all that is reached from it."""
    met = {start: None}
    waiting = [start]
    while waiting:
        for end in edges.get(waiting.pop(), ()):
            if end not in met:
                met[end] = None
                waiting.append(end)
    return list(met)


_PATHS = {Mark.CLASS_PATH: SUB_CLASS, Mark.PROPERTY_PATH: SUB_PROPERTY, Mark.BROADER_PATH: BROADER}


def _all_lists(
    triples: I32, schema: Schema[int], wanted: Mapping[Mark, frozenset[int]], count: int
) -> Iterator[Mapping[int, Sequence[int]]]:
    """The lists of `Known`, kind by kind; a term without an entry has an empty one."""
    own: dict[int, list[int]] = {}
    named: dict[int, list[int]] = {}
    for row, (subject, predicate, end) in enumerate(triples.tolist()):
        own.setdefault(subject, []).append(row)
        named.setdefault(subject, []).extend((predicate, end))
    words = schema.words
    class_edges, property_edges = _edges(triples, words.sub_class), _edges(triples, words.sub_property)
    order = _edges(triples, *schema.orders)
    yield own
    yield {term: walk(named, term) for term in range(count)}
    yield {term: walk(class_edges, term)[1:] for term in class_edges}
    yield {term: walk(property_edges, term)[1:] for term in property_edges}
    yield {term: [term] for term in wanted[Mark.INSTANCE]}
    yield _wanted_above(order, wanted[Mark.DESCENDANT], count)
    asking: dict[int, list[int]] = {}
    for each in sorted(wanted[Mark.ANCESTOR]):
        for higher in walk(order, each):
            asking.setdefault(higher, []).append(each)
    yield asking
    yield _wanted_above(class_edges, wanted[Mark.CLASS_PATH], count)
    yield _wanted_above(property_edges, wanted[Mark.PROPERTY_PATH], count)
    yield _wanted_above(_edges(triples, words.broader), wanted[Mark.BROADER_PATH], count)


def _wanted_above(
    edges: Mapping[int, Sequence[int]], wanted: frozenset[int], count: int
) -> Mapping[int, Sequence[int]]:
    """Of each term, those wanted among itself and what it is under."""
    if not wanted:
        return {}
    return {term: [each for each in walk(edges, term) if each in wanted] for term in range(count)}


def _join_lists(kinds: Iterator[Mapping[int, Sequence[int]]], count: int) -> tuple[I32, I64]:
    items: list[int] = []
    offsets = []
    for kind in kinds:
        row = []
        for term in range(count):
            row.append(len(items))
            items.extend(kind.get(term, ()))
        offsets.append([*row, len(items)])
    return np.array(items, np.int32), np.array(offsets, np.int64)


def _is_odd(taxonomy: Taxonomy) -> bool:
    """Whether a rule may make premises of a rule that has been applied before (`match.entailed` applies each once)."""
    words = {SUB_CLASS, SUB_PROPERTY, BROADER}
    return any(
        predicate == SUB_PROPERTY and (end in words or NUMBERED_TERM.fullmatch(end) is not None)
        for _, predicate, end in taxonomy.triples
    )
