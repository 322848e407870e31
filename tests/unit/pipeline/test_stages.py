"""A worker's stage without Spark: cutting and carrying batches changes no row, and slices give what one batch gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.unit.pipeline.batches import random_batch, rows_of, undecided_of
from triplecast.driver import Driver
from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.journal import Journal
from triplecast.model.match import MatchStats
from triplecast.model.operators import NO_OPERATORS, Operator, OperatorSet
from triplecast.model.publication import Draft
from triplecast.model.subscription import Subscription
from triplecast.operators.asking import Asker
from triplecast.outbox import Outbox, OutboxBatch
from triplecast.pipeline import rows, stages
from triplecast.pipeline.horizon import MovingHorizon
from triplecast.pipeline.jobs import JobGroup
from triplecast.pipeline.match_jobs import match_left
from triplecast.pipeline.rows import MATCHES, from_arrow, to_arrow, work_of
from triplecast.pipeline.sink import Sink
from triplecast.pipeline.stages import AskedSlice, MatchSlice, Stage, ask_slice, match_slice
from triplecast.registry.upkeep import open_index

ONE = Operator("urn:o:one", "1", ("bound", "free"), 0.001, False, True, 10.0, 1 << 30, "nowhere", "one")


@pytest.mark.parametrize("number", range(20))
@pytest.mark.parametrize("size", [1, 60, 400, 1 << 20])
def test_pieces_through_arrow_say_what_the_batch_says(number: int, size: int, seed: int) -> None:
    batch = random_batch(seed + number)
    pieces = list(batch.cut(size))
    assert all(len(piece.publications) == 1 or piece.offsets[-1] <= size for piece in pieces)
    carried = [from_arrow(to_arrow(piece, 0, 99, MatchStats(12)).to_pylist()[0]) for piece in pieces]
    assert rows_of(*carried) == rows_of(batch)
    assert undecided_of(*carried) == undecided_of(batch)
    assert rows_of(OutboxBatch.joined(carried[::-1])) == rows_of(batch)


def run_folder(folder: Path, operators: OperatorSet = NO_OPERATORS) -> str:
    """A journal of two subscriptions, one cancelled half way, and 40 publications; gives the manifest's name. With
    `operators`, another subscription calls the one that is declared."""
    texts = {name: f"SELECT ?a {{ ?a <http://e/{name}> ?b }}" for name in ("p", "q")}
    texts |= {each.iri: f"SELECT ?c {{ ?a <http://e/p> ?b . ?b <{each.iri}> ?c }}" for each in operators.operators}
    with Journal.open(folder) as journal:
        _first, second, *_ = journal.subscribe([Subscription(name, text) for name, text in texts.items()])
        documents = [f'<http://e/s> <http://e/{name}> "{n}" .\n' for n in range(10) for name in ("p", "q")]
        drafts = [Draft(f"http://e/{n}", text.encode(), str(n).encode(), "none") for n, text in enumerate(documents)]
        journal.commit_documents(drafts)
        journal.cancel([second.id])
        journal.commit_documents([Draft(d.graph + "-later", d.quads, d.digest, d.labels) for d in drafts])
        snapshot = open_index(IndexWriter(SegmentFolder(folder / INDEX)), journal, 0, operators)
    return snapshot.manifest


def test_slices_give_what_one_batch_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = run_folder(tmp_path)

    def matched(*bounds: tuple[int, int]) -> list[pa.RecordBatch]:
        return [batch for each in bounds for batch in match_slice(Stage(tmp_path), MatchSlice(*each, manifest))]

    whole = matched((0, 43))
    assert all(batch.schema == MATCHES for batch in whole)
    told = rows_of(*(from_arrow(batch.to_pylist()[0]) for batch in whole))
    assert len(told) == 10 + 10 + 10
    assert sum(work_of(batch.to_pylist()[0]).publications for batch in whole) == 40
    monkeypatch.setattr(stages, "CHUNK", 7)
    monkeypatch.setattr(rows, "ROW_BYTES", 50)
    parts = matched((0, 3), (3, 30), (30, 43))
    assert rows_of(*(from_arrow(batch.to_pylist()[0]) for batch in parts)) == told
    assert sum(work_of(batch.to_pylist()[0]).publications for batch in parts) == 40
    monkeypatch.undo()
    monkeypatch.setattr(stages, "BYTES_AT_ONCE", 100)
    small = matched((0, 43))
    assert rows_of(*(from_arrow(batch.to_pylist()[0]) for batch in small)) == told
    assert len(small) == 40 // 4, "an answer for each four publications of some 30 bytes"


class OneProcess:
    """As much of a Spark context as runs a job over numbers, here."""

    def setJobGroup(self, name: str, description: str, interruptOnCancel: bool) -> None:
        return

    def cancelJobGroup(self, name: str) -> None:
        return

    def parallelize(self, items: Sequence[Any], partitions: int) -> Sequence[Any]:
        return items

    def runJob(self, items: Sequence[Any], work: Callable[[Iterator[Any]], Iterator[bytes]]) -> list[bytes]:
        return [*work(iter(items))]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("slices", [1, 2, 3])
def test_what_a_slice_leaves_is_matched_by_later_jobs(
    slices: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted work: each job brings little more than its share, and together they record what one batch does, with the
    pairs that wait for operators."""
    operators = OperatorSet((ONE,))
    manifest = run_folder(tmp_path, operators)
    moving, group = MovingHorizon(), JobGroup(OneProcess(), "g")  # type: ignore[arg-type]
    moving.cover(manifest, 44)
    stage, recorded = Stage(tmp_path, operators), []
    monkeypatch.setattr(stages, "CHUNK", 2)
    for answers in (1 << 30, 100):
        monkeypatch.setattr(stages, "ANSWERS_AT_ONCE", answers)
        with Outbox.in_memory() as outbox, Journal.open(tmp_path) as journal:
            driver = Driver(journal, outbox)
            sink = Sink(driver, outbox, lambda publications, rows, seconds: None)
            bounds = [MatchSlice(0, 20, manifest), MatchSlice(20, 44, manifest)]
            left, jobs = sink.take(partial(group.run, match_slice, stage, bounds)), 1
            while left is not None:
                left, jobs = sink.take(partial(match_left, group, stage, moving, left, slices)), jobs + 1
            told = [(row.id, row.sequence, row.json) for row in outbox.notifications()]
            pending = outbox.pending(0, 100)
            ends = [bound for part in pending.parts for bound in (part.after, part.upto)]
            recorded.append((told, pending.pairs))
            assert (ends, outbox.told) == (sorted(ends), 44)
    assert recorded[0] == recorded[1]
    assert (len(recorded[0][0]), len(recorded[0][1]), jobs > 4) == (30, 20, True)


def test_a_slice_without_publications_still_answers(tmp_path: Path) -> None:
    manifest = run_folder(tmp_path)
    (batch,) = match_slice(Stage(tmp_path), MatchSlice(0, 2, manifest))
    row = batch.to_pylist()[0]
    assert (row["after"], row["upto"], work_of(row)) == (0, 2, MatchStats())
    assert rows_of(from_arrow(row)) == []


def test_the_stages_ask_in_the_order_of_the_run_s_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = run_folder(tmp_path)
    chosen: list[tuple[str, OperatorSet]] = []
    given = OperatorSet((ONE,))

    def asker(schedule: str, learnt: object, operators: OperatorSet) -> Asker:
        chosen.append((schedule, operators))
        return Asker(schedule=schedule, operators=operators)

    monkeypatch.setattr(stages, "Asker", asker)
    stage = Stage(tmp_path, given, "naive")
    list(match_slice(stage, MatchSlice(0, 43, manifest)))
    list(ask_slice(stage, AskedSlice(0, 43, manifest, (3,))))
    assert chosen == [("naive", given)], "one matcher serves both, with the operators of the run"
