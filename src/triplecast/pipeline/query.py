"""The streaming query: ``readStream → mapInArrow → foreachBatch`` around the stages, started and watched."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow as pa

from triplecast.errors import InputError, PipelineFailed, StorageFull
from triplecast.model.match import MatchStats
from triplecast.outbox import OutboxBatch
from triplecast.pipeline.horizon import read_horizon
from triplecast.pipeline.operator_jobs import OperatorJobs
from triplecast.pipeline.rows import MATCHES, spark_schema, to_arrow
from triplecast.pipeline.session import last_line, session
from triplecast.pipeline.sink import Left, Sink
from triplecast.pipeline.stages import Stage, match_ranges, match_slices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

CHECKPOINT = "checkpoint"
"""Spark's own notes on its batches, new at every start and removed at its end: the outbox records the progress."""

LOG = "spark.log"

ATTEMPTS = 8
"""Queries that may fail in a row without a commit: each may find one of its Python processes gone."""

NO_SPACE = "No space left on device"
"""Part of the JVM's error message."""

SAFE = "nothing is lost and nothing is recorded twice"

_STACK = ("at ", "...", "Driver stacktrace:")


def start_query(spark: SparkSession, stage: Stage, sink: Sink, slices: int) -> StreamingQuery:
    """Match what the journal holds beyond the outbox's progress, and follow it."""
    from triplecast.pipeline.source import NAME, JournalSource

    def take(frame: DataFrame, batch: int) -> None:
        left = sink.take(frame.toArrow)
        while left is not None:
            left = sink.take(partial(match_left, spark, stage, left, slices))

    checkpoint = stage.folder / CHECKPOINT
    shutil.rmtree(checkpoint, ignore_errors=True)
    spark.dataSource.register(JournalSource)
    source = spark.readStream.format(NAME).option("folder", str(stage.folder)).option("slices", str(slices)).load()
    matches = source.mapInArrow(partial(match_slices, stage), spark_schema(MATCHES))
    writer = matches.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint.as_uri())
    return writer.trigger(processingTime="0 seconds").start()


def match_left(spark: SparkSession, stage: Stage, left: Left, slices: int) -> pa.Table:
    """Match positions that were left because answers took too much, by the newest index, so that about as much fits."""
    horizon = read_horizon(stage.folder)
    assert horizon is not None, "a batch was matched by it"
    bounds = [min(left.after + number * max(1, left.fitted), left.upto) for number in range(slices + 1)]
    ranges = [(after, upto) for after, upto in pairwise(bounds) if after < upto]
    numbers = spark.range(0, len(ranges), 1, len(ranges))
    work = partial(match_ranges, stage, ranges, horizon.manifest)
    matched = numbers.mapInArrow(work, spark_schema(MATCHES)).toArrow()
    if bounds[-1] < left.upto:
        more = to_arrow(OutboxBatch.joined(()), bounds[-1], left.upto, MatchStats(), left=bounds[-1])
        matched = pa.concat_tables([matched, pa.Table.from_batches([more]).cast(matched.schema)])
    return matched


class SparkSide:
    """Spark's part of a run: session, query and end, all in the one thread that calls `work`."""

    def __init__(
        self,
        stage: Stage,
        sink: Sink,
        cores: int,
        report: Callable[[str], None],
        spark: SparkSession | None = None,
        start: Callable[[SparkSession, Stage, Sink, int], StreamingQuery] = start_query,
    ) -> None:
        """`spark`: a session that the caller keeps."""
        self._stage = stage
        self._log = stage.folder / LOG
        tasks = cores + bool(stage.operators)  # one task may wait for operators (`pipeline.operator_jobs`)
        self._opened = nullcontext(spark) if spark is not None else session(tasks, self._log, started=self._starting)
        self._jvm: subprocess.Popen[bytes] | None = None
        self._sink = sink
        self._cores = cores
        self._report = report
        self._start = start
        self._stop = threading.Event()
        self._ready = threading.Event()
        self.running = False

    def go(self) -> None:
        """Let batches begin: the horizon is set."""
        self._ready.set()

    def end(self) -> None:
        """Make `work` return: abandon a batch that is being matched, finish one that is being committed, and kill a JVM
        that is only starting."""
        self._stop.set()
        self._ready.set()
        jvm = self._jvm
        if jvm is not None:
            jvm.kill()

    def work(self) -> None:
        """Start the JVM unless a session was given, match from `go` to `end`, and end what it started. Raises the cause
        of a failure rather than Spark's error."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            with self._opened as spark:
                self._jvm = None  # from now on it is ended in order
                self._ready.wait()
                if not self._stop.is_set():
                    self._follow(spark)
        except (InputError, Py4JError, PySparkException, OSError):
            if self._jvm is None or not self._stop.is_set():
                raise
        finally:
            shutil.rmtree(self._stage.folder / CHECKPOINT, ignore_errors=True)

    def _starting(self, jvm: subprocess.Popen[bytes]) -> None:
        self._jvm = jvm
        if self._stop.is_set():
            jvm.kill()

    def _follow(self, spark: SparkSession) -> None:
        """Restart a query that fails, unless `ATTEMPTS` of them failed in a row without committing anything."""
        failures = 0
        while not self._stop.is_set():
            before = self._sink.reached()
            error = self._query(spark)
            if self._sink.failure is not None:
                raise self._sink.failure from error
            if error is None:
                return
            if NO_SPACE in str(error):
                places = f"{self._stage.folder} or {tempfile.gettempdir()}"
                hint = f"free disk space and start again: {SAFE}"
                raise StorageFull(places, f"there is no space to write (Spark: {NO_SPACE})", hint) from error
            failures = 1 if self._sink.reached() != before else failures + 1
            problem = f"Spark failed: {last_words(error)}"
            if lost_jvm(error) or failures == ATTEMPTS:
                raise PipelineFailed(problem, self._hint())
            self._report(f"{problem}; matching continues where it was")

    def _query(self, spark: SparkSession) -> Exception | None:
        """Run one query until `end`; return what ended it before."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            query = self._start(spark, self._stage, self._sink, 2 * self._cores)
            self.running = True
            try:
                with OperatorJobs(spark, self._stage, self._sink, self._cores) as jobs:
                    self._watch(query, jobs)
            finally:
                self.running = False
                self._stop_query(query)
        except (Py4JError, PySparkException, OSError) as error:
            return error
        return None

    def _watch(self, query: StreamingQuery, jobs: OperatorJobs) -> None:
        while not self._stop.wait(0.1):
            jobs.check()
            if not query.isActive:
                query.awaitTermination()  # raises what ended it
                raise PipelineFailed("the streaming query ended by itself", self._hint())

    def _stop_query(self, query: StreamingQuery) -> None:
        from py4j.protocol import Py4JError

        with self._sink.committing, contextlib.suppress(Py4JError, OSError):
            query.stop()  # the JVM may be gone, and the query with it

    def _hint(self) -> str:
        return f"see {self._log} (its last line: {last_line(self._log)}); start again: {SAFE}"


def lost_jvm(error: Exception) -> bool:
    """Whether an error says that the JVM is gone."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, Py4JNetworkError | OSError)


def last_words(error: Exception) -> str:
    """Return an error's last line before the query's plan: there Spark puts a worker's own exception."""
    if lost_jvm(error):
        return "its JVM ended unexpectedly"
    text = str(error).partition("=== Streaming Query ===")[0].partition("SQLSTATE:")[0]
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if line and not line.startswith(_STACK)), "it did not say why")
