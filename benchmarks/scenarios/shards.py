"""Millions of subscriptions in shards on disk: ``python -m benchmarks.scenarios.shards N``.

One process builds the index in slices and cuts it, segment by segment; another, which maps the shards, routes and
matches records. So no process ever has all subscriptions as objects.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.figures import Figure, make_rate, time_runs
from benchmarks.report import show
from benchmarks.scenarios.indexes import in_batches
from benchmarks.scenarios.tenmillion import SLICE, build_in_slices, make_records, measure_apart, show_peak
from triplecast.index import INDEX
from triplecast.kernels.compiling import warm
from triplecast.match import Matcher
from triplecast.partition import Partition, Partitioner, Routing, match_shards
from triplecast.partition.folder import SHARDS, ShardFolder, ShardWriter

RECORDS = 500
"""For the sample, and as many that are matched."""
EIGHT = 8
_NAME = "realtail in shards"


def measure_shards(
    subscriptions: int, shards: int = EIGHT, place: Path | None = None, slice_size: int = SLICE, records: int = RECORDS
) -> Iterator[Figure]:
    """`place`: a folder with room for the index and its shards."""
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-", dir=place) as folder:
        yield from measure_apart(_build, Path(folder), subscriptions, shards, slice_size, records)
        yield from measure_apart(_match, Path(folder), subscriptions, records)


def _build(tell: Connection, folder: Path, subscriptions: int, shards: int, slice_size: int, records: int) -> None:
    warm()
    size = (_NAME, subscriptions)
    snapshot, seconds = build_in_slices(folder / INDEX, subscriptions, slice_size)
    work = {"seconds": seconds, "segments": float(len(snapshot.segments))}
    tell.send(Figure("index built in slices", *size, subscriptions / seconds, "subscriptions/s", work=work))
    began = time.perf_counter()
    partitioner = Partitioner("anchor", shards, make_records(2 * records)[:records])
    manifest = ShardWriter(folder / SHARDS).publish(partitioner, snapshot)
    seconds = time.perf_counter() - began
    load = manifest.load
    work = {"seconds": seconds, "hottest over mean": max(load) * shards / max(1, sum(load))}
    tell.send(Figure(f"cut into {shards} shards", *size, subscriptions / seconds, "subscriptions/s", work=work))
    for name in (INDEX, SHARDS):
        stored = sum(path.stat().st_size for path in (folder / name).iterdir())
        tell.send(Figure(f"disk: {name}", *size, stored / subscriptions, "bytes/subscription", work={"bytes": stored}))
    tell.send(show_peak("of building and cutting", size))


def _match(tell: Connection, folder: Path, subscriptions: int, records: int) -> None:
    warm()
    size = (_NAME, subscriptions)
    stored = ShardFolder(folder / SHARDS)
    (name,) = [path.name for path in (folder / SHARDS).glob("*.json")]
    began = time.perf_counter()
    manifest = stored.manifest(name)
    routers, always = stored.routers(manifest)
    shards = tuple(stored.shard(manifest, shard) for shard in range(manifest.shards))
    work = {"index stage, bytes": float(sum(router.bytes for router in routers))}
    tell.send(Figure("shards opened", *size, 1e3 * (time.perf_counter() - began), "ms", work=work))
    partition = Partition(routers, always, shards, manifest.load)
    publications, routing = make_records(2 * records)[records:], Routing()
    with Matcher() as matcher:

        def match() -> int:
            batches = in_batches(publications)
            found = (each for batch in batches for each in match_shards(matcher, routing, partition, batch))
            return sum(len(matched) for _, matched in found)

        work = {"matches": match() / records}
        tell.send(make_rate("N-Triples bytes in, bindings out", size, time_runs(match), records, work=work))
    visits = routing.route(routers, publications)
    visited = sum(int(bits).bit_count() for bits in (visits | always).astype("uint64").tolist()) / records
    tell.send(Figure("shards visited", *size, visited, "a publication"))
    tell.send(show_peak("of matching", size))


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scenarios.shards", description=__doc__)
    parser.add_argument("subscriptions", type=int)
    parser.add_argument("--shards", type=int, default=EIGHT)
    parser.add_argument("--folder", type=Path, help="where there is room for the index and its shards")
    asked = parser.parse_args()
    began = time.perf_counter()
    for figure in measure_shards(asked.subscriptions, asked.shards, asked.folder):
        also = "".join(f", {name} {show(amount)}" for name, amount in figure.work.items())
        line = f"{figure.scenario}, {figure.subscriptions:,}: {show(figure.value)} {figure.unit}{also}"
        print(f"{time.perf_counter() - began:6.0f} s  {line}", flush=True)


if __name__ == "__main__":
    main()
