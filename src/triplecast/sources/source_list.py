"""The sources of a folder: ``sources.sqlite``, which a poller and commands write in turns.

One process at a time has the file open for writing, for one step: who holds the lock of ``sources.lock``. So sources
are added and removed while a service polls them.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import fields, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from triplecast.engine import Receipt
from triplecast.errors import REFUSED, FolderLocked, InputError
from triplecast.journal import BYTES_AT_ONCE, time_text
from triplecast.model.printable import printable_name
from triplecast.sources.opml import write_opml
from triplecast.sources.source import (
    FEED,
    SECOND,
    KnownSource,
    NewSource,
    Provenance,
    SourcePage,
    check_source,
    source_row,
)
from triplecast.sqlite import Format, SqliteFile
from triplecast.storage_faults import storage_faults

DATABASE = "sources.sqlite"
LOCK = "sources.lock"
PATIENCE = 30.0
"""Seconds that a step waits for another's to end."""
MOST_SOURCES = 10_000
MOST_SEEN = 100_000
"""Items that are remembered of a source: those listed longest ago are forgotten first."""
FIRST_INTERVAL = 3600

FORMAT = Format(
    application=0x54525331,
    version=1,
    schema="""
CREATE TABLE source(
    id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE, location TEXT NOT NULL, title TEXT NOT NULL,
    folders TEXT NOT NULL, split TEXT, identity TEXT NOT NULL, kind TEXT NOT NULL DEFAULT '',
    next_check INTEGER NOT NULL, last_check INTEGER NOT NULL DEFAULT 0, last_change INTEGER NOT NULL DEFAULT 0,
    interval INTEGER NOT NULL, failures INTEGER NOT NULL DEFAULT 0, error TEXT NOT NULL DEFAULT '',
    gone INTEGER NOT NULL DEFAULT 0, withheld INTEGER NOT NULL DEFAULT 0, newest TEXT NOT NULL DEFAULT '',
    moves INTEGER NOT NULL DEFAULT 0, moving_to TEXT NOT NULL DEFAULT '', is_released INTEGER NOT NULL DEFAULT 0,
    since TEXT NOT NULL DEFAULT '');
CREATE TABLE page(
    source INTEGER NOT NULL, url TEXT NOT NULL, etag TEXT NOT NULL, last_modified TEXT NOT NULL,
    following TEXT NOT NULL, PRIMARY KEY(source, url)) WITHOUT ROWID;
CREATE TABLE seen(
    source INTEGER NOT NULL, key TEXT NOT NULL, graph TEXT NOT NULL, digest BLOB NOT NULL, likeness BLOB NOT NULL,
    page TEXT NOT NULL, listed INTEGER NOT NULL, PRIMARY KEY(source, key)) WITHOUT ROWID;
CREATE INDEX seen_likeness ON seen(source, likeness);
CREATE INDEX seen_graph ON seen(graph);
CREATE TABLE held(
    source INTEGER NOT NULL, key TEXT NOT NULL, graph TEXT NOT NULL, digest BLOB NOT NULL, likeness BLOB NOT NULL,
    data BLOB NOT NULL, PRIMARY KEY(source, key)) WITHOUT ROWID;
CREATE TABLE due(
    sequence INTEGER PRIMARY KEY, source TEXT NOT NULL, address TEXT NOT NULL, fetched_at TEXT NOT NULL,
    etag TEXT NOT NULL, last_modified TEXT NOT NULL, graph TEXT NOT NULL, media_type TEXT, split TEXT, data BLOB);
CREATE TABLE provenance(
    graph TEXT NOT NULL, version INTEGER NOT NULL, position INTEGER NOT NULL, source TEXT NOT NULL,
    address TEXT NOT NULL, fetched_at TEXT NOT NULL, etag TEXT NOT NULL, last_modified TEXT NOT NULL,
    PRIMARY KEY(graph, version)) WITHOUT ROWID""",
    added=MappingProxyType(
        {
            "walk": """
CREATE TABLE walk(
    source INTEGER PRIMARY KEY, began INTEGER NOT NULL, whole INTEGER NOT NULL, refreshed INTEGER NOT NULL,
    paths TEXT NOT NULL)""",
            "node": """
CREATE TABLE node(
    source INTEGER NOT NULL, url TEXT NOT NULL, way TEXT NOT NULL, etag TEXT NOT NULL, last_modified TEXT NOT NULL,
    checked INTEGER NOT NULL, final INTEGER NOT NULL, leads TEXT NOT NULL,
    PRIMARY KEY(source, url, way)) WITHOUT ROWID""",
            "late": """
CREATE TABLE late(
    source INTEGER NOT NULL, graph TEXT NOT NULL, location TEXT NOT NULL, tries INTEGER NOT NULL,
    next INTEGER NOT NULL, reason TEXT NOT NULL, PRIMARY KEY(source, graph)) WITHOUT ROWID""",
            "hub": """
CREATE TABLE hub(
    token TEXT PRIMARY KEY, source INTEGER NOT NULL, hub TEXT NOT NULL, topic TEXT NOT NULL, secret TEXT NOT NULL,
    expires INTEGER NOT NULL, next INTEGER NOT NULL, tries INTEGER NOT NULL, leaving INTEGER NOT NULL)
    WITHOUT ROWID""",
        }
    ),
)

_COLUMNS = ", ".join(each.name for each in fields(KnownSource))
_CHANGING = [
    each.name for each in fields(KnownSource) if each.name not in ("id", "url", "title", "folders", "split", "identity")
]


class SourceList:
    """The sources of `folder`. May be used from any thread and process; all methods raise `StorageFault`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / DATABASE

    # ---- what users ask for -----------------------------------------------------------------------------------------

    def add(self, wanted: Iterable[NewSource], now: int) -> list[tuple[str, bool]]:
        """Add sources, to be asked at once. Return the address of each and whether it is new: of one that is there
        already, folders are added, and a title where it has none. Raises `InputError`, and then adds none."""
        checked = [check_source(each) for each in wanted]
        outcomes = []
        with self.writing() as file:
            for each in checked:
                there = file.ask("SELECT id, title, folders FROM source WHERE url = ?", (each.url,))
                outcomes.append((each.url, not there))
                if there:
                    ((id, title, folders),) = there
                    known = {tuple(names): None for names in json.loads(folders)} | dict.fromkeys(each.folders)
                    row = (title or each.title, json.dumps([*known]), id)
                    file.run("UPDATE source SET title = ?, folders = ? WHERE id = ?", [row])
                    continue
                values = (each.url, each.url, each.title, json.dumps(each.folders), each.split, each.identity)
                file.run(
                    "INSERT INTO source(url, location, title, folders, split, identity, next_check, interval) "
                    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    [(*values, now, FIRST_INTERVAL)],
                )
            (count,) = file.ask_one("SELECT count(*) FROM source")
            if count > MOST_SOURCES:
                raise InputError(f"a folder has {MOST_SOURCES:,} sources at most", "use a second folder")
        return outcomes

    def remove(self, url: str) -> None:
        """Forget a source; what it brought stays published. Raises `InputError` where there is none."""
        with self.writing() as file:
            source = self.named(url, file)
            for table in ("page", "seen", "held", "walk", "node", "late"):
                file.run(f"DELETE FROM {table} WHERE source = ?", [(source.id,)])
            file.run("DELETE FROM source WHERE id = ?", [(source.id,)])
            file.run("UPDATE hub SET leaving = 1, next = 0, tries = 0 WHERE source = ?", [(source.id,)])

    def check(self, url: str, now: int) -> str:
        """Have a source asked as soon as one polls, also one that is gone; return its address. Raises `InputError`."""
        with self.writing() as file:
            source = self.named(url, file)
            file.run("UPDATE source SET next_check = ?, gone = 0 WHERE id = ?", [(now, source.id)])
            file.run("UPDATE late SET tries = 0, next = 0 WHERE source = ?", [(source.id,)])
        return source.url

    def release(self, url: str, now: int) -> int:
        """Have what is withheld of a source published, or its next snapshot taken whatever is missing, as soon as
        somebody polls. Return how much it is. Raises `InputError`."""
        with self.writing() as file:
            source = self.named(url, file)
            row = "source, key, graph, digest, likeness"
            file.run(
                f"INSERT OR REPLACE INTO seen({row}, page, listed) SELECT {row}, '', ? FROM held WHERE source = ?",
                [(now, source.id)],
            )
            file.run(
                "INSERT INTO due(source, address, fetched_at, etag, last_modified, graph, media_type, data) "
                "SELECT ?, ?, ?, '', '', graph, 'application/n-triples', data FROM held WHERE source = ? ORDER BY key",
                [(source.url, source.location, time_text(now), source.id)],
            )
            file.run("DELETE FROM held WHERE source = ?", [(source.id,)])
            if source.withheld and source.kind != FEED:
                file.run("UPDATE page SET etag = '', last_modified = '' WHERE source = ?", [(source.id,)])
            self.note(file, replace(source, withheld=0, error="", next_check=now, is_released=bool(source.withheld)))
        return source.withheld

    def sources(self) -> list[KnownSource]:
        """All of them, in the order in which they were added."""
        with closing(self.following()) as file:
            return [_source(row) for row in file.ask(f"SELECT {_COLUMNS} FROM source ORDER BY id")]

    def rows(self) -> list[dict[str, object]]:
        """The same as JSON shows them."""
        return [*map(source_row, self.sources())]

    def export(self) -> bytes:
        """The same as OPML."""
        return write_opml(self.sources())

    def named(self, url: str, file: SqliteFile | None = None) -> KnownSource:
        """The source that has an address, or has moved there; as a step of writing sees it, where one is given. Raises
        `InputError` where there is none."""
        statement = f"SELECT {_COLUMNS} FROM source WHERE url = ? OR location = ? ORDER BY url <> ? LIMIT 1"
        with closing(self.following()) as followed:
            rows = (file or followed).ask(statement, (url, url, url))
        if not rows:
            raise InputError(f"{printable_name(url)} is no source of this folder", "`triplecast sources` lists them")
        return _source(rows[0])

    def held(self, source: KnownSource) -> list[str]:
        """The graphs of the items that are withheld."""
        with closing(self.following()) as file:
            return [
                graph for (graph,) in file.ask("SELECT graph FROM held WHERE source = ? ORDER BY key", (source.id,))
            ]

    def provenance(self, graph: str) -> list[Provenance]:
        """Of each version of a graph that a source brought."""
        with closing(self.following()) as file:
            rows = file.ask("SELECT * FROM provenance WHERE graph = ? ORDER BY version", (graph,))
        return [Provenance(*row) for row in rows]

    # ---- what a poller asks for -------------------------------------------------------------------------------------

    def waiting(self, now: int, longest: int) -> list[KnownSource]:
        """Those that are to be asked now; a time that is further ahead than `longest` microseconds is one of a clock
        that was wrong."""
        with closing(self.following()) as file:
            rows = file.ask(
                f"SELECT {_COLUMNS} FROM source WHERE NOT gone AND (next_check <= ? OR next_check > ?) "
                "ORDER BY next_check, id",
                (now, now + longest),
            )
        return [_source(row) for row in rows]

    def ask_refused(self, now: int) -> None:
        """Have sources asked now that were refused here: another process may have other rules."""
        refused = f"{REFUSED}%"
        with closing(self.following()) as file:
            if not file.ask("SELECT 1 FROM source WHERE error LIKE ? LIMIT 1", (refused,)):
                return
        with self.writing() as file:
            file.run("UPDATE source SET next_check = min(next_check, ?) WHERE error LIKE ?", [(now, refused)])

    def pages(self, source: KnownSource) -> list[tuple[str, str, str, str]]:
        """Address, validators and next page of each page as it was taken last."""
        with closing(self.following()) as file:
            rows = file.ask("SELECT url, etag, last_modified, following FROM page WHERE source = ?", (source.id,))
        return [(url, etag, last_modified, following) for url, etag, last_modified, following in rows]

    def due(self, most: int) -> list[Any]:
        """The first rows of what was taken and not published, within `BYTES_AT_ONCE` but for the first."""
        with closing(self.following()) as file:
            sizes = file.ask("SELECT sequence, coalesce(length(data), 0) FROM due ORDER BY sequence LIMIT ?", (most,))
            last = held = 0
            for sequence, size in sizes:
                held += size
                if last and held > BYTES_AT_ONCE:
                    break
                last = sequence
            return file.ask("SELECT * FROM due WHERE sequence <= ? ORDER BY sequence", (last,))

    def strike_off(self, rows: Sequence[Any], receipts: Sequence[Receipt]) -> None:
        """Note where each publication came from; what was taken is published now. `receipts`: one for each row."""
        origins = [
            (each.graph, each.version, each.position, *row[1:6])
            for row, receipt in zip(rows, receipts, strict=False)
            for each in receipt.publications
        ]
        with self.writing() as file:
            file.run("INSERT OR IGNORE INTO provenance VALUES (?, ?, ?, ?, ?, ?, ?, ?)", origins)
            file.run("DELETE FROM due WHERE sequence = ?", [(row[0],) for row in rows])

    def at(self, file: SqliteFile, id: int) -> KnownSource | None:
        """A source as it is now; None where it was removed."""
        rows = file.ask(f"SELECT {_COLUMNS} FROM source WHERE id = ?", (id,))
        return _source(rows[0]) if rows else None

    def note(self, file: SqliteFile, source: KnownSource) -> None:
        """What a check changed of a source."""
        assigned = ", ".join(f"{each} = ?" for each in _CHANGING)
        values = [getattr(source, each) for each in _CHANGING]
        file.run(f"UPDATE source SET {assigned} WHERE id = ?", [(*values, source.id)])

    def note_pages(self, file: SqliteFile, source: KnownSource, pages: Iterable[SourcePage]) -> None:
        """The pages that a source has now."""
        file.run("DELETE FROM page WHERE source = ?", [(source.id,)])
        file.run(
            "INSERT INTO page VALUES (?, ?, ?, ?, ?)",
            [(source.id, each.url, *each.validators, each.following) for each in pages],
        )

    @contextmanager
    def writing(self) -> Iterator[SqliteFile]:
        """One step: all of it is written, or nothing. The file is made where it is missing."""
        with storage_faults(self._folder):
            descriptor = os.open(self._folder / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            _lock(descriptor, self._folder)
            with closing(SqliteFile.writer(self._path, FORMAT)) as file, file.write():
                yield file
        finally:
            os.close(descriptor)

    def following(self) -> SqliteFile:
        """To be read and closed."""
        return SqliteFile.follower(self._path, FORMAT)


def _lock(descriptor: int, folder: Path) -> None:
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > until:
                raise FolderLocked(str(folder / LOCK), "another process", "see whether it is stopped") from None
            time.sleep(0.01)


def _source(row: Sequence[Any]) -> KnownSource:
    known = dict(zip((each.name for each in fields(KnownSource)), row, strict=True))
    known["folders"] = tuple(tuple(names) for names in json.loads(known["folders"]))
    known["gone"], known["is_released"] = bool(known["gone"]), bool(known["is_released"])
    return KnownSource(**known)


def note_seen(file: SqliteFile, source: KnownSource, rows: Sequence[tuple[object, ...]], oldest: str) -> None:
    """Know items from now on, inside a step of writing. Beyond `MOST_SEEN`, those that come first by the columns
    `oldest` are forgotten."""
    file.run("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, ?, '', ?)", rows)
    (count,) = file.ask_one("SELECT count(*) FROM seen WHERE source = ?", (source.id,))
    if count > MOST_SEEN:
        gone = f"SELECT key FROM seen WHERE source = ? ORDER BY {oldest} LIMIT ?"
        file.run(f"DELETE FROM seen WHERE source = ? AND key IN ({gone})", [(source.id, source.id, count - MOST_SEEN)])


def seconds(count: float) -> int:
    """In the microseconds of a clock."""
    return int(count * SECOND)
