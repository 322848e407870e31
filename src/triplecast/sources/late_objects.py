"""Objects that a source names and that could not be fetched yet: they are asked for again, each time after a longer
while, and left out in the end. No page waits for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from triplecast.errors import EgressFailed, EgressRefused
from triplecast.ingest import Document
from triplecast.model.printable import shortened
from triplecast.sources.changes import SourceChange
from triplecast.sources.crawling import MOST_BYTES, Crawler
from triplecast.sources.fetching import SERVER_BUSY, CheckFailed
from triplecast.sources.schedule import DAY, LONGEST_WAIT, Bounds, wait_after_failure
from triplecast.sources.source import KnownSource, Validators, server_of
from triplecast.sources.source_list import seconds
from triplecast.sqlite import SqliteFile

TRIES = 10
"""In about four days: the first again after half an hour, each after twice the time, at most a day."""
MOST_LATE = 1000
"""Of a source. Beyond that its pages wait."""
OBJECTS_AT_ONCE = 100
FAILURES = 10
"""In a row, after which a server is not asked for further objects of a page."""
_WAITS = Bounds(30 * 60, DAY)


@dataclass(frozen=True, slots=True)
class LateObject:
    """Why a change has no data yet."""

    change: SourceChange
    reason: str
    retry_seconds: float | None
    """What the server asks for."""


@dataclass(slots=True)
class ObjectsFetched:
    """What became of changes, in their order."""

    due: list[SourceChange] = field(default_factory=list)
    """With what their page did not have."""
    late: list[LateObject] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    """Why others are left out: no other try would help."""


def fetch_objects(
    crawler: Crawler, wanted: Iterable[SourceChange], silent: dict[str, LateObject], now: int
) -> ObjectsFetched:
    """`silent`: servers that are not asked again in this check: one is silent, fails often, or wants no more."""
    found, size, failures = ObjectsFetched(), 0, Counter[str]()
    for change in wanted:
        host = server_of(change.location)
        if not change.location:
            found.due.append(change)
            continue
        if host in silent or size > MOST_BYTES:
            said = silent.get(host) or LateObject(change, f"its page names more than {MOST_BYTES >> 20} MiB", None)
            found.late.append(LateObject(change, f"its server is left alone: {said.reason}", said.retry_seconds))
            continue
        try:
            fetched = crawler.ask(change.location, Validators(), now)
            size += len(fetched.body)
            (parsed,) = crawler.parser.parse_soon(
                [Document(change.graph, fetched.body, fetched.media_type, change.graph)]
            )
            if not parsed.drafts:
                raise CheckFailed("; ".join(f"{each.reason}; {each.hint}" for each in parsed.rejects[:1]))
            found.due.append(change._replace(data=fetched.body, media_type=fetched.media_type, location=""))
            failures[host] = 0
        except EgressFailed as fault:
            silent[host] = LateObject(change, f"no answer: {fault.reason}", None)
            found.late.append(silent[host])
        except EgressRefused as fault:
            found.faults.append(f"{shortened(change.location, 200)}: {fault}")
        except CheckFailed as fault:
            late = LateObject(change, fault.reason, fault.retry_seconds)
            failures[host] += fault.is_passing
            if fault.status in SERVER_BUSY or failures[host] >= FAILURES:
                silent[host] = late
            if fault.is_passing:
                found.late.append(late)
            else:
                found.faults.append(f"{shortened(change.location, 200)}: {fault.reason}")
    return found


def late_objects(file: SqliteFile, source: KnownSource, now: int) -> list[SourceChange]:
    """Those that are to be asked for now, some of them."""
    rows = file.ask(
        "SELECT graph, location FROM late WHERE source = ? AND tries < ? AND next <= ? ORDER BY next, graph LIMIT ?",
        (source.id, TRIES, now, OBJECTS_AT_ONCE),
    )
    return [SourceChange(graph, graph, b"", b"", location=location) for graph, location in rows]


def forget_late(file: SqliteFile, source: KnownSource, changes: Iterable[SourceChange]) -> None:
    """They are there, or something newer is told of their graphs."""
    file.run("DELETE FROM late WHERE source = ? AND graph = ?", [(source.id, each.graph) for each in changes])


def note_late(file: SqliteFile, source: KnownSource, objects: Iterable[LateObject], now: int) -> None:
    """Ask for objects again, or for the last time. Raises `CheckFailed` for too many."""
    for each in objects:
        graph = each.change.graph
        before = file.ask("SELECT tries FROM late WHERE source = ? AND graph = ?", (source.id, graph))
        tries = 1 + (before[0][0] if before else 0)
        wait = seconds(wait_after_failure(0, tries, min(each.retry_seconds or 0.0, LONGEST_WAIT), _WAITS, 0.0))
        row = (source.id, graph, each.change.location, tries, now + wait, shortened(each.reason, 500))
        file.run("INSERT OR REPLACE INTO late VALUES (?, ?, ?, ?, ?, ?)", [row])
    if _count(file, source) > MOST_LATE:
        file.run("DELETE FROM late WHERE source = ? AND tries >= ?", [(source.id, TRIES)])
        if (count := _count(file, source)) > MOST_LATE:
            raise CheckFailed(f"{count} of its objects wait, and {MOST_LATE} may: {late_said(file, source)}")


def late_said(file: SqliteFile, source: KnownSource) -> str:
    """What of a source is not there, and why; empty where nothing is missing."""
    statement = "SELECT location, reason, tries FROM late WHERE source = ? ORDER BY tries DESC, graph LIMIT 1"
    for location, reason, tries in file.ask(statement, (source.id,)):
        outcome = f"left out after {TRIES} tries" if tries >= TRIES else f"asked for again, {tries} of {TRIES} times"
        return f"{shortened(location, 200)}: {reason}; {outcome} ({_count(file, source)} in all)"
    return ""


def _count(file: SqliteFile, source: KnownSource) -> int:
    (count,) = file.ask_one("SELECT count(*) FROM late WHERE source = ?", (source.id,))
    return int(count)
