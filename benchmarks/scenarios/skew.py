"""Subscriptions that crowd: what one publication costs at worst, and what the others lose.

Each publication is matched alone, from N-Triples bytes to ids, three times; its middle time counts, and of all
publications the median, the 99th percentile and the longest are told. The rates are those of batches.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator, Sequence

from benchmarks.figures import Figure, Timing, at_most, make_rate, time_runs
from benchmarks.scenarios.indexes import Indexed, in_batches, to_publications, to_registrations
from benchmarks.steps import encode
from benchmarks.workloads.catalogue import TAIL, open_catalogue, write_interests, write_records
from benchmarks.workloads.skew import make_steep, write_all_variable, write_common
from benchmarks.workloads.texts import Workload
from triplecast.index import build_segment
from triplecast.match.segment import Scratch, match_runs
from triplecast.match.views import scan_views
from triplecast.model.publication import Publication

CROWD = 10_000
"""Subscriptions without a key, or with common ones only, beside the others."""
ALONE = 1_000
"""Publications that are matched one by one."""
MOST_MILLISECONDS = 5.0
"""The 99th percentile of one publication, at most."""
MOST_LOST = 2.0
"""Times the core time of the others alone, at most."""


def measure_skew(subscriptions: int, publications: int, crowd: int = CROWD) -> Iterator[Figure]:
    others = write_interests(open_catalogue(8, TAIL), subscriptions)
    records = write_records(open_catalogue(7, 1.0), publications)
    alone = yield from _measure(Workload("realtail", others, records))
    for name, beside in (("all-variable", write_all_variable(crowd)), ("common keys", write_common(crowd))):
        together = Workload(f"realtail and {crowd:,} {name}", [*others, *beside], records)
        timing = yield from _measure(together)
        lost = timing.processor / alone.processor
        size = (together.name, len(together.subscriptions))
        yield Figure("with them over without, core time", *size, lost, "times", target=at_most(MOST_LOST))
    yield from _measure(make_steep(subscriptions, publications))


def _measure(workload: Workload) -> Generator[Figure, None, Timing]:
    """Yields the figures of a workload; gives the time that its publications take in batches."""
    segment = build_segment(to_registrations(workload.subscriptions))
    indexed = Indexed(workload, to_publications(workload), segment, Scratch(segment))
    batches = list(in_batches(indexed.publications))
    size = (workload.name, len(segment))
    count = len(indexed.publications)
    timing = time_runs(lambda: [_match(indexed, batch) for batch in batches])
    parts = [_match(indexed, batch) for batch in batches]
    names = ("keys", "structures", "joins", "matches")
    work = {name: sum(column) / count for name, column in zip(names, zip(*parts, strict=True), strict=True)}
    yield make_rate("N-Triples bytes in, ids out", size, timing, count, work=work)
    times = sorted(_time_alone(indexed, publication) for publication in indexed.publications[:ALONE])
    middle, late, longest = times[len(times) // 2], times[int(len(times) * 0.99)], times[-1]
    work = {"median, ms": middle, "longest, ms": longest, "99th percentile over median": late / middle}
    scenario = "one publication alone: 99th percentile"
    yield Figure(scenario, *size, late, "ms", times[0], longest, work=work, target=at_most(MOST_MILLISECONDS))
    return timing


def _match(indexed: Indexed, publications: Sequence[Publication]) -> tuple[int, int, int, int]:
    """Keys and structures met, joins made and matches found."""
    views = scan_views(publications)
    matched = match_runs(indexed.segment, encode(indexed.segment, views), indexed.scratch)
    keys, structures, joins = matched.counts[:3].tolist()
    return keys, structures, joins, len(matched.subscription)


def _time_alone(indexed: Indexed, publication: Publication) -> float:
    """Milliseconds, the middle of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        _match(indexed, [publication])
        times.append(time.perf_counter() - start)
    return sorted(times)[1] * 1e3
