"""Documents in the journal: versions of graphs, removals, rejects, and the files that they came from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from triplecast.journal.operator_data import write_attachments
from triplecast.journal.record import Kind, Writing, checksum, publication_row, reject_row, row_of, time_text, verify
from triplecast.model.events import Removal
from triplecast.model.publication import Attachments, Draft, FileState, Position, Reject
from triplecast.sqlite import Database


@dataclass(frozen=True, slots=True)
class Accepted:
    """What became of one draft."""

    draft: int
    """Its index in the call."""
    position: Position
    graph: str
    version: int
    accepted_at: str
    outcome: str
    """``accepted``, or ``unchanged``: then position, version and time are those of the equal latest version."""
    labels: str
    """Of its blank nodes, as in `Draft`: ``input`` when the work bound of canonical labels was hit."""


class Acceptance(NamedTuple):
    """What one transaction of `Journal.commit_documents` wrote."""

    accepted: list[Accepted]
    """One for each draft, in order."""
    rejected: list[Position]
    """The position of each reject, in order."""


class LatestVersion(NamedTuple):
    """The latest version of a graph; without a digest when the graph has been removed since."""

    version: int
    position: Position
    written_at: int
    digest: bytes


def append_documents(
    database: Database, writing: Writing, drafts: Sequence[Draft], rejects: Sequence[Reject]
) -> Acceptance:
    """Add the records of drafts that are new versions, and of rejects (`Journal.commit_documents`)."""
    latest: dict[str, LatestVersion] = {}
    changed: dict[str, LatestVersion] = {}
    accepted = []
    attached: list[tuple[int, Attachments]] = []
    for index, draft in enumerate(drafts):
        graph = draft.graph
        known = latest.get(graph) or latest_version(database, graph)
        outcome = "unchanged"
        if known is None or known.digest != draft.digest:
            outcome = "accepted"
            version = 1 if known is None else known.version + 1
            position = writing.add(publication_row(writing.next, draft, version, writing.at))
            if draft.attachments:
                attached.append((position, draft.attachments))
            known = changed[graph] = LatestVersion(version, position, writing.at, draft.digest)
        latest[graph] = known
        at = time_text(known.written_at)
        accepted.append(Accepted(index, known.position, graph, known.version, at, outcome, draft.labels))
    rejected = [writing.add(reject_row(writing.next, reject, writing.at)) for reject in rejects]
    write_attachments(database, attached)
    _write_latest(database, changed)
    return Acceptance(accepted, rejected)


def append_removal(database: Database, writing: Writing, graph: str) -> Removal | None:
    """Add the record of a removal; None where the graph has no current document."""
    known = latest_version(database, graph)
    if known is None or not known.digest:
        return None
    position = writing.add(row_of(Kind.REMOVAL, writing.next, graph, writing.at, number=known.version))
    _write_latest(database, {graph: LatestVersion(known.version, position, writing.at, b"")})
    return Removal(position, graph, known.version, time_text(writing.at))


def latest_version(database: Database, graph: str) -> LatestVersion | None:
    """Return the latest version of a graph; None for one that was never published."""
    statement = "SELECT version, position, written_at, digest, crc FROM document WHERE graph = ?"
    for version, position, at, digest, crc in database.ask(statement, (graph,)):
        verify(crc, database.where, f"the entry of document {graph}", graph, (version, position, at), digest)
        return LatestVersion(version, position, at, digest)
    return None


def _write_latest(database: Database, changed: Mapping[str, LatestVersion]) -> None:
    database.run(
        "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?)",
        ((graph, *latest, checksum(graph, latest[:3], latest.digest)) for graph, latest in changed.items()),
    )


def write_files(database: Database, states: Mapping[str, FileState], gone: Sequence[str]) -> None:
    """Write the states of files by path, and forget those that are `gone`."""
    database.run("DELETE FROM file WHERE path = ?", ((path,) for path in gone))
    database.run(
        "INSERT OR REPLACE INTO file VALUES (?, ?, ?, ?, ?, ?)",
        (
            (path, *state, checksum(f"{path}\n{state.outcome}", (state.size, state.mtime_ns), state.digest))
            for path, state in states.items()
        ),
    )
