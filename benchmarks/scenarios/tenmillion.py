"""Ten million subscriptions in one process of its own: built a slice at a time, matched, and its peak memory.

Slices are generated, applied to an index folder and forgotten, as a run takes its registry from the journal. The peak
is that of the process's resident memory (``VmHWM``), mapped files included, once after building and once after
matching.
"""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.figures import Figure, at_most, make_rate, time_runs
from benchmarks.scenarios.indexes import in_batches
from benchmarks.steps import encode, match_ids
from benchmarks.workloads.catalogue import TAIL, open_catalogue, write_interests, write_records
from triplecast.index import IndexWriter, SegmentFolder, Snapshot
from triplecast.kernels.compiling import warm
from triplecast.match.segment import Scratch
from triplecast.match.views import scan_views
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration, RegistrationId, Subscription

SLICE = 250_000
"""Subscriptions applied at once."""
MOST_MEMORY = 3.0
"""GB."""
_NAME = "realtail"


def measure_ten_million(subscriptions: int, publications: int, slice_size: int = SLICE) -> Iterator[Figure]:
    yield from measure_apart(_measure, subscriptions, publications, slice_size)


def measure_apart(measure: Callable[..., None], *given: object) -> Iterator[Figure]:
    """The figures that `measure` tells in a fresh process, so that nothing else counts towards its memory."""
    context = multiprocessing.get_context("spawn")
    hear, tell = context.Pipe(duplex=False)
    child = context.Process(target=measure, args=(tell, *given))
    child.start()
    tell.close()
    try:
        while True:
            try:
                yield hear.recv()
            except EOFError:
                break
    finally:
        child.join()
    if child.exitcode:
        raise RuntimeError(f"the process that holds the subscriptions ended with exit code {child.exitcode}")


def _measure(tell: Connection, subscriptions: int, publications: int, slice_size: int) -> None:
    warm()
    size = (_NAME, subscriptions)
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as place:
        folder = Path(place)
        snapshot, seconds = build_in_slices(folder, subscriptions, slice_size)
        stored = sum(path.stat().st_size for path in folder.glob("segment-*"))
        tell.send(
            Figure("build in slices", *size, subscriptions / seconds, "subscriptions/s", work={"seconds": seconds})
        )
        tell.send(
            Figure(
                "index files with dictionaries",
                *size,
                stored / subscriptions,
                "bytes/subscription",
                work={"segments": float(len(snapshot.segments))},
            )
        )
        tell.send(show_peak("after building", size))
        for figure in _match(snapshot, size, publications):
            tell.send(figure)
        tell.send(show_peak("after matching", size))


def build_in_slices(folder: Path, subscriptions: int, slice_size: int) -> tuple[Snapshot, float]:
    """The snapshot, its segments merged as a run merges them, and the seconds that the index took (not those that
    making up the subscriptions took)."""
    index, seconds = IndexWriter(SegmentFolder(folder)), 0.0
    for first in range(0, subscriptions, slice_size):
        last = min(first + slice_size, subscriptions)
        texts = write_interests(open_catalogue(8 + first, TAIL), last - first)
        registrations = [
            Registration(RegistrationId(id), Subscription(f"s{id}", text)) for id, text in enumerate(texts, first + 1)
        ]
        del texts
        start = time.perf_counter()
        index.apply(registrations, [], covers=last)
        while (due := index.find_due()) is not None:
            index.adopt(due, index.rebuild(due))
        seconds += time.perf_counter() - start
        del registrations
    return index.snapshot(), seconds


def _match(snapshot: Snapshot, size: tuple[str, int], count: int) -> Iterator[Figure]:
    publications = make_records(count)
    scratch = {segment: Scratch(segment) for segment in snapshot.segments}

    def match() -> int:
        found = 0
        for batch in in_batches(publications):
            views = scan_views(batch)
            for segment in snapshot.segments:
                found += len(match_ids(segment, views, encode(segment, views), scratch[segment])[0])
        return found

    work = {"matches": match() / count}
    yield make_rate("N-Triples bytes in, ids out", size, time_runs(match), count, work=work)


def make_records(count: int) -> list[Publication]:
    """Publications after all subscriptions."""
    lines = write_records(open_catalogue(7, 1.0), count)
    return [Publication(Position(2**40 + at), f"urn:bench:{at}", 1, "", text) for at, text in enumerate(lines)]


def show_peak(when: str, size: tuple[str, int]) -> Figure:
    fields = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text(encoding="utf-8").splitlines())
    peak, own, mapped = (int(fields[name].split()[0]) * 1024 / 1e9 for name in ("VmHWM", "RssAnon", "RssFile"))
    work = {"now its own, GB": own, "now mapped files, GB": mapped}
    return Figure(f"peak memory {when}", *size, peak, "GB", work=work, target=at_most(MOST_MEMORY))
