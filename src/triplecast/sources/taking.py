"""What of an answer is to be published, and what is known of its source from then on: parts of one step of writing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from triplecast.ingest.media_types import N_TRIPLES
from triplecast.journal import time_text
from triplecast.model.printable import shortened
from triplecast.sources.items import read_items, sift_items
from triplecast.sources.oai import OaiPage, compare_records
from triplecast.sources.schedule import Bounds, next_interval, wait_after_success
from triplecast.sources.snapshots import compare_snapshot
from triplecast.sources.source import KnownSource, SourcePage, Validators
from triplecast.sources.source_list import SourceList, seconds
from triplecast.sqlite import SqliteFile


@dataclass(frozen=True, slots=True)
class Polled:
    """What became of one check of a source."""

    url: str
    next_check: int
    error: str = ""
    """Why it failed, or what of it was left out."""
    new: int = 0
    edited: int = 0
    removed: int = 0
    withheld: int = 0
    failed: bool = False


def take_feed(
    sources: SourceList,
    file: SqliteFile,
    source: KnownSource,
    pages: Sequence[SourcePage],
    now: int,
    whole: bool = True,
) -> tuple[Polled, str]:
    """With the latest date of an item. Not `whole`, it is what a hub sent of the feed."""
    (page,) = pages
    if page.parsed is None:
        return Polled(source.url, 0, withheld=source.withheld), source.newest
    sifted = sift_items(file, source, read_items(page.parsed.drafts, source), now, whole)
    for item in sifted.due:
        owe(file, source, page, now, item.graph, item.data, N_TRIPLES)
    if whole:
        sources.note_pages(file, source, pages)
    error = f"{sifted.withheld} items look like an old archive: they wait for a release" if sifted.withheld else ""
    error = error or _left_out(pages)
    return Polled(source.url, 0, error, sifted.new, sifted.edited, withheld=sifted.withheld), sifted.newest


def take_snapshot(
    sources: SourceList, file: SqliteFile, source: KnownSource, pages: Sequence[SourcePage], now: int
) -> Polled:
    compared = compare_snapshot(file, source, pages, now)
    if compared.withheld:
        error = f"{compared.missing} of its publications are missing: nothing is taken until they are released"
        return Polled(source.url, 0, error, withheld=compared.missing)
    for page in compared.pages:
        owe(file, source, page, now, page.url, page.body, page.media_type, source.split)
    for graph in compared.removed:
        owe(file, source, pages[0], now, graph, None)
    sources.note_pages(file, source, pages)
    return Polled(source.url, 0, _left_out(pages), compared.new, compared.edited, compared.missing)


def take_records(
    sources: SourceList, file: SqliteFile, source: KnownSource, page: OaiPage, address: str, began: str, told: Polled
) -> Polled:
    """The next page of a list, added to what was told of the ones before. Until the list ends, `began` and the token
    are kept as those of the source's page."""
    now = source.last_check
    compared = compare_records(file, source, page.records, now)
    whole = SourcePage(source.url, address, Validators(), None, following=page.token)
    for each in compared.due:
        owe(file, source, whole, now, each.identifier, each.data, each.media_type)
    sources.note_pages(file, source, [whole._replace(validators=Validators(began))] if page.token else ())
    left_out = f"left out: {page.faults[0]} ({len(page.faults)} in all)" if page.faults else told.error
    return replace(
        told,
        error=shortened(left_out, 1000),
        new=told.new + compared.new,
        edited=told.edited + compared.edited,
        removed=told.removed + compared.removed,
    )


def settled(
    source: KnownSource, polled: Polled, fresh: float, now: int, bounds: Bounds, chance: float
) -> tuple[Polled, KnownSource]:
    """What was taken with its next check, and the source after it. `fresh`: how many seconds it holds."""
    changed = bool(polled.new or polled.edited or polled.removed)
    interval = next_interval(source.interval, changed, bounds)
    polled = replace(polled, next_check=now + seconds(wait_after_success(interval, fresh, bounds, chance)))
    after = replace(
        source,
        next_check=polled.next_check,
        last_check=now,
        last_change=now if changed else source.last_change,
        interval=int(interval),
        failures=0,
        error=polled.error,
        withheld=polled.withheld,
        is_released=False,
    )
    return polled, after


def owe(
    file: SqliteFile,
    source: KnownSource,
    page: SourcePage,
    now: int,
    graph: str,
    data: bytes | None,
    media_type: str | None = None,
    split: str | None = None,
) -> None:
    """Have a document published, or without `data` removed."""
    origin = (source.url, page.address, time_text(now), *page.validators)
    file.run(
        "INSERT INTO due(source, address, fetched_at, etag, last_modified, graph, media_type, split, data) "
        "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        [(*origin, graph, media_type, split, data)],
    )


def _left_out(pages: Sequence[SourcePage]) -> str:
    rejects = [each for page in pages if page.parsed is not None for each in page.parsed.rejects]
    if not rejects:
        return ""
    more = f" (and {len(rejects) - 1} more)" if len(rejects) > 1 else ""
    return shortened(f"left out: {rejects[0].reason}{more}", 1000)
