"""Sources that tell what changed, page by page: which changes are new, and what is known of them from then on.

A change has a *key*, by which it is told once, and a *graph*, whose newest version is what is published. So however
pages are walked, and wherever a walk breaks off, what is published in the end is the newest version of each graph.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from triplecast.sources.fetching import Fetched
from triplecast.sources.source import KnownSource
from triplecast.sources.source_list import note_seen
from triplecast.sqlite import SqliteFile


class Lead(NamedTuple):
    """A page to be asked for next."""

    url: str
    way: str = ""
    """Of activities, the property that leads from page to page: they go back in time, and where all of a page are known
    no older one can be new."""


class SourceChange(NamedTuple):
    """What became of one graph."""

    key: str
    """Of a member that stands for itself its IRI, else that of what changed."""
    graph: str
    """Empty for a *refresh*: everything that is there is told again after it."""
    order: bytes
    """When (`order_of`)."""
    digest: bytes
    """Tells a change without a time from others of its key."""
    media_type: str | None = None
    data: bytes | None = None
    """None where it was removed, or is to be fetched."""
    location: str = ""
    """Where its data is, unless the page has it."""

    @property
    def removes(self) -> bool:
        return bool(self.graph) and self.data is None and not self.location

    @property
    def mark(self) -> bytes:
        """Its digest as it is kept."""
        return b"" if self.removes else self.digest


class ChangePage(NamedTuple):
    """One page of changes."""

    lead: Lead
    fetched: Fetched
    changes: tuple[SourceChange, ...]
    """In the order in which they are to be taken."""
    leads: tuple[Lead, ...]
    final: bool
    """Whether it never changes."""
    faults: tuple[str, ...]
    """Why changes were left out."""
    paths: Mapping[str, str]
    """What this page says of how to read the others."""


class ChangesSifted(NamedTuple):
    due: tuple[SourceChange, ...]
    """To be published or removed, in order."""
    noted: tuple[SourceChange, ...]
    """To be known from now on: those that are due, and those that a later one of their graph has overtaken."""
    new: int
    """How many of them are of graphs that were unknown, and are published."""
    known: int
    """How many changes were known by walks before."""
    refreshed: bool
    """Whether only removals count that are older."""
    ended: bool
    """Whether nothing counts that is older."""


class _Known(NamedTuple):
    graph: str
    order: bytes
    digest: bytes
    listed: int


def order_of(seconds: float | None) -> bytes:
    """A time since 1970 as eight bytes that sort by it; none for none, which sorts before all."""
    return b"" if seconds is None else struct.pack(">q", min(max(0, round(seconds * 1_000_000)), (1 << 63) - 1))


def sift_changes(
    file: SqliteFile,
    source: KnownSource,
    changes: Sequence[SourceChange],
    began: int,
    horizon: bytes,
    whole: bool,
    refreshed: bool,
) -> ChangesSifted:
    """Compare changes with those known. `began`: when this walk did; `horizon`: the time up to which walks before took
    all; `whole`: whether one was ever ended; `refreshed`: whether it came past a refresh."""
    known = _read_known(file, source, "key", {each.key for each in changes})
    newest: dict[str, bytes] = {}
    for each in _read_known(file, source, "graph", {each.graph for each in changes}).values():
        newest[each.graph] = max(each.order, newest.get(each.graph, b""))
    due: list[SourceChange] = []
    noted: dict[str, SourceChange] = {}
    count = new = 0
    for change in changes:
        is_known = _is_known(change, known.get(change.key), began)
        count += is_known and (known[change.key].listed < began or b"" < change.order <= horizon)
        if not is_known:
            noted[change.key] = change
            known[change.key] = _Known(change.graph, change.order, change.mark, began)
        if not change.graph:
            refreshed = True
            if is_known or not whole:
                return ChangesSifted(tuple(due), tuple(noted.values()), new, count, False, True)
        elif not is_known and (change.removes or not refreshed) and change.order >= newest.get(change.graph, b""):
            due.append(change)
            new += change.graph not in newest and not change.removes
            newest[change.graph] = change.order
    return ChangesSifted(tuple(due), tuple(noted.values()), new, count, refreshed, False)


def _is_known(change: SourceChange, before: _Known | None, began: int) -> bool:
    """A walk comes to the newest of what has no time first."""
    if before is None:
        return False
    if change.order:
        return change.order <= before.order
    return change.mark == before.digest or before.listed >= began


def _read_known(file: SqliteFile, source: KnownSource, column: str, wanted: set[str]) -> dict[str, _Known]:
    statement = (
        "SELECT key, graph, likeness, digest, listed FROM seen "
        f"WHERE source = ? AND {column} IN (SELECT value FROM json_each(?))"
    )
    rows = file.ask(statement, (source.id, json.dumps(sorted(wanted))))
    return {key: _Known(graph, order, digest, listed) for key, graph, order, digest, listed in rows}


def note_changes(file: SqliteFile, source: KnownSource, changes: Iterable[SourceChange], began: int) -> None:
    """Know changes, by the walk that began then, inside a step of writing."""
    rows = [(source.id, each.key, each.graph, each.mark, each.order, began) for each in changes]
    note_seen(file, source, rows, "likeness, listed, key")


def has_brought(file: SqliteFile, source: KnownSource, graph: str) -> bool:
    """Whether a graph is this source's to remove: it brought it, and no other source lists it."""
    listed = file.ask("SELECT source FROM seen WHERE graph = ? AND digest <> x''", (graph,))
    if any(other != source.id for (other,) in listed):
        return False
    tables = ("provenance", "due")
    brought = " UNION ".join(f"SELECT 1 FROM {each} WHERE graph = ? AND source = ?" for each in tables)
    return bool(listed or file.ask(brought, (graph, source.url) * len(tables)))
