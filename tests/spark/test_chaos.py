"""A few of the kills of `tests.chaos` (any number: ``make chaos N=``)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.chaos import Oracle, first_files, kept, kill_everywhere, kill_on_spark, run_in_turn, same
from tests.spark.workplace import Workplace
from triplecast import faults
from triplecast.errors import StorageFull


@pytest.mark.slow
def test_a_kill_at_every_point_loses_doubles_and_renames_nothing(tmp_path: Path, seed: int) -> None:
    hits = kill_everywhere(1, seed, tmp_path)
    assert set(hits) == set(faults.POINTS)


@pytest.mark.slow
@pytest.mark.spark
def test_a_kill_after_the_outboxs_commit_and_before_sparks_doubles_nothing(tmp_path: Path) -> None:
    log = tmp_path / "hits.log"
    kill_on_spark(tmp_path / "run", Oracle(tmp_path / "oracle"), log, "outbox.committed", "", 0)
    assert log.read_text().split() == ["outbox.committed"]


@pytest.mark.slow
@pytest.mark.spark
def test_a_killed_jvm_ends_the_run_and_the_next_one_tells_the_rest(tmp_path: Path) -> None:
    kill_on_spark(tmp_path / "run", Oracle(tmp_path / "oracle"), tmp_path / "hits.log", None, "jvm", 1.0)


def test_a_full_disk_ends_the_run_in_words_and_space_mends_it(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk], capture_output=True, check=False
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
