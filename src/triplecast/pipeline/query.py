"""The streaming query: ``readStream → mapInArrow → foreachBatch`` around the stages, started and watched."""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.errors import InputError, PipelineFailed, StorageFull
from triplecast.model.operators import NO_OPERATORS, SCHEDULE, OperatorSet, write_operators
from triplecast.pipeline.operator_jobs import OperatorJobs
from triplecast.pipeline.rows import MATCHES, spark_schema
from triplecast.pipeline.session import last_line, session
from triplecast.pipeline.sink import Sink
from triplecast.pipeline.stages import MatchSlices
from triplecast.sandbox import search_path

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

CHECKPOINT = "checkpoint"
"""Spark's notes on its batches. Made new by every start and removed at its end: the outbox says how far matching
came.
"""

LOG = "spark.log"

ATTEMPTS = 8
"""Queries that may fail in a row without a commit: each finds out about one of the Python processes that are gone."""

NO_SPACE = "No space left on device"
"""As the JVM says it, and as it is found in the errors that it sends."""

MAKE_SPACE = "free disk space and start again: nothing is lost and nothing is told twice"

_STACK = ("at ", "...", "Driver stacktrace:")


def start_query(spark: SparkSession, stage: MatchSlices, sink: Sink, slices: int) -> StreamingQuery:
    """Begins to match what the journal of the `stage` holds beyond the outbox's progress, and follows it."""
    from triplecast.pipeline.source import NAME, JournalSource

    def take(frame: DataFrame, batch: int) -> None:
        sink.take(frame.toArrow)

    folder = Path(stage.folder)
    checkpoint = folder / CHECKPOINT
    shutil.rmtree(checkpoint, ignore_errors=True)
    spark.dataSource.register(JournalSource)
    source = spark.readStream.format(NAME).option("folder", str(folder)).option("slices", str(slices)).load()
    matches = source.mapInArrow(stage, spark_schema(MATCHES))
    writer = matches.writeStream.foreachBatch(take).option("checkpointLocation", checkpoint.as_uri())
    return writer.trigger(processingTime="0 seconds").start()


def stage_of(folder: Path, schedule: str, operators: OperatorSet) -> MatchSlices:
    """What the workers do, with what they have to know of this process."""
    return MatchSlices(
        str(folder), write_operators(operators), search_path(each.module for each in operators), schedule
    )


class SparkSide:
    """Spark's part of a run: session, query and end, all in the one thread that calls `work`."""

    def __init__(
        self,
        folder: Path,
        sink: Sink,
        cores: int,
        tell: Callable[[str], None],
        opened: AbstractContextManager[SparkSession] | None = None,
        start: Callable[[SparkSession, MatchSlices, Sink, int], StreamingQuery] = start_query,
        schedule: str = SCHEDULE,
        operators: OperatorSet = NO_OPERATORS,
    ) -> None:
        self._operators = operators
        self._opened = opened or session(slots(cores, operators), folder / LOG, started=self._starting)
        self._jvm: subprocess.Popen[bytes] | None = None
        self._folder = folder
        self._sink = sink
        self._cores = cores
        self._tell = tell
        self._start = start
        self._schedule = schedule
        self._stop = threading.Event()
        self._ready = threading.Event()
        self.running = False

    def go(self) -> None:
        """The horizon is set: batches may begin."""
        self._ready.set()

    def end(self) -> None:
        """Makes `work` return: a batch that is being matched is abandoned, one that is being committed is finished, a
        JVM that is only starting is killed.
        """
        self._stop.set()
        self._ready.set()
        jvm = self._jvm
        if jvm is not None:
            jvm.kill()

    def work(self) -> None:
        """Starts the JVM unless one was given, matches from `go` to `end`, ends what it started. Raises what failed
        in the words of whoever knows best.
        """
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
            shutil.rmtree(self._folder / CHECKPOINT, ignore_errors=True)

    def _starting(self, jvm: subprocess.Popen[bytes]) -> None:
        self._jvm = jvm
        if self._stop.is_set():
            jvm.kill()

    def _follow(self, spark: SparkSession) -> None:
        """One query after another: one that fails is started again where the outbox stands, unless `ATTEMPTS` of them
        have failed in a row without committing anything.
        """
        failures = 0
        while not self._stop.is_set():
            before = self._sink.matched.batches
            error = self._query(spark)
            if self._sink.failure is not None:
                raise self._sink.failure from error
            if error is None:
                return
            if NO_SPACE in str(error):
                places = f"{self._folder} or {tempfile.gettempdir()}"
                raise StorageFull(places, f"there is no space to write (Spark: {NO_SPACE})", MAKE_SPACE) from error
            failures = 1 if self._sink.matched.batches > before else failures + 1
            told = f"Spark failed: {last_words(error)}"
            if lost_jvm(error) or failures == ATTEMPTS:
                raise PipelineFailed(told, self._mend())
            self._tell(f"{told}; matching goes on where it stood")

    def _query(self, spark: SparkSession) -> Exception | None:
        """Runs one query until `end`; gives what ended it before."""
        from py4j.protocol import Py4JError
        from pyspark.errors import PySparkException

        try:
            stage = stage_of(self._folder, self._schedule, self._operators)
            query = self._start(spark, stage, self._sink, 2 * self._cores)
            self.running = True
            try:
                with OperatorJobs(spark, stage, self._sink, self._cores) as jobs:
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
                raise PipelineFailed("the streaming query ended by itself", self._mend())

    def _stop_query(self, query: StreamingQuery) -> None:
        from py4j.protocol import Py4JError

        with self._sink.committing, contextlib.suppress(Py4JError, OSError):
            query.stop()  # the JVM may be gone, and the query with it

    def _mend(self) -> str:
        log = self._folder / LOG
        return f"see {log} (its last line: {last_line(log)}); start again: nothing is lost and nothing is told twice"


def slots(cores: int, operators: OperatorSet) -> int:
    """Tasks that Spark runs at a time: one more than there are cores where operators may be asked, whose task waits
    for them (`pipeline.operator_jobs`)."""
    return cores + bool(operators)


def lost_jvm(error: Exception) -> bool:
    """Whether an error says that nobody answers at the other end any more."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, Py4JNetworkError | OSError)


def last_words(error: Exception) -> str:
    """What an error of Spark says in the end: a worker's own exception stands last, before the query's plan."""
    if lost_jvm(error):
        return "its JVM ended unexpectedly"
    told = str(error).partition("=== Streaming Query ===")[0].partition("SQLSTATE:")[0]
    lines = [line.strip() for line in told.splitlines()]
    return next((line for line in reversed(lines) if line and not line.startswith(_STACK)), "it did not say why")
