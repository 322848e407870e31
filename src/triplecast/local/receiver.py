"""A local repository's copy of what its subscriptions hold, kept by the provider's log: each transaction is taken once,
in order, and what differs from the provider's digest is fetched again."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from triplecast.crash_points import reach
from triplecast.engine import Engine
from triplecast.errors import DocumentRejected
from triplecast.journal import BYTES_AT_ONCE, FileState, JournalFile
from triplecast.local.descriptions import HELD, draft_of
from triplecast.local.held_state import CONTROL, HELD_BY, NOTHING, STRONG_KEY, Digests, Held, bucket_of, buckets_of
from triplecast.model.publication import Draft
from triplecast.patch import GraphChange, Patch, changes_of, read_patches, text_of
from triplecast.schema.schema import STRONG

PATCHES_AT_ONCE = 200
"""Transactions of the provider that are taken in one of the local folder, unless fewer come to `BYTES_AT_ONCE`."""


class OutOfStep(Exception):
    """What was received does not go on from what is here, or does not come to the provider's digest."""


class _Place(NamedTuple):
    """Where a patch comes to."""

    position: int
    id: str
    prev: str | None
    """None in a snapshot."""
    digest: str
    buckets: frozenset[int] | None
    """Those that a snapshot has; None for all."""


class _Effect(NamedTuple):
    """What a row does to what is held under a graph: a line or a name comes or goes."""

    graph: str
    is_added: bool
    line: bytes | None
    name: str | None


class Receiver:
    """The state of one local folder; read from its journal, and changed by one step of it at a time.

    After an exception of a method it is to be made again.
    """

    def __init__(self, engine: Engine, journal: JournalFile) -> None:
        self._engine = engine
        self._journal = journal
        sources = journal.sources()
        at = sources.get(CONTROL, FileState(0, 0, b"", ""))
        self.position = at.size
        """How far the provider's log was taken; 0 before the first snapshot."""
        self.id = at.outcome
        self.names = {
            graph: tuple(json.loads(state.outcome))
            for graph, state in sources.items()
            if graph.startswith(HELD) or graph == STRONG_KEY
        }
        """By graph: the subscriptions that hold a resource themselves; and the strong properties."""
        self.digests = Digests()
        documents = journal.current_documents(HELD)
        for graph in {*documents, *self.names}:
            quads = documents[graph].quads if graph in documents else b""
            self.digests.replace(graph, NOTHING, Held(quads, self.names.get(graph, ())))

    def take(self, texts: Iterable[bytes]) -> None:
        """Take transactions; those that were taken before are passed over. Raises `OutOfStep` at the first that is not
        whole, does not follow or does not come to its digest: those before it are taken."""
        step, size = _Step(self), 0
        try:
            for count, text in enumerate(texts, 1):
                step.take(text)
                size += len(text)
                if count % PATCHES_AT_ONCE == 0 or size >= BYTES_AT_ONCE:
                    step.commit()
                    step, size = _Step(self), 0
        except OutOfStep:
            step.commit()
            raise
        step.commit()

    def take_snapshot(self, text: bytes) -> None:
        """Hold what a snapshot has, and nothing else in its buckets. Raises `OutOfStep` where that does not come to its
        digest."""
        step = _Step(self)
        step.take_snapshot(text)
        step.commit()

    def held(self, graphs: Sequence[str]) -> dict[str, Held]:
        """What is held now under some graphs."""
        found = self._journal.documents_of([graph for graph in graphs if graph.startswith(HELD)])
        return {
            graph: Held(found[graph].quads if graph in found else b"", self.names.get(graph, ())) for graph in graphs
        }

    def held_graphs(self) -> set[str]:
        return {*self._journal.current_documents(HELD), *self.names}

    def commit(self, changes: Sequence[Draft | str], now: dict[str, Held], place: _Place, digests: Digests) -> None:
        """Write what became of some graphs, and how far this came, in one step."""
        changed = {graph: held.names for graph, held in now.items() if held.names != self.names.get(graph, ())}
        sources = {graph: FileState(0, 0, b"", json.dumps(names)) for graph, names in changed.items() if names}
        sources[CONTROL] = FileState(place.position, 0, b"", place.id)
        reach("local.taken")
        self._engine.taking.changes(changes, sources, [graph for graph, names in changed.items() if not names])
        reach("local.committed")
        self.position, self.id, self.digests = place.position, place.id, digests
        for graph, names in changed.items():
            if names:
                self.names[graph] = names
            else:
                del self.names[graph]


class _Step:
    """Some transactions that are written together."""

    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self._now: dict[str, Held] = {}
        """What is held under the graphs that were looked at."""
        self._changes: list[Draft | str] = []
        self._digests = receiver.digests
        self._place: _Place | None = None

    def take(self, text: bytes) -> None:
        """Take a transaction wholly, or raise `OutOfStep`."""
        place, effects = _read(text)
        last = self._place
        position, id = (self._receiver.position, self._receiver.id) if last is None else (last.position, last.id)
        if place.position <= position and place.prev is not None:
            return
        if place.prev != id:
            raise OutOfStep(f"the transaction of position {place.position} does not follow position {position}")
        self._apply(place, effects, self._held({each.graph for each in effects}))

    def take_snapshot(self, text: bytes) -> None:
        place, effects = _read(text)
        if place.prev is not None:
            raise OutOfStep("a transaction came in the place of a snapshot")
        graphs = self._receiver.held_graphs()
        gone = {graph for graph in graphs if place.buckets is None or bucket_of(graph) in place.buckets}
        self._apply(place, effects, self._held({*gone, *(each.graph for each in effects)}), anew=True)

    def commit(self) -> None:
        if self._place is not None:
            self._receiver.commit(self._changes, self._now, self._place, self._digests)

    def _held(self, graphs: set[str]) -> dict[str, Held]:
        known = {graph: self._now[graph] for graph in graphs if graph in self._now}
        return {**self._receiver.held([graph for graph in sorted(graphs) if graph not in known]), **known}

    def _apply(self, place: _Place, effects: Sequence[_Effect], before: dict[str, Held], anew: bool = False) -> None:
        digests = Digests(self._digests.numbers)
        after: dict[str, Held] = {}
        changes: list[Draft | str] = []
        by_graph: dict[str, list[_Effect]] = {graph: [] for graph in sorted(before)}
        for each in effects:
            by_graph[each.graph].append(each)
        for graph, some in by_graph.items():
            held, draft = _applied(graph, NOTHING if anew else before[graph], some)
            after[graph] = held
            digests.replace(graph, before[graph], held)
            if held.quads != before[graph].quads:
                changes.append(graph if draft is None else draft)
        if digests.text_at(place.position, place.id) != place.digest:
            raise OutOfStep(f"what is held at position {place.position} has another digest than the provider's")
        self._changes += changes
        self._now.update(after)
        self._digests, self._place = digests, place


def _applied(graph: str, before: Held, effects: Sequence[_Effect]) -> tuple[Held, Draft | None]:
    """What is held after some effects, and its document."""
    lines, names = {*before.lines}, {*before.names}
    for _, is_added, line, name in effects:
        if line is not None:
            (lines.add if is_added else lines.discard)(line)
        elif name is not None:
            (names.add if is_added else names.discard)(name)
    try:
        draft = draft_of(graph, lines) if lines else None
    except DocumentRejected as error:
        raise OutOfStep(str(error)) from None
    return Held(b"" if draft is None else draft.quads, tuple(sorted(names))), draft


def _read(text: bytes) -> tuple[_Place, list[_Effect]]:
    """A transaction of the log. Raises `OutOfStep` for what is none."""
    try:
        (patch,) = read_patches(text)
        header = {name: text_of(term) for name, term in patch.header.items()}
        buckets = frozenset(buckets_of(header["buckets"])) if "buckets" in header else None
        prev = None if "snapshot" in header else patch.header["prev"]
        place = _Place(int(header["position"]), patch.header["id"], prev, header["digest"], buckets)
        return place, [_effect(each, patch) for each in changes_of(patch)]
    except (DocumentRejected, ValueError, KeyError) as error:
        raise OutOfStep(f"what was received cannot be read: {error}") from None


def _effect(change: GraphChange, patch: Patch) -> _Effect:
    if change.graph.startswith(HELD):
        return _Effect(change.graph, change.is_added, change.line, None)
    subject, predicate, end = change.line[:-3].decode().split(" ", 2)
    if change.graph == CONTROL and predicate == HELD_BY and subject.startswith(f"<{HELD}"):
        return _Effect(subject[1:-1], change.is_added, None, text_of(end))
    if change.graph == CONTROL and predicate == STRONG:
        return _Effect(STRONG_KEY, change.is_added, None, subject)
    raise ValueError(f"line {patch.line}: a row about <{change.graph}> is none of a local repository")
