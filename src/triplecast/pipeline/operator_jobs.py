"""Spark jobs that call operators, beside the matching, so that nothing else waits for them.

One thread takes pending pairs from the driver, in order of position, and has a small job decide them. A kill anywhere
leaves the pairs open; the next start calls again, except for results that the journal has.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from triplecast.pipeline.carried import carry_pending
from triplecast.pipeline.horizon import MovingHorizon
from triplecast.pipeline.jobs import JobGroup, spark_errors
from triplecast.pipeline.readers import journal_reader, outbox_reader
from triplecast.pipeline.sink import AnsweredOtherwise, Sink
from triplecast.pipeline.stages import AskedSlice, Stage, ask_slice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALLEST, LARGEST = 64, 4_096
"""Publications of one job."""
JOB_SECONDS = 2.5
"""How long one should take; one whose operators hang takes longer."""
SMALLEST_SLICE = 32
"""Publications of one task: as many as a batch operator is given at once."""
_REST = 0.05
_GROUP = "triplecast-operators"


class OperatorJobs:
    """The thread that starts the jobs, beside one query. What fails in it, `check` raises."""

    def __init__(self, spark: SparkSession, stage: Stage, sink: Sink, horizon: MovingHorizon, cores: int) -> None:
        self._spark = spark
        self._jobs = JobGroup(spark.sparkContext, _GROUP)
        self._stage = stage
        self._sink = sink
        self._horizon = horizon
        self._cores = cores
        self._ending = threading.Event()
        self._thread = ThreadPoolExecutor(1, _GROUP)
        self._work = self._thread.submit(self._repeat)

    def __enter__(self) -> OperatorJobs:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Abandon a job that is running, but finish a commit; raise what failed in it."""
        self._ending.set()
        self._jobs.abandon(self._work)
        self._thread.shutdown()
        if kind is None and not self._jobs.abandoned:
            with suppress(*spark_errors()):
                self._work.result()

    def check(self) -> None:
        """Raises what ended the thread."""
        if self._work.done():
            self._work.result()

    def _repeat(self) -> None:
        size = SMALLEST
        while not self._ending.wait(_REST):
            with self._sink.committing:
                batch = self._sink.driver.turns.next(time.monotonic(), size)
            horizon = self._horizon.now
            if batch is None or horizon is None:
                continue
            began = time.monotonic()
            slices = cut(batch.after, batch.positions, horizon.manifest, self._slots())
            slices = [with_pending(self._stage, each) for each in slices]
            try:
                self._sink.settle(partial(self._jobs.run, ask_slice, self._stage, slices))
            except AnsweredOtherwise:
                continue
            ended = time.monotonic()
            size = next_size(size, ended - began)
            with self._sink.committing:
                self._sink.driver.turns.note_settled(batch, ended - began, ended)

    def _slots(self) -> int:
        """Tasks at a time: one slot at least is left to the query, where there are two."""
        return max(1, min(self._cores, int(self._spark.sparkContext.defaultParallelism) - 1))


def next_size(size: int, seconds: float) -> int:
    """Return the number of publications for the next job, after `size` of them took `seconds`."""
    wanted = size * min(2.0, JOB_SECONDS / max(seconds, 0.001))
    return max(SMALLEST, min(LARGEST, round(wanted)))


def cut(progress: int, positions: Sequence[int], manifest: str, most: int) -> list[AskedSlice]:
    """Cut open positions after `progress` into at most `most` slices, none shorter than `SMALLEST_SLICE` but one."""
    count = min(most, max(1, len(positions) // SMALLEST_SLICE))
    bounds = [len(positions) * number // count for number in range(count + 1)]
    parts = [tuple(positions[start:end]) for start, end in pairwise(bounds)]
    ends = [progress, *(part[-1] for part in parts)]
    return [AskedSlice(after, upto, manifest, part) for (after, upto), part in zip(pairwise(ends), parts, strict=True)]


def with_pending(stage: Stage, asked: AskedSlice) -> AskedSlice:
    """With what workers have to read of it that cannot read the run's folder. Raises `StorageFault`."""
    if stage.snapshots is None:
        return asked
    readers = journal_reader(stage.folder), outbox_reader(stage.folder)
    return asked._replace(carried=carry_pending(*readers, asked.positions, stage.operators))
