"""What a folder has accepted, matched on Spark and committed: for a run, and in the place of an engine.

The index, the horizon, the jobs and the sink are parts of one `SparkMatching`. A run puts acceptor and files before it;
an `EngineOnSpark` follows what the calls of an engine accept.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from triplecast.driver import Driver
from triplecast.engine.querying import Querying
from triplecast.incremental import OperatorAnswers
from triplecast.index import Snapshot
from triplecast.journal import Journal
from triplecast.kernels.compiling import FIRST, compile_kernels, warm
from triplecast.match import Matcher
from triplecast.model.match import Learnt
from triplecast.model.operators import SCHEDULE, OperatorSet, check_schedule
from triplecast.operators.asking.experience import Experience
from triplecast.outbox import Outbox, OutboxBatch, UndecidedPair
from triplecast.partition import SLICES, check_partition
from triplecast.pipeline.horizon import MovingHorizon
from triplecast.pipeline.looks import look_again
from triplecast.pipeline.query import SparkSide
from triplecast.pipeline.sharding import SnapshotCutter
from triplecast.pipeline.sink import Sink
from triplecast.pipeline.snapshots import SnapshotSharer
from triplecast.pipeline.stages import Stage, make_asker
from triplecast.registry.registry import Registry
from triplecast.sandbox import search_path

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

INDEX_SECONDS = 1.0
"""Least time between two updates of the index, so that a worker finds the manifest that its batch was planned with."""


class SparkSettings(NamedTuple):
    """On which machines publications are matched, and by which index."""

    cores: int = 2
    """Threads of this machine, where there is no `master`."""
    spark: SparkSession | None = None
    """A session that the caller keeps."""
    schedule: str = SCHEDULE
    """The order in which operators are called."""
    master: str | None = None
    """That of a cluster."""
    partition: str = SLICES
    shards: int = 1
    """Another partition than slices cuts the index into so many."""
    snapshots: str | None = None
    """Where a cluster's machines find the index, unless they read the folder."""

    def check(self) -> SparkSettings:
        """Raises InputError."""
        check_schedule(self.schedule)
        check_partition(self.partition, self.shards)
        return self


class SparkMatching:
    """From accepted to committed: what the journal holds beyond the outbox goes through Spark's jobs to the sink."""

    def __init__(
        self,
        settings: SparkSettings,
        folder: Path,
        journal: Journal,
        outbox: Outbox,
        driver: Driver,
        operators: OperatorSet,
        report: Callable[[UndecidedPair | str], None],
    ) -> None:
        self._settings, self._report = settings, report
        place = settings.snapshots
        sharer = SnapshotSharer(place, folder, journal) if place is not None else None
        self.stage = stage = Stage(
            folder,
            operators,
            settings.schedule,
            search_path(each.module for each in operators),
            0 if settings.partition == SLICES else settings.shards,
            None if sharer is None else sharer.place,
            tuple(journal.learnt()),
        )
        share = None if sharer is None else sharer.publish
        self._cutter = SnapshotCutter(journal, folder, settings.partition, settings.shards, share)
        self.horizon = horizon = MovingHorizon()
        self._matcher = Matcher(operators=operators)
        self._asker = make_asker(stage)
        self._querying = Querying(journal, self._matcher, OperatorAnswers(journal, self._matcher, self._asker))
        keep = keep_statistics(journal)
        join = OutboxBatch.merged if stage.shards else OutboxBatch.joined
        self.sink = Sink(driver, outbox, horizon.learn, report, keep, self._querying.changes, join)
        self._indexed_at = 0.0

    def cover(self, snapshot: Snapshot) -> None:
        """Match by a new index, which is on disk."""
        cut = self._cutter.publish(snapshot)
        self.horizon.cover(cut.manifest, cut.covers)

    def follow(self, registry: Registry) -> bool:
        """Bring the index up to the registry, unless that was done just now; whether it has changed."""
        if time.monotonic() - self._indexed_at < INDEX_SECONDS or not registry.follow():
            return False
        self._indexed_at = time.monotonic()
        return True

    def prepare(self, is_ending: Callable[[], bool]) -> None:
        """Compile kernels while the JVM starts: a worker that finds none makes its batch wait for them."""
        compile_kernels(self._report, is_ending)
        if not is_ending():
            warm(FIRST)

    def spark(self, opened: Callable[[SparkSession], None] = lambda spark: None) -> SparkSide:
        """The jobs, and what runs them; `opened` is told of the session."""
        cores, spark, _, master, *_ = self._settings
        how = cores, self._report, spark
        return SparkSide(self.stage, self.sink, self.horizon, *how, master=master, opened=opened)

    def close(self) -> None:
        self._querying.close()
        self._asker.close()
        self._matcher.close()


class EngineOnSpark:
    """Matches in the place of an engine that was opened with it (`Engine.open`), from `start` to `close`.

    A call returns once what it wrote is synced; what matches is in the outbox later, the same and in the same order.
    """

    def __init__(self, settings: SparkSettings, report: Callable[[UndecidedPair | str], None]) -> None:
        self._settings, self._report = settings.check(), report
        self._ending = threading.Event()
        self._threads = ThreadPoolExecutor(2, "triplecast-spark")
        self._tasks: list[Future[None]] = []

    def take(self, journal: Journal, outbox: Outbox, driver: Driver, registry: Registry) -> None:
        """Whose publications are to be matched."""
        folder, operators = Path(journal.where).parent, registry.index.operators()
        self.matching = SparkMatching(self._settings, folder, journal, outbox, driver, operators, self._report)
        self._registry = registry

    def cover(self, snapshot: Snapshot) -> None:
        """The engine has a new index."""
        self.matching.cover(snapshot)

    def wake(self) -> None:
        """The engine has accepted something."""
        self.matching.horizon.wake()

    def start(self) -> None:
        """It is to be closed then."""
        self._spark = self.matching.spark()
        self._tasks = [self._threads.submit(self._spark.work), self._threads.submit(self._follow)]

    def _follow(self) -> None:
        """The registry's thread."""
        self.matching.prepare(self._ending.is_set)
        self._spark.go()
        look_again(self._ending, lambda: self.matching.follow(self._registry))

    @property
    def has_ended(self) -> bool:
        """Whether something failed, which `close` raises: nothing is matched any more."""
        return any(each.done() for each in self._tasks)

    def close(self) -> None:
        """Abandon a batch that is being matched, and finish one that is being committed. Raises what failed before:
        PipelineFailed, StorageFault or InputError."""
        self._ending.set()
        self._spark.end()
        wait(self._tasks)
        self._threads.shutdown()
        self.matching.close()
        for each in self._tasks:
            each.result()


def keep_statistics(journal: Journal) -> Callable[[Sequence[Learnt]], None]:
    """Return a function that adds a batch's statistics of operators to those that the journal keeps."""
    experience = Experience(journal.learnt())

    def keep(learnt: Sequence[Learnt]) -> None:
        if learnt:
            experience.absorb(learnt)
            experience.forget()
            journal.keep_learnt(*experience.changes())
            experience.note_written()

    return keep
