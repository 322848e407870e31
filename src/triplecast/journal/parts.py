"""What documents that were cut hold: their publications, as the table ``part`` has them (docs/decisions/0022)."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from triplecast.journal.record import checksum, verify
from triplecast.model.publication import Draft, Position
from triplecast.sqlite import SqliteFile


class HeldGraph(NamedTuple):
    """A publication as a document says it."""

    position: Position
    """Of the version that this made, or that was equal when the document began to say so."""
    digest: bytes


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


def write_parts(database: SqliteFile, document: str, parts: Iterable[tuple[str, HeldGraph]]) -> None:
    """Write how a document says these graphs from now on."""
    database.run(
        "INSERT OR REPLACE INTO part VALUES (?, ?, ?, ?, ?)",
        [(document, graph, *part, checksum(f"{document}\n{graph}", part[:1], part.digest)) for graph, part in parts],
    )


def drop_parts(database: SqliteFile, document: str, graphs: Iterable[str]) -> None:
    database.run("DELETE FROM part WHERE document = ? AND graph = ?", [(document, graph) for graph in graphs])
