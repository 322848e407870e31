"""The store: the current documents of a folder as integers, event by event."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import numpy as np

from triplecast.kernels.layout import I32
from triplecast.kernels.livetriples import (
    count_fitting,
    empty_live,
    find_fitting,
    live_with_room,
    reach_fitting,
    release,
    retain,
)
from triplecast.kernels.termbank import TermBank, empty_bank, find_term, number_lines, number_terms
from triplecast.kernels.triples import ANY, NOWHERE
from triplecast.model.events import Event, Removal
from triplecast.model.publication import Publication
from triplecast.repository.assembly import REMOVED, Assembled, DocumentRun, assemble, number_documents
from triplecast.repository.document_lines import document_lines
from triplecast.repository.earlier import EarlierStore, HeldChange

MERGE_AFTER = 65_536
"""Triples of documents that came and went before the live part is sorted in; in a large store, a quarter of it."""
NO_TRIPLES: I32 = np.zeros((0, 3), np.int32)


class Change(NamedTuple):
    """What an event did to the one graph; documents that share triples change less than their own."""

    position: int
    graph: int
    """The id of the document's identity, `ANY` where the event is no document's."""
    added: I32
    """[n, 3] triples that no document had before."""
    removed: I32
    """[n, 3] triples that no document has now."""
    replaced: I32 | None
    """[n, 3] the triples of the graph's document before; None where it had none."""


class TripleSource(Protocol):
    """A state of the repository. In patterns of ids, `ANY` stands for all terms."""

    @property
    def bank(self) -> TermBank: ...

    @property
    def size(self) -> int:
        """How many triples the one graph has."""

    def count(self, subject: int, predicate: int, end: int) -> int:
        """How many triples fit."""

    def reach(self, subject: int, predicate: int, end: int) -> int:
        """How many triples `find` looks at: as many as fit, and maybe some that are gone."""

    def find(self, subject: int, predicate: int, end: int) -> I32:
        """[n, 3] the triples that fit, each once."""

    def graphs(self) -> Iterator[int]:
        """The ids of the identities of all documents."""

    def document(self, graph: int) -> I32 | None:
        """[n, 3] the triples of one document, each once; None where there is none."""


class Store:
    """The repository after an event.

    A triple is in the one graph as long as a document has it. Ids are given in order of appearance, and stay those of
    their terms until a merge, which `apply` makes before a change and never between a change and the next one.
    """

    def __init__(self, assembled: Assembled, position: int = 0, merge_after: int = MERGE_AFTER) -> None:
        self.position = position
        """Of the last event that it has."""
        self._merge_after = merge_after
        self._held: list[HeldChange] = []
        self._settle(assembled)

    @classmethod
    def empty(cls, merge_after: int = MERGE_AFTER, randomness: Callable[[int], bytes] = os.urandom) -> Store:
        secret = (int.from_bytes(randomness(8)), int.from_bytes(randomness(8)) | 1)
        return cls(assemble(empty_bank(secret), [_NO_DOCUMENTS]), merge_after=merge_after)

    def _settle(self, assembled: Assembled) -> None:
        self.bank, self._stored, self._documents, ids = assembled
        if ids is not None:
            for held in self._held:
                held.renumber(ids)
        self._live = empty_live(len(self._stored.rows))
        self._changed: dict[int, I32 | None] = {}
        """The documents that are not those of `_documents`, by graph; None: removed."""
        self._moved = 0
        """Triples of documents that came and went since."""
        self._last: Change | None = None
        self._before: EarlierStore | None = None

    # ---- reading ----------------------------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How many triples the one graph has."""
        return int(self._live.tally[1])

    def count(self, subject: int, predicate: int, end: int) -> int:
        if subject == predicate == end == ANY:
            return self.size
        return int(count_fitting(self._stored, self._live, int(subject), int(predicate), int(end)))

    def reach(self, subject: int, predicate: int, end: int) -> int:
        return int(reach_fitting(self._stored, self._live, int(subject), int(predicate), int(end)))

    def find(self, subject: int, predicate: int, end: int) -> I32:
        return find_fitting(self._stored, self._live, int(subject), int(predicate), int(end))

    def graphs(self) -> Iterator[int]:
        yield from (graph for graph in self._documents.graphs.tolist() if graph not in self._changed)
        yield from (graph for graph, triples in self._changed.items() if triples is not None)

    def document(self, graph: int) -> I32 | None:
        if graph in self._changed:
            return self._changed[graph]
        graphs, offsets, rows = self._documents
        at = int(np.searchsorted(graphs, np.int32(graph)))  # of their type, or all of them are converted
        if at == len(graphs) or graphs[at] != graph:
            return None
        return self._stored.rows[rows[offsets[at] : offsets[at + 1]]]

    @property
    def before(self) -> EarlierStore:
        """The store as before the last change, until the next."""
        if self._last is None:
            raise ValueError("the store has had no change since it was made or merged")
        if self._before is None:
            change = self._last
            replaced = {} if change.graph == ANY else {change.graph: change.replaced}
            self._before = EarlierStore(self, change, change.added, change.removed, replaced)
        return self._before

    def is_last(self, change: Change) -> bool:
        return self._last is change

    def hold(self) -> HeldChange:
        """Note from now on what differs from the state before the last change, until `drop`."""
        assert self._last is not None
        held = HeldChange(self._last)
        self._held.append(held)
        return held

    def drop(self, held: HeldChange) -> None:
        self._held.remove(held)

    @contextmanager
    def since(self, held: HeldChange) -> Iterator[None]:
        """Let `before` be that of a held change, as if all of it were the last one."""
        usual, self._before = self._before, self.before_held(held)
        try:
            yield
        finally:
            self._before = usual

    def before_held(self, held: HeldChange) -> EarlierStore:
        """The store as it was before all that a held change has, until the next change."""
        assert self._last is not None
        return EarlierStore(self, self._last, *held.rows(), held.replaced)

    # ---- changing ---------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> Change:
        """Take the next event; return what it added and removed."""
        self._make_room()
        change = Change(event.position, ANY, NO_TRIPLES, NO_TRIPLES, None)
        if isinstance(event, Publication):
            self.bank, triples = number_lines(self.bank, document_lines(event))
            change = self._replace(self._number(event.graph), triples, event.position)
        elif isinstance(event, Removal):
            change = self._replace(self._number(event.graph), None, event.position)
        return self._note(change)

    def _make_room(self) -> None:
        if self._moved > max(self._merge_after, len(self._documents.rows) // 4):
            self.merge()

    def _note(self, change: Change) -> Change:
        self.position = change.position
        self._last, self._before = change, None
        for held in self._held:
            held.take(change)
        return change

    def replace(self, documents: Mapping[str, bytes], position: int) -> Change:
        """Give graphs, by their terms, other lines in one event; empty ones are removed. No two of them share a
        triple."""
        self._make_room()
        self.bank, triples = number_lines(self.bank, b"".join(documents.values()))
        self.bank, graphs = number_terms(self.bank, [graph.encode() for graph in documents])
        added, removed, at = [NO_TRIPLES], [NO_TRIPLES], 0
        for graph, lines in zip(graphs.tolist(), documents.values(), strict=True):
            end = at + lines.count(b"\n")
            change = self._replace(graph, triples[at:end] if lines else None, position)
            added.append(change.added)
            removed.append(change.removed)
            at = end
        return self._note(Change(position, ANY, np.concatenate(added), np.concatenate(removed), None))

    def load(self, groups: Iterable[Sequence[Event]]) -> None:
        """Take many events at once, in groups; faster than one by one, and without their changes."""
        runs, position = self._runs(), self.position
        for events in groups:
            if events:
                documents = [event for event in events if isinstance(event, Publication | Removal)]
                self.bank, run = number_documents(self.bank, documents)
                runs.append(run)
                position = events[-1].position
        self._settle(assemble(self.bank, runs))
        self.position = position

    def merge(self) -> Assembled:
        """Sort the live part in; return what the store is made of."""
        if self._changed:
            held = [rows for each in self._held for rows in each.all_rows()]
            self._settle(assemble(self.bank, self._runs(), held))
        return Assembled(self.bank, self._stored, self._documents)

    def _runs(self) -> list[DocumentRun]:
        graphs, offsets, rows = self._documents
        changed = list(self._changed.values())
        lengths = [REMOVED if triples is None else len(triples) for triples in changed]
        triples = [NO_TRIPLES, *(triples for triples in changed if triples is not None)]
        live = DocumentRun(np.array([*self._changed], np.int32), np.array(lengths, np.int64), np.concatenate(triples))
        return [DocumentRun(graphs, np.diff(offsets), self._stored.rows[rows]), live]

    def _number(self, graph: str) -> int:
        self.bank, (id,) = number_terms(self.bank, [b"<%b>" % graph.encode()])
        return int(id)

    def _replace(self, graph: int, triples: I32 | None, position: int) -> Change:
        """Count the triples of the new document before those of the old one go, so that what both have stays."""
        old = self.document(graph)
        new = NO_TRIPLES if triples is None else triples
        gone = NO_TRIPLES if old is None else old
        self._live = live_with_room(self._live, len(new))
        added, removed = np.empty_like(new), np.empty_like(gone)
        count = retain(self._stored, self._live, new, added)
        lost = release(self._stored, self._live, gone, removed)
        if old is not None or triples is not None:
            self._changed[graph] = triples
        self._moved += 1 + len(new) + len(gone)
        return Change(position, graph, added[:count], removed[:lost], old)


def id_of(source: TripleSource, term: str) -> int:
    """The id of a term in N-Triples form, `NOWHERE` where no document has it."""
    found = find_term(source.bank, term.encode())
    return NOWHERE if found < 0 else found


_NO_DOCUMENTS = DocumentRun(np.zeros(0, np.int32), np.zeros(0, np.int64), NO_TRIPLES)
