"""The latest version of each graph, as the table ``document`` has it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from triplecast.journal.record import checksum, verify
from triplecast.model.publication import Position
from triplecast.sqlite import SqliteFile

GRAPHS_AT_ONCE = 500
"""Graphs that one statement looks up."""


class LatestVersion(NamedTuple):
    """The latest version of a graph; without a digest when the graph has been removed since."""

    version: int
    position: Position
    written_at: int
    digest: bytes


def latest_versions(database: SqliteFile, graphs: Iterable[str]) -> dict[str, LatestVersion]:
    """Return the latest version of each of `graphs` that was ever published. Raises `StorageFault` for damage."""
    wanted = [*dict.fromkeys(graphs)]
    found: dict[str, LatestVersion] = {}
    for start in range(0, len(wanted), GRAPHS_AT_ONCE):
        some = wanted[start : start + GRAPHS_AT_ONCE]
        for graph, version, position, at, digest, crc in database.ask(_statement(len(some)), some):
            verify(crc, database.where, f"the entry of document {graph}", graph, (version, position, at), digest)
            found[graph] = LatestVersion(version, position, at, digest)
    return found


@cache
def _statement(graphs: int) -> str:
    marks = ", ".join("?" * graphs)
    return f"SELECT graph, version, position, written_at, digest, crc FROM document WHERE graph IN ({marks})"


def latest_version(database: SqliteFile, graph: str) -> LatestVersion | None:
    """Return the latest version of a graph; None for one that was never published."""
    return latest_versions(database, (graph,)).get(graph)


def current_graphs(database: SqliteFile, prefix: str) -> list[str]:
    """Return the graphs whose names begin with `prefix` and that have a document."""
    statement = "SELECT graph FROM document WHERE graph >= ? AND graph < ? AND length(digest) > 0 ORDER BY graph"
    return [str(graph) for (graph,) in database.ask(statement, (prefix, f"{prefix}\U0010ffff"))]


def write_latest(database: SqliteFile, changed: Mapping[str, LatestVersion]) -> None:
    """Write the latest versions of graphs, in the place of those before."""
    database.run(
        "INSERT OR REPLACE INTO document VALUES (?, ?, ?, ?, ?, ?)",
        [(graph, *latest, checksum(graph, latest[:3], latest.digest)) for graph, latest in changed.items()],
    )
