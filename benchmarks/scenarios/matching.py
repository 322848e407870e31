"""Publications against an index: ids, bindings as arrays, bytes in, and the whole matcher."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmarks.figures import Figure, at_least, at_most, make_rate, time_runs
from benchmarks.floor import probe_and_copy
from benchmarks.scenarios.indexes import Indexed, encode_all, in_batches
from benchmarks.steps import encode, match_ids, match_rows
from triplecast.index import Snapshot
from triplecast.index.registrations import NO_REMOVALS
from triplecast.kernels.layout import Encoded
from triplecast.kernels.views import Views
from triplecast.match import Matcher
from triplecast.match.views import scan_views
from triplecast.model.match import MatchStats

_IDS_TARGETS = {("realtail", 100_000): (80_000, 3), ("realtail", 1_000_000): (40_000, 6)}
"""(workload, subscriptions) → publications/s, and multiples of the floor."""
_BYTES_TARGETS = {("realtail", 100_000): 30_000, ("realtail", 1_000_000): 20_000}

Batches = Sequence[tuple[Views, Encoded]]


def measure_matching(indexed: Indexed) -> Iterator[Figure]:
    batches = encode_all(indexed)
    yield from _measure_ids(indexed, batches)
    yield _measure_rows(indexed, batches)
    yield from _measure_bytes(indexed)


def _measure_ids(indexed: Indexed, batches: Batches) -> Iterator[Figure]:
    segment, scratch = indexed.segment, indexed.scratch
    count = len(indexed.publications)
    size = (indexed.workload.name, len(segment))
    pairs = [match_ids(segment, views, encoded, scratch) for views, encoded in batches]
    work = {"matches": sum(len(found) for found, _ in pairs) / count, **_count_work(indexed)}
    matching = time_runs(lambda: [match_ids(segment, views, encoded, scratch) for views, encoded in batches])
    floor = time_runs(
        lambda: [
            probe_and_copy(segment.tables.index, encoded, found)
            for (_, encoded), found in zip(batches, pairs, strict=True)
        ]
    )
    rate, multiple = _IDS_TARGETS.get(size, (None, None))
    yield make_rate("ids in", size, matching, count, work=work, target=at_least(rate))
    yield make_rate("floor", size, floor, count)
    yield Figure(
        "ids in over floor, core time",
        *size,
        matching.processor / floor.processor,
        "times",
        target=at_most(multiple),
    )


def _count_work(indexed: Indexed) -> dict[str, float]:
    """Per publication; the counts are the same in every run."""
    with Matcher() as matcher:
        stats = MatchStats()
        for batch in in_batches(indexed.publications):
            stats = sum((piece.stats for _, piece in matcher.match_pieces(_snapshot(indexed), batch)), stats)
    counted = {"keys": stats.keys, "structures": stats.touched, "joins": stats.joins, "candidates": stats.candidates}
    return {name: number / stats.publications for name, number in counted.items()}


def _measure_rows(indexed: Indexed, batches: Batches) -> Figure:
    segment, scratch = indexed.segment, indexed.scratch
    timing = time_runs(lambda: [match_rows(segment, views, encoded, scratch) for views, encoded in batches])
    size = (indexed.workload.name, len(segment))
    return make_rate("ids and bindings as arrays", size, timing, len(indexed.publications))


def _measure_bytes(indexed: Indexed) -> Iterator[Figure]:
    segment, scratch = indexed.segment, indexed.scratch
    count = len(indexed.publications)
    size = (indexed.workload.name, len(segment))

    def from_bytes() -> None:
        for batch in in_batches(indexed.publications):
            views = scan_views(batch)
            match_ids(segment, views, encode(segment, views), scratch)

    snapshot = _snapshot(indexed)
    target = at_least(_BYTES_TARGETS.get(size))
    yield make_rate("N-Triples bytes in, ids out", size, time_runs(from_bytes), count, target=target)
    with Matcher() as matcher:
        rows, size_of_json = 0, 0
        for batch in in_batches(indexed.publications):
            for _, matched in matcher.match_pieces(snapshot, batch):
                rows += len(matched)
                size_of_json += len(matched.bindings)

        def to_json() -> None:
            for batch in in_batches(indexed.publications):
                for _ in matcher.match_pieces(snapshot, batch):
                    pass

        timing = time_runs(to_json)
    work = {"rows/s": rows / timing.median, "JSON bytes": size_of_json / max(rows, 1)}
    yield make_rate("N-Triples bytes in, bindings as JSON out", size, timing, count, work=work)


def _snapshot(indexed: Indexed) -> Snapshot:
    return Snapshot(int(indexed.segment.tables.registrations[-1]), (indexed.segment,), NO_REMOVALS)
