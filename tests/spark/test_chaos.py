"""A few of the kills of `tests.chaos` (any number: ``make chaos N=``)."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chaos import RUN_POINTS, Moment, Oracle, first_files, kept, kill_everywhere, kill_on_spark, run_in_turn, same
from tests.spark.workplace import Workplace
from triplecast.errors import StorageFull

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.slow
def test_a_kill_at_every_point_loses_doubles_and_renames_nothing(tmp_path: Path, seed: int) -> None:
    hits = kill_everywhere(1, seed, tmp_path)
    assert set(hits) == set(RUN_POINTS)


@pytest.mark.slow
@pytest.mark.spark
def test_kills_on_spark_double_nothing(tmp_path: Path, spark: SparkSession) -> None:
    """After the outbox's commit and before Spark's; and of the JVM while a batch is in flight."""
    log, oracle = tmp_path / "hits.log", Oracle(tmp_path / "oracle")
    kill_on_spark(tmp_path / "point", oracle, spark, log, "outbox.committed", "", Moment(0, 0.0))
    assert log.read_text().split() == ["outbox.committed"]
    assert kill_on_spark(tmp_path / "moment", oracle, spark, log, None, "jvm", Moment(0, 0.5))


def test_a_full_disk_ends_the_run_in_words_and_space_mends_it(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=448k", "tmpfs", disk], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("a small file system can only be mounted by root")
    try:
        oracle = Oracle(tmp_path / "oracle")
        place = Workplace(tmp_path / "work")
        place.output = disk / "output"
        first_files(place)
        with pytest.raises(StorageFull, match="no space"):
            run_in_turn(place)
        kept_before = place.outbox()
        subprocess.run(["mount", "-o", "remount,size=64m", disk], check=True)
        run_in_turn(place)
        same(place.outbox(), oracle.first)
        kept(kept_before, place.outbox())
    finally:
        subprocess.run(["umount", "--lazy", disk], check=True)
