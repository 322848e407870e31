"""What operators are asked about: small Spark jobs beside the streaming query, so that nothing else waits for them.

The query tells what is decided without operators and notes the pairs that wait (`Outbox.waiting`). One thread asks
about those, in order of position; a kill anywhere leaves them waiting, and the next start asks again, but for answers
that the journal keeps. What they could not be asked about, since a worker does not start, waits on: the thread passes
it by and comes back to it, in turns with what is new.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import TracebackType
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
"""Times as long as was spent on what could not be asked about, it is not gone over again; at least `BACK_SECONDS`."""
BACK_SECONDS = 2.0
_REST = 0.05
_GROUP = "triplecast-operators"


class OperatorJobs:
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

    def __enter__(self) -> OperatorJobs:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Abandons a job that is running; what is being committed is finished, and what failed then is raised."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        self._ending.set()
        abandoned = False
        while not wait([self._work], 0.2).done:
            with self._sink.committing, suppress(Py4JError, OSError):
                if self._asking.is_set():
                    abandoned = True
                    self._spark.sparkContext.cancelJobGroup(_GROUP)
        self._thread.shutdown()
        if kind is None and not abandoned:
            with suppress(Py4JError, PySparkException, OSError):
                self._work.result()

    def check(self) -> None:
        """Raises what ended the thread."""
        if self._work.done():
            self._work.result()

    def _repeat(self) -> None:
        size, passing = SMALLEST, Passing()
        while not self._ending.wait(_REST):
            progress, positions = self._next(passing, size)
            horizon = read_horizon(Path(self._stage.folder)) if positions else None
            if horizon is None:
                continue
            began = time.monotonic()
            slices = cut(progress, positions, horizon.manifest, self._slots())
            try:
                self._sink.settle(partial(self._ask, slices))
            except AnsweredOtherwise:
                continue
            ended = time.monotonic()
            size, upto = next_size(size, ended - began), slices[-1].upto
            left = [each for each in self._sink.waiting(len(positions), progress)[1] if each <= upto]
            passing.note(upto, (ended - began) * len(left) / len(positions), ended)

    def _next(self, passing: Passing, size: int) -> tuple[int, list[int]]:
        """What is asked about next, after which position; nothing where nothing waits, or not yet again."""
        now = time.monotonic()
        for _ in range(2):
            passing.turn(now)
            progress, positions = self._sink.waiting(size, passing.after)
            if passing.back:
                positions = [each for each in positions if each <= passing.asked]
                if not positions:
                    passing.end_round(now)
            if positions:
                break
        return progress, positions

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


@dataclass(slots=True)
class Passing:
    """How far everything was asked about or passed by (`asked`), and the round over what was passed by (`back`)."""

    asked: int = 0
    back: bool = False
    """Whether it is the round's turn."""
    again: float = float("inf")
    """When the round begins or goes on; never where nothing was passed by."""
    reached: int = 0
    """How far the round has come."""
    spent: float = 0.0
    """In the round, on what was passed by once more."""

    @property
    def after(self) -> int:
        """Where what is asked about next begins."""
        return self.reached if self.back else self.asked

    def turn(self, now: float) -> None:
        """The round's turn is every second one while it lasts."""
        self.back = not self.back and now >= self.again

    def note(self, upto: int, lost: float, now: float) -> None:
        """What comes next up to `upto` was asked about, which took `lost` seconds for what could not be."""
        if self.back:
            self.reached = upto
            self.spent += lost
        else:
            self.asked = upto
            if lost and self.again == float("inf"):
                self.again = now + max(BACK_SECONDS, BACK * lost)

    def end_round(self, now: float) -> None:
        """The next one, where there is still something, is as far off as this one spent on it."""
        self.again = now + max(BACK_SECONDS, BACK * self.spent) if self.spent else float("inf")
        self.reached, self.spent = 0, 0.0


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
