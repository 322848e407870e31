"""All standing queries, filed by what their answers depend on, and which of them an event concerns.

A query that is joined and filtered patterns of one index plan is asked of the neighbourhood of what changed, before the
event and after it, with all others of its kind at once: the rows in which the two differ are what the event changes.
Any other query is evaluated by itself, restricted to what its changed stars say (`stars`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from triplecast.compile.compiled import CompiledSubscription
from triplecast.incremental.compiled import StandingQuery, StandingStar
from triplecast.incremental.decided_index import DecidedIndex, RowsChanged, Subjects
from triplecast.incremental.neighbours import JoinGraph, TooManyNeighbours, neighbours
from triplecast.kernels.layout import I32
from triplecast.kernels.triples import ANY, NOWHERE
from triplecast.match import Matcher
from triplecast.repository.store import Change, Store, TripleSource, id_of


class Concerned(NamedTuple):
    """What an event concerns, by registration."""

    rows: Mapping[int, RowsChanged]
    """Other rows of the answer, in the neighbourhood of what changed."""
    stars: Mapping[int, Mapping[int, RowsChanged]]
    """Other rows of some of its stars, by their numbers."""
    whole: Iterable[int]
    """Nothing is known of what changed."""


NOT_CONCERNED = Concerned({}, {}, ())


class _StarOf(NamedTuple):
    """A star of one query."""

    registration: int
    number: int


class _NodeOf(NamedTuple):
    """A star of a group, by its place in the join graph."""

    group: tuple[str, tuple[str, ...]]
    node: int


class _Group(NamedTuple):
    graph: JoinGraph
    constants: tuple[str, ...]
    """Of one of its queries; the predicates are those of all."""
    members: set[int]


class FiledQueries:
    def __init__(self, matcher: Matcher) -> None:
        self._stars: DecidedIndex[tuple[str, tuple[str, ...]]] = DecidedIndex(matcher)
        self._owners: dict[tuple[str, tuple[str, ...]], Counter[_StarOf | _NodeOf]] = {}
        self._answers: DecidedIndex[int] = DecidedIndex(matcher)
        self._groups: dict[tuple[str, tuple[str, ...]], _Group] = {}
        self._predicates: Counter[str | None] = Counter()
        """How many stars have each; None: a variable."""

    def add(self, registration: int, compiled: CompiledSubscription, query: StandingQuery) -> None:
        if query.graph is not None:
            self._answers.add(registration, compiled)
            if query.group not in self._groups:
                self._groups[query.group] = _Group(query.graph, compiled.constants, set())
            self._groups[query.group].members.add(registration)
        for owner, star in _owners(registration, query):
            if star.key not in self._stars:
                self._stars.add(star.key, star.compiled)
                self._predicates.update(star.predicates)
                self._owners[star.key] = Counter()
            self._owners[star.key][owner] += 1

    def remove(self, registration: int, query: StandingQuery) -> None:
        if query.graph is not None:
            self._answers.remove(registration)
            group = self._groups[query.group]
            group.members.remove(registration)
            if not group.members:
                del self._groups[query.group]
        for owner, star in _owners(registration, query):
            owners = self._owners[star.key]
            owners[owner] -= 1
            if not owners[owner]:
                del owners[owner]
            if not owners:
                del self._owners[star.key]
                self._stars.remove(star.key)
                self._predicates.subtract(star.predicates)

    def find(self, store: Store, change: Change) -> Concerned:
        """What the store's last change concerns."""
        touched = self._touched(store, change)
        if not touched:
            return NOT_CONCERNED
        subjects = subjects_of(store, touched, change)
        changed, beyond = self._stars.changed(subjects)
        nodes: dict[_NodeOf, None] = {}
        stars: dict[int, dict[int, RowsChanged]] = {}
        whole: set[int] = set()
        for key in (*changed, *(key for key in beyond if key not in changed)):
            for owner in self._owners[key]:
                if isinstance(owner, _NodeOf):
                    nodes[owner] = None
                elif key in beyond:
                    whole.add(owner.registration)
                else:
                    stars.setdefault(owner.registration, {})[owner.number] = changed[key]
        around = self._around(nodes, touched, store, change, whole)
        if around is None:
            return Concerned({}, stars, whole)
        rows, more = self._answers.changed(subjects if around == touched else subjects_of(store, around, change))
        return Concerned(rows, stars, whole.union(more))

    def _touched(self, store: Store, change: Change) -> set[int]:
        """The subjects of which a triple changed that some star may have."""
        changed = np.concatenate([change.added, change.removed])
        if self._predicates[None]:
            return {*changed[:, 0].tolist()}
        asked = [id for id in np.unique(changed[:, 1]) if self._predicates[store.bank.term(id).decode()]]
        return {*changed[np.isin(changed[:, 1], asked), 0].tolist()}

    def _around(
        self, nodes: Iterable[_NodeOf], touched: set[int], store: Store, change: Change, whole: set[int]
    ) -> set[int] | None:
        """The subjects of all solutions of groups that may change; None where none may."""
        around: set[int] | None = None
        for owner in nodes:
            group = self._groups[owner.group]
            around = around or {*touched}
            try:
                around |= neighbours(group.graph, group.constants, owner.node, touched, store, change)
            except TooManyNeighbours:
                whole |= group.members
        return around


def lacks_constants(compiled: CompiledSubscription, query: StandingQuery, store: TripleSource) -> bool:
    """Whether the answer is empty since no document has some constant of the patterns."""
    if query.graph is None:
        return False
    return any(id_of(store, compiled.constants[slot]) == NOWHERE for slot in query.graph.terms)


def subjects_of(store: Store, subjects: set[int], change: Change) -> Subjects:
    """All triples of some subjects, before the last change and after it."""
    rows = np.concatenate([store.find(each, ANY, ANY) for each in subjects])
    after = {*_lines(store, rows)}
    came, went = (_lines(store, _of(triples, subjects)) for triples in (change.added, change.removed))
    return Subjects(b"".join(sorted(after.difference(came).union(went))), b"".join(sorted(after)))


def _of(triples: I32, subjects: set[int]) -> I32:
    return triples[[subject in subjects for subject in triples[:, 0].tolist()]]


def _lines(store: Store, triples: I32) -> list[bytes]:
    rows = triples.tolist()
    terms = {id: store.bank.term(id) for row in rows for id in row}
    return [b"%b %b %b .\n" % (terms[subject], terms[predicate], terms[end]) for subject, predicate, end in rows]


def _owners(registration: int, query: StandingQuery) -> Iterator[tuple[_StarOf | _NodeOf, StandingStar]]:
    for number, star in enumerate(query.stars):
        owner = _StarOf(registration, number) if query.graph is None else _NodeOf(query.group, star.node)
        yield owner, star
