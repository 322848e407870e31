"""Shards of an index: container search, balance, the index stage's size, visits, and what shards cost.

Shards are balanced by one half of the records and measured by the other. Times are core time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from benchmarks.figures import Figure, at_most
from benchmarks.scenarios.indexes import to_publications, to_registrations
from benchmarks.workloads.catalogue import TAIL, open_catalogue, write_interests, write_records
from benchmarks.workloads.texts import Workload
from triplecast.index import IndexWriter, Segment, Snapshot
from triplecast.match import Matcher
from triplecast.model.publication import Publication
from triplecast.partition import STRATEGIES, Partition, Partitioner, Routing, match_shards
from triplecast.partition.containment import find_forest
from triplecast.partition.items import file_items

_Found = TypeVar("_Found")
SHARDS, MANY = 8, 64
STEEP = 1.3
RECORDS = 1_000
MOST_MICROSECONDS, MOST_IMBALANCE, MOST_DIRECTORY, MOST_VISITED, MOST_TAX = 3.0, 1.25, 0.1, 0.03, 1.5


def measure_partition(subscriptions: int) -> Iterator[Figure]:
    for exponent, interests in ((1.0, TAIL), (STEEP, STEEP)):
        name = "realtail" if exponent == 1.0 else f"real, Zipf {exponent}"
        texts = write_interests(open_catalogue(8, interests), subscriptions)
        records = to_publications(Workload(name, texts, write_records(open_catalogue(7, exponent), 2 * RECORDS)))
        yield from _measure(name, texts, records[:RECORDS], records[RECORDS:])


def _measure(
    name: str, texts: Sequence[str], sample: Sequence[Publication], records: Sequence[Publication]
) -> Iterator[Figure]:
    snapshot = IndexWriter().apply(to_registrations(texts), covers=len(texts))
    (segment,) = snapshot.segments
    size = (name, len(texts))
    filed = file_items(segment)
    seconds, forest = _timed(lambda: find_forest(segment, filed))
    touched, compared, tried = (forest.counts / len(texts)).tolist()
    roots = len(np.unique(forest.root)) / len(filed.structure)
    work = {"touched": touched, "structures compared": compared, "conditions compared": tried, "roots": roots}
    target = at_most(MOST_MICROSECONDS)
    yield Figure("container search", *size, seconds * 1e6 / len(texts), "µs a subscription", work=work, target=target)
    routing = Routing()
    with Matcher() as matcher:
        whole, pairs = _timed(lambda: sum(len(found) for _, found in matcher.match_pieces(snapshot, records)))
        for strategy in STRATEGIES:
            built, partition = _timed(partial(_cut, strategy, sample, snapshot))
            yield Figure(f"{strategy}: cut into {SHARDS}", *size, built * 1e6 / len(texts), "µs a subscription")
            load = _load(routing, partition, records)
            target = at_most(MOST_IMBALANCE)
            yield Figure(
                f"{strategy}: hottest over mean", *size, max(load) * SHARDS / sum(load), "times", target=target
            )
            if partition.routers:
                share = sum(router.bytes for router in partition.routers) / _bytes(segment)
                entries = {"entries": sum(router.entries for router in partition.routers)}
                target = at_most(MOST_DIRECTORY)
                yield Figure(
                    f"{strategy}: index stage over index", *size, share, "of the bytes", work=entries, target=target
                )
                routed, _ = _timed(partial(routing.route, partition.routers, records))
                yield Figure(f"{strategy}: routing", *size, routed * 1e6 / len(records), "µs a publication")
            sharded, found = _timed(partial(_count, matcher, routing, partition, records))
            if found != pairs:
                raise ValueError(f"{strategy}: {found} pairs, the whole index finds {pairs}")
            target = at_most(MOST_TAX)
            yield Figure(f"{strategy}: core time over the whole", *size, sharded / whole, "times", target=target)
        many = Partitioner("anchor", MANY, sample).partition(snapshot)
        strangers = [each._replace(quads=_strange(each.quads)) for each in records]
        visits = routing.route(many.routers, strangers)
        shares = sum(int(bits).bit_count() for bits in visits.astype(np.uint64).tolist()) / MANY / len(records)
        found = _count(matcher, routing, many, strangers)
        target = at_most(MOST_VISITED)
        yield Figure(
            f"anchor: of {MANY} shards, visited by strangers",
            *size,
            shares,
            "of the shards",
            work={"matches": found},
            target=target,
        )


def _cut(strategy: str, sample: Sequence[Publication], snapshot: Snapshot) -> Partition:
    return Partitioner(strategy, SHARDS, sample).partition(snapshot)


def _timed(run: Callable[[], _Found]) -> tuple[float, _Found]:
    run()
    began = time.process_time()
    found = run()
    return time.process_time() - began, found


def _count(matcher: Matcher, routing: Routing, partition: Partition, records: Sequence[Publication]) -> int:
    return sum(len(found) for _, found in match_shards(matcher, routing, partition, records))


def _load(routing: Routing, partition: Partition, records: Sequence[Publication]) -> list[int]:
    """Pairs of each shard."""
    return [sum(len(routing.find(segment, records)[0]) for segment in shard.segments) for shard in partition.shards]


def _bytes(segment: Segment) -> int:
    tables = segment.tables
    groups = tables.index, tables.dictionary, tables.answers, (tables.registrations.distances, segment.texts.text)
    return sum(int(np.asarray(array).nbytes) for group in groups for array in group)


def _strange(quads: bytes) -> bytes:
    """The same record of other things: its objects have names that no subscription knows."""
    lines = []
    for line in quads.splitlines():
        subject, predicate, end = line[:-2].split(b" ", 2)
        known = end.startswith(b"<")
        lines.append(b" ".join([subject, predicate, (end[:-1] + b"-other>") if known else end]) + b" .\n")
    return b"".join(sorted(lines))
