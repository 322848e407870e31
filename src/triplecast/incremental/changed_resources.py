"""Which resources of the answers of rules changed: their own triples, or those of what they refer to strongly, while
they are in the answer before and after an event (semantics 10.2).

A resource changed exactly if strong references lead from it, after the event, to the subject of a triple that came or
went. For a reference on the way that came or went is itself such a triple: its subject was reached before and after. So
the walk goes backwards from these subjects. Rules that the
index decides are then asked of the neighbourhood of what was reached, all at once; others one by one, where the
patterns of the registered variable match.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from triplecast.compile.compiled import CompiledSubscription
from triplecast.incremental.compiled import StandingQuery
from triplecast.incremental.decided_index import DecidedIndex
from triplecast.incremental.neighbours import JoinGraph, TooManyNeighbours, neighbours
from triplecast.kernels.triples import ANY, NOWHERE
from triplecast.match import Matcher
from triplecast.model.algebra import Variable
from triplecast.repository.store import Change, Store, id_of

MOST_REACHED = 200_000
"""Resources that one event may change; beyond, it is undecided which did."""
RULE = "rule"
"""The language whose subscriptions are told of changed resources."""

StarKey = tuple[str, tuple[str, ...]]


class Held(NamedTuple):
    """Resources that changed, as terms, by rule."""

    certain: Mapping[int, Collection[str]]
    """They are in the answer after the event."""
    possible: Mapping[int, Collection[str]]
    """They may be."""
    is_whole: bool = True
    """Whether this is all; there were no more than `MOST_REACHED`."""


NOTHING_HELD = Held({}, {})


class _RuleGroup(NamedTuple):
    graph: JoinGraph
    constants: tuple[str, ...]
    node: int
    """That of the registered variable."""
    members: set[int]


class ChangedResources:
    """The standing rules, filed by the resources that they register."""

    def __init__(self, matcher: Matcher) -> None:
        self._answers: DecidedIndex[int] = DecidedIndex(matcher)
        self._stars: DecidedIndex[StarKey] = DecidedIndex(matcher)
        self._groups: dict[tuple[tuple[str, tuple[str, ...]], int], _RuleGroup] = {}
        self._of_star: dict[StarKey, set[int]] = {}
        self._registered: dict[int, str] = {}
        """The name of each rule's variable."""

    def __bool__(self) -> bool:
        return bool(self._registered)

    def __contains__(self, number: int) -> bool:
        return number in self._registered

    @property
    def numbers(self) -> Collection[int]:
        return self._registered.keys()

    def add(self, number: int, compiled: CompiledSubscription, query: StandingQuery) -> None:
        (registered,) = compiled.template.query.variables
        self._registered[number] = registered.name
        if query.graph is None:
            for star in query.stars:
                if star.subject == registered.name:
                    if star.key not in self._stars:
                        self._stars.add(star.key, star.compiled)
                    self._of_star.setdefault(star.key, set()).add(number)
            return
        node = query.graph.subjects.index(Variable(registered.name))
        self._answers.add(number, compiled)
        group = self._groups.setdefault((query.group, node), _RuleGroup(query.graph, compiled.constants, node, set()))
        group.members.add(number)

    def remove(self, number: int, query: StandingQuery) -> None:
        registered = self._registered.pop(number)
        if query.graph is not None:
            self._answers.remove(number)
            key = query.group, query.graph.subjects.index(Variable(registered))
            self._groups[key].members.discard(number)
            if not self._groups[key].members:
                del self._groups[key]
            return
        for star in query.stars:
            owners = self._of_star.get(star.key, set())
            owners.discard(number)
            if star.subject == registered and not owners and star.key in self._stars:
                del self._of_star[star.key]
                self._stars.remove(star.key)

    def find(self, store: Store, change: Change, strong: Iterable[str]) -> Held:
        """Of the store's last change; `strong`: the properties whose references are, in N-Triples form."""
        reached = _reached(store, change, strong)
        if reached is None:
            return Held({}, {}, False)
        old = {each for each in reached if _was_there(store, change, each)}
        if not old:
            return NOTHING_HELD
        names = {store.bank.term(each).decode() for each in old}
        certain: dict[int, Collection[str]] = {}
        possible: dict[int, Collection[str]] = {}
        around = {*old}
        for group in self._groups.values():
            try:
                around |= neighbours(group.graph, group.constants, group.node, old, store)
            except TooManyNeighbours:
                possible.update(dict.fromkeys(group.members, names))
        if self._groups:
            rows, beyond = self._answers.found_in(_lines(store, around))
            for number, text in rows.items():
                if held := names.intersection(row[self._registered[number]] for row in json.loads(text)):
                    certain[number] = held
            possible.update(dict.fromkeys(beyond, names))
        if self._of_star:
            stars, many = self._stars.found_in(_lines(store, old))
            for key in (*stars, *many):
                possible.update(dict.fromkeys(self._of_star[key], names))
        return Held(certain, possible)


def _reached(store: Store, change: Change, strong: Iterable[str]) -> set[int] | None:
    """The resources that changed; None for more than `MOST_REACHED`."""
    predicates = {id for each in strong if (id := id_of(store, each)) != NOWHERE}
    changed = [*change.added.tolist(), *change.removed.tolist()]
    reached = {subject for subject, _, _ in changed}
    waiting = [*reached]
    while waiting:
        if len(reached) > MOST_REACHED:
            return None
        here = waiting.pop()
        for each in _referring(store, here, predicates, MOST_REACHED):
            if each not in reached:
                reached.add(each)
                waiting.append(each)
    return reached


def _referring(store: Store, here: int, predicates: Collection[int], most: int) -> Iterable[int]:
    for predicate in predicates:
        if store.count(ANY, predicate, here) > most:
            yield from range(-most - 1, 0)  # no resource has such a number; they are too many
        else:
            yield from store.find(ANY, predicate, here)[:, 0].tolist()


def _was_there(store: Store, change: Change, subject: int) -> bool:
    """Whether it was the subject of a triple before the change, and is of one after it."""
    now = len(store.find(subject, ANY, ANY))
    came = int((change.added[:, 0] == subject).sum())
    return now > 0 and (now > came or bool((change.removed[:, 0] == subject).any()))


def _lines(store: Store, subjects: Iterable[int]) -> bytes:
    """All triples of some subjects, as canonical N-Triples."""
    term: Callable[[int], bytes] = store.bank.term
    found = {
        b"%b %b %b .\n" % tuple(map(term, row))
        for subject in subjects
        for row in store.find(subject, ANY, ANY).tolist()
    }
    return b"".join(sorted(found))
