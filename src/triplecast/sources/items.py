"""The items of a feed as a source knows them again: which are new, edited, or look like an old archive."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

from triplecast.ingest.document import part_iri
from triplecast.ingest.feed_item import absolute_iri
from triplecast.model.publication import Draft
from triplecast.sources.source import SECOND, KnownSource, read_time
from triplecast.sources.source_list import note_seen
from triplecast.sqlite import SqliteFile

FLOOD = 10
"""Fewest items that come at once, are new and old by their date, that are withheld."""
OLD_SECONDS = 86_400
"""An item is old that is dated so long before the latest one known when the source was asked before."""

_ITEM = re.compile(
    rb"^(\S+) <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://purl.org/rss/1.0/item> \.$", re.M
)
_LINK = re.compile(rb'<http://purl.org/rss/1.0/link> (?:"([^"\\]*)"|<([^<>]*)>) \.$', re.M)
_DATE = re.compile(
    rb'<http://purl.org/dc/elements/1.1/date> "([^"\\]*)"\^\^<http://www.w3.org/2001/XMLSchema#dateTime> \.$', re.M
)
_ADDRESSES = re.compile(
    rb"^\S+ <http://(?:purl.org/rss/1.0/link|purl.org/dc/terms/identifier|www.iana.org/assignments/relation/\w+)> .*\n",
    re.M,
)
_TEXT = re.compile(rb"<http://purl.org/rss/1.0/(?:title|description|modules/content/encoded)> \"[^\"]")


class Item(NamedTuple):
    """An item as it was fetched."""

    key: str
    """What it is known by: its identity without the difference of http and https."""
    graph: str
    """What it is published under: as it was first called."""
    digest: bytes
    """Of its content, likewise."""
    likeness: bytes
    """Of its content without what names it; empty where that says too little: it has no text or no date."""
    date: float | None
    """Seconds since 1970."""
    data: bytes
    """N-Triples."""


class Sifted(NamedTuple):
    """What became of the items of one answer."""

    due: tuple[Item, ...]
    """To be published, in the order of the feed."""
    new: int
    edited: int
    withheld: int
    """All that are withheld by now."""
    newest: str


def is_feed(drafts: Sequence[Draft], url: str) -> bool:
    """Whether a document's publications are items of a feed."""
    own = len(drafts) == 1 and drafts[0].graph == url
    return bool(drafts) and not own and all(each.origin is None and _ITEM.search(each.quads) for each in drafts)


def read_items(drafts: Iterable[Draft], source: KnownSource) -> list[Item]:
    """The items of a feed, by what the source is told to know them by; the first of each identity."""
    found: dict[str, Item] = {}
    for draft in drafts:
        item = _read_item(draft, source)
        found.setdefault(item.key, item)
    return [*found.values()]


def sift_items(file: SqliteFile, source: KnownSource, items: Sequence[Item], now: int, whole: bool = True) -> Sifted:
    """Compare items with those known, and note all of them, inside a step of writing. `whole`: whether these are all
    that the feed lists."""
    keys = json.dumps([each.key for each in items])
    known = {
        key: (graph, digest)
        for key, graph, digest in file.ask(
            "SELECT key, graph, digest FROM seen WHERE source = ? AND key IN (SELECT value FROM json_each(?))",
            (source.id, keys),
        )
    }
    held = {key for (key,) in file.ask("SELECT key FROM held WHERE source = ?", (source.id,))}
    same: list[Item] = []
    fresh: list[Item] = []
    edited: list[Item] = []
    listed = {each.key for each in items}
    for item in items:
        if item.key in known:
            graph, digest = known[item.key]
            (same if digest == item.digest else edited).append(item._replace(graph=graph))
        elif item.key in held:
            _hold(file, source, [item])
        elif whole and (graph := _renamed(file, source, item, listed)):
            same.append(item._replace(graph=graph))
        else:
            fresh.append(item)
    old = [each for each in fresh if _is_old(each, source.newest)] if source.kind else []
    if old and len(old) + len(held) >= FLOOD:
        _hold(file, source, old)
        held |= {each.key for each in old}
        fresh = [each for each in fresh if each.key not in held]
    _note(file, source, [*same, *edited, *fresh], now)
    due = {each.key: each for each in (*edited, *fresh)}
    order = tuple(due[each.key] for each in items if each.key in due)
    return Sifted(order, len(fresh), len(edited), len(held), _newest(source.newest, items, now))


def _read_item(draft: Draft, source: KnownSource) -> Item:
    subject = _ITEM.search(draft.quads)
    content = draft.quads.replace(b"https://", b"http://")
    plain = _ADDRESSES.sub(b"", content)
    if subject is not None:
        plain = plain.replace(subject[1].replace(b"https://", b"http://"), b"<>")
    date, content_hash = _date(draft.quads), sha256(b"".join(sorted(plain.splitlines(True)))).digest()
    graph = draft.graph
    if source.identity == "link" and (found := _LINK.search(draft.quads)):
        link = (found[1] or found[2] or b"").decode()
        graph = link if absolute_iri(link) else graph
    if source.identity == "content":
        graph = part_iri(source.url, f"content-{content_hash.hex()[:32]}")
    return Item(
        graph.replace("https://", "http://", 1) if graph.startswith("https://") else graph,
        graph,
        sha256(content).digest(),
        content_hash if date is not None and _TEXT.search(plain) else b"",
        date,
        draft.quads,
    )


def _date(quads: bytes) -> float | None:
    """The latest that is one."""
    dates = (read_time(found[1].decode()) for found in _DATE.finditer(quads))
    return max((at for at in dates if at is not None), default=None)


def _renamed(file: SqliteFile, source: KnownSource, item: Item, listed: set[str]) -> str | None:
    """The graph of a known item that has the same content and date under another identity, which is listed no longer;
    it is known by the new one from now on."""
    if not item.likeness:
        return None
    statement = "SELECT key, graph FROM seen WHERE source = ? AND likeness = ? ORDER BY listed DESC, key"
    for key, graph in file.ask(statement, (source.id, item.likeness)):
        if key not in listed:
            file.run("DELETE FROM seen WHERE source = ? AND key = ?", [(source.id, key)])
            return str(graph)
    return None


def _is_old(item: Item, newest: str) -> bool:
    """Where the source's items are dated, one without a date is old too."""
    return bool(newest) and (item.date is None or item.date < float(newest) - OLD_SECONDS)


def _newest(before: str, items: Sequence[Item], now: int) -> str:
    dates = [each.date for each in items if each.date is not None and each.date <= now / SECOND]
    latest = max(dates, default=None)
    if latest is None or (before and latest <= float(before)):
        return before
    return str(latest)


def _hold(file: SqliteFile, source: KnownSource, items: Sequence[Item]) -> None:
    rows = [(source.id, each.key, each.graph, each.digest, each.likeness, each.data) for each in items]
    file.run("INSERT OR REPLACE INTO held VALUES (?, ?, ?, ?, ?, ?)", rows)


def _note(file: SqliteFile, source: KnownSource, items: Sequence[Item], now: int) -> None:
    rows = [(source.id, each.key, each.graph, each.digest, each.likeness, now) for each in items]
    note_seen(file, source, rows, "listed, key")
