"""A taxonomy as flat arrays, with its closures: made once for a taxonomy and the marks that subscriptions want."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.build import fill_term_table
from triplecast.kernels.hashing import hash_terms
from triplecast.kernels.layout import I64, Dictionary
from triplecast.kernels.words import pad
from triplecast.match.wanted import Wanted
from triplecast.model.entailment import Mark
from triplecast.taxonomy import Schema, Taxonomy, Words
from triplecast.taxonomy.taxonomy import BROADER, MEMBER, NUMBERED, SUB_CLASS, SUB_PROPERTY, TYPE, TermText

NUMBERED_TERM = re.compile(re.escape(NUMBERED) + "[1-9][0-9]*>")


class Lists(NamedTuple):
    """A list of numbers for each term: ``items[offsets[t]:offsets[t + 1]]``."""

    offsets: I64
    items: I64


@dataclass(frozen=True, slots=True, eq=False)
class Closures:
    """N terms: those of the taxonomy, the words of its rules, the marks, and the classes that marks are wanted of."""

    dictionary: Dictionary
    """Finds their numbers."""
    words: Words[int]
    marks: Mapping[Mark, int]
    """The number of each mark's predicate."""
    subject: I64
    predicate: I64
    end: I64
    """[T] the taxonomy's triples."""
    own: Lists
    """By subject, which of the triples."""
    reached: Lists
    """The terms that a graph has that has a term: itself, what its triples name, what theirs do, …."""
    classes: NDArray[np.bool_]
    """[N] whether the taxonomy uses it as a class."""
    above_class: Lists
    above_property: Lists
    """Strictly above, by ``rdfs:subClassOf`` and ``rdfs:subPropertyOf``."""
    wanted: Mapping[Mark, Lists]
    """For a type (or the first node of a path): the classes for which the mark is put; for wanted marks only."""
    wanted_classes: Mapping[Mark, frozenset[int]]
    schema: Schema[int]
    """For graphs with rules of their own; its two questions are answered for terms of the taxonomy only."""
    odd: bool
    """Something is under the words of the rules themselves: only `taxonomy.entail` gets that right."""

    def __len__(self) -> int:
        return len(self.classes)


def build_closures(taxonomy: Taxonomy, wanted: Wanted) -> Closures:
    """Equal arguments give equal arrays."""
    words = (TYPE, SUB_CLASS, SUB_PROPERTY, MEMBER, BROADER)
    predicates = {mark: str(mark.predicate) for mark in Mark}
    asked = sorted({text for _, text in wanted})
    terms = tuple(dict.fromkeys((*words, *predicates.values(), *taxonomy.terms, *asked)))
    number = {text: place for place, text in enumerate(terms)}
    triples = np.array([[number[term] for term in triple] for triple in taxonomy.triples], np.int64).reshape(-1, 3)
    classes = np.zeros(len(terms), np.bool_)
    classes[[number[text] for text in taxonomy.classes]] = True
    upward: dict[int, list[tuple[int, int, int]]] = {}
    named: dict[int, list[int]] = {}
    for subject, predicate, end in triples.tolist():
        upward.setdefault(subject, []).append((subject, predicate, end))
        named.setdefault(subject, []).extend((predicate, end))
    schema = Schema(
        Words(*(number[word] for word in words)),
        upward,
        frozenset(np.flatnonzero(classes).tolist()),
        taxonomy.broader,
        lambda term: terms[term][0] == "<",
        lambda term: NUMBERED_TERM.fullmatch(terms[term]) is not None,
    )
    above = {word: _edges(triples, number[word]) for word in (SUB_CLASS, SUB_PROPERTY, BROADER)}
    order = _edges(triples, *(number[word] for word in taxonomy.orders))
    classes_of: dict[Mark, frozenset[int]] = {
        mark: frozenset(number[text] for own, text in wanted if own is mark) for mark in Mark
    }
    return Closures(
        _dictionary(terms),
        schema.words,
        {mark: number[text] for mark, text in predicates.items()},
        np.ascontiguousarray(triples[:, 0]),
        np.ascontiguousarray(triples[:, 1]),
        np.ascontiguousarray(triples[:, 2]),
        _own(triples, len(terms)),
        _lists(len(terms), lambda term: walk(named, term)),
        classes,
        _lists(len(terms), lambda term: walk(above[SUB_CLASS], term)[1:]),
        _lists(len(terms), lambda term: walk(above[SUB_PROPERTY], term)[1:]),
        {mark: _wanted_lists(mark, own, order, above, len(terms)) for mark, own in classes_of.items() if own},
        classes_of,
        schema,
        _is_odd(taxonomy),
    )


def _dictionary(terms: Sequence[TermText]) -> Dictionary:
    encoded = [term.encode() for term in terms]
    hashes = hash_terms(encoded)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(term) for term in encoded], dtype=np.int64)])
    size = 1 << max(3, int(2 * len(terms) - 1).bit_length())
    return Dictionary(pad(encoded), offsets, hashes, fill_term_table(hashes, size), np.zeros(0, np.int32))


def _edges(triples: I64, *predicates: int) -> Mapping[int, Sequence[int]]:
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


def _lists(count: int, items_of: Callable[[int], Iterable[int]]) -> Lists:
    rows = [list(items_of(term)) for term in range(count)]
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum([len(row) for row in rows], dtype=np.int64)])
    return Lists(offsets, np.array([item for row in rows for item in row], np.int64))


def _own(triples: I64, count: int) -> Lists:
    sizes = np.bincount(triples[:, 0], minlength=count)
    offsets = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])
    return Lists(offsets, np.argsort(triples[:, 0], kind="stable"))


_PATHS = {Mark.CLASS_PATH: SUB_CLASS, Mark.PROPERTY_PATH: SUB_PROPERTY, Mark.BROADER_PATH: BROADER}


def _wanted_lists(
    mark: Mark,
    wanted: frozenset[int],
    order: Mapping[int, Sequence[int]],
    above: Mapping[TermText, Mapping[int, Sequence[int]]],
    count: int,
) -> Lists:
    if mark is Mark.INSTANCE:
        return _lists(count, lambda term: [term] if term in wanted else [])
    if mark is Mark.ANCESTOR:
        asking: dict[int, list[int]] = {}
        for each in sorted(wanted):
            for higher in walk(order, each):
                asking.setdefault(higher, []).append(each)
        return _lists(count, lambda term: asking.get(term, ()))
    edges = order if mark is Mark.DESCENDANT else above[_PATHS[mark]]
    return _lists(count, lambda term: [each for each in walk(edges, term) if each in wanted])


def _is_odd(taxonomy: Taxonomy) -> bool:
    """Whether a rule may make premises of a rule that has been applied before (`match.entailed` applies each once)."""
    words = {SUB_CLASS, SUB_PROPERTY}
    return any(
        predicate == SUB_PROPERTY and (end in words or NUMBERED_TERM.fullmatch(end) is not None)
        for _, predicate, end in taxonomy.triples
    )
