"""A worker's stage without Spark: cutting and carrying batches changes no row, and slices give what one batch gives."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest

from tests.unit.pipeline.batches import random_batch, rows_of, undecided_of
from triplecast.driver import Driver
from triplecast.index import INDEX, IndexWriter, SegmentFolder
from triplecast.journal import Journal
from triplecast.model.match import MatchStats
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.publication import Draft
from triplecast.model.subscription import Subscription
from triplecast.operators.asking import Asker
from triplecast.outbox import Outbox, OutboxBatch
from triplecast.pipeline import rows, stages
from triplecast.pipeline.rows import MATCHES, SLICES, from_arrow, spark_schema, to_arrow, work_of
from triplecast.pipeline.sink import Sink
from triplecast.pipeline.stages import AskedSlice, Stage, ask_slices, match_ranges, match_slices
from triplecast.registry.upkeep import open_index


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


def run_folder(folder: Path) -> str:
    """A journal of two subscriptions, one cancelled half way, and 40 publications; gives the manifest's name."""
    with Journal.open(folder) as journal:
        _first, second = journal.subscribe(
            [Subscription(name, f"SELECT ?a {{ ?a <http://e/{name}> ?b }}") for name in ("p", "q")]
        )
        documents = [f'<http://e/s> <http://e/{name}> "{n}" .\n' for n in range(10) for name in ("p", "q")]
        drafts = [Draft(f"http://e/{n}", text.encode(), str(n).encode(), "none") for n, text in enumerate(documents)]
        journal.commit_documents(drafts)
        journal.cancel([second.id])
        journal.commit_documents([Draft(d.graph + "-later", d.quads, d.digest, d.labels) for d in drafts])
        snapshot = open_index(IndexWriter(SegmentFolder(folder / INDEX)), journal, 0)
    return snapshot.manifest


def test_slices_give_what_one_batch_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = run_folder(tmp_path)

    def matched(*bounds: tuple[int, int]) -> list[pa.RecordBatch]:
        slices = [{"after": after, "upto": upto, "manifest": manifest} for after, upto in bounds]
        return list(match_slices(Stage(tmp_path), iter([pa.RecordBatch.from_pylist(slices, SLICES)])))

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


def test_what_a_slice_leaves_is_matched_by_later_jobs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted work: each job brings little more than its share, and together they record what one batch does."""
    manifest = run_folder(tmp_path)
    stage, recorded, jobs = Stage(tmp_path), [], 0
    monkeypatch.setattr(stages, "CHUNK", 2)
    for answers in (1 << 30, 100):
        monkeypatch.setattr(stages, "ANSWERS_AT_ONCE", answers)
        ranges = [(0, 20), (20, 43)]
        with Outbox.in_memory() as outbox, Journal.open(tmp_path) as journal:
            sink = Sink(Driver(journal, outbox), outbox, lambda publications, rows, seconds: None)
            while ranges:
                work = match_ranges(stage, ranges, manifest, iter([pa.RecordBatch.from_pydict({"id": [0, 1]})]))
                left = sink.take(partial(pa.Table.from_batches, work, MATCHES))
                middle = min(left.after + left.fitted, left.upto) if left else 0
                ranges, jobs = [(left.after, middle), (middle, left.upto)] if left else [], jobs + 1
            recorded.append([(row.id, row.sequence, row.bindings) for row in outbox.notifications()])
            assert outbox.progress == 43
    assert recorded[0] == recorded[1]
    assert (len(recorded[0]), jobs > 4) == (30, True)


def test_a_slice_without_publications_still_answers(tmp_path: Path) -> None:
    manifest = run_folder(tmp_path)
    slices = pa.RecordBatch.from_pylist([{"after": 0, "upto": 2, "manifest": manifest}], SLICES)
    (batch,) = match_slices(Stage(tmp_path), iter([slices]))
    row = batch.to_pylist()[0]
    assert (row["after"], row["upto"], work_of(row)) == (0, 2, MatchStats())
    assert rows_of(from_arrow(row)) == []


@pytest.mark.parametrize("schema", [SLICES, MATCHES])
def test_spark_is_told_the_schema_that_it_would_read_from_arrow(schema: pa.Schema) -> None:
    """Spark parses its own words in the JVM only; these are the names that it gives Arrow's types."""
    types = pytest.importorskip("pyspark.sql.pandas.types", reason="the pipeline needs the extra [spark]")
    read = types.from_arrow_schema(schema)
    assert spark_schema(schema) == ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in read)


ONE = Operator("urn:o:one", "1", ("bound", "free"), 0.001, False, True, 10.0, 1 << 30, "nowhere", "one")


def test_the_stages_ask_in_the_order_of_the_run_s_schedule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = run_folder(tmp_path)
    chosen: list[tuple[str, OperatorSet]] = []
    given = OperatorSet((ONE,))

    def asker(schedule: str, learnt: object, operators: OperatorSet) -> Asker:
        chosen.append((schedule, operators))
        return Asker(schedule=schedule, operators=operators)

    monkeypatch.setattr(stages, "Asker", asker)
    monkeypatch.setattr(stages, "freeze_objects", lambda: None)
    stage = Stage(tmp_path, given, "naive")
    row = {"after": 0, "upto": 43, "manifest": manifest}
    list(match_slices(stage, iter([pa.RecordBatch.from_pylist([row], SLICES)])))
    slices = (AskedSlice(0, 43, manifest, (3,)),)
    list(ask_slices(stage, slices, iter([pa.RecordBatch.from_pylist([{"id": 0}])])))
    assert chosen == [("naive", given)], "one matcher serves both, with the operators of the run"
