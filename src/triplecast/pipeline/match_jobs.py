"""Spark jobs that match what the journal holds beyond the outbox's progress: each runs while the one before it is
committed."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from triplecast.crash_points import reach
from triplecast.journal import Journal, JournalFile
from triplecast.model.match import MatchStats
from triplecast.outbox import OutboxBatch
from triplecast.pipeline.carried import DEEP, SHALLOW, Carried, carry
from triplecast.pipeline.horizon import Horizon, MovingHorizon, next_end
from triplecast.pipeline.jobs import JobGroup
from triplecast.pipeline.readers import journal_reader
from triplecast.pipeline.rows import MATCHES, to_arrow
from triplecast.pipeline.shard_stages import match_routed, route_slice
from triplecast.pipeline.sharding import WHOLE
from triplecast.pipeline.sink import Left, Sink
from triplecast.pipeline.stages import MatchSlice, Stage, match_slice

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SMALLEST_SLICE = 512
"""Journal positions from the first publication on, unless a whole batch has fewer for each task: matching so many costs
less than a task does, but where batches are short since each publication takes long."""

BUSY = 256
"""Publications of a batch after which more are expected soon."""

BUSY_SECONDS = 0.25
"""Then at least this time passes between the starts of two jobs, unless the later one is full: each costs as much as
matching some hundred publications."""

LOOK_SECONDS = 0.05
"""Between two looks at the journal when nobody says that there is more."""

BATCHES_OF_TWO_STAGES = 2
"""Matched at a time where the index is in shards: Spark gives the cores that the first leaves idle, between its stages,
to the index stage of the next, if that is a full batch."""

_GROUP = "triplecast-matches"


class Batch(NamedTuple):
    """Positions in (`after`, `upto`] are matched together; no `slices` where none is a publication's."""

    after: int
    upto: int
    slices: list[MatchSlice]
    full: bool
    """Whether it spans as much as a batch may."""


class MatchJobs:
    """The thread that starts the jobs. What fails in it, `check` raises."""

    def __init__(self, spark: SparkSession, stage: Stage, sink: Sink, horizon: MovingHorizon, slices: int) -> None:
        self._jobs = JobGroup(spark.sparkContext, _GROUP)
        self._stage = stage
        self._sink = sink
        self._horizon = horizon
        self._slices = slices
        self._ending = threading.Event()
        self._thread = ThreadPoolExecutor(1, _GROUP)
        self._work = self._thread.submit(self._repeat)

    def __enter__(self) -> MatchJobs:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Abandon a batch that is being matched, but finish a commit; raise what failed before."""
        self._ending.set()
        self._horizon.wake()
        self._jobs.abandon(self._work)
        self._thread.shutdown()
        if kind is None and not self._jobs.abandoned:
            self._work.result()

    def check(self) -> None:
        """Raises what ended the thread."""
        if self._work.done():
            self._work.result()

    def _repeat(self) -> None:
        after, committing, next_start, free = self._sink.reached()[0], None, 0.0, 0.0
        matching: deque[tuple[float, Future[pa.Table]]] = deque()
        most = BATCHES_OF_TWO_STAGES if self._stage.shards else 1
        with (
            Journal.read_only(self._stage.folder) as journal,
            ThreadPoolExecutor(most, "triplecast-jobs") as jobs,
            ThreadPoolExecutor(1, "triplecast-commits") as commits,
        ):
            while not self._ending.is_set():
                batch = None
                if len(matching) < most:
                    batch = plan_batch(self._horizon.now, journal, after, self._slices, self._stage)
                if batch is not None and (batch.full or not matching):
                    if not batch.full and time.monotonic() < next_start:
                        self._ending.wait(next_start - time.monotonic())
                        continue
                    began = time.monotonic()
                    matching.append((began, jobs.submit(self._match, batch)))
                    next_start = began + BUSY_SECONDS * (batch.upto - after >= BUSY)
                    after = batch.upto
                    if batch.full and len(matching) < most:
                        continue
                if not matching and committing is None:
                    self._horizon.wait(LOOK_SECONDS)
                    continue
                began, job = matching.popleft() if matching else (0.0, None)
                matched = None if job is None else job.result()
                if committing is not None:
                    committing.result()
                committing = None
                if matched is not None:
                    committing = commits.submit(self._commit, matched, max(began, free))
                    free = time.monotonic()
            if committing is not None:
                committing.result()

    def _match(self, batch: Batch) -> pa.Table:
        if not batch.slices:
            return _no_rows(batch.after, batch.upto, batch.upto)
        return match_ranges(self._jobs, self._stage, batch.slices, self._slices)

    def _commit(self, matched: pa.Table, began: float) -> None:
        left = self._sink.take(lambda: matched, began)
        while left is not None:
            left = self._sink.take(partial(match_left, self._jobs, self._stage, self._horizon, left, self._slices))


def plan_batch(horizon: Horizon | None, journal: JournalFile, after: int, slices: int, stage: Stage) -> Batch | None:
    """Plan the next batch, as far as journal, index and batch size allow; None where nothing may be matched yet."""
    if horizon is None:
        return None
    head, first = journal.head(), journal.next_document(after)
    end = next_end(after, first, head, journal.next_registry_change(max(horizon.covers, after)), horizon.batch)
    if end == after:
        return None
    reach("pipeline.batch-planned")
    if first is None or first > end:
        return Batch(after, end, [], True)
    full = end - first >= horizon.batch - 1
    carried = None
    if stage.snapshots is not None:
        carried = carry(journal, after, end, stage.operators, SHALLOW)
        end, full = carried.upto, full or carried.upto < end
    return Batch(after, end, slices_of(cut(after, end, first, slices, horizon.batch), horizon.manifest, carried), full)


def slices_of(ranges: Sequence[tuple[int, int]], manifest: str, carried: Carried | None = None) -> list[MatchSlice]:
    """Each range, with what is carried for it."""
    return [
        MatchSlice(after, upto, manifest, WHOLE, carried and carried.between(after, upto)) for after, upto in ranges
    ]


def match_ranges(jobs: JobGroup, stage: Stage, ranges: Sequence[MatchSlice], slices: int) -> pa.Table:
    """Match each range by the whole index, or route it to groups of shards: as many as there are cores, so that one
    pass serves several shards."""
    if not stage.shards:
        return jobs.run(match_slice, stage, ranges)
    groups = min(stage.shards, max(1, slices // 2))
    return jobs.run_in_two(route_slice, match_routed, stage, ranges, groups)


def match_left(jobs: JobGroup, stage: Stage, moving: MovingHorizon, left: Left, slices: int) -> pa.Table:
    """Match positions that were left because answers took too much, by the newest index, so that about as much fits."""
    horizon = moving.now
    assert horizon is not None, "a batch was matched by it"
    bounds = [min(left.after + number * max(1, left.fitted), left.upto) for number in range(slices + 1)]
    carried = None
    if stage.snapshots is not None:
        carried = carry(journal_reader(stage.folder), left.after, bounds[-1], stage.operators, DEEP)
        bounds = [min(each, carried.upto) for each in bounds]
    ranges = [(after, upto) for after, upto in pairwise(bounds) if after < upto]
    matched = match_ranges(jobs, stage, slices_of(ranges, horizon.manifest, carried), slices)
    if bounds[-1] < left.upto:
        matched = pa.concat_tables([matched, _no_rows(bounds[-1], left.upto, bounds[-1])])
    return matched


def _no_rows(after: int, upto: int, left: int) -> pa.Table:
    return pa.Table.from_batches([to_arrow(OutboxBatch.joined(()), after, upto, MatchStats(), left=left)], MATCHES)


def cut(after: int, upto: int, first: int, most: int, batch: int) -> Sequence[tuple[int, int]]:
    """(`after`, `upto`] in at most `most` ranges: for a whole `batch` so many, else none shorter than `SMALLEST_SLICE`
    but one.

    `first` is the first publication's position: from there on the ranges are of nearly equal length, and what comes
    before belongs to the first of them.
    """
    if upto <= after:
        return []
    start = min(max(after, first - 1), upto - 1)
    count = min(most, max(1, (upto - start) // max(1, min(SMALLEST_SLICE, batch // most))))
    ends = [after, *(start + (upto - start) * i // count for i in range(1, count + 1))]
    return list(pairwise(ends))
