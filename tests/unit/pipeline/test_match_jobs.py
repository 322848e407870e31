"""Jobs that match: which slices a batch is cut into, how far it goes, what is in flight while another is committed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NoReturn

import pytest

from tests.unit.pipeline.test_stages import OneProcess, run_folder
from triplecast.driver import Driver
from triplecast.errors import StorageFault
from triplecast.journal import Journal
from triplecast.model.publication import Draft
from triplecast.model.subscription import Subscription
from triplecast.outbox import Outbox
from triplecast.pipeline import horizon as horizons
from triplecast.pipeline import match_jobs
from triplecast.pipeline.horizon import LARGEST, SMALLEST, MovingHorizon
from triplecast.pipeline.jobs import JobGroup
from triplecast.pipeline.match_jobs import SMALLEST_SLICE, Batch, MatchJobs, cut, plan_batch
from triplecast.pipeline.sink import Sink
from triplecast.pipeline.stages import MatchSlice, Stage, match_slice


def drafts(*names: str) -> list[Draft]:
    return [Draft(f"http://e/{name}", b"", name.encode(), "none") for name in names]


@pytest.mark.parametrize(
    ("after", "upto", "first"),
    [(0, 1, 1), (5, 31, 6), (0, 64, 1), (3, 1000, 4), (7, 7, 8), (0, 1000, 900), (0, 9, 9), (0, 9, 20)],
)
def test_slices_cover_the_range_once_and_in_order(after: int, upto: int, first: int) -> None:
    slices = cut(after, upto, first, 4, LARGEST)
    covered = [position for start, end in slices for position in range(start + 1, end + 1)]
    assert covered == list(range(after + 1, upto + 1))
    assert len(slices) <= 4
    assert len(slices) <= 1 or all(end - max(start, first - 1) >= SMALLEST_SLICE for start, end in slices)


def test_a_whole_batch_is_for_all_tasks_however_short_it_is() -> None:
    """Where each publication takes long, a batch is no longer than that."""
    assert [end - start for start, end in cut(0, SMALLEST, 1, 4, SMALLEST)] == [SMALLEST // 4] * 4
    assert cut(0, 3, 1, 4, 3) == [(0, 1), (1, 2), (2, 3)]
    assert len(cut(0, SMALLEST // 4, 1, 4, SMALLEST)) == 1


def test_a_batch_goes_as_far_as_the_index_covers(tmp_path: Path) -> None:
    moving, how = MovingHorizon(), (2, Stage(tmp_path))
    with Journal.in_memory() as journal:
        assert plan_batch(moving.now, journal, 0, *how) is None, "no index yet"
        journal.subscribe([Subscription("a", "ASK {}")])
        moving.cover("m1", 1)
        assert plan_batch(moving.now, journal, 0, *how) == Batch(0, 1, [], True), "no job where there is no publication"
        journal.commit_documents(drafts("d1", "d2"))
        assert plan_batch(moving.now, journal, 0, *how) == Batch(0, 3, [MatchSlice(0, 3, "m1")], False)
        journal.subscribe([Subscription("b", "ASK {}")])
        journal.commit_documents(drafts("d3"))
        assert plan_batch(moving.now, journal, 3, *how) is None, "the index does not hold the record at 4"
        moving.cover("m2", 4)
        assert plan_batch(moving.now, journal, 3, *how) == Batch(3, 5, [MatchSlice(3, 5, "m2")], False)
        assert plan_batch(moving.now, journal, 5, *how) is None


@contextmanager
def following(folder: Path, context: object, sink: Sink, manifest: str, shards: int = 0) -> Iterator[MatchJobs]:
    moving = MovingHorizon()
    moving.cover(manifest, 44)
    spark = SimpleNamespace(sparkContext=context)
    with MatchJobs(spark, Stage(folder, shards=shards), sink, moving, 1) as matching:  # type: ignore[arg-type]
        yield matching


@pytest.mark.timeout(60)
def test_a_batch_is_matched_while_the_one_before_it_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = run_folder(tmp_path)
    monkeypatch.setattr(horizons, "SMALLEST", 15)
    monkeypatch.setattr(horizons, "LARGEST", 15)
    second = threading.Event()

    class Watched(OneProcess):
        jobs = 0

        def runJob(self, numbers: Any, work: Any) -> list[bytes]:
            self.jobs += 1
            if self.jobs == 2:
                second.set()
            return super().runJob(numbers, work)

    with Journal.open(tmp_path) as journal, Outbox.open(tmp_path) as outbox:
        reported: list[int] = []

        def learn(publications: int, rows: int, seconds: float) -> None:
            assert outbox.told > 30 or second.wait(20), "the second job runs before the first commit ends"
            reported.append(publications)

        sink = Sink(Driver(journal, outbox), outbox, learn)
        with following(tmp_path, Watched(), sink, manifest) as matching:
            while outbox.told < 43:
                matching.check()
        told = [row.sequence for row in outbox.notifications()]
    assert (sum(reported), len(reported), len(told)) == (40, 3, 30)
    assert told == list(range(1, 31))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("last_first", [False, True])
def test_full_batches_over_shards_are_matched_two_at_a_time_and_committed_in_order(
    last_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = run_folder(tmp_path)
    monkeypatch.setattr(horizons, "SMALLEST", 10)
    monkeypatch.setattr(horizons, "LARGEST", 10)
    monkeypatch.setattr(match_jobs, "match_ranges", lambda jobs, stage, ranges, _: jobs.run(match_slice, stage, ranges))
    started, done, most = [threading.Event() for _ in range(2)], threading.Event(), 0

    class Watched(OneProcess):
        jobs, running = 0, 0

        def runJob(self, items: Any, work: Any) -> list[bytes]:
            nonlocal most
            number, self.jobs, self.running = self.jobs, self.jobs + 1, self.running + 1
            most = max(most, self.running)
            if number < 2:
                started[number].set()
                assert started[1 - number].wait(20), "both begin before either ends"
            if number == 0 and last_first:
                assert done.wait(20), "the second ends first"
            found = super().runJob(items, work)
            self.running -= 1
            if number == 1:
                done.set()
            return found

    with Journal.open(tmp_path) as journal, Outbox.open(tmp_path) as outbox:
        reached: list[int] = []
        sink = Sink(Driver(journal, outbox), outbox, lambda *_: reached.append(outbox.told))
        with following(tmp_path, Watched(), sink, manifest, shards=2) as matching:
            while outbox.told < 43:
                matching.check()
        told = [row.sequence for row in outbox.notifications()]
    assert (most, told, reached) == (2, list(range(1, 31)), sorted(reached))


@pytest.mark.timeout(60)
def test_what_a_commit_raises_ends_the_jobs_and_nothing_later_is_committed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = run_folder(tmp_path)
    monkeypatch.setattr(horizons, "SMALLEST", 15)
    monkeypatch.setattr(horizons, "LARGEST", 15)
    fault = StorageFault("outbox", "it is damaged", "restore it")

    def refuse(*_: object) -> NoReturn:
        raise fault

    with Journal.open(tmp_path) as journal, Outbox.open(tmp_path) as outbox:
        driver = Driver(journal, outbox)
        monkeypatch.setattr(driver, "commit", refuse)
        sink = Sink(driver, outbox, lambda publications, rows, seconds: None)
        with pytest.raises(StorageFault) as raised, following(tmp_path, OneProcess(), sink, manifest) as matching:
            wait([matching._work], 20)
        assert raised.value is fault
        assert sink.failure is fault
        assert outbox.told == 0


def test_rows_that_were_lost_on_the_way_are_no_answer(tmp_path: Path) -> None:
    """PySpark takes the end of a JVM that was killed for the end of the rows."""
    manifest = run_folder(tmp_path)

    class Cut(OneProcess):
        def runJob(self, numbers: Any, work: Any) -> list[bytes]:
            return super().runJob(numbers, work)[:-1]

    with pytest.raises(OSError, match="all rows"):
        JobGroup(Cut(), "g").run(match_slice, Stage(tmp_path), [MatchSlice(0, 43, manifest)])  # type: ignore[arg-type]
    whole = JobGroup(OneProcess(), "g").run(match_slice, Stage(tmp_path), [MatchSlice(0, 43, manifest)])  # type: ignore[arg-type]
    assert whole.num_rows >= 1
