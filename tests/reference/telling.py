"""What subscriptions are told (semantics 9.6, 9.7, 10), stated slowly: what was told is kept, and answers are those of
pyoxigraph over whole documents. Without blank nodes."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pyoxigraph import QueryBoolean, RdfFormat, Store

Row = tuple[tuple[str, str], ...]
Rows = Counter[Row]


class Telling(NamedTuple):
    """One notification."""

    subscription: str
    change: str
    added: tuple[Row, ...]
    """Sorted, as the others."""
    removed: tuple[Row, ...]
    updated: tuple[tuple[Row, Row], ...]

    @classmethod
    def of(
        cls, subscription: str, change: str, added: Rows, removed: Rows, updated: Counter[tuple[Row, Row]]
    ) -> Telling:
        rows = (tuple(sorted(each.elements())) for each in (added, removed))
        return cls(subscription, change, *rows, tuple(sorted(updated.elements())))


def rows_of(query: str, documents: Sequence[str]) -> Rows:
    store = Store()
    for each in documents:
        store.load(each.encode(), RdfFormat.N_TRIPLES)
    found: Any = store.query(query)
    if isinstance(found, QueryBoolean):
        return Counter({(): 1}) if found else Counter()
    names = sorted(variable.value for variable in found.variables)
    return Counter(tuple((name, str(row[name])) for name in names if row[name] is not None) for row in found)


@dataclass
class Subscriber:
    name: str
    query: str
    scope: str
    notify: str
    initial: str
    key: tuple[str, ...]
    compared: str = ""
    """A condition of an update (semantics 10.6), over ?v and tc:before(?v)."""
    told: dict[str, Rows] = field(default_factory=dict)
    """By document; of repository scope what it was told of all of them."""
    heard: set[Row] = field(default_factory=set)

    def tell(self, where: str, now: Rows, is_removal: bool) -> Telling | None:
        before = self.told.get(where, Counter())
        self.told[where] = now
        if self.notify == "new":
            new = set(now) - self.heard
            if self.scope == "repository":
                new = set(now - before) - self.heard
            self.heard |= new
            return self._said(Counter(dict.fromkeys(new, 1)), Counter())
        if self.notify == "every" and self.scope == "publication":
            return None if is_removal else self._said(now, Counter())
        return self._said(now - before, before - now)

    def present(self) -> Telling:
        rows = self.told.get("", Counter())
        self.heard |= set(rows)
        return Telling.of(self.name, "present", rows, Counter(), Counter())

    def _said(self, added: Rows, removed: Rows) -> Telling | None:
        if not added and not removed:
            return None
        updated: Counter[tuple[Row, Row]] = Counter()
        if self.key:
            for old in sorted(removed.elements()):
                same = sorted(row for row in added if added[row] and self._key(row) == self._key(old))
                if same:
                    updated[old, same[0]] += 1
                    added[same[0]] -= 1
                    removed[old] -= 1
        if self.compared:
            removed.clear()
            added = Counter({row: count for row, count in added.items() if self._holds((), row)})
            updated = Counter({pair: count for pair, count in updated.items() if self._holds(*pair)})
            if not +added and not updated:
                return None
        word = "changed" if updated or (+added and +removed) else "added" if +added else "removed"
        return Telling.of(self.name, word, +added, +removed, updated)

    def _holds(self, before: Row, after: Row) -> bool:
        bound = {**{f"?before_{name}": term for name, term in before}, **{f"?{name}": term for name, term in after}}
        condition = re.sub(r"tc:before\(\?(\w+)\)", r"?before_\1", self.compared)
        values = f"VALUES ({' '.join(bound)}) {{ ({' '.join(bound.values())}) }}"
        prefix = "PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>"
        return bool(Store().query(f"{prefix} ASK {{ {values} FILTER({condition}) }}"))

    @property
    def text(self) -> str:
        """Its query with its condition."""
        if not self.compared:
            return self.query
        where, bracket, modifiers = self.query.rpartition("}")
        return f"{where} FILTER({self.compared}) {bracket}{modifiers}"

    def _key(self, row: Row) -> list[str]:
        return [dict(row)[name] for name in self.key]


class Told:
    """Documents and their subscribers, in order."""

    def __init__(self) -> None:
        self.documents: dict[str, str] = {}
        self.subscribers: dict[str, Subscriber] = {}

    def subscribe(self, subscriber: Subscriber) -> list[Telling]:
        self.subscribers[subscriber.name] = subscriber
        if subscriber.scope == "publication":
            return []
        rows = rows_of(subscriber.query, [*self.documents.values()])
        if subscriber.initial == "none":
            subscriber.told[""] = rows
            return []
        told = subscriber.tell("", rows, False)
        return [] if told is None else [told]

    def publish(self, graph: str, text: str) -> list[Telling]:
        self.documents[graph] = text
        return self._event(graph, text, False)

    def remove(self, graph: str) -> list[Telling]:
        del self.documents[graph]
        return self._event(graph, "", True)

    def _event(self, graph: str, text: str, is_removal: bool) -> list[Telling]:
        told = []
        for each in self.subscribers.values():
            if each.scope == "publication":
                rows = Counter[Row]() if is_removal else rows_of(each.query, [text])
                told.append(each.tell(graph, rows, is_removal))
            else:
                told.append(each.tell("", rows_of(each.query, [*self.documents.values()]), is_removal))
        return [each for each in told if each is not None]


def telling_of(match: Any) -> Telling:
    """What a match or a notification of Triplecast says."""

    def row(solution: Mapping[str, object]) -> Row:
        return tuple((name, str(solution[name])) for name in sorted(solution))

    pairs = Counter((row(before), row(after)) for before, after in match.updated)
    return Telling.of(
        match.subscription, match.change, Counter(map(row, match.added)), Counter(map(row, match.removed)), pairs
    )
