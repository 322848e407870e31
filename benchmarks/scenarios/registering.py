"""Subscription texts to an index on disk: how fast, how large."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figure, at_least, at_most, make_rate, time_runs
from benchmarks.scenarios.indexes import Indexed, to_registrations
from triplecast.index import IndexWriter, Segment, SegmentFolder, build_segment

_BYTES_TARGETS = {("realtail", 1_000_000): 60.0}
_OPEN_TARGETS = {("realtail", 1_000_000): 50.0}
KNOWN_AT_LEAST = 50_000
NEW_AT_LEAST = 500


def measure_known_templates(indexed: Indexed) -> Figure:
    """Texts whose templates the process has met; parsed, compiled and built into one segment in memory."""
    registrations = to_registrations(indexed.workload.subscriptions)
    repeats = 5 if len(registrations) <= 100_000 else 3
    timing = time_runs(lambda: build_segment(registrations), repeats)
    return make_rate(
        "subscriptions of known templates",
        (indexed.workload.name, len(registrations)),
        timing,
        len(registrations),
        "subscriptions/s",
        target=at_least(KNOWN_AT_LEAST),
    )


def measure_new_templates(texts: Sequence[str], count: int) -> Iterator[Figure]:
    """Each text is a template of its own: its variables have names that no other text has."""
    rounds = iter(range(1_000))

    def build() -> None:
        tag = next(rounds)
        renamed = [text.replace("?", f"?v{tag}x{number}") for number, text in enumerate(texts[:count])]
        build_segment(to_registrations(renamed))

    size = ("realtail", count)
    timing = time_runs(build)
    yield make_rate(
        "subscriptions of new templates", size, timing, count, "subscriptions/s", target=at_least(NEW_AT_LEAST)
    )


def measure_index_size(indexed: Indexed) -> Iterator[Figure]:
    size = (indexed.workload.name, len(indexed.segment))
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder:
        path = Path(folder) / "segment"
        indexed.segment.write(path)
        dictionary = sum(array.nbytes for array in indexed.segment.tables.dictionary)
        yield Figure(
            "index file",
            *size,
            path.stat().st_size / len(indexed.segment),
            "bytes/subscription",
            work={"dictionary": dictionary / len(indexed.segment)},
            target=at_most(_BYTES_TARGETS.get(size)),
        )
        timing = time_runs(lambda: Segment.open(path))
        yield Figure(
            "open the index",
            *size,
            timing.median * 1e3,
            "ms",
            timing.shortest * 1e3,
            timing.longest * 1e3,
            target=at_most(_OPEN_TARGETS.get(size)),
        )


def measure_one_more(indexed: Indexed) -> Figure:
    """One subscription added to a folder that holds all the others: durable snapshot to durable snapshot."""
    registrations = to_registrations(indexed.workload.subscriptions)
    changes = 5
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder:
        index = IndexWriter(SegmentFolder(Path(folder)))
        index.apply(registrations[:-changes], [], covers=len(registrations) - changes)
        seconds = []
        for registration in registrations[-changes:]:
            start = time.perf_counter()
            index.apply([registration], [], covers=int(registration.id))
            seconds.append(time.perf_counter() - start)
    seconds.sort()
    return Figure(
        "one more subscription takes effect",
        indexed.workload.name,
        len(registrations),
        seconds[changes // 2] * 1e3,
        "ms",
        seconds[0] * 1e3,
        seconds[-1] * 1e3,
        target=at_most(1_000),
    )
