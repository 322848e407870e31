"""A stream of notifications into tables of files, which is stopped and begun again.

``python -m tests.spark.sinks delta FOLDER JARS`` does it in a session that has the jars of Delta.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import triplecast
from triplecast.model.subscription import FOREVER
from triplecast.pipeline.session import session
from triplecast.spark.versions import READ_LIMITS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}


def fill_with_a_break(spark: SparkSession, place: Path, form: str) -> int:
    """Write all notifications of a folder to a table: the stream is stopped in the middle, more is recorded, and of the
    last batch that the table has, Spark's own record is lost, as where its driver is killed in between. Returns how
    many there are; raises where the table has not each once."""
    folder, commits = place / "folder", place / "checkpoint" / "commits"
    _publish(folder, 0)
    stream = spark.readStream.format("triplecast").option("folder", str(folder)).option("maxRowsPerTrigger", "10")
    writer = stream.load().writeStream.format(form).option("path", str(place / "rows"))
    writer = writer.option("checkpointLocation", str(place / "checkpoint"))
    query = writer.start()
    until = time.monotonic() + 120
    while len(_batches(commits)) < (2 if READ_LIMITS else 1) and time.monotonic() < until:
        time.sleep(0.02)
    query.stop()
    last = _batches(commits)[-1]
    for lost in (commits / str(last), commits / f".{last}.crc"):
        lost.unlink(missing_ok=True)
    _publish(folder, 40)
    writer.trigger(availableNow=True).start().awaitTermination()
    assert len(_batches(commits)) > last + 1
    with triplecast.Engine.open(folder) as engine:
        recorded = [each.id for each in engine.notifications()]
    rows: Any = spark.read.format(form).load(str(place / "rows"))
    assert sorted(row.id for row in rows.select("id").collect()) == sorted(recorded)
    return len(recorded)


def _batches(commits: Path) -> list[int]:
    return sorted(int(each.name) for each in commits.glob("[0-9]*"))


def _publish(folder: Path, first: int) -> None:
    with triplecast.Engine.open(folder) as engine:
        if not first:
            engine.subscribe("SELECT * { ?s <urn:p> ?o }", id="all", notify="every", lease=FOREVER)
        for number in range(first, first + 40):
            engine.publish(f"<urn:s> <urn:p> {number} .", "text/turtle", graph=f"urn:g:{number}")


def main(form: str, place: str, jars: str) -> None:
    found = [str(each) for each in sorted(Path(jars).glob("*.jar"))]
    settings = DELTA | {"spark.jars": ",".join(found), "spark.driver.extraClassPath": ":".join(found)}
    with session(2, settings=settings) as spark:
        print(fill_with_a_break(spark, Path(place), form))


if __name__ == "__main__":
    main(*sys.argv[1:])
