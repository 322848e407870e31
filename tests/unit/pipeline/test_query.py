"""What a run does about jobs that fail, without a JVM."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple, NoReturn

import pytest

from triplecast.driver import Driver
from triplecast.errors import PipelineFailed, StorageFull
from triplecast.journal import Journal
from triplecast.outbox import Outbox
from triplecast.pipeline.horizon import MovingHorizon
from triplecast.pipeline.query import ATTEMPTS, SparkSide
from triplecast.pipeline.rows import MATCHES
from triplecast.pipeline.sink import Sink
from triplecast.pipeline.stages import Stage

pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")


def fail(*_: object, **named: object) -> NoReturn:
    raise OSError("no JVM")


NO_SPARK = SimpleNamespace(sparkContext=SimpleNamespace(parallelize=fail))


class Failing(NamedTuple):
    """Spark's part of a run whose jobs all end with one error, and what it told."""

    side: SparkSide
    told: list[str]

    @classmethod
    def of(cls, folder: Path, outbox: Outbox, error: str) -> Failing:
        from pyspark.errors import PySparkException

        def start(*_: object) -> NoReturn:
            sink.take(MATCHES.empty_table)  # a batch without publications is no progress
            raise PySparkException(error)

        told: list[str] = []
        sink = Sink(Driver(Journal.in_memory(), outbox), outbox, lambda publications, rows, seconds: None)
        side = SparkSide(Stage(folder), sink, MovingHorizon(), 2, told.append, NO_SPARK, start)  # type: ignore[arg-type]
        side.go()
        return cls(side, told)


@pytest.mark.timeout(60)
def test_jobs_that_fail_are_started_again_until_it_is_hopeless(tmp_path: Path) -> None:
    with Outbox.in_memory() as outbox:
        failing = Failing.of(tmp_path, outbox, "a task failed\njava.lang.IllegalStateException: why")
        with pytest.raises(PipelineFailed, match=r"IllegalStateException: why.*nothing is lost"):
            failing.side.work()
    assert len(failing.told) == ATTEMPTS - 1


def test_a_full_disk_under_spark_ends_the_run_naming_the_folder(tmp_path: Path) -> None:
    with Outbox.in_memory() as outbox:
        failing = Failing.of(tmp_path, outbox, "java.io.IOException: No space left on device\n\tat java.base/x")
        with pytest.raises(StorageFull, match="free disk space") as full:
            failing.side.work()
    assert str(tmp_path) in full.value.path
    assert failing.told == []
