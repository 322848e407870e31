"""Shards on Spark: the notifications are those of slices, operators and edits in between included."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "operators"))

import wild_operators
from wild_operators import WILD

from tests.spark.workplace import QUERIES, Workplace
from triplecast.outbox import OutboxReader
from triplecast.partition.folder import SHARDS, ShardFolder
from triplecast.pipeline.run import Sources, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
assert wild_operators

LONG = f"PREFIX w: <{WILD}> SELECT ?s {{ ?s <http://e/kind> ?k FILTER(w:long(?k)) }}"


def told(place: Workplace) -> list[tuple[object, ...]]:
    with OutboxReader.read_only(place.output) as outbox:
        return [
            (each.id, each.position, each.subscription, each.change, json.loads(each.json))
            for each in outbox.notifications()
        ]


@pytest.mark.parametrize("strategy", ["anchor", "containment"])
def test_shards_tell_what_slices_tell(tmp_path: Path, spark: SparkSession, strategy: str) -> None:
    found = []
    for partition, shards in (("slices", 1), (strategy, 3)):
        place = Workplace(tmp_path / partition, {**QUERIES, "long.rq": LONG})
        for turn in range(2):
            place.fill(20 + turn)
            sources = Sources(place.subscriptions, place.inbox)
            run(sources, place.output, once=True, spark=spark, partition=partition, shards=shards)
            (place.subscriptions / "narrow.rq").write_text("SELECT ?s { ?s <http://e/kind> ?any }")
        found.append(told(place))
    assert found[0] == found[1]
    assert len(found[0]) > 20
    names = sorted(path.name for path in (place.output / SHARDS).glob("shards-*.json"))
    assert ShardFolder(place.output / SHARDS).manifest(names[-1]).strategy == strategy
