"""A catalogue in an inbox that is cut at its datasets, on Spark as by an engine."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from workplace import Workplace

from triplecast import Document, Engine
from triplecast.journal import JournalFile
from triplecast.pipeline.run import Sources, run
from triplecast.registry.files import load_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
SOURCE = "catalogue.ttl"
GRAPH = f"urn:triplecast:document:{SOURCE}"
STATES = (
    {1: "a", 2: "b", 3: "c"},
    {1: "a", 2: "b", 3: "c"},
    {1: "a", 3: "changed"},
    {2: "back", 3: "changed"},
)


def turtle(titles: dict[int, str]) -> str:
    rows = [f'<http://e/{number}> a <http://e/Set> ; <http://e/title> "{title}" .' for number, title in titles.items()]
    return "\n".join(["<http://e/all> a <http://e/Catalogue> .", *rows])


@pytest.mark.slow
def test_an_inbox_is_cut_as_by_an_engine(tmp_path: Path, spark: SparkSession) -> None:
    place = Workplace(tmp_path, {"titles.rq": "SELECT ?s ?t { ?s a <http://e/Set> ; <http://e/title> ?t }"})
    sources = Sources([place.subscriptions], place.inbox, split="<http://e/Set>")
    for titles in STATES:
        place.write(SOURCE, turtle(titles))
        run(sources, place.output, once=True, spark=spark)
    with Engine() as engine:
        engine.subscribe_many(load_subscriptions([place.subscriptions]).subscriptions)
        for titles in STATES:
            data = turtle(titles).encode()
            engine.publish_many([Document(SOURCE, data, "text/turtle", graph=GRAPH, split="<http://e/Set>")])
        expected = [(row.publication, row.version, row.json) for row in engine.notifications()]
        events = [type(each).__name__ for each in engine._journal.events(0, engine._journal.head())]
    assert [(row.publication, row.version, row.json) for row in place.outbox()] == expected
    with JournalFile.read_only(place.output) as journal:
        assert [type(each).__name__ for each in journal.events(0, journal.head())] == events
        assert events.count("Removal") == 2
