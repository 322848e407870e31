"""Repository scope through the pipeline on Spark: the rows that an `Engine` tells of the same journal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chaos import STANDING
from tests.spark.workplace import Workplace, document
from triplecast import Engine, Notification
from triplecast.pipeline.run import Sources, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KINDS = {
    "standing/rdfs": "# triplecast: entailment=rdfs\nSELECT ?s { ?s a <http://e/Thing> ; <http://e/kind> 'k3' }",
    "standing/kin": "SELECT ?s { ?s <http://e/kind> 'k3' FILTER(tc:descendant(?s, <http://e/Thing>)) }",
}
TYPES = "".join(f"<http://e/{number}> a <http://e/Special> .\n" for number in range(40))
CLASSES = "<http://e/Special> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <http://e/Thing> .\n"


def test_the_rows_are_those_of_engine(tmp_path: Path, spark: SparkSession) -> None:
    place, taxonomy = Workplace(tmp_path / "run"), tmp_path / "classes.nt"
    standing = place.subscriptions / "standing.jsonl"
    taxonomy.write_text(CLASSES)
    standing.write_text(lines_of(STANDING))
    place.fill(40)
    place.write("types.ttl", TYPES)

    def follow() -> None:
        run(Sources([place.subscriptions], place.inbox, taxonomy=[taxonomy]), place.output, once=True, spark=spark)

    follow()
    standing.write_text(lines_of({**STANDING, **KINDS}))
    follow()  # nothing but a subscription came
    first = {row.subscription for row in place.outbox()}
    assert first >= {*STANDING, "standing/kin", "standing/rdfs"}
    taxonomy.write_text("")
    for number in range(0, 20, 3):
        place.write(f"d{number}.ttl", document(number, kind=3))
    follow()
    copy = tmp_path / "engine"
    shutil.copytree(place.output, copy)
    for path in copy.glob("outbox*"):
        path.unlink()
    with Engine.open(copy) as engine:
        assert sorted(map(told, engine.notifications())) == sorted(map(told, place.outbox()))


def lines_of(queries: dict[str, str]) -> str:
    return "\n".join(json.dumps({"id": id, "text": text, "scope": "repository"}) for id, text in queries.items())


def told(row: Notification) -> tuple[object, ...]:
    return row.id, row.subscription, row.version, row.position, row.change, row.json
