"""Documents of one transaction, of which some are cut into publications, or were (docs/decisions/0022).

A document holds the graphs that it was cut into last. A graph that no document holds any more is removed; one that
others hold, and say otherwise, is again what the last of them said.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import NamedTuple

from triplecast.journal.parts import (
    LET_GO,
    HeldGraph,
    PartChange,
    cut_documents,
    holders_of,
    last_change,
    parts_of,
    runs,
    write_changes,
    write_parts,
)
from triplecast.journal.record import Writing, removal_row, time_text
from triplecast.journal.versions import LatestVersion, latest_versions, write_latest
from triplecast.model.events import Removal
from triplecast.model.publication import Draft, Position, Publication
from triplecast.sqlite import SqliteFile


class Accepted(NamedTuple):
    """What became of one draft."""

    position: Position
    graph: str
    version: int
    accepted_at: str
    outcome: str
    """``accepted``, or ``unchanged``: then position, version and time are those of the equal latest version."""
    labels: str
    """Of its blank nodes, as in `Draft`: ``input`` when the work bound of canonical labels was hit."""


class Dropped(NamedTuple):
    """What became of graphs that a document holds no longer."""

    removed: tuple[Removal, ...]
    restored: tuple[Accepted, ...]
    """Of those that another document says otherwise: what that one says, as a new version."""


NOTHING_DROPPED = Dropped((), ())


class Acceptance(NamedTuple):
    """What one transaction of `Journal.commit_documents` wrote."""

    accepted: list[Accepted]
    """One for each draft, in order."""
    rejected: list[Position]
    """The position of each reject, in order."""
    dropped: dict[int, Dropped]
    """What documents hold no longer, by the number of their first draft."""


class CutDocuments:
    """What one transaction writes of documents."""

    def __init__(
        self,
        database: SqliteFile,
        writing: Writing,
        add: Callable[[Sequence[Draft]], list[Accepted]],
        read: Callable[[int], Publication],
    ) -> None:
        """`add` gives drafts their versions, `read` returns the publication at a position."""
        self._database = database
        self._writing = writing
        self._add = add
        self._read = read
        self._before = writing.next - 1
        self._said: list[tuple[tuple[str, str], HeldGraph]] = []
        """What documents say of graphs from then on, or `LET_GO`, by document and graph."""

    def accept(self, drafts: Sequence[Draft]) -> tuple[list[Accepted], dict[int, Dropped]]:
        """Add the records of documents, in order. Return what `Acceptance` says of them."""
        accepted: list[Accepted] = []
        dropped: dict[int, Dropped] = {}
        cut = cut_documents(self._database, [draft.graph for draft in drafts])
        for run in runs(drafts, cut):
            if run.document is None:
                accepted += self._add(run.drafts)
                continue
            found, ended = self._accept_parts(run.document, run.drafts, run.is_cut)
            if ended.removed or ended.restored:
                dropped[len(accepted)] = ended
            accepted += found
            (cut.add if run.is_cut else cut.discard)(run.document)
        self._note_changes()
        return accepted, dropped

    def remove(self, graph: str) -> Dropped:
        """Remove a graph, and what a document of this name holds."""
        held = parts_of(self._database, graph)
        known = latest_versions(self._database, (graph,)).get(graph)
        removed = (self._remove(graph, known),) if known is not None and known.digest else ()
        dropped = self._drop(graph, held)
        self._note_changes()
        return Dropped(removed + dropped.removed, dropped.restored)

    def _accept_parts(self, document: str, drafts: Sequence[Draft], is_cut: bool) -> tuple[list[Accepted], Dropped]:
        """Add the records of one document's publications, and drop the others that it held. What it says as it did last
        makes no version, also where another document says it otherwise since."""
        held = parts_of(self._database, document)
        latest = latest_versions(self._database, held)
        found: dict[str, Accepted] = {}
        for graph, digest, labels in ((draft.graph, draft.digest, draft.labels) for draft in drafts):
            known, part = latest.get(graph), held.get(graph)
            if known is not None and known.digest and part is not None and part.digest == digest:
                at = time_text(known.written_at)
                found[graph] = Accepted(known.position, graph, known.version, at, "unchanged", labels)
        others = [draft for draft in drafts if draft.graph not in found]
        found.update((each.graph, each) for each in self._add(others))
        if is_cut:
            said = [(draft.graph, HeldGraph(found[draft.graph].position, draft.digest)) for draft in others]
            self._say(document, said)
            held = {graph: part for graph, part in held.items() if graph not in found}
        return [found[draft.graph] for draft in drafts], self._drop(document, held, found)

    def _drop(self, document: str, held: Mapping[str, HeldGraph], kept: Container[str] = ()) -> Dropped:
        """Let a document hold nothing of `held` any more. Add the removal of each graph but those `kept`, unless
        another document holds it, or it was published or removed since."""
        latest = latest_versions(self._database, held)
        removed: list[Removal] = []
        restored: list[Accepted] = []
        for graph, part in held.items():
            known = latest.get(graph)
            if graph in kept or known is None or known.position != part.position or not known.digest:
                continue
            others = holders_of(self._database, graph)
            others.pop(document)
            if not others:
                removed.append(self._remove(graph, known))
                continue
            other, said = others.popitem()
            again = self._restore(said)
            self._say(other, [(graph, HeldGraph(again.position, said.digest))])
            restored += [again] * (again.outcome == "accepted")
        self._say(document, [(graph, LET_GO) for graph in held])
        return Dropped(tuple(removed), tuple(restored))

    def _say(self, document: str, parts: Iterable[tuple[str, HeldGraph]]) -> None:
        said = [((document, graph), part) for graph, part in parts]
        write_parts(self._database, dict(said))
        self._said += said

    def _note_changes(self) -> None:
        """Add what changed to what replicas take: at the version that was made, else at the last position, so that one
        which has not taken all records of this still knows whose each graph is."""
        last = dict(self._said)
        head = self._writing.next - 1
        changes = [
            (part.position if part.position > self._before else head, document, graph, part)
            for (document, graph), part in self._said
            if part.position > self._before or last[document, graph] is part
        ]
        changes.sort(key=lambda change: change[0])
        first = last_change(self._database) + 1 if changes else 0
        write_changes(self._database, (PartChange(number, *each) for number, each in enumerate(changes, first)))
        self._said, self._before = [], head

    def _restore(self, said: HeldGraph) -> Accepted:
        former = self._read(said.position)
        draft = Draft(former.graph, former.quads, said.digest, former.labels, former.dataset, former.attachments)
        (again,) = self._add([draft])
        return again

    def _remove(self, graph: str, known: LatestVersion) -> Removal:
        writing = self._writing
        position = writing.add(removal_row(writing.next, graph, known.version, writing.at, known.position))
        write_latest(self._database, {graph: LatestVersion(known.version, position, writing.at, b"")})
        return Removal(position, graph, known.version, time_text(writing.at), known.position)
