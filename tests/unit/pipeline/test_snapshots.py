"""Workers that have no folder of the run: what travels to them, and the files that they fetch."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos import first_files, run_in_turn, same, second_files
from tests.properties.carried_slices import compare
from tests.spark.workplace import QUERIES, Workplace
from tests.unit.pipeline.test_stages import run_folder
from triplecast.errors import InputError, StorageFault
from triplecast.index import INDEX, SegmentFolder, open_snapshot
from triplecast.journal import Journal
from triplecast.model.operators import NO_OPERATORS
from triplecast.pipeline import carried, match_jobs, snapshots
from triplecast.pipeline.carried import SHALLOW, carry
from triplecast.pipeline.rows import from_arrow
from triplecast.pipeline.sharding import WHOLE, SnapshotCutter
from triplecast.pipeline.snapshots import SnapshotSharer
from triplecast.pipeline.stages import MatchSlice, Stage, match_slice

LISTENING = [
    {"id": "every", "text": QUERIES["narrow.rq"], "notify": "every"},
    {"id": "new", "text": QUERIES["narrow.rq"], "notify": "new"},
    {"id": "keyed", "text": QUERIES["window.rq"], "key": ["s"]},
    {
        "id": "compared",
        "text": "SELECT ?s ?k { ?s <http://e/kind> ?k FILTER(tc:before(?k) != ?k) }",
        "key": ["s"],
    },
]
"""Subscriptions that want to hear something else than what changed, or have a key."""


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine's cache, of its own."""
    monkeypatch.setenv("TRIPLECAST_CACHE", str(tmp_path / "cache"))
    snapshots.fetch.cache_clear()
    yield tmp_path / "cache" / "snapshots"
    snapshots.fetch.cache_clear()


@pytest.mark.parametrize("depth", [SHALLOW, 0])
def test_what_travels_tells_what_the_folder_tells(
    tmp_path: Path, cache: Path, monkeypatch: pytest.MonkeyPatch, depth: int
) -> None:
    """Versions, operators, keys, conditions, a restart; batches that are cut where documents are too many bytes; and
    more versions that are needed than were carried, where `depth` is none."""
    monkeypatch.setattr(match_jobs, "SHALLOW", depth)
    monkeypatch.setattr(carried, "CARRIED_BYTES", 3_000)
    monkeypatch.setattr(carried, "EVENTS_AT_ONCE", 8)
    here, away = Workplace(tmp_path / "here"), Workplace(tmp_path / "away")
    for place in (here, away):
        (place.subscriptions / "hearing.jsonl").write_text("\n".join(map(json.dumps, LISTENING)))
    for files in (first_files, second_files):
        files(here)
        files(away)
        run_in_turn(here)
        run_in_turn(away, snapshots=f"file://{tmp_path}/shared")
        same(away.outbox(), here.outbox())
    told = {row.subscription for row in away.outbox()}
    assert told >= {each["id"] for each in LISTENING}
    assert {row.change for row in away.outbox()} >= {"added", "removed"}
    assert [*cache.glob("*/index/segment-*")], "they were fetched"


@pytest.mark.parametrize("shards", [0, 2])
def test_a_slice_gives_elsewhere_what_it_gives_here(tmp_path: Path, cache: Path, seed: int, shards: int) -> None:
    assert compare(tmp_path, seed, shards) > 50


class Shared:
    """A run's folder and what it shares; `match` is what a worker elsewhere does."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.manifest, self.cache = run_folder(folder / "run"), cache
        with Journal.open(folder / "run") as journal:
            sharer = SnapshotSharer(str(folder / "shared"), folder / "run", journal)
            snapshot = open_snapshot(SegmentFolder(folder / "run" / INDEX), self.manifest)
            SnapshotCutter(journal, folder / "run", "slices", 1, sharer.publish).publish(snapshot)
            self.carried = carry(journal, 0, 43, NO_OPERATORS, SHALLOW)
        self.place = sharer.place
        self.files = folder / "shared" / sharer.place.run
        self.stage = Stage(Path("/nowhere"), snapshots=sharer.place)

    def match(self) -> int:
        rows = match_slice(self.stage, MatchSlice(0, 43, self.manifest, WHOLE, self.carried))
        return sum(len(from_arrow(row.to_pylist()[0]).position) for row in rows)

    def segment(self, below: Path) -> Path:
        return next(below.glob("**/segment-*.tcx"))


@pytest.fixture
def shared(tmp_path: Path, cache: Path) -> Shared:
    return Shared(tmp_path, cache)


def test_a_file_that_cannot_be_had_or_is_another_is_named(shared: Shared) -> None:
    segment = shared.segment(shared.files)
    content = segment.read_bytes()
    segment.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(StorageFault, match=f"{segment.name}: it is not the file that was written"):
        shared.match()
    segment.unlink()
    with pytest.raises(StorageFault, match=f"{segment.name}: cannot be read"):
        shared.match()
    segment.write_bytes(content)
    assert shared.match() == 30


def test_a_copy_that_is_damaged_is_fetched_again_by_the_next_task(shared: Shared) -> None:
    assert shared.match() == 30
    copy = shared.segment(shared.cache)
    content = copy.read_bytes()
    copy.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    with pytest.raises(StorageFault, match="its checksum is wrong"):
        shared.match()
    assert shared.match() == 30
    copy.write_bytes(content[:100])  # as a machine that went down leaves it
    snapshots.fetch.cache_clear()
    assert shared.match() == 30


def test_who_was_killed_in_fetching_leaves_nothing_that_counts(shared: Shared) -> None:
    assert shared.match() == 30
    copy = shared.segment(shared.cache)
    copy.rename(copy.with_name(copy.name + snapshots._FETCHING))
    snapshots.fetch.cache_clear()
    assert shared.match() == 30


def test_another_start_leaves_no_files_of_the_one_before(tmp_path: Path, shared: Shared) -> None:
    with Journal.open(tmp_path / "run") as journal:
        again = SnapshotSharer(str(tmp_path / "shared"), tmp_path / "run", journal).place
    assert again.run.partition("/")[0] == shared.place.run.partition("/")[0]
    assert [each for each in shared.files.parent.glob("**/*") if each.is_file()] == []


def test_a_machine_keeps_the_last_runs_and_snapshots(shared: Shared, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "RUNS_KEPT", 2)
    for number in range(3):
        (shared.cache / f"old-{number}").mkdir(parents=True)
    assert shared.match() == 30
    assert len([each for each in shared.cache.iterdir() if each.is_dir()]) == 2


@pytest.mark.parametrize("address", ["nonsense://x/y", "s3://"])
def test_an_address_that_cannot_be_is_refused(tmp_path: Path, address: str) -> None:
    with Journal.in_memory() as journal, pytest.raises(InputError, match="cannot be used"):
        SnapshotSharer(address, tmp_path, journal)
