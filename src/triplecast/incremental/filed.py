"""All standing queries, filed by what their answers depend on, and which of them an event concerns.

A query that is joined and filtered patterns of one index plan is asked of the neighbourhood of what changed, before the
event and after it, with all others of its kind at once: the rows in which the two differ are what the event changes.
Any other query is evaluated by itself, restricted to what its changed stars say (`stars`).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from triplecast.compile.compiled import CompiledSubscription
from triplecast.incremental.compiled import StandingQuery, StandingStar, as_asked
from triplecast.incremental.decided_index import DecidedIndex, PlainRows, QueriesChanged, RowsChanged, rows_of
from triplecast.incremental.neighbours import JoinGraph, neighbours
from triplecast.incremental.restriction import Seeds
from triplecast.kernels.differing import NONE
from triplecast.kernels.layout import I32, I64
from triplecast.kernels.timeline import distinct, touched_subjects
from triplecast.kernels.triples import NOWHERE
from triplecast.match import Matcher
from triplecast.model.algebra import from_ntriples
from triplecast.model.subscription import Subscription
from triplecast.repository.changes import Changes
from triplecast.repository.store import Store, TripleSource, id_of

StarKey: TypeAlias = bytes
"""`StandingStar.key`"""
_Owner: TypeAlias = "_StarOf | _GroupNode"


class Concerned(NamedTuple):
    """What an event concerns, by registration."""

    rows: dict[int, RowsChanged]
    """Other rows of the answer, in the neighbourhood of what changed."""
    stars: dict[int, dict[int, RowsChanged]]
    """Other rows of some of its stars, by their numbers."""
    unsure: set[int]
    """Its stars, or its answer around them, have more rows than are told."""
    star_rows: dict[StarKey, RowsChanged | None]
    """What is known of the stars of the unsure; None of one that has too many rows."""

    @classmethod
    def nobody(cls) -> Concerned:
        """To be added to."""
        return cls({}, {}, set(), {})


NOT_CONCERNED = Concerned.nobody()
"""Nothing is added to it."""
ROWS_AT_ONCE, KEYS_AT_ONCE = 1_000_000, 1_000_000
"""Triples of views, and subjects around, of several events; one event may have more."""
_RANGE = np.array([0, 1 << 32], np.int64)
NO_KEYS: I64 = np.zeros(0, np.int64)


class _FoundTogether:
    """What was found of several events."""

    def __init__(self) -> None:
        self.events: dict[int, Concerned] = defaultdict(Concerned.nobody)
        self.plain: list[PlainRows] = []


class _StarOf(NamedTuple):
    """A star of one query."""

    registration: int
    number: int


class _Group:
    """Queries of one join graph, which differ in constants."""

    def __init__(self, graph: JoinGraph, constants: tuple[str, ...]) -> None:
        """`constants`: of one of the queries; the predicates are those of all."""
        self.graph = graph
        self.constants = constants
        self.members: set[int] = set()
        self.nodes = [_GroupNode(self, place) for place in range(len(graph.subjects))]


class _GroupNode:
    """A star of a group, by its place in the join graph."""

    def __init__(self, group: _Group, place: int) -> None:
        self.group = group
        self.place = place


class FiledQueries:
    def __init__(self, matcher: Matcher) -> None:
        self.index: DecidedIndex[StarKey | int] = DecidedIndex(matcher)
        """Stars, and by registration the queries that it decides."""
        self._owners: dict[StarKey, _Owner | Counter[_Owner]] = {}
        """Whose each star is: of one query, or how many of its owner have it."""
        self._groups: dict[tuple[str, tuple[str, ...]], _Group] = {}
        self._predicates: Counter[str | None] = Counter()
        """How many queries have each in a star; None: a variable."""
        self._single = 0
        """How many queries are decided in one subject alone: those need no star."""

    def add(
        self,
        registration: int,
        compiled: CompiledSubscription,
        query: StandingQuery,
        written: Subscription,
        plain: bool = False,
    ) -> None:
        """`plain`: its rows are told as the index has them."""
        if query.graph is not None:
            told_as = registration if plain and not query.recounted else NONE
            self.index.add(registration, as_asked(compiled), written, told_as)
            group = self._groups.get(query.group)
            if group is None:
                group = self._groups[query.group] = _Group(query.graph, compiled.constants)
            group.members.add(registration)
        self._predicates.update(query.predicates)
        self._single += query.is_single
        for owner, star in self._owners_of(registration, query):
            key = star.key
            owners = self._owners.get(key)
            if owners is None:
                self.index.add(key, star.compiled)
                self._owners[key] = owner
            else:
                if not isinstance(owners, Counter):
                    owners = self._owners[key] = Counter((owners,))
                owners[owner] += 1

    def remove(self, registration: int, query: StandingQuery) -> None:
        self._predicates.subtract(query.predicates)
        self._single -= query.is_single
        for owner, star in self._owners_of(registration, query):
            key = star.key
            owners = self._owners[key]
            if isinstance(owners, Counter):
                owners[owner] -= 1
                if not owners[owner]:
                    del owners[owner]
            if not isinstance(owners, Counter) or not owners:
                del self._owners[key]
                self.index.remove(key)
        if query.graph is not None:
            self.index.remove(registration)
            group = self._groups[query.group]
            group.members.remove(registration)
            if not group.members:
                del self._groups[query.group]

    def _owners_of(self, registration: int, query: StandingQuery) -> Iterator[tuple[_Owner, StandingStar]]:
        group = None if query.graph is None else self._groups[query.group]
        for number, star in enumerate(() if query.is_single else query.stars):
            yield _StarOf(registration, number) if group is None else group.nodes[star.node], star

    def find(self, store: Store, changes: Changes, apart: bool = False) -> tuple[Sequence[Concerned], list[PlainRows]]:
        """What each event of the store's last run concerns; `apart` from rows that are told as they are, unless that is
        unsure of some event."""
        concerned = [NOT_CONCERNED] * len(changes.graphs)
        touched = self._touched(store, changes)
        plain: list[PlainRows] = []
        waiting = [touched] if len(touched) else []
        while waiting:
            keys = waiting.pop()
            found = self._find(store, keys)
            if found is None:
                waiting += halves(keys)
                continue
            plain += found.plain
            for event, each in found.events.items():
                concerned[event] = each
        if not apart or any(each.unsure for each in concerned):
            for answers in (each.answers() for each in plain):
                for place, (event, registration) in enumerate(zip(answers.events, answers.keys, strict=True)):
                    if concerned[event] is NOT_CONCERNED:
                        concerned[event] = Concerned.nobody()
                    concerned[event].rows[registration] = answers.at(place)
            return concerned, []
        return concerned, plain

    def _find(self, store: Store, keys: I64) -> _FoundTogether | None:
        """What events concern that touch these subjects (`pack`); None where they are too much together."""
        found = _FoundTogether()
        changed = self.index.changed(store, keys, ROWS_AT_ONCE)
        if changed is None:
            return None
        nodes = self._of_stars(changed, found)
        concerned = keys if self._single else _of_events(keys, set[int]().union(*nodes.values()))
        around = self._around(nodes, keys, concerned, store, found)
        if around is None:
            return None
        wider = _wider(around, concerned) if len(around) > len(concerned) else set()
        self._note_answers(changed, wider, False, found)
        if wider:
            widely = self.index.changed(store, _of_events(around, wider), ROWS_AT_ONCE)
            if widely is None:
                return None
            self._note_answers(widely, wider, True, found)
        if any(each.unsure for each in found.events.values()):
            _note_rows_of_stars(changed, found)
        return found

    def _touched(self, store: Store, changes: Changes) -> I64:
        """The subjects of which a triple changed that some star may have, by event."""
        predicates = {*changes.timeline.rows[:, 1].tolist()}
        if not self._predicates[None]:
            predicates = {id for id in predicates if self._predicates[store.text(id)]}
        if not predicates:
            return NO_KEYS
        return touched_subjects(changes.timeline, np.array([*predicates], np.int32))

    def _of_stars(self, changed: QueriesChanged[StarKey | int], found: _FoundTogether) -> dict[_GroupNode, set[int]]:
        """Note the queries whose stars changed; return the nodes of groups that did, and in which events."""
        nodes: dict[_GroupNode, set[int]] = defaultdict(set)
        for answers in changed.changed:
            for place, (event, key) in enumerate(zip(answers.events, answers.keys, strict=True)):
                for owner in self._whose(key):
                    if isinstance(owner, _GroupNode):
                        nodes[owner].add(event)
                    else:
                        stars = found.events[event].stars.setdefault(owner.registration, {})
                        stars[owner.number] = answers.at(place)
        for event, key in changed.beyond:
            for owner in self._whose(key):
                if isinstance(owner, _GroupNode):
                    nodes[owner].add(event)
                else:
                    found.events[event].unsure.add(owner.registration)
        return nodes

    def _whose(self, key: StarKey | int) -> Iterable[_Owner]:
        """Whose a star is; nobody's what is a query's number."""
        if not isinstance(key, bytes):
            return ()
        owners = self._owners[key]
        return owners if isinstance(owners, Counter) else (owners,)

    def _note_answers(
        self, changed: QueriesChanged[StarKey | int], events: Collection[int], within: bool, found: _FoundTogether
    ) -> None:
        """Note the changed answers of events that are among some, or of all others."""
        for rows in changed.plain:
            found.plain.append(rows.only(_are_among(rows.events, events) == within) if events else rows)
        for answers in changed.changed:
            for place, (event, key) in enumerate(zip(answers.events, answers.keys, strict=True)):
                if isinstance(key, int) and (event in events) is within:
                    found.events[event].rows[key] = answers.at(place)
        for event, key in changed.beyond:
            if isinstance(key, int) and (event in events) is within:
                found.events[event].unsure.add(key)

    def _around(
        self, nodes: Mapping[_GroupNode, set[int]], touched: I64, concerned: I64, store: Store, found: _FoundTogether
    ) -> I64 | None:
        """The subjects of all solutions that may change of queries that the index decides; None for too many of several
        events."""
        around = [concerned]
        for owner, events in nodes.items():
            group, of_node = owner.group, _of_events(touched, events)
            reached = neighbours(group.graph, group.constants, owner.place, of_node, store, KEYS_AT_ONCE)
            if reached is None:
                return None
            around.append(reached.keys)
            for event in reached.beyond:
                found.events[event].unsure.update(group.members)
        return concerned if len(around) == 1 else distinct(np.concatenate(around))


def lacks_constants(compiled: CompiledSubscription, query: StandingQuery, store: TripleSource) -> bool:
    """Whether the answer is empty since no document has some constant of the patterns."""
    if query.graph is None:
        return False
    return any(id_of(store, compiled.constants[slot]) == NOWHERE for slot in query.graph.terms)


def _note_rows_of_stars(changed: QueriesChanged[StarKey | int], found: _FoundTogether) -> None:
    for answers in changed.changed:
        for place, (event, key) in enumerate(zip(answers.events, answers.keys, strict=True)):
            if isinstance(key, bytes):
                found.events[event].star_rows[key] = answers.at(place)
    for event, key in changed.beyond:
        if isinstance(key, bytes):
            found.events[event].star_rows[key] = None


def _wider(around: I64, concerned: I64) -> set[int]:
    """The events of which there are more keys around than concerned, which are among them."""
    if around[0] >> 32 == around[-1] >> 32:
        return {int(around[0] >> 32)}
    more = np.bincount(around >> 32)
    some = np.bincount(concerned >> 32, minlength=len(more))
    return {*np.flatnonzero(more > some).tolist()}


def _are_among(ascending: I32, events: Collection[int]) -> NDArray[np.bool_]:
    """Of each event whether it is one of some."""
    among = np.zeros(max([*ascending[-1:].tolist(), *events]) + 1, np.bool_)
    among[[*events]] = True
    return among[ascending]


def _of_events(keys: I64, events: set[int]) -> I64:
    """The keys of some events."""
    if not events:
        return NO_KEYS
    if keys[0] >> 32 == keys[-1] >> 32 and int(keys[0] >> 32) in events:
        return keys
    if len(events) == 1:
        (event,) = events
        start, stop = np.searchsorted(keys, _RANGE + (event << 32)).tolist()
        return keys[start:stop]
    chosen = np.zeros((keys[-1] >> 32) + 1, np.bool_)
    chosen[[*events]] = True
    kept: I64 = keys[chosen[keys >> 32]]
    return kept


def halves(keys: I64) -> list[I64]:
    """The keys of several events in two parts."""
    middle = int(np.searchsorted(keys, (keys[len(keys) // 2] >> 32) << 32))
    middle = middle or int(np.searchsorted(keys, ((keys[0] >> 32) + 1) << 32))
    return [keys[:middle], keys[middle:]]


def known_stars(query: StandingQuery, number: int, found: Concerned) -> Mapping[int, RowsChanged] | None:
    """The stars of a query that changed; None where one of them has too many rows, or none is filed."""
    if number not in found.unsure:
        return found.stars[number]
    if query.graph is None or query.is_single:
        return None
    known: dict[int, RowsChanged] = {}
    for place, star in enumerate(query.stars):
        if star.key in found.star_rows:
            rows = found.star_rows[star.key]
            if rows is None:
                return None
            known[place] = rows
    return known or None


def seeds_of(query: StandingQuery, stars: Mapping[int, RowsChanged]) -> list[Seeds] | None:
    """What the rows that a star lost or gained say of the solutions that change; None where one says nothing."""
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for number, changed in stars.items():
        seeds = query.stars[number].seeds
        if not seeds:
            return None
        before, after = (
            {tuple(sorted(row.items())): row for row in rows_of(text)} for text in (changed.before, changed.after)
        )
        differing = [row for key, row in before.items() if key not in after]
        differing += [row for key, row in after.items() if key not in before]
        wanted = found.setdefault(tuple(name for _, name in seeds), [])
        wanted += [tuple(row[shown] for shown, _ in seeds) for row in differing]
    return [
        Seeds(names, [tuple(map(from_ntriples, row)) for row in dict.fromkeys(rows)]) for names, rows in found.items()
    ]
