"""The whole pipeline on Spark: what it tells, and that nothing makes it tell again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.workplace import Workplace, document
from triplecast.errors import FolderLocked, StorageFault
from triplecast.journal import Journal
from triplecast.outbox import Outbox, OutboxBatch

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_the_pipeline_tells_what_matching_without_spark_tells_and_each_version_once(
    tmp_path: Path, spark: SparkSession
) -> None:
    place = Workplace(tmp_path)
    place.fill(120)
    place.write("bad.ttl", "<http://e/s> <http://e/p> ")
    first = place.run(spark)
    expected = place.told_without_spark()
    assert place.told() == expected
    assert len(expected) >= 120 // 4
    assert (first.accepted, first.publications, first.matches) == (120, 120, len(expected))
    assert [reject.source for reject in first.rejects] == ["bad.ttl"]

    before = place.outbox()
    place.write("d1.ttl", document(1, kind=3))
    place.write("d2.ttl", "# only a comment more\n" + document(2))
    second = place.run(spark)
    assert (second.accepted, second.unchanged, second.publications) == (1, 1, 1)
    after = place.outbox()
    assert after[: len(before)] == before
    assert {(row.publication, row.version) for row in after[len(before) :]} == {("urn:triplecast:document:d1.ttl", 2)}
    assert "narrow.rq" in {row.subscription for row in after[len(before) :]}


@pytest.mark.slow
def test_a_b_a_are_three_versions(tmp_path: Path, spark: SparkSession) -> None:
    place = Workplace(tmp_path)
    for kind in (3, 4, 3):
        place.write("a.ttl", document(1, kind))
        place.run(spark)
    found = [(row.version, row.change) for row in place.outbox() if row.subscription == "narrow.rq"]
    assert found == [(1, "added"), (2, "removed"), (3, "added")]
    assert [row.version for row in place.outbox() if row.subscription == "joined.rq"] == [1, 2, 3]


@pytest.mark.slow
def test_neither_pruning_nor_a_lost_index_tells_again(tmp_path: Path, spark: SparkSession) -> None:
    place = Workplace(tmp_path)
    place.fill(60)
    place.run(spark)
    before = place.outbox()
    shutil.rmtree(place.output / "index")
    place.write("new.ttl", document(999, kind=3))
    place.run(spark)
    after = place.outbox()
    assert after[: len(before)] == before
    assert {row.publication for row in after[len(before) :]} == {"urn:triplecast:document:new.ttl"}
    with Outbox.open(place.output) as outbox:
        outbox.prune(after[-1].sequence)
    place.write("newer.ttl", document(1000, kind=3))
    place.run(spark)
    assert {row.publication for row in place.outbox()} == {"urn:triplecast:document:newer.ttl"}
    assert min(row.sequence for row in place.outbox()) == after[-1].sequence + 1


@pytest.mark.slow
def test_subscriptions_hold_from_their_own_position(tmp_path: Path, spark: SparkSession) -> None:
    place = Workplace(tmp_path)
    place.write("a.ttl", document(3))
    place.run(spark)
    (place.subscriptions / "narrow.rq").write_text("SELECT ?t { ?s <http://e/next> ?t }")
    (place.subscriptions / "window.rq").unlink()
    place.run(spark)
    assert len(place.outbox()) == len(place.told()), "a changed subscription is not asked of what was there before"
    told = len(place.outbox())
    place.write("b.ttl", document(8))
    place.run(spark)
    new = place.outbox()[told:]
    assert {row.subscription for row in new} == {"narrow.rq", "joined.rq", "ask/dated.rq"} - (
        {"ask/dated.rq"} if 9 < 6 else set()
    )
    (narrow,) = [row for row in new if row.subscription == "narrow.rq"]
    assert narrow.json == '[{"t":"<http://e/n>"}]'


@pytest.mark.slow
def test_what_was_accepted_and_not_matched_is_matched_by_the_next_start(tmp_path: Path, spark: SparkSession) -> None:
    place = Workplace(tmp_path)
    place.fill(40)
    expected = place.told_without_spark()
    place.run(spark)
    (place.output / "outbox.sqlite").unlink()
    for name in ("outbox.sqlite-wal", "outbox.sqlite-shm", "outbox.end"):
        (place.output / name).unlink(missing_ok=True)
    again = place.run(spark)
    assert (again.accepted, again.publications) == (0, 40)
    assert place.told() == expected


def test_a_second_run_on_the_same_output_is_refused_naming_the_first(tmp_path: Path) -> None:
    from triplecast.pipeline.run import Sources, run

    place = Workplace(tmp_path)
    with Journal.open(place.output), pytest.raises(FolderLocked, match="process"):
        run(Sources([place.subscriptions], place.inbox), place.output, once=True)


def test_an_outbox_that_is_ahead_of_its_journal_is_refused(tmp_path: Path) -> None:
    from triplecast.pipeline.run import Sources, run

    place = Workplace(tmp_path)
    with Outbox.open(place.output) as outbox:
        outbox.commit(OutboxBatch.joined(()), 7, lambda ids: ())
    with pytest.raises(StorageFault, match="ends at position 0, but 7 has been matched"):
        run(Sources([place.subscriptions], place.inbox), place.output, once=True)
