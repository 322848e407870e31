"""Which resources of the answers of rules changed: their own triples, or those of what they refer to strongly, while
they are in the answer before and after an event (semantics 10.2).

A resource changed exactly if strong references lead from it, after the event, to the subject of a triple that came or
went. For a reference on the way that came or went is itself such a triple: its subject was reached before and after. So
the walk goes backwards from these subjects. Rules that the index decides are then asked of the neighbourhood of what
was reached, those of a run of events all at once; of others it is known where the patterns of the registered variable
match, and they are asked one by one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from triplecast.compile.compiled import CompiledSubscription
from triplecast.incremental.compiled import StandingQuery
from triplecast.incremental.decided_index import DecidedIndex, QueriesFound, rows_of
from triplecast.incremental.filed import KEYS_AT_ONCE, ROWS_AT_ONCE, halves
from triplecast.incremental.neighbours import JoinGraph, neighbours
from triplecast.kernels.layout import I64
from triplecast.kernels.timeline import distinct
from triplecast.kernels.triples import ANY, NOWHERE
from triplecast.model.algebra import Variable
from triplecast.repository.changes import Change, Changes, EarlierStore
from triplecast.repository.entailed import EntailedSource
from triplecast.repository.store import Store, TripleSource, id_of
from triplecast.repository.stored_graphs import Source

MOST_REACHED = 200_000
"""Resources that one event may change; beyond, it is undecided which did."""
RULE = "rule"
"""The language whose subscriptions are told of changed resources."""


class HeldByRules(NamedTuple):
    """Resources that changed, as terms, by rule."""

    certain: Mapping[int, Collection[str]]
    """They are in the answer after the event."""
    possible: Mapping[int, Collection[str]]
    """They may be."""

    def of(self, number: int) -> tuple[Collection[str], Collection[str]]:
        return self.certain.get(number, ()), self.possible.get(number, ())


NOTHING_HELD = HeldByRules({}, {})


class _RuleGroup(NamedTuple):
    graph: JoinGraph
    constants: tuple[str, ...]
    node: int
    """That of the registered variable."""
    members: set[int]


class ChangedResources:
    """The standing rules, by the resources that they register."""

    def __init__(self, index: DecidedIndex[bytes | int]) -> None:
        """`index` has the stars of rules by key, and those that it decides by number."""
        self._index = index
        self._groups: dict[tuple[tuple[str, tuple[str, ...]], int], _RuleGroup] = {}
        self._of_star: dict[bytes, set[int]] = {}
        """The rules that it does not decide, by the stars of their registered variables."""
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
                    self._of_star.setdefault(star.key, set()).add(number)
            return
        node = query.graph.subjects.index(Variable(registered.name))
        group = self._groups.setdefault((query.group, node), _RuleGroup(query.graph, compiled.constants, node, set()))
        group.members.add(number)

    def remove(self, number: int, query: StandingQuery) -> None:
        registered = self._registered.pop(number)
        if query.graph is not None:
            key = query.group, query.graph.subjects.index(Variable(registered))
            self._groups[key].members.discard(number)
            if not self._groups[key].members:
                del self._groups[key]
            return
        for star in query.stars:
            if star.subject == registered and star.key in self._of_star:
                self._of_star[star.key].discard(number)
                if not self._of_star[star.key]:
                    del self._of_star[star.key]

    def find(self, store: Store, changes: Changes, strong: Sequence[Collection[str]]) -> Sequence[HeldByRules | None]:
        """What rules hold of the resources that changed in each event of the store's last run; None for an event in
        which more than `MOST_REACHED` did. `strong`: after each event, the properties whose references are."""
        held: list[HeldByRules | None] = [NOTHING_HELD] * len(changes.graphs)
        if not self._registered:
            return held
        reached = [changes.subjects()]
        earlier: EarlierStore | None = None
        for event in range(len(held) - 1, -1, -1):
            if strong[event] and changes.touch(event):
                earlier = store.before(event + 1) if earlier is None else earlier
                earlier.go_back(event)
                resources = changed_resources(earlier, changes.of(event), strong[event])
                if resources is None:
                    held[event] = None
                else:
                    reached.append(np.array([event << 32 | each for each in resources], np.int64))
        keys = store.stayed(distinct(np.concatenate(reached)))
        waiting = [keys] if len(keys) else []
        while waiting:
            part = waiting.pop()
            found = self._find(store, part)
            if found is None:
                waiting += halves(part)
                continue
            for event, each in found.items():
                held[event] = None if held[event] is None else each
        return held

    def _find(self, store: Store, keys: I64) -> Mapping[int, HeldByRules] | None:
        """What rules hold of these resources (`pack`); None where it is too much of several events together."""
        certain: dict[int, dict[int, Collection[str]]] = defaultdict(dict)
        possible: dict[int, dict[int, Collection[str]]] = defaultdict(dict)
        names: dict[int, set[str]] = defaultdict(set)
        for key in keys.tolist():
            names[key >> 32].add(store.bank.term(key & 0xFFFFFFFF).decode())
        around = [keys]
        for group in self._groups.values():
            reached = neighbours(group.graph, group.constants, group.node, keys, store, KEYS_AT_ONCE)
            if reached is None:
                return None
            around.append(reached.keys)
            for event in reached.beyond:
                possible[event].update(dict.fromkeys(group.members, names[event]))
        views = store.view(distinct(np.concatenate(around)), ROWS_AT_ONCE)
        if views is None:
            return None
        found: QueriesFound[bytes | int] = self._index.found_after(views)
        for event, key, text in found.rows:
            if isinstance(key, bytes):
                possible[event].update(dict.fromkeys(self._of_star.get(key, ()), names[event]))
            elif key in self._registered:
                held = names[event].intersection(row[self._registered[key]] for row in rows_of(text))
                if held:
                    certain[event][key] = held
        for event, key in found.beyond:
            numbers = self._of_star.get(key, ()) if isinstance(key, bytes) else {key} & self._registered.keys()
            possible[event].update(dict.fromkeys(numbers, names[event]))
        return {event: HeldByRules(certain[event], possible[event]) for event in sorted({*certain, *possible})}


def changed_resources(source: TripleSource, change: Change, strong: Iterable[str]) -> set[int] | None:
    """The resources that a change, after which the source is, changed; None for more than `MOST_REACHED`. `strong`: the
    properties whose references are, in N-Triples form."""
    predicates = [id for each in sorted(strong) if (id := id_of(source, each)) != NOWHERE]
    reached = {*change.added[:, 0].tolist(), *change.removed[:, 0].tolist()}
    waiting = [*reached] if predicates else []
    while waiting:
        here = waiting.pop()
        for predicate in predicates:
            if len(reached) > MOST_REACHED or source.count(ANY, predicate, here) > MOST_REACHED:
                return None
            for each in source.find(ANY, predicate, here)[:, 0].tolist():
                if each not in reached:
                    reached.add(each)
                    waiting.append(each)
    return reached if len(reached) <= MOST_REACHED else None


def changed_terms(source: Source, change: Change, strong: Iterable[str]) -> tuple[Sequence[str], Sequence[str]] | None:
    """Do the same; it is not known of these terms which rules have them in their answers."""
    stored = source.entailed if isinstance(source, EntailedSource) else source
    found = changed_resources(stored, change, strong)
    return None if found is None else ((), [stored.bank.term(each).decode() for each in found])
