"""Walk the pages of a source that tells what changed, and take each in a step of its own.

A walk asks for all pages but those that never change. How far it has come is kept: one that breaks off goes on there,
and the next begins only when it has ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from triplecast.errors import DocumentRejected, EgressRefused
from triplecast.ingest import Document
from triplecast.model.printable import shortened
from triplecast.sources.activities import read_activities
from triplecast.sources.changes import (
    ChangePage,
    ChangesSifted,
    Lead,
    SourceChange,
    has_brought,
    note_changes,
    sift_changes,
)
from triplecast.sources.crawling import GONE, MOST_BYTES, MOST_PAGES, NOT_MODIFIED, CheckFailed, Crawler
from triplecast.sources.fetching import Fetched
from triplecast.sources.source import ACTIVITIES, KnownSource, SourcePage, Validators
from triplecast.sources.source_list import SourceList
from triplecast.sources.taking import Polled, owe
from triplecast.sources.tree import read_tree
from triplecast.sqlite import SqliteFile

MOST_NODES = 100_000
"""Pages of a source."""
MOST_LEADS = 64 << 20
"""Bytes of their addresses, and `LEAD_BYTES` of each, as often as pages lead there."""
LEAD_BYTES = 100
Take = Callable[[SqliteFile, KnownSource, int], Any]
"""What is to be written of a source as it is, at a time."""
Step = Callable[[KnownSource, Take], Any]
"""Does so and has it published; None where there is nothing to be taken any more."""


class Node(NamedTuple):
    """A page as it was when it was taken last."""

    validators: Validators
    checked: int
    """By the walk that began then."""
    final: bool
    leads: tuple[Lead, ...]


@dataclass(slots=True)
class PageWalk:
    """How far the walk of a source has come."""

    began: int
    whole: bool
    """Whether one was ever ended."""
    refreshed: bool
    """Whether it came past a refresh: what it comes to now counts only where it was removed."""
    paths: Mapping[str, str]
    """What its pages said of how to read them."""
    nodes: dict[Lead, Node]
    horizon: bytes
    """The time of the latest change that walks before took, or an earlier one."""
    told: Polled
    fresh: list[float]
    leads: int
    """Bytes of the leads of its nodes."""


def follow_changes(
    sources: SourceList,
    crawler: Crawler,
    source: KnownSource,
    now: Callable[[], int],
    step: Step,
    end: Callable[[KnownSource, Polled, float, int], tuple[Polled, KnownSource]],
) -> Polled | None:
    """Take the pages of a source, `MOST_PAGES` at most: the next check goes on. Raises `CheckFailed`, `EgressRefused`
    and `EgressFailed`."""
    with sources.writing() as file:
        walk = _begin(file, source, now())
    leads, seen, asked = [Lead(source.location)], set[Lead](), 0
    while leads and asked < MOST_PAGES:
        lead = leads.pop()
        if lead in seen:
            continue
        seen.add(lead)
        node = walk.nodes.get(lead)
        if node is None or not (node.final or node.checked >= walk.began):
            asked += 1
            take = _ask(sources, crawler, source, lead, walk, now)
            if (node := step(source, take)) is None:
                return None
        leads += reversed(node.leads)

    def settle(file: SqliteFile, there: KnownSource, at: int) -> Polled:
        if leads:  # others have their turn meanwhile
            polled, after = replace(walk.told, next_check=at), replace(there, next_check=at, last_check=at, failures=0)
        else:
            polled, after = end(there, walk.told, min(walk.fresh, default=0.0), at)
            _note(file, there, replace(walk, began=0, whole=True, refreshed=False))
        sources.note(file, replace(after, kind=source.kind))
        return polled

    polled: Polled | None = step(source, settle)
    return polled


def _begin(file: SqliteFile, source: KnownSource, now: int) -> PageWalk:
    """The walk that is under way, or a new one."""
    rows = file.ask("SELECT began, whole, refreshed, paths FROM walk WHERE source = ?", (source.id,))
    began, whole, refreshed, paths = rows[0] if rows else (0, 0, 0, "{}")
    nodes = {
        Lead(url, way): Node(
            Validators(etag, modified), checked, bool(final), tuple(Lead(*each) for each in json.loads(leads))
        )
        for url, way, etag, modified, checked, final, leads in file.ask(
            "SELECT url, way, etag, last_modified, checked, final, leads FROM node WHERE source = ?", (source.id,)
        )
    }
    began = began or max(now, 1 + max((each.checked for each in nodes.values()), default=0))
    latest = "SELECT coalesce(max(likeness), x'') FROM seen WHERE source = ? AND listed < ?"
    (horizon,) = file.ask_one(latest, (source.id, began))
    told = Polled(source.url, 0)
    size = sum(_size(each.leads) for each in nodes.values())
    walk = PageWalk(began, bool(whole), bool(refreshed), json.loads(paths), nodes, horizon, told, [], size)
    _note(file, source, walk)
    return walk


def _ask(
    sources: SourceList, crawler: Crawler, source: KnownSource, lead: Lead, walk: PageWalk, now: Callable[[], int]
) -> Take:
    """Fetch a page, with what it only names; what is to be done to take it."""
    known = walk.nodes.get(lead)
    try:
        fetched = crawler.ask(lead.url, known.validators if known else Validators(), now())
    except CheckFailed as fault:
        if lead.url == source.location:
            raise
        if fault.status in (404, GONE):  # others may be gone too: all are asked again, and what was told stays told
            with sources.writing() as file:
                for table in ("walk", "node"):
                    file.run(f"DELETE FROM {table} WHERE source = ?", [(source.id,)])
        said = f"{shortened(lead.url, 200)}: {fault.reason}"
        raise CheckFailed(said, 0 if fault.status == GONE else fault.status, fault.retry_seconds) from None
    if fetched.status == NOT_MODIFIED and known is not None:
        leads = () if lead.way and walk.whole else known.leads
        same = known._replace(checked=walk.began, leads=leads)
        return lambda file, there, _: _note_node(file, there, lead, same, walk)
    try:
        page = _read_page(crawler, source, lead, fetched, walk)
    except (DocumentRejected, ValueError) as error:
        raise CheckFailed(f"{shortened(lead.url, 200)}: {error}") from error
    with closing(sources.following()) as file:
        sifted = sift_changes(file, source, page.changes, walk.began, walk.horizon, walk.whole, walk.refreshed)
    due, faults = _fetch_due(crawler, sifted.due, now())
    return partial(_take_page, page._replace(faults=(*page.faults, *faults)), sifted, due, walk)


def _read_page(crawler: Crawler, source: KnownSource, lead: Lead, fetched: Fetched, walk: PageWalk) -> ChangePage:
    if source.kind == ACTIVITIES:
        return read_activities(lead, fetched, walk.paths)
    document = Document(lead.url, fetched.body, fetched.media_type, fetched.address, dataset=True)
    (parsed,) = crawler.parser.parse_soon([document])
    if parsed.rejects:
        raise ValueError(f"{parsed.rejects[0].stage}: {parsed.rejects[0].reason}")
    return read_tree(b"".join(each.quads for each in parsed.drafts), lead, fetched, walk.paths)


def _fetch_due(
    crawler: Crawler, wanted: Sequence[SourceChange], now: int
) -> tuple[tuple[SourceChange, ...], tuple[str, ...]]:
    """Changes with what their page did not have, and why some are left out. Raises `EgressFailed`, and `CheckFailed`
    where another try may help."""
    due: list[SourceChange] = []
    faults: list[str] = []
    size = 0
    for change in wanted:
        if not change.location:
            due.append(change)
            continue
        try:
            fetched = crawler.ask(change.location, Validators(), now)
            size += len(fetched.body)
            if size > MOST_BYTES:
                raise CheckFailed(f"the objects of a page have more than {MOST_BYTES >> 20} MiB", 503)
            (parsed,) = crawler.parser.parse_soon(
                [Document(change.graph, fetched.body, fetched.media_type, change.graph)]
            )
            if not parsed.drafts:
                raise CheckFailed("; ".join(f"{each.reason}; {each.hint}" for each in parsed.rejects[:1]))
            due.append(change._replace(data=fetched.body, media_type=fetched.media_type, location=""))
        except (CheckFailed, EgressRefused) as fault:
            if isinstance(fault, CheckFailed) and (fault.status >= 500 or fault.status == 429):
                raise  # it may be there the next time
            reason = fault.reason if isinstance(fault, CheckFailed) else str(fault)
            faults.append(f"{shortened(change.location, 200)}: {reason}")
    return tuple(due), tuple(faults)


def _take_page(
    page: ChangePage,
    sifted: ChangesSifted,
    due: Sequence[SourceChange],
    walk: PageWalk,
    file: SqliteFile,
    source: KnownSource,
    now: int,
) -> Node:
    """Write down what a page brings, and that it was taken."""
    origin = SourcePage(page.lead.url, page.fetched.address, page.fetched.validators, None)
    published = removed = 0
    for change in due:
        if not change.removes:
            owe(file, source, origin, now, change.graph, change.data, change.media_type)
            published += 1
        elif has_brought(file, source, change.graph):
            owe(file, source, origin, now, change.graph, None)
            removed += 1
    note_changes(file, source, sifted.noted, walk.began)
    all_known = bool(page.changes) and sifted.known == len(page.changes)
    is_end = sifted.ended or (page.lead.way and walk.whole and all_known)
    walk.refreshed, walk.paths = sifted.refreshed, page.paths
    _note(file, source, walk)
    told, new = walk.told, min(sifted.new, published)
    faults = f"left out: {page.faults[0]} ({len(page.faults)} in all)" if page.faults else ""
    walk.told = replace(
        told,
        error=told.error or shortened(faults, 1000),
        new=told.new + new,
        edited=told.edited + published - new,
        removed=told.removed + removed,
    )
    walk.fresh += [] if page.final else [page.fetched.fresh_seconds]
    node = Node(page.fetched.validators, walk.began, page.final, () if is_end else page.leads)
    return _note_node(file, source, page.lead, node, walk)


def _note_node(file: SqliteFile, source: KnownSource, lead: Lead, node: Node, walk: PageWalk) -> Node:
    before = walk.nodes.get(lead)
    size = walk.leads + _size(node.leads) - (_size(before.leads) if before else 0)
    if before is None and len(walk.nodes) >= MOST_NODES:
        raise CheckFailed(f"it has more than {MOST_NODES:,} pages")
    if size > MOST_LEADS:
        raise CheckFailed(f"the addresses that its pages lead to have more than {MOST_LEADS:,} bytes")
    walk.nodes[lead], walk.leads = node, size
    row = (source.id, *lead, *node.validators, node.checked, node.final, json.dumps(node.leads))
    file.run("INSERT OR REPLACE INTO node VALUES (?, ?, ?, ?, ?, ?, ?, ?)", [row])
    return node


def _size(leads: Sequence[Lead]) -> int:
    return sum(len(each.url) + LEAD_BYTES for each in leads)


def _note(file: SqliteFile, source: KnownSource, walk: PageWalk) -> None:
    row = (source.id, walk.began, walk.whole, walk.refreshed, json.dumps(walk.paths))
    file.run("INSERT OR REPLACE INTO walk VALUES (?, ?, ?, ?, ?)", [row])
