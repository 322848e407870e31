"""Several processes on one index folder: how fast it opens in a process of its own, and what a second process adds.

A reader maps the folder's files, checks every byte, and matches the same publications over and over, from N-Triples
bytes to ids, for a stretch of time that all readers begin together.
"""

from __future__ import annotations

import multiprocessing
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from itertools import cycle
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Figure, at_least, at_most
from benchmarks.scenarios.indexes import in_batches, to_registrations
from benchmarks.steps import encode, match_ids
from benchmarks.workloads import WORKLOADS
from triplecast.index import IndexWriter, SegmentFolder, open_snapshot
from triplecast.kernels.compiling import warm
from triplecast.match.segment import Scratch
from triplecast.match.views import scan_views
from triplecast.model.publication import Position, Publication

REPEATS = 3
MOST_MILLISECONDS = {("realtail", 1_000_000): 50.0}
TWICE = 1.7
"""Times that two processes match what one does, at least."""
_PATIENCE = 600.0
"""Seconds."""


class Read(NamedTuple):
    """What one reader says."""

    opened: float
    """Seconds."""
    publications: int
    matches: int
    seconds: float
    processor: float
    """Core seconds."""


def measure_readers(name: str, subscriptions: int, publications: int, seconds: float) -> Iterator[Figure]:
    workload = WORKLOADS[name](subscriptions, publications)
    size = (name, subscriptions)
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder:
        IndexWriter(SegmentFolder(Path(folder))).apply(
            to_registrations(workload.subscriptions), [], covers=subscriptions
        )
        lines = tuple(workload.publications)
        alone, together = [], []
        for _ in range(REPEATS):
            alone.append(_read(Path(folder), lines, seconds, 1))
            together.append(_read(Path(folder), lines, seconds, 2))
        opened = sorted(each.opened * 1e3 for reads in alone for each in reads)
        yield Figure(
            "open the folder in a new process, checksums verified",
            *size,
            statistics.median(opened),
            "ms",
            opened[0],
            opened[-1],
            target=at_most(MOST_MILLISECONDS.get(size)),
        )
        yield _rate("one process", size, alone)
        yield _rate("two processes on one index", size, together)
        ratios = sorted(_sum(two) / _sum(one) for one, two in zip(alone, together, strict=True))
        by_core = sorted(2 * _per_core(two) / _per_core(one) for one, two in zip(alone, together, strict=True))
        yield Figure(
            "two processes over one",
            *size,
            statistics.median(ratios),
            "times",
            ratios[0],
            ratios[-1],
            work={"by core time": statistics.median(by_core)},
            target=at_least(TWICE),
        )


def _rate(scenario: str, size: tuple[str, int], runs: Sequence[Sequence[Read]]) -> Figure:
    rates = sorted(map(_sum, runs))
    found = {each.matches / each.publications for reads in runs for each in reads}
    work = {"matches": statistics.mean(found), "per core second": statistics.median(map(_per_core, runs))}
    return Figure(
        f"{scenario}: N-Triples bytes in, ids out",
        *size,
        statistics.median(rates),
        "publications/s",
        rates[0],
        rates[-1],
        work=work,
    )


def _sum(reads: Sequence[Read]) -> float:
    """Publications per second of all readers."""
    return sum(each.publications / each.seconds for each in reads)


def _per_core(reads: Sequence[Read]) -> float:
    """Publications per core second of all readers: what each does while it has a core, whoever else wants one."""
    return sum(each.publications for each in reads) / sum(each.processor for each in reads)


def _read(folder: Path, lines: Sequence[bytes], seconds: float, count: int) -> list[Read]:
    """What `count` readers say that run at once, each in a fresh process. Raises RuntimeError where one fails."""
    context = multiprocessing.get_context("spawn")
    together, said = context.Barrier(count), context.Queue()
    readers = [context.Process(target=_serve, args=(folder, lines, seconds, together, said)) for _ in range(count)]
    for reader in readers:
        reader.start()
    try:
        return [said.get(timeout=_PATIENCE) for _ in readers]
    finally:
        for reader in readers:
            reader.join(_PATIENCE)
            if reader.exitcode:
                raise RuntimeError(f"a reader ended with exit code {reader.exitcode}")


def _serve(folder: Path, lines: Sequence[bytes], seconds: float, together: Barrier, said: Queue[Read]) -> None:
    """One reader. Batches are counted whole; the first round of all of them is not counted."""
    warm()
    start = time.perf_counter()
    snapshot = open_snapshot(SegmentFolder(folder), sorted(folder.glob("manifest-*.json"))[-1].name)
    opened = time.perf_counter() - start
    publications = [Publication(Position(2**40 + at), f"urn:bench:{at}", 1, "", text) for at, text in enumerate(lines)]
    batches = list(in_batches(publications))
    scratch = {segment: Scratch(segment) for segment in snapshot.segments}

    def match(batch: Sequence[Publication]) -> int:
        views = scan_views(batch)
        return sum(
            len(match_ids(segment, views, encode(segment, views), scratch[segment])[0]) for segment in snapshot.segments
        )

    for batch in batches:
        match(batch)
    together.wait(_PATIENCE)
    asked = matches = 0
    start, core = time.perf_counter(), time.process_time()
    for batch in cycle(batches):
        matches += match(batch)
        asked += len(batch)
        if time.perf_counter() - start >= seconds:
            break
    said.put(Read(opened, asked, matches, time.perf_counter() - start, time.process_time() - core))
