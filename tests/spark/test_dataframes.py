"""`triplecast.spark` in a classic session and in one of a Spark Connect server: the same tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import triplecast
from tests.house.pages import blocks_of, read_page
from triplecast.ingest.document_files import read_documents
from triplecast.model.subscription import FOREVER
from triplecast.offline import match_documents
from triplecast.registry.admission import admit_all
from triplecast.registry.files import load_subscriptions
from triplecast.spark import match, register
from triplecast.spark.versions import READ_LIMITS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
NEWS = ROOT / "examples" / "subscriptions" / "news"
INBOX = ROOT / "examples" / "inbox"
TYPES = {".atom": "application/atom+xml", ".ttl": "text/turtle", ".rss": "application/rss+xml"}


@pytest.fixture(scope="module", params=["classic", "connect"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    if request.param == "classic":
        yield request.getfixturevalue("spark")
        return
    pytest.importorskip("grpc", reason="Spark Connect needs the extra [connect]")
    from tests.spark.connecting import connect_session

    with connect_session(tmp_path_factory.mktemp("connect")) as started:
        yield started


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An engine's folder with versions, removals and two owners."""
    made = tmp_path_factory.mktemp("engine")
    with triplecast.Engine.open(made) as engine:
        engine.subscribe("SELECT * { ?s <urn:p> ?o }", id="one", owner="ann", notify="changed", lease=FOREVER)
        engine.subscribe("SELECT * { ?s <urn:p> ?o }", id="two", owner="bob", notify="every", lease=FOREVER)
        for number in range(30):
            engine.publish(f'<urn:s> <urn:p> "{number % 7}", "k" .', graph=f"urn:g:{number % 4}")
        engine.remove("urn:g:1")
    return made


def _table(session: SparkSession, folder: Path, **options: object) -> DataFrame:
    reader = session.read.format("triplecast").option("folder", str(folder))
    for name, value in options.items():
        reader = reader.option(name, str(value))
    return reader.load()


def _pairs(rows: list[Row]) -> list[tuple[object, ...]]:
    return sorted((row.publication, row.subscription, row.bindings) for row in rows if row.bindings is not None)


def test_spark_finds_the_source_by_itself(session: SparkSession, folder: Path) -> None:
    fresh = session.newSession() if hasattr(session, "sparkContext") and hasattr(session, "newSession") else session
    assert _table(fresh, folder).where("owner = 'bob'").count() == 30


def test_rows_are_those_of_triplecast_match(session: SparkSession) -> None:
    files = sorted(each for each in INBOX.rglob("*") if each.suffix in TYPES)
    admitted = admit_all(load_subscriptions([NEWS]), datasets=False)
    expected = [
        (each.publication, each.subscription, each.recorded.json)
        for found in match_documents(admitted, read_documents(files))
        for each in found.matches(admitted.subscriptions)
    ]
    assert len(expected) > 300
    rows = [(each.name, each.read_bytes(), TYPES[each.suffix]) for each in files]
    documents = session.createDataFrame(rows, "id STRING, data BINARY, media_type STRING").repartition(2)
    found = match(documents, NEWS)
    assert _pairs(found.collect()) == sorted(expected)
    assert [field.simpleString() for field in found.schema.fields][:2] == ["publication:string", "subscription:string"]


def test_subscriptions_may_be_a_dataframe(session: SparkSession) -> None:
    rows = [("a", "<urn:s> <urn:p> 1 .", "text/turtle"), ("b", "junk <", "text/turtle"), ("c", None, None)]
    documents = session.createDataFrame(rows, "id STRING, data STRING, media_type STRING")
    texts = [("q", "SELECT * { ?s <urn:p> ?o }"), ("bad", "SELECT")]
    subscriptions = session.createDataFrame(texts, "id STRING, text STRING")
    with pytest.warns(UserWarning, match="row 2"):
        found = match(documents, subscriptions)
    one = '[{"o":"\\"1\\"^^<http://www.w3.org/2001/XMLSchema#integer>","s":"<urn:s>"}]'
    rejected, matched = [], []
    for row in found.collect():
        (rejected if row.rejected else matched).append(row)
    assert _pairs(matched) == [("urn:triplecast:document:a", "q", one)]
    assert sorted((row.publication, row.rejected.partition(":")[0]) for row in rejected) == [
        ("b", "parse"),
        ("c", "gate"),
    ]
    triples = session.createDataFrame([(["<urn:s> <urn:p> <urn:o> ."], "urn:g")], "triples ARRAY<STRING>, graph STRING")
    assert _pairs(match(triples, subscriptions.limit(1)).collect()) == [
        ("urn:g", "q", '[{"o":"<urn:o>","s":"<urn:s>"}]')
    ]


def test_a_stream_of_a_folder_gives_what_the_batch_gives(session: SparkSession, folder: Path, tmp_path: Path) -> None:
    documents = _table(session, folder, table="publications").where("change = 'added'")
    expected = _pairs(match(documents, folder).collect())
    assert len(expected) == 60
    source = session.readStream.format("triplecast").option("folder", str(folder)).option("table", "publications")
    stream = source.option("maxRowsPerTrigger", "20").load().where("change = 'added'")
    writer = match(stream, folder).writeStream.format("parquet").option("path", str(tmp_path / "rows"))
    query = writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(availableNow=True).start()
    query.awaitTermination()
    assert len([*(tmp_path / "checkpoint" / "commits").glob("[0-9]*")]) > READ_LIMITS, "PySpark 4.1 takes all at once"
    assert _pairs(session.read.parquet(str(tmp_path / "rows")).collect()) == expected


def test_tables_and_filters(session: SparkSession, folder: Path) -> None:
    register(session)
    with triplecast.Engine.open(folder) as engine:
        recorded = [*engine.notifications()]
    told = _table(session, folder)
    found = [(row.sequence, row.id, row.owner, row.bindings) for row in told.orderBy("sequence").collect()]
    assert found == [(each.sequence, each.id, each.owner, each.json) for each in recorded]
    mine = told.where("owner = 'ann' AND subscription = 'one' AND version > 1")
    assert mine.count() == sum(each.owner == "ann" and each.version > 1 for each in recorded)
    assert told.where("owner = 'nobody'").count() == 0
    part = _table(session, folder, startingVersion=5, endingVersion=9, owner="bob")
    assert {row.sequence for row in part.collect()} == {
        each.sequence for each in recorded if 5 <= each.sequence <= 9 and each.owner == "bob"
    }
    session.sql(f"CREATE OR REPLACE TEMPORARY VIEW told USING triplecast OPTIONS (folder '{folder}')")
    counted = session.sql("SELECT owner, count(*) AS told FROM told GROUP BY owner ORDER BY owner").collect()
    assert [row.told for row in counted] == [sum(each.owner == owner for each in recorded) for owner in ("ann", "bob")]


def test_a_service_is_read_by_its_url(session: SparkSession, folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("fastapi", reason="the extra `service` is not installed")
    from tests.unit.service.served import served

    with triplecast.Engine.open(folder) as engine, served(engine) as url:
        reader = session.read.format("triplecast").option("url", url)
        found = reader.load().orderBy("sequence").collect()
        assert found == _table(session, folder).orderBy("sequence").collect()
        assert reader.option("owner", "bob").load().count() == 30
        stream = session.readStream.format("triplecast").option("url", url).load()
        writer = stream.writeStream.format("parquet").option("path", str(tmp_path / "rows"))
        writer.option("checkpointLocation", str(tmp_path / "checkpoint")).trigger(
            availableNow=True
        ).start().awaitTermination()
        assert session.read.parquet(str(tmp_path / "rows")).count() == len(found)


def test_rows_are_published_once(session: SparkSession, folder: Path, tmp_path: Path) -> None:
    target = tmp_path / "target"
    rows = session.createDataFrame(
        [("urn:new", "<urn:s> <urn:p> 1 .", "text/turtle")], "graph STRING, data STRING, media_type STRING"
    )
    for _ in range(2):
        rows.write.format("triplecast").option("folder", str(target)).mode("append").save()
    assert _table(session, target, table="publications").count() == 1
    source = session.readStream.format("triplecast").option("folder", str(folder)).option("table", "publications")
    for _ in range(2):
        writer = source.load().where("change = 'added'").writeStream.format("triplecast")
        writer = writer.option("folder", str(target)).option("checkpointLocation", str(tmp_path / "checkpoint"))
        writer.trigger(availableNow=True).start().awaitTermination()
    copied = _table(session, target, table="publications").where("graph LIKE 'urn:g:%'").orderBy("position").collect()
    original = _table(session, folder, table="publications").where("change = 'added'").orderBy("position").collect()
    assert [(row.graph, row.data) for row in copied] == [(row.graph, row.data) for row in original]
    assert not [*(target / "staged").iterdir()]
    with triplecast.Engine.open(target) as engine:
        assert [name.partition(":")[0] for name in engine._journal.sources()] == ["spark"]


def test_the_page_runs_as_written(spark: SparkSession, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    program = "\n".join(block.text for block in blocks_of(read_page("docs/spark.md")) if block.language == "python")
    before = Path.cwd()
    os.chdir(tmp_path)
    try:
        exec(compile(program, "docs/spark.md", "exec"), {})
    finally:
        os.chdir(before)
    assert "A night train" in capfd.readouterr().out
    assert spark.read.parquet(str(tmp_path / "matches")).count() == 1
    assert _table(spark, tmp_path / "news").count() == 2
