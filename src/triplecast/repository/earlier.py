"""What a store was like before: until its last change, or for as long as that is held."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from triplecast.kernels.layout import I32
from triplecast.kernels.termbank import TermBank
from triplecast.kernels.triples import ANY

if TYPE_CHECKING:
    from triplecast.repository.store import Change, Store

HELD_TRIPLES = 500_000
"""Triples by which two states may differ for one of them to be held."""


class _ChangedTriples:
    """Triples that were added or removed, found by subject or object."""

    def __init__(self, triples: I32) -> None:
        self._all: list[tuple[int, ...]] = [tuple(row) for row in triples.tolist()]
        self._by_subject: dict[int, list[tuple[int, ...]]] = {}
        self._by_object: dict[int, list[tuple[int, ...]]] = {}
        for each in self._all:
            self._by_subject.setdefault(each[0], []).append(each)
            self._by_object.setdefault(each[2], []).append(each)

    def fitting(self, subject: int, predicate: int, end: int) -> Sequence[tuple[int, ...]]:
        among: Sequence[tuple[int, ...]] = self._all
        if subject != ANY:
            among = self._by_subject.get(subject, ())
        elif end != ANY:
            among = self._by_object.get(end, ())
        return [each for each in among if predicate in (ANY, each[1]) and end in (ANY, each[2])]


class HeldChange:
    """What changed from a state on, as one change: what came and went again is not in it."""

    def __init__(self, first: Change) -> None:
        self._added: set[tuple[int, ...]] = set()
        self._removed: set[tuple[int, ...]] = set()
        self.replaced: dict[int, I32 | None] = {}
        """By the id of its graph, each document that was replaced since, as it was; None where there was none."""
        self._replaced_triples = 0
        self.is_lost = False
        """It came to more than `HELD_TRIPLES`."""
        self.take(first)

    @property
    def size(self) -> int:
        return len(self._added) + len(self._removed)

    def take(self, change: Change) -> None:
        if self.is_lost:
            return
        _net(self._added, self._removed, change.added)
        _net(self._removed, self._added, change.removed)
        if change.graph != ANY and change.graph not in self.replaced:
            self.replaced[change.graph] = change.replaced
            self._replaced_triples += 0 if change.replaced is None else len(change.replaced)
        if self.size + self._replaced_triples + len(self.replaced) > HELD_TRIPLES:
            self.is_lost = True
            self._added, self._removed, self.replaced = set(), set(), {}

    def rows(self) -> tuple[I32, I32]:
        """[n, 3] the triples that came, and those that went."""
        return _rows(self._added), _rows(self._removed)

    def all_rows(self) -> Iterator[I32]:
        """[n, ·] all ids that it has."""
        yield from self.rows()
        yield np.array([*self.replaced], np.int32).reshape(-1, 1)
        yield from (triples for triples in self.replaced.values() if triples is not None)

    def renumber(self, ids: I32) -> None:
        """The terms have other ids now, by the former ones."""
        added, removed = self.rows()
        self._added, self._removed = ({tuple(row) for row in ids[rows].tolist()} for rows in (added, removed))
        self.replaced = {
            int(ids[graph]): None if triples is None else ids[triples] for graph, triples in self.replaced.items()
        }


def _net(there: set[tuple[int, ...]], opposite: set[tuple[int, ...]], rows: I32) -> None:
    for row in map(tuple, rows.tolist()):
        if row in opposite:
            opposite.remove(row)
        else:
            there.add(row)


def _rows(triples: set[tuple[int, ...]]) -> I32:
    return np.array(sorted(triples), np.int32).reshape(-1, 3)


class EarlierStore:
    """A store as it was before what was added and removed since, up to its last change."""

    def __init__(
        self, store: Store, last: Change, added: I32, removed: I32, replaced: Mapping[int, I32 | None]
    ) -> None:
        """`replaced`: the documents of that time, by their graphs, which have others now."""
        self._store = store
        self._last = last
        self._more = len(removed) - len(added)
        self._replaced = replaced
        self._added, self._removed = _ChangedTriples(added), _ChangedTriples(removed)

    @property
    def bank(self) -> TermBank:
        return self._current.bank

    @property
    def size(self) -> int:
        return self._current.size + self._more

    def count(self, subject: int, predicate: int, end: int) -> int:
        pattern = (subject, predicate, end)
        added, removed = self._added.fitting(*pattern), self._removed.fitting(*pattern)
        return self._current.count(*pattern) - len(added) + len(removed)

    def reach(self, subject: int, predicate: int, end: int) -> int:
        return self._current.reach(subject, predicate, end) + len(self._removed.fitting(subject, predicate, end))

    def find(self, subject: int, predicate: int, end: int) -> I32:
        pattern = (subject, predicate, end)
        now = self._current.find(*pattern)
        added = {*self._added.fitting(*pattern)}
        if added:
            now = now[[tuple(row) not in added for row in now.tolist()]]
        gone = self.gone(*pattern)
        return np.concatenate([now, np.array(gone, np.int32)]) if gone else now

    def gone(self, subject: int, predicate: int, end: int) -> Sequence[tuple[int, ...]]:
        """The triples that fit and that the change removed."""
        return self._removed.fitting(subject, predicate, end)

    def graphs(self) -> Iterator[int]:
        yield from (each for each in self._current.graphs() if each not in self._replaced)
        yield from (graph for graph, triples in self._replaced.items() if triples is not None)

    def document(self, graph: int) -> I32 | None:
        return self._replaced[graph] if graph in self._replaced else self._current.document(graph)

    @property
    def _current(self) -> Store:
        if not self._store.is_last(self._last):
            raise ValueError("the store has changed since; read what was before a change until the next")
        return self._store
