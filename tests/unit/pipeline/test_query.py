"""What a run does about a query that fails, without a JVM."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path

import pytest

from triplecast.delivery import Outbox
from triplecast.errors import PipelineFailed, StorageFull
from triplecast.pipeline.query import ATTEMPTS, SparkSide
from triplecast.pipeline.sink import Sink

pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")


class Failing(SparkSide):
    """A query that always ends with one error."""

    def __init__(self, folder: Path, outbox: Outbox, error: str) -> None:
        self.told: list[str] = []
        sink = Sink(outbox, lambda ids: (), lambda publications, rows, seconds: None)
        super().__init__(folder, sink, 2, self.told.append, nullcontext())
        self._error = error

    def _query(self, spark: object) -> Exception:
        from pyspark.errors import PySparkException

        error: Exception = PySparkException(self._error)
        return error


def test_a_query_that_fails_is_started_again_until_it_is_hopeless(tmp_path: Path) -> None:
    with Outbox.in_memory() as outbox:
        side = Failing(tmp_path, outbox, "a task failed\njava.lang.IllegalStateException: why")
        side.go()
        with pytest.raises(PipelineFailed, match=r"IllegalStateException: why.*nothing is lost"):
            side.work()
    assert len(side.told) == ATTEMPTS - 1


def test_a_full_disk_under_spark_ends_the_run_naming_the_folder(tmp_path: Path) -> None:
    with Outbox.in_memory() as outbox:
        side = Failing(tmp_path, outbox, "java.io.IOException: No space left on device\n\tat java.base/x")
        side.go()
        with pytest.raises(StorageFull, match="free disk space") as full:
            side.work()
    assert str(tmp_path) in full.value.path
    assert side.told == []
