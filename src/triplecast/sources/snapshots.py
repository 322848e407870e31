"""Documents that list all there is, in one page or several: what they list no longer is removed.

Where too much is missing at once, nothing is taken until somebody releases it: a catalogue that is half loaded looks
like one that was halved.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from triplecast.sources.source import KnownSource, SourcePage
from triplecast.sqlite import SqliteFile

FEW = 5
"""So many may be missing at once, and a `SHARE` of those listed before."""
SHARE = 4
"""One of so many."""


class Compared(NamedTuple):
    """What one answer of a snapshot source changes."""

    pages: tuple[SourcePage, ...]
    """To be published."""
    removed: tuple[str, ...]
    """Graphs to be removed beside."""
    new: int
    edited: int
    missing: int
    withheld: bool
    """Whether too much is missing: then nothing is to be done."""


def compare_snapshot(file: SqliteFile, source: KnownSource, pages: Sequence[SourcePage], now: int) -> Compared:
    """Compare the graphs of all pages with those known, and note them unless withheld, inside a step of writing."""
    known = {
        key: (digest, page)
        for key, digest, page in file.ask("SELECT key, digest, page FROM seen WHERE source = ?", (source.id,))
    }
    listed: dict[str, tuple[bytes, str]] = {}
    for page in pages:
        if page.parsed is None:
            listed |= {key: part for key, part in known.items() if part[1] == page.url}
        else:
            listed |= {each.graph: (each.digest, page.url) for each in page.parsed.drafts}
    whole = not any(page.parsed is not None and page.parsed.rejects for page in pages)
    missing = sorted(known.keys() - listed.keys()) if whole else []
    if not source.is_released and _is_too_much(len(missing), len(known)):
        return Compared((), (), 0, 0, len(missing), True)
    new = [key for key in listed if key not in known]
    edited = [key for key, part in listed.items() if key in known and part[0] != known[key][0]]
    touched = {listed[key][1] for key in (*new, *edited)} | {known[key][1] for key in missing}
    touched |= {page for key, (_, page) in listed.items() if key in known and known[key][1] != page}
    due = tuple(page for page in pages if page.parsed is not None and page.url in touched)
    gone = {page for _, page in known.values()} - {page.url for page in pages} if whole else set()
    removed = (
        sorted(gone) if source.split is not None else [each for each in missing if not _elsewhere(file, source, each)]
    )
    file.run("DELETE FROM seen WHERE source = ? AND key = ?", [(source.id, key) for key in missing])
    rows = [(source.id, key, key, digest, page, now) for key, (digest, page) in listed.items()]
    file.run("INSERT OR REPLACE INTO seen VALUES (?, ?, ?, ?, x'', ?, ?)", rows)
    return Compared(due, tuple(removed), len(new), len(edited), len(missing), False)


def _is_too_much(missing: int, before: int) -> bool:
    return missing > FEW and missing * SHARE > before


def _elsewhere(file: SqliteFile, source: KnownSource, graph: str) -> bool:
    """Whether another source lists a graph."""
    return bool(
        file.ask("SELECT 1 FROM seen WHERE graph = ? AND source <> ? AND digest <> x'' LIMIT 1", (graph, source.id))
    )
