"""What operators are asked about: small Spark jobs beside the streaming query, so that nothing else waits for them.

The query tells what is decided without operators and notes the pairs that wait (`Outbox.waiting`). One thread asks
about those, in order of position; a kill anywhere leaves them waiting, and the next start asks again, but for answers
that the journal keeps. What they could not be asked about, since a worker does not start, waits on: the thread passes
it by and comes back to it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from triplecast.pipeline.horizon import read_horizon
from triplecast.pipeline.rows import MATCHES, spark_schema
from triplecast.pipeline.sink import AnsweredOtherwise, Sink
from triplecast.pipeline.stages import AskedSlice, AskSlices, MatchSlices

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALLEST, LARGEST = 64, 4_096
"""Publications that one job asks about."""
JOB_SECONDS = 2.5
"""How long one should take; one whose operators hang takes longer."""
SMALLEST_SLICE = 32
"""Publications of one task: as many as a batch operator is given at once."""
BACK = 20
"""Times as long as it took to find out that some operators cannot be asked, they are not asked again; at least
`BACK_SECONDS`."""
BACK_SECONDS = 2.0
_REST = 0.05
_GROUP = "triplecast-operators"


class Asker:
    """The thread that asks, beside one query. What fails in it, `check` raises."""

    def __init__(self, spark: SparkSession, stage: MatchSlices, sink: Sink, cores: int) -> None:
        self._spark = spark
        self._stage = stage
        self._sink = sink
        self._cores = cores
        self._ending = threading.Event()
        self._asking = threading.Event()
        self._thread = ThreadPoolExecutor(1, _GROUP)
        self._work = self._thread.submit(self._repeat)

    def __enter__(self) -> Asker:
        return self

    def __exit__(self, *_: object) -> None:
        """Abandons a job that is running; what is being committed is finished."""
        from py4j.protocol import Py4JError

        self._ending.set()
        while not wait([self._work], 0.2).done:
            with self._sink.committing, suppress(Py4JError, OSError):
                if self._asking.is_set():
                    self._spark.sparkContext.cancelJobGroup(_GROUP)
        self._thread.shutdown()

    def check(self) -> None:
        """Raises what ended the thread."""
        if self._work.done():
            self._work.result()

    def _repeat(self) -> None:
        size, after, spent, again = SMALLEST, 0, 0.0, float("inf")
        while not self._ending.wait(_REST):
            if time.monotonic() >= again:
                after, spent, again = 0, 0.0, float("inf")
            progress, positions = self._sink.waiting(size, after)
            horizon = read_horizon(Path(self._stage.folder)) if positions else None
            if horizon is None:
                continue
            began = time.monotonic()
            slices = cut(progress, positions, horizon.manifest, self._slots())
            try:
                self._sink.settle(partial(self._ask, slices))
                took = time.monotonic() - began
                size, after = next_size(size, took), slices[-1].upto
                if self._sink.waiting(1)[1][:1] <= [after]:
                    spent += took
                    again = time.monotonic() + max(BACK_SECONDS, BACK * spent)
            except AnsweredOtherwise:
                continue

    def _ask(self, slices: Sequence[AskedSlice]) -> pa.Table:
        """Of a job that is abandoned, Spark's error."""
        self._spark.sparkContext.setJobGroup(_GROUP, "operators", interruptOnCancel=True)
        numbers = self._spark.range(0, len(slices), 1, len(slices))
        asked = numbers.mapInArrow(AskSlices(self._stage, tuple(slices)), spark_schema(MATCHES))
        self._asking.set()
        try:
            return asked.toArrow()
        finally:
            self._asking.clear()

    def _slots(self) -> int:
        """Tasks at a time: one slot at least is left to the query, where there are two."""
        return max(1, min(self._cores, int(self._spark.sparkContext.defaultParallelism) - 1))


def next_size(size: int, seconds: float) -> int:
    """How many publications to ask about after so many took so long."""
    wanted = size * min(2.0, JOB_SECONDS / max(seconds, 0.001))
    return max(SMALLEST, min(LARGEST, round(wanted)))


def cut(progress: int, positions: Sequence[int], manifest: str, most: int) -> list[AskedSlice]:
    """The waiting positions after `progress` in at most `most` slices, none shorter than `SMALLEST_SLICE` but one."""
    count = min(most, max(1, len(positions) // SMALLEST_SLICE))
    bounds = [len(positions) * number // count for number in range(count + 1)]
    parts = [tuple(positions[start:end]) for start, end in pairwise(bounds)]
    ends = [progress, *(part[-1] for part in parts)]
    return [AskedSlice(after, upto, manifest, part) for (after, upto), part in zip(pairwise(ends), parts, strict=True)]
