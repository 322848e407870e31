"""A few of the kills of `tests.chaos` (any number: ``make chaos N=``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos import Oracle, kill_everywhere, kill_on_spark
from triplecast import faults


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
