"""Workers that have no folder of the run: what travels to them, and the files that they fetch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import first_files, run_in_turn, same, second_files
from tests.spark.workplace import Workplace
from triplecast.pipeline import snapshots


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine's cache, of its own."""
    monkeypatch.setenv("TRIPLECAST_CACHE", str(tmp_path / "cache"))
    snapshots.fetch.cache_clear()
    yield tmp_path / "cache" / "snapshots"
    snapshots.fetch.cache_clear()


def test_what_travels_tells_what_the_folder_tells(tmp_path: Path, cache: Path) -> None:
    here, away = Workplace(tmp_path / "here"), Workplace(tmp_path / "away")
    shared = f"file://{tmp_path}/shared"
    for files in (first_files, second_files):
        files(here)
        files(away)
        run_in_turn(here)
        run_in_turn(away, snapshots=shared)
        same(away.outbox(), here.outbox())
    assert [*cache.glob("*/index/segment-*")], "they were fetched"
