"""The journal as a source: slices, offsets, and what they never pass."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")

from triplecast.journal import Journal
from triplecast.model.publication import Draft
from triplecast.model.subscription import Subscription
from triplecast.outbox import Outbox, OutboxBatch
from triplecast.pipeline.horizon import HorizonFile
from triplecast.pipeline.source import SMALLEST_SLICE, JournalStream, cut


def drafts(*names: str) -> list[Draft]:
    return [Draft(f"http://e/{name}", b"", name.encode(), "none") for name in names]


@pytest.mark.parametrize(
    ("after", "upto", "first"),
    [(0, 1, 1), (5, 31, 6), (0, 64, 1), (3, 1000, 4), (7, 7, 8), (0, 1000, 900), (0, 9, 9), (0, 9, 20)],
)
def test_slices_cover_the_range_once_and_in_order(after: int, upto: int, first: int) -> None:
    slices = cut(after, upto, first, 4)
    covered = [position for start, end in slices for position in range(start + 1, end + 1)]
    assert covered == list(range(after + 1, upto + 1))
    assert len(slices) <= 4
    assert len(slices) <= 1 or all(end - max(start, first - 1) >= SMALLEST_SLICE for start, end in slices)


def test_offsets_go_as_far_as_the_index_covers(tmp_path: Path) -> None:
    stream = JournalStream({"folder": str(tmp_path), "slices": "2"})
    assert stream.initialOffset() == {"position": 0, "manifest": ""}
    start = stream.initialOffset()
    with Journal.open(tmp_path) as journal:
        assert stream.latestOffset(start) == start, "no horizon yet"
        horizon = HorizonFile(tmp_path)
        journal.subscribe([Subscription("a", "ASK {}")])
        horizon.cover("m1", 1)
        journal.commit_documents(drafts("d1", "d2"))
        assert stream.latestOffset(start) == {"position": 3, "manifest": "m1"}
        journal.subscribe([Subscription("b", "ASK {}")])
        journal.commit_documents(drafts("d3"))
        reached = {"position": 3, "manifest": "m1"}
        assert stream.latestOffset(reached) == reached, "the index does not hold the record at 4"
        horizon.cover("m2", 4)
        assert stream.latestOffset(reached, object()) == {"position": 5, "manifest": "m2"}


def test_a_start_begins_where_the_outbox_is(tmp_path: Path) -> None:
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(OutboxBatch.joined(()), 41, lambda ids: ())
    stream = JournalStream({"folder": str(tmp_path), "slices": "2"})
    assert stream.initialOffset()["position"] == 41


def test_partitions_carry_the_manifest_and_travel(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.commit_documents(drafts(*map(str, range(400))))
    stream = pickle.loads(pickle.dumps(JournalStream({"folder": str(tmp_path), "slices": "2"})))
    partitions = stream.partitions({"position": 0, "manifest": ""}, {"position": 400, "manifest": "m7"})
    assert [next(stream.read(partition)) for partition in partitions] == [(0, 200, "m7"), (200, 400, "m7")]
    assert stream.partitions({"position": 9, "manifest": ""}, {"position": 9, "manifest": ""}) == []
