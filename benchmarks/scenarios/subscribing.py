"""Subscribing to a durable `Engine` that holds many: one at a time, and in bulk."""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.figures import Figure, at_least, at_most
from benchmarks.workloads import WORKLOADS
from triplecast import Engine
from triplecast.index import INDEX
from triplecast.index.snapshot import read_manifest
from triplecast.model.subscription import Subscription

SINGLE = 300
"""Subscriptions that come alone."""
AT_ONCE = 100_000
"""Subscriptions of one `subscribe_many`."""
MANY_TARGET = 60_000.0
"""Subscriptions/s."""
KNOWN = 10_000
"""Subscriptions of which the templates and some constants are known before."""
SINGLE_TARGET = 5.0
"""Milliseconds, median."""


def measure_subscribing(name: str, subscriptions: int, single: int = SINGLE) -> Iterator[Figure]:
    """All templates are known to the process before the clock starts. Each `subscribe` returns once it is on disk; the
    next publication finds it in the index, which is another figure."""
    texts = WORKLOADS[name](subscriptions + single, 1).subscriptions
    size = (name, subscriptions)
    with Engine() as known:
        known.subscribe_many(_name("known", texts[:KNOWN]))
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder, Engine.open(Path(folder)) as engine:
        rates, core = [], time.process_time()
        for first in range(0, subscriptions, AT_ONCE):
            given = _name(f"{first}", texts[first : min(first + AT_ONCE, subscriptions)])
            start = time.perf_counter()
            engine.subscribe_many(given)
            rates.append(len(given) / (time.perf_counter() - start))
        yield Figure(
            f"durable subscribe_many, {AT_ONCE:,} at once",
            *size,
            statistics.harmonic_mean(rates),
            "subscriptions/s",
            min(rates),
            max(rates),
            work={"per core second": subscriptions / (time.process_time() - core)},
            target=at_least(MANY_TARGET),
        )
        yield Figure("first publication after all of them", *size, _publish(engine, 0), "s")
        milliseconds = sorted(_time_single(engine, text) for text in texts[subscriptions:])
        median = milliseconds[len(milliseconds) // 2]
        yield Figure(
            "durable subscribe, one at a time: median",
            *size,
            median,
            "ms",
            milliseconds[0],
            milliseconds[-1],
            work={"99th percentile, ms": milliseconds[int(len(milliseconds) * 0.99)]},
            target=at_most(SINGLE_TARGET),
        )
        yield Figure("first publication after those", *size, _publish(engine, 1) * 1e3, "ms")
        yield _measure_folder(Path(folder), engine, size)
        engine.close()
        shutil.rmtree(Path(folder) / INDEX)
        start, core = time.perf_counter(), time.process_time()
        with Engine.open(folder):
            work = {"core seconds": time.process_time() - core}
            yield Figure("an index made again from the journal", *size, time.perf_counter() - start, "s", work=work)


def _measure_folder(folder: Path, engine: Engine, size: tuple[str, int]) -> Figure:
    """Once nothing is left to be made again: a publication after each change takes what is ready."""
    segments, number = -1, 2
    while segments != len(engine._upkeep.snapshot.segments):
        segments = len(engine._upkeep.snapshot.segments)
        engine._upkeep._compactor.wait()
        engine.unsubscribe(engine.subscribe("ASK { <urn:bench:x> <urn:bench:y> <urn:bench:z> }").id)
        _publish(engine, number)
        number += 1
    index = folder / INDEX
    names = read_manifest(index, max(path.name for path in index.glob("manifest-*"))).segments
    stored = sum((index / name).stat().st_size for name in names)
    return Figure(
        "index files of an engine", *size, stored / size[1], "bytes/subscription", work={"segments": float(segments)}
    )


def _name(prefix: str, texts: Sequence[str]) -> list[Subscription]:
    return [Subscription(f"{prefix}-{number}", text) for number, text in enumerate(texts)]


def _publish(engine: Engine, number: int) -> float:
    """Seconds until a document is accepted and asked of every subscription."""
    start = time.perf_counter()
    engine.publish(f"<urn:bench:{number}> <urn:bench:says> {number} .", "text/turtle")
    return time.perf_counter() - start


def _time_single(engine: Engine, text: str) -> float:
    """Milliseconds."""
    start = time.perf_counter()
    engine.subscribe(text)
    return (time.perf_counter() - start) * 1e3
