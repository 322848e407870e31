"""What documents that were cut hold: their publications, as the table ``part`` has them (docs/decisions/0022)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from triplecast.errors import StorageFault
from triplecast.journal.record import checksum, verify
from triplecast.model.publication import Draft, Position
from triplecast.sqlite import SqliteFile
from triplecast.storage_faults import RESTORE


class HeldGraph(NamedTuple):
    """A publication as a document says it."""

    position: Position
    """Of the version that this made, or that was equal when the document began to say so."""
    digest: bytes


LET_GO = HeldGraph(Position(0), b"")
"""Of a graph that a document holds no longer."""


class PartChange(NamedTuple):
    """What a document holds from a position on, as ``part_change`` has it: so a replica has it at every position."""

    number: int
    """1, 2, …"""
    position: int
    """Never less than that of the change before."""
    document: str
    graph: str
    part: HeldGraph
    """Or `LET_GO`."""


class DraftRun(NamedTuple):
    """Drafts that follow each other: those of one document that is cut, or was, or others that are not."""

    drafts: Sequence[Draft]
    document: str | None
    """Its IRI."""
    is_cut: bool = False
    """Whether it still is."""


def runs(drafts: Sequence[Draft], cut: Collection[str]) -> Iterator[DraftRun]:
    """Yield the drafts of one commit in order. `cut`: which of their graphs are documents that were cut by then, which
    is looked up as the runs are taken."""
    start = at = 0
    while at < len(drafts):
        graph, origin = drafts[at].graph, drafts[at].origin
        if origin is None and graph not in cut:
            at += 1
            continue
        if start < at:
            yield DraftRun(drafts[start:at], None)
        start = at + (1 if origin is None else origin.parts)
        yield DraftRun(drafts[at:start], graph if origin is None else origin.document, origin is not None)
        at = start
    if start < at:
        yield DraftRun(drafts[start:at], None)


def has_parts(database: SqliteFile) -> bool:
    return bool(database.ask("SELECT 1 FROM part LIMIT 1"))


def cut_documents(database: SqliteFile, graphs: Iterable[str]) -> set[str]:
    """Return those of `graphs` that are documents that were cut when they were published last."""
    statement = "SELECT value FROM json_each(?) WHERE value IN (SELECT document FROM part)"
    return {document for (document,) in database.ask(statement, (json.dumps([*graphs]),))}


def parts_of(database: SqliteFile, document: str) -> dict[str, HeldGraph]:
    """Return what a document holds, by graph. Raises `StorageFault` for damage."""
    rows = read_parts(database, "WHERE document = ? ORDER BY graph", document)
    return {graph: part for _, graph, part in rows}


def holders_of(database: SqliteFile, graph: str) -> dict[str, HeldGraph]:
    """Return how the documents that hold a graph say it, by document, the latest last. Raises `StorageFault` for
    damage."""
    rows = read_parts(database, "WHERE graph = ? ORDER BY position, document", graph)
    return {document: part for document, _, part in rows}


def read_parts(database: SqliteFile, which: str = "", *values: str) -> Iterator[tuple[str, str, HeldGraph]]:
    """Yield document, graph and part of each row. Raises `StorageFault` for a damaged one."""
    for document, graph, position, digest, crc in database.ask(f"SELECT * FROM part {which}", values):
        name = f"{document}\n{graph}"
        verify(crc, database.where, f"the part {graph} of document {document}", name, (position,), digest)
        yield document, graph, HeldGraph(Position(position), digest)


def last_change(database: SqliteFile) -> int:
    """Return the number of the last change; 0 where there is none."""
    return int(next((number for (number,) in database.ask("SELECT max(number) FROM part_change")), 0) or 0)


def read_changes(database: SqliteFile, after: int, upto: int) -> Iterator[PartChange]:
    """Yield the changes whose number is beyond `after`, of positions up to `upto`, in order. Raises `StorageFault` for
    one that is damaged or missing."""
    statement = "SELECT * FROM part_change WHERE number > ? ORDER BY number"
    for number, position, document, graph, said, digest, crc in database.each(statement, (after,)):
        if position > upto:
            return
        if number != after + 1:
            raise StorageFault(database.where, f"the change {after + 1} of a cut document is missing", RESTORE)
        what = f"the change {number} of document {document}"
        verify(crc, database.where, what, f"{document}\n{graph}", (number, position, said), digest)
        yield PartChange(number, position, document, graph, HeldGraph(Position(said), digest))
        after = number


def write_parts(database: SqliteFile, parts: Mapping[tuple[str, str], HeldGraph]) -> None:
    """Write what documents say of graphs from now on, or that they let go of them, by document and graph."""
    gone = [key for key, part in parts.items() if part == LET_GO]
    database.run("DELETE FROM part WHERE document = ? AND graph = ?", gone)
    database.run(
        "INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?)",
        [
            (document, graph, *part, checksum(f"{document}\n{graph}", part[:1], part.digest))
            for (document, graph), part in parts.items()
            if part != LET_GO
        ],
    )


def write_changes(database: SqliteFile, changes: Iterable[PartChange]) -> None:
    """Add changes, in order."""
    database.run("INSERT INTO part_change VALUES (?, ?, ?, ?, ?, ?, ?)", map(_change_row, changes))


def _change_row(change: PartChange) -> tuple[object, ...]:
    number, position, document, graph, (said, digest) = change
    crc = checksum(f"{document}\n{graph}", (number, position, said), digest)
    return number, position, document, graph, said, digest, crc
