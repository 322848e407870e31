"""Walk the pages of a source that tells what changed, and take each in a step of its own.

A walk asks for all pages but those that never change. How far it has come is kept: one that breaks off goes on there,
and the next begins only when it has ended.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

from triplecast.errors import DocumentRejected, EgressFailed, EgressRefused
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
from triplecast.sources.crawling import GONE, MOST_PAGES, NOT_MODIFIED, Crawler
from triplecast.sources.fetching import CheckFailed, Fetched
from triplecast.sources.late_objects import (
    LateObject,
    ObjectsFetched,
    fetch_objects,
    forget_late,
    late_objects,
    late_said,
    note_late,
)
from triplecast.sources.source import ACTIVITIES, KnownSource, SourcePage, Validators, server_of
from triplecast.sources.source_list import SourceList
from triplecast.sources.taking import Polled, owe
from triplecast.sources.tree import read_tree
from triplecast.sqlite import SqliteFile

MOST_NODES = 100_000
"""Pages of a source."""
MOST_LEADS = 64 << 20
"""Bytes of their addresses, and `LEAD_BYTES` of each, as often as pages lead there."""
LEAD_BYTES = 100
PAGE_TRIES = 5
"""Checks in a row that wait for a page that cannot be had; then the walk goes on without it."""
MISSED = -1
"""When a page was checked that was left out when it was to be taken last."""
Take = Callable[[SqliteFile, KnownSource, int], Any]
"""What is to be written of a source as it is, at a time."""
Step = Callable[[KnownSource, Take], Any]
"""Does so and has it published; None where there is nothing to be taken any more."""


class Node(NamedTuple):
    """A page as it was when it was taken last."""

    validators: Validators
    checked: int
    """By the walk that began then, or `MISSED`."""
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
    silent: dict[str, LateObject] = field(default_factory=dict)
    """As `fetch_objects` has it."""
    is_lacking: bool = False
    """Whether a page was left out: then it is not whole."""


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
        late = late_objects(file, source, now())
    if late:
        objects = fetch_objects(crawler, late, walk.silent, now())
        if step(source, partial(_take_late, late, objects, walk)) is None:
            return None
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
            told = replace(walk.told, error=walk.told.error or late_said(file, there))
            polled, after = end(there, told, min(walk.fresh, default=0.0), at)
            _note(file, there, replace(walk, began=0, whole=not walk.is_lacking, refreshed=False))
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
    if (silent := walk.silent.get(server_of(lead.url))) is not None and _is_missed(known):
        return partial(_leave_out, lead, silent.reason, walk)
    try:
        fetched = crawler.ask(lead.url, known.validators if known else Validators(), now())
        if fetched.status == NOT_MODIFIED and known is not None:
            leads = () if lead.way and walk.whole else known.leads
            same = known._replace(checked=walk.began, leads=leads)
            return lambda file, there, _: _note_node(file, there, lead, same, walk)
        page = _read_page(crawler, source, lead, fetched, walk)
    except (CheckFailed, EgressRefused, EgressFailed, DocumentRejected, ValueError) as fault:
        return _do_without(sources, source, lead, walk, fault)
    with closing(sources.following()) as file:
        sifted = sift_changes(file, source, page.changes, walk.began, walk.horizon, walk.whole, walk.refreshed)
    return partial(_take_page, page, sifted, fetch_objects(crawler, sifted.due, walk.silent, now()), walk)


def _do_without(sources: SourceList, source: KnownSource, lead: Lead, walk: PageWalk, fault: Exception) -> Take:
    """What is to be done without a page. Raises what `follow_changes` does while it is waited for: versions on it may
    come before those on others."""
    is_failure = isinstance(fault, CheckFailed | EgressRefused | EgressFailed)
    if lead.url == source.location and is_failure:
        raise fault
    status, retry = (fault.status, fault.retry_seconds) if isinstance(fault, CheckFailed) else (0, None)
    reason = fault.reason if isinstance(fault, CheckFailed | EgressRefused | EgressFailed) else str(fault)
    failed = CheckFailed(f"{shortened(lead.url, 200)}: {reason}", 0 if status == GONE else status, retry)
    known = walk.nodes.get(lead)
    if known is not None and not _is_missed(known) and status in (404, GONE):  # others may be gone too
        with sources.writing() as file:
            for table in ("walk", "node"):
                file.run(f"DELETE FROM {table} WHERE source = ?", [(source.id,)])
        raise failed
    is_waited_for = source.failures < PAGE_TRIES and not isinstance(fault, EgressRefused) and not _is_missed(known)
    if is_waited_for or lead.url == source.location:
        raise failed
    if isinstance(fault, EgressFailed):
        nothing = SourceChange("", "", b"", b"")
        walk.silent[server_of(lead.url)] = LateObject(nothing, reason, None)
    return partial(_leave_out, lead, reason, walk)


def _is_missed(node: Node | None) -> bool:
    return node is not None and node.checked == MISSED


def _read_page(crawler: Crawler, source: KnownSource, lead: Lead, fetched: Fetched, walk: PageWalk) -> ChangePage:
    if source.kind == ACTIVITIES:
        return read_activities(lead, fetched, walk.paths)
    document = Document(lead.url, fetched.body, fetched.media_type, fetched.address, dataset=True)
    (parsed,) = crawler.parser.parse_soon([document])
    if parsed.rejects:
        raise ValueError(f"{parsed.rejects[0].stage}: {parsed.rejects[0].reason}")
    return read_tree(b"".join(each.quads for each in parsed.drafts), lead, fetched, walk.paths)


def _take_page(
    page: ChangePage,
    sifted: ChangesSifted,
    objects: ObjectsFetched,
    walk: PageWalk,
    file: SqliteFile,
    source: KnownSource,
    now: int,
) -> Node:
    """Write down what a page brings, and that it was taken."""
    origin = SourcePage(page.lead.url, page.fetched.address, page.fetched.validators, None)
    forget_late(file, source, sifted.noted)
    objects.faults[:0] = page.faults
    _take_objects(objects, origin, walk, file, source, now, sifted.new)
    note_changes(file, source, sifted.noted, walk.began)
    all_known = bool(page.changes) and sifted.known == len(page.changes)
    is_end = sifted.ended or (page.lead.way and walk.whole and all_known)
    walk.refreshed, walk.paths = sifted.refreshed, page.paths
    _note(file, source, walk)
    walk.fresh += [] if page.final else [page.fetched.fresh_seconds]
    node = Node(page.fetched.validators, walk.began, page.final, () if is_end else page.leads)
    return _note_node(file, source, page.lead, node, walk)


def _take_late(
    asked: Sequence[SourceChange],
    objects: ObjectsFetched,
    walk: PageWalk,
    file: SqliteFile,
    source: KnownSource,
    now: int,
) -> bool:
    """Write down what became of objects that were asked for again."""
    waiting = {each.change.graph for each in objects.late}
    forget_late(file, source, [each for each in asked if each.graph not in waiting])
    origin = SourcePage(source.location, source.location, Validators(), None)
    _take_objects(objects, origin, walk, file, source, now, len(objects.due))
    return True


def _take_objects(
    objects: ObjectsFetched,
    origin: SourcePage,
    walk: PageWalk,
    file: SqliteFile,
    source: KnownSource,
    now: int,
    new: int,
) -> None:
    """Write down what was fetched, and what is asked for again. `new`: how many of them may be new at most."""
    published = removed = 0
    for change in objects.due:
        if not change.removes:
            owe(file, source, origin, now, change.graph, change.data, change.media_type)
            published += 1
        elif has_brought(file, source, change.graph):
            owe(file, source, origin, now, change.graph, None)
            removed += 1
    note_late(file, source, objects.late, now)
    told, new = walk.told, min(new, published)
    faults = f"left out: {objects.faults[0]} ({len(objects.faults)} in all)" if objects.faults else ""
    walk.told = replace(
        told,
        error=told.error or shortened(faults, 1000),
        new=told.new + new,
        edited=told.edited + published - new,
        removed=told.removed + removed,
    )


def _leave_out(lead: Lead, reason: str, walk: PageWalk, file: SqliteFile, source: KnownSource, now: int) -> Node:
    """Go on without a page, to where it led before; the next walk asks for it again, and waits no more."""
    walk.is_lacking = True
    said = shortened(f"left out: {shortened(lead.url, 200)}: {reason}", 1000)
    walk.told = replace(walk.told, error=walk.told.error or said)
    known = walk.nodes.get(lead) or Node(Validators(), MISSED, False, ())
    return _note_node(file, source, lead, known._replace(checked=MISSED), walk)


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
