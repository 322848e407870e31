"""What a run of events did to a store, and the store as it was after any of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from triplecast.kernels.layout import I32, I64
from triplecast.kernels.termbank import TermBank
from triplecast.kernels.timeline import Timeline
from triplecast.kernels.triples import ANY

if TYPE_CHECKING:
    from triplecast.repository.store import Store

_Triple = tuple[int, ...]


class Change(NamedTuple):
    """What an event did to the one graph; documents that share triples change less than their own."""

    graph: int
    """The id of the document's identity, `ANY` where the event is no document's."""
    added: I32
    """[n, 3] triples that no document had before."""
    removed: I32
    """[n, 3] triples that no document has now."""
    replaced: I32 | None
    """[n, 3] the triples of the graph's document before; None where it had none."""


class Changes(NamedTuple):
    """What each event of a run did."""

    timeline: Timeline
    offsets: I64
    """[E + 1] the rows of each event in the timeline."""
    graphs: Sequence[int]
    """[E] as `Change.graph`"""
    replaced: Sequence[I32 | None]
    """[E] as `Change.replaced`"""

    def of(self, event: int) -> Change:
        start, stop = self.offsets[event : event + 2].tolist()
        rows, came = self.timeline.rows[start:stop], self.timeline.came[start:stop]
        return Change(self.graphs[event], rows[came == 1], rows[came == 0], self.replaced[event])

    def subjects(self) -> I64:
        """[n] the subjects of changed triples, maybe several times: `pack` of event and subject."""
        return self.timeline.event.astype(np.int64) << 32 | self.timeline.rows[:, 0]

    def touch(self, event: int) -> bool:
        """Whether an event changed a triple."""
        return bool(self.offsets[event] < self.offsets[event + 1])


class EarlierStore:
    """A store as it was after some event of its last run, until the next run. It can only go back further."""

    def __init__(self, store: Store, changes: Changes, event: int) -> None:
        self._store = store
        self._changes = changes
        self._event = len(changes.graphs) - 1
        self._added, self._removed = _TripleSet(), _TripleSet()
        """What is there now and was not then, and the other way round."""
        self._documents: dict[int, I32 | None] = {}
        """Of the graphs whose document was another, or None."""
        self.go_back(event)

    @classmethod
    def differing(
        cls, store: Store, changes: Changes, added: I32, removed: I32, documents: Mapping[int, I32 | None]
    ) -> EarlierStore:
        """A state from which a store differs by triples that came and went since, and by documents."""
        made = cls(store, changes, len(changes.graphs) - 1)
        for triples, rows in ((made._added, added), (made._removed, removed)):
            for row in rows.tolist():
                triples.add(tuple(row))
        made._documents.update(documents)
        return made

    def go_back(self, event: int) -> None:
        """To what was after an event, by its number; -1: before the first."""
        while self._event > event:
            graph, added, removed, replaced = self._changes.of(self._event)
            for each in map(tuple, added.tolist()):
                if not self._removed.discard(each):
                    self._added.add(each)
            for each in map(tuple, removed.tolist()):
                if not self._added.discard(each):
                    self._removed.add(each)
            if graph != ANY:
                self._documents[graph] = replaced
            self._event -= 1

    @property
    def bank(self) -> TermBank:
        return self._current.bank

    @property
    def size(self) -> int:
        return self._current.size - len(self._added) + len(self._removed)

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
        removed = self._removed.fitting(*pattern)
        return np.concatenate([now, np.array(removed, np.int32)]) if removed else now

    def graphs(self) -> Iterator[int]:
        yield from (each for each in self._current.graphs() if each not in self._documents)
        yield from (graph for graph, triples in self._documents.items() if triples is not None)

    def document(self, graph: int) -> I32 | None:
        return self._documents[graph] if graph in self._documents else self._current.document(graph)

    @property
    def _current(self) -> Store:
        if not self._store.is_last(self._changes):
            raise ValueError("the store has changed since; read what was before a change until the next")
        return self._store


class _TripleSet:
    """Triples, found by subject, predicate or object."""

    def __init__(self) -> None:
        self._all: dict[_Triple, None] = {}
        self._by_term: tuple[dict[int, dict[_Triple, None]], ...] = ({}, {}, {})

    def __len__(self) -> int:
        return len(self._all)

    def add(self, triple: _Triple) -> None:
        self._all[triple] = None
        for found, term in zip(self._by_term, triple, strict=True):
            found.setdefault(term, {})[triple] = None

    def discard(self, triple: _Triple) -> bool:
        """Whether it was there."""
        if triple not in self._all:
            return False
        del self._all[triple]
        for found, term in zip(self._by_term, triple, strict=True):
            del found[term][triple]
        return True

    def fitting(self, subject: int, predicate: int, end: int) -> list[_Triple]:
        among = self._all
        for term, found in zip(
            (subject, end, predicate), (self._by_term[0], self._by_term[2], self._by_term[1]), strict=True
        ):
            if term != ANY:
                among = found.get(term, {})
                break
        return [
            each
            for each in among
            if subject in (ANY, each[0]) and predicate in (ANY, each[1]) and end in (ANY, each[2])
        ]
