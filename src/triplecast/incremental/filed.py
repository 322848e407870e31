"""All standing queries, filed by what their answers depend on, and which of them an event concerns.

A query that is joined and filtered patterns of one index plan is asked of the neighbourhood of what changed, before the
event and after it, with all others of its kind at once: the rows in which the two differ are what the event changes.
Any other query is evaluated by itself, restricted to what its changed stars say (`stars`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from triplecast.compile.compiled import CompiledSubscription
from triplecast.incremental.compiled import StandingQuery, StandingStar, as_asked
from triplecast.incremental.decided_index import DecidedIndex, RowsChanged, Subjects
from triplecast.incremental.neighbours import JoinGraph, TooManyNeighbours, neighbours
from triplecast.kernels.triples import ANY, NOWHERE
from triplecast.match import Matcher
from triplecast.repository.store import Change, Store, TripleSource, id_of

StarKey: TypeAlias = tuple[str, tuple[str, ...]]


class Concerned(NamedTuple):
    """What an event concerns, by registration."""

    rows: Mapping[int, RowsChanged]
    """Other rows of the answer, in the neighbourhood of what changed."""
    stars: Mapping[int, Mapping[int, RowsChanged]]
    """Other rows of some of its stars, by their numbers."""
    unsure: Collection[int]
    """Its stars, or its answer around them, have more rows than are told."""
    star_rows: Mapping[StarKey, RowsChanged | None]
    """What is known of the stars of the unsure; None of one that has too many rows."""


NOT_CONCERNED = Concerned({}, {}, (), {})


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
        """How many queries have each in a star; None: a variable."""
        self._single = 0
        """How many queries are decided in one subject alone: those need no star."""

    def add(self, registration: int, compiled: CompiledSubscription, query: StandingQuery) -> None:
        if query.graph is not None:
            self._answers.add(registration, as_asked(compiled))
            if query.group not in self._groups:
                self._groups[query.group] = _Group(query.graph, compiled.constants, set())
            self._groups[query.group].members.add(registration)
        self._predicates.update(query.predicates)
        self._single += query.is_single
        for owner, star in _owners(registration, query):
            if star.key not in self._stars:
                self._stars.add(star.key, star.compiled)
                self._owners[star.key] = Counter()
            self._owners[star.key][owner] += 1

    def remove(self, registration: int, query: StandingQuery) -> None:
        if query.graph is not None:
            self._answers.remove(registration)
            group = self._groups[query.group]
            group.members.remove(registration)
            if not group.members:
                del self._groups[query.group]
        self._predicates.subtract(query.predicates)
        self._single -= query.is_single
        for owner, star in _owners(registration, query):
            owners = self._owners[star.key]
            owners[owner] -= 1
            if not owners[owner]:
                del owners[owner]
            if not owners:
                del self._owners[star.key]
                self._stars.remove(star.key)

    def find(self, store: Store, change: Change) -> Concerned:
        """What the store's last change concerns."""
        terms = ReadTerms(store)
        touched = self._touched(terms, change)
        if not touched:
            return NOT_CONCERNED
        subjects = subjects_of(terms, touched, change)
        changed, beyond = self._stars.changed(subjects)
        star_rows = {**changed, **dict.fromkeys(beyond)}
        nodes: dict[_NodeOf, None] = {}
        stars: dict[int, dict[int, RowsChanged]] = {}
        unsure: set[int] = set()
        for key in (*changed, *(key for key in beyond if key not in changed)):
            for owner in self._owners[key]:
                if isinstance(owner, _NodeOf):
                    nodes[owner] = None
                elif key in beyond:
                    unsure.add(owner.registration)
                else:
                    stars.setdefault(owner.registration, {})[owner.number] = changed[key]
        if not nodes and not self._single:
            return Concerned({}, stars, unsure, star_rows)
        around = self._around(nodes, touched, store, unsure)
        rows, more = self._answers.changed(subjects if around == touched else subjects_of(terms, around, change))
        return Concerned(rows, stars, unsure.union(more), star_rows)

    def _touched(self, terms: ReadTerms, change: Change) -> set[int]:
        """The subjects of which a triple changed that some star may have."""
        changed = [*change.added.tolist(), *change.removed.tolist()]
        if self._predicates[None]:
            return {subject for subject, _, _ in changed}
        asked = {id for id in {predicate for _, predicate, _ in changed} if self._predicates[terms[id].decode()]}
        return {subject for subject, predicate, _ in changed if predicate in asked}

    def _around(self, nodes: Iterable[_NodeOf], touched: set[int], store: Store, unsure: set[int]) -> set[int]:
        """The subjects of all solutions that may change of queries that the index decides."""
        around = {*touched}
        for owner in nodes:
            group = self._groups[owner.group]
            try:
                around |= neighbours(group.graph, group.constants, owner.node, touched, store)
            except TooManyNeighbours:
                unsure |= group.members
        return around


class ReadTerms(dict[int, bytes]):
    """The terms of a store, each read once."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def __missing__(self, id: int) -> bytes:
        found = self[id] = self.store.bank.term(id)
        return found


def lacks_constants(compiled: CompiledSubscription, query: StandingQuery, store: TripleSource) -> bool:
    """Whether the answer is empty since no document has some constant of the patterns."""
    if query.graph is None:
        return False
    return any(id_of(store, compiled.constants[slot]) == NOWHERE for slot in query.graph.terms)


def subjects_of(terms: ReadTerms, subjects: set[int], change: Change) -> Subjects:
    """All triples of some subjects, before the last change and after it."""
    find = terms.store.find
    after = {line for each in subjects for line in _lines(terms, find(each, ANY, ANY).tolist())}
    came, went = (
        _lines(terms, [row for row in triples.tolist() if row[0] in subjects])
        for triples in (change.added, change.removed)
    )
    return Subjects(b"".join(sorted(after.difference(came).union(went))), b"".join(sorted(after)))


def _lines(terms: ReadTerms, rows: Iterable[Sequence[int]]) -> list[bytes]:
    return [b"%b %b %b .\n" % (terms[subject], terms[predicate], terms[end]) for subject, predicate, end in rows]


def _owners(registration: int, query: StandingQuery) -> Iterator[tuple[_StarOf | _NodeOf, StandingStar]]:
    for number, star in enumerate(() if query.is_single else query.stars):
        owner = _StarOf(registration, number) if query.graph is None else _NodeOf(query.group, star.node)
        yield owner, star
