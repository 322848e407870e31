"""Spark's side of a run: a session, the jobs of one start after the other, and what to do about their failures."""

from __future__ import annotations

import subprocess
import tempfile
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from typing import TYPE_CHECKING

from triplecast.errors import InputError, PipelineFailed, StorageFull
from triplecast.pipeline.horizon import MovingHorizon
from triplecast.pipeline.jobs import JobGroup, spark_errors
from triplecast.pipeline.match_jobs import MatchJobs
from triplecast.pipeline.operator_jobs import OperatorJobs
from triplecast.pipeline.session import last_line, session
from triplecast.pipeline.sink import Sink
from triplecast.pipeline.stages import Stage, load_stages

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = "spark.log"

ATTEMPTS = 8
"""Starts that may fail in a row without a commit: each may find one of its Python processes gone."""

NO_SPACE = "No space left on device"
"""Part of the JVM's error message."""

SAFE = "nothing is lost and nothing is recorded twice"

_STACK = ("at ", "...", "Driver stacktrace:")


class SparkSide:
    """Spark's part of a run: session, jobs and end, watched by the one thread that calls `work`."""

    def __init__(
        self,
        stage: Stage,
        sink: Sink,
        horizon: MovingHorizon,
        cores: int,
        report: Callable[[str], None],
        spark: SparkSession | None = None,
        start: Callable[[SparkSession, Stage, Sink, MovingHorizon, int], MatchJobs] = MatchJobs,
        master: str | None = None,
        opened: Callable[[SparkSession], None] = lambda spark: None,
    ) -> None:
        """`spark`: a session that the caller keeps. `master`: that of a cluster, whose cores count instead of
        `cores`. `opened` is told of the session."""
        self._stage = stage
        self._log = stage.folder / LOG
        tasks = cores + bool(stage.operators)  # one task may wait for operators (`pipeline.operator_jobs`)
        how = tasks, self._log, None, self._starting, master
        self._opened = nullcontext(spark) if spark is not None else session(*how)
        self._tell_opened = opened
        self._on_cluster = master is not None
        self._jvm: subprocess.Popen[bytes] | None = None
        self._sink = sink
        self._horizon = horizon
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
        try:
            with self._opened as spark:
                self._jvm = None  # from now on it is ended in order
                if not self._stop.is_set():
                    self._warm(spark)
                    self._tell_opened(spark)
                self._ready.wait()
                if not self._stop.is_set():
                    self._follow(spark)
        except spark_errors(InputError):
            if self._jvm is None or not self._stop.is_set():
                raise

    def _warm(self, spark: SparkSession) -> None:
        """Have Python workers started and JVM code loaded while subscriptions are registered."""
        with suppress(*spark_errors()):  # the first batch meets it again
            JobGroup(spark.sparkContext, "triplecast-start").run(load_stages, self._stage, range(self._cores))

    def _starting(self, jvm: subprocess.Popen[bytes]) -> None:
        self._jvm = jvm
        if self._stop.is_set():
            jvm.kill()

    def _follow(self, spark: SparkSession) -> None:
        """Start again after a failure, unless `ATTEMPTS` starts failed in a row without committing anything."""
        failures = 0
        while not self._stop.is_set():
            before = self._sink.reached()
            error = self._run_jobs(spark)
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

    def _run_jobs(self, spark: SparkSession) -> Exception | None:
        """Run jobs until `end`; return what ended them before."""
        try:
            if self._on_cluster:
                self._cores = max(1, int(spark.sparkContext.defaultParallelism) - bool(self._stage.operators))
            with (
                self._start(spark, self._stage, self._sink, self._horizon, 2 * self._cores) as matching,
                OperatorJobs(spark, self._stage, self._sink, self._horizon, self._cores) as jobs,
            ):
                self.running = True
                while not self._stop.wait(0.1):
                    jobs.check()
                    matching.check()
        except spark_errors() as error:
            return error
        finally:
            self.running = False
        return None

    def _hint(self) -> str:
        return f"see {self._log} (its last line: {last_line(self._log)}); start again: {SAFE}"


def lost_jvm(error: Exception) -> bool:
    """Whether an error says that the JVM is gone."""
    from py4j.protocol import Py4JNetworkError

    return isinstance(error, Py4JNetworkError | OSError)


def last_words(error: Exception) -> str:
    """Return the last line of an error that is not of a stack: there Spark puts a worker's own exception."""
    if lost_jvm(error):
        return "its JVM ended unexpectedly"
    text = str(error)
    lines = [line.strip() for line in text.splitlines()]
    return next((line for line in reversed(lines) if line and not line.startswith(_STACK)), "it did not say why")
