"""The store: the current documents of a folder as integers, event by event."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import Protocol

import numpy as np

from triplecast.kernels.changed import ChangedAnswers, ChangedLimits, changed_answers
from triplecast.kernels.layout import I32, I64
from triplecast.kernels.livetriples import count_fitting, empty_live, find_fitting, live_with_room, reach_fitting
from triplecast.kernels.resolve import current_hash_mask
from triplecast.kernels.single import Packed
from triplecast.kernels.stored_views import view_subjects
from triplecast.kernels.termbank import TermBank, empty_bank, find_term, number_lines
from triplecast.kernels.timeline import (
    Reached,
    Replacements,
    Timeline,
    follow_steps,
    replace_documents,
    stayed_subjects,
    timeline_of,
)
from triplecast.kernels.triples import ANY, NOWHERE
from triplecast.kernels.views import Views
from triplecast.model.events import Event, Removal
from triplecast.model.publication import Publication
from triplecast.repository.assembly import REMOVED, Assembled, DocumentRun, assemble, number_documents
from triplecast.repository.changes import Change, Changes, EarlierStore
from triplecast.repository.held import HeldChange

MERGE_AFTER = 65_536
"""Triples of documents that came and went before the live part is sorted in; in a large store, a quarter of it."""
_TERMS_KEPT = 10_000
"""Terms of subscriptions whose ids are kept at hand, and of ids that were asked for."""
NO_TRIPLES: I32 = np.zeros((0, 3), np.int32)


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
        self._last: Changes | None = None
        self._ids: dict[str, int] = {}
        self._texts: dict[int, str] = {}

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
        return self._stored_documents(np.array([graph], np.int32)).get(graph)

    def _stored_documents(self, graphs: I32) -> dict[int, I32]:
        """The triples of those of some documents that were there when the triples were sorted."""
        known, offsets, rows = self._documents
        at = np.searchsorted(known, graphs)
        at[at == len(known)] = 0
        found = at[known[at] == graphs].tolist() if len(known) else []
        return {int(known[each]): self._stored.rows[rows[offsets[each] : offsets[each + 1]]] for each in found}

    def before(self, event: int = 0) -> EarlierStore:
        """The store as before an event of its last run, by its number there, until the next."""
        return EarlierStore(self, self._changes, event - 1)

    def hold(self, event: int) -> HeldChange:
        """Note from now on what differs from the state before an event of the last run, until `drop`."""
        held = self._net(event, len(self._changes.graphs) - 1)
        self._held.append(held)
        return held

    def change(self, first: int, last: int) -> Change | None:
        """What several events of the last run changed together; None where that is too much."""
        held = self._net(first, last)
        return None if held.is_lost else Change(ANY, *held.triples(), None)

    def _net(self, first: int, last: int) -> HeldChange:
        held = HeldChange()
        for number in range(first, last + 1):
            held.take(self._changes.of(number))
        return held

    def drop(self, held: HeldChange) -> None:
        self._held.remove(held)

    def before_held(self, held: HeldChange) -> EarlierStore:
        """The store as it was before all that a held change has, until the next run."""
        return EarlierStore.differing(self, self._changes, *held.triples(), held.replaced)

    @contextmanager
    def since(self, held: HeldChange) -> Iterator[Changes]:
        """Let the last run be one event, of all that a held change has."""
        last = self._changes
        added, removed = held.triples()
        came = np.repeat(np.array([1, 0], np.uint8), [len(added), len(removed)])
        timeline = timeline_of(np.concatenate([added, removed]), came)
        self._last = Changes(timeline, np.array([0, len(timeline.rows)]), (ANY,), (None,))
        try:
            yield self._last
        finally:
            self._last = last

    def id(self, term: str) -> int:
        """As `id_of`; ids are kept until a merge gives others."""
        found = self._ids.get(term)
        if found is None:
            found = id_of(self, term)
            if found != NOWHERE:
                self._ids[term] = found
        return found

    def text(self, id: int) -> str:
        """The term of an id, kept likewise."""
        found = self._texts.get(id)
        if found is None:
            found = self._texts[id] = self.bank.term(id).decode()
        return found

    def is_last(self, changes: Changes) -> bool:
        return self._last is changes

    def view(self, keys: I64, most: int) -> Views | None:
        """As `view_subjects`, of the last run."""
        return view_subjects(self._stored, self._live, self._timeline, self.bank, keys, most)

    def changed(self, keys: I64, packed: Packed, limits: ChangedLimits) -> ChangedAnswers:
        """As `changed_answers`, of the last run."""
        stored, live, mask = self._stored, self._live, current_hash_mask()
        return changed_answers(stored, live, self._timeline, self.bank, keys, packed, limits, mask)

    def follow(self, keys: I64, steps: I64, room: int, most: int) -> Reached:
        """As `follow_steps`, of the last run."""
        return follow_steps(self._stored, self._live, self._timeline, keys, steps, room, most)

    def stayed(self, keys: I64) -> I64:
        """As `stayed_subjects`, of the last run."""
        return stayed_subjects(self._stored, self._live, self._timeline, keys)

    @property
    def _timeline(self) -> Timeline:
        return self._changes.timeline

    @property
    def _changes(self) -> Changes:
        if self._last is None:
            raise ValueError("the store has had no change since it was made or merged")
        return self._last

    # ---- changing ---------------------------------------------------------------------------------------------------

    def apply(self, event: Event) -> Change:
        """Take the next event; return what it added and removed."""
        return self.apply_all([event]).of(0)

    def apply_all(self, events: Sequence[Event]) -> Changes:
        """Take the next events, one or more; return what each added and removed."""
        self._make_room()
        documents = [each for each in events if isinstance(each, Publication | Removal)]
        self.bank, (ids, lengths, triples) = number_documents(self.bank, documents)
        stored = self._stored_documents(ids)
        numbered, end = zip(ids.tolist(), lengths.tolist(), strict=True), 0
        graphs: list[int] = []
        new: list[I32] = []
        replaced: list[I32 | None] = []
        for event in events:
            graph, length = next(numbered) if isinstance(event, Publication | Removal) else (ANY, REMOVED)
            old = self._changed[graph] if graph in self._changed else stored.get(graph)
            document = None if length == REMOVED else triples[end : end + length]
            end += max(length, 0)
            if old is not None or document is not None:
                self._changed[graph] = document
            graphs.append(graph)
            new.append(NO_TRIPLES if document is None else document)
            replaced.append(old)
        old_triples = [NO_TRIPLES if each is None else each for each in replaced]
        self._live = live_with_room(self._live, len(triples))
        self.position = events[-1].position
        replacements = Replacements(triples, _offsets_of(new), np.concatenate(old_triples), _offsets_of(old_triples))
        return self._replace(replacements, graphs, replaced)

    def replace(self, documents: Mapping[str, bytes], position: int) -> Changes:
        """Give graphs, by their terms, other lines in one event; empty ones go. No two of them share a triple."""
        self._make_room()
        names = [graph.encode() for graph in documents]
        self.bank, triples, graphs = number_lines(self.bank, b"".join(documents.values()), names)
        old, at = [NO_TRIPLES], 0
        for graph, lines in zip(graphs.tolist(), documents.values(), strict=True):
            before, end = self.document(graph), at + lines.count(b"\n")
            if before is not None:
                old.append(before)
            if before is not None or lines:
                self._changed[graph] = triples[at:end] if lines else None
            at = end
        self._live = live_with_room(self._live, len(triples))
        self.position = position
        gone = np.concatenate(old)
        return self._replace(Replacements(triples, _offsets_of([triples]), gone, _offsets_of([gone])), (ANY,), (None,))

    def _make_room(self) -> None:
        if self._moved > max(self._merge_after, len(self._documents.rows) // 4):
            self.merge()

    def _replace(self, replacements: Replacements, graphs: Sequence[int], replaced: Sequence[I32 | None]) -> Changes:
        timeline = replace_documents(self._stored, self._live, replacements)
        self._moved += len(graphs) + len(replacements.new) + len(replacements.old)
        offsets = np.searchsorted(timeline.event, np.arange(len(graphs) + 1, dtype=np.int32))
        self._last = Changes(timeline, offsets, graphs, replaced)
        for known in (self._ids, self._texts):
            if len(known) > _TERMS_KEPT:
                known.clear()
        for held in self._held:
            for event in range(len(graphs)):
                held.take(self._last.of(event))
        return self._last

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


def id_of(source: TripleSource, term: str) -> int:
    """The id of a term in N-Triples form, `NOWHERE` where no document has it."""
    found = find_term(source.bank, term.encode())
    return NOWHERE if found < 0 else found


_NO_DOCUMENTS = DocumentRun(np.zeros(0, np.int32), np.zeros(0, np.int64), NO_TRIPLES)


def _offsets_of(documents: Sequence[I32]) -> I64:
    return np.array([0, *accumulate(map(len, documents))], np.int64)
