"""Operators on Spark: asked where the match runs, and the answers are those of an engine in one process."""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "operators"))
sys.path.insert(0, str(Path(__file__).parents[1] / "unit" / "engine"))

import noting_operators
import wild_operators
from noting_operators import NOTES, NOTING
from wild_operators import WILD

from tests.spark.workplace import Workplace
from triplecast.engine import Engine
from triplecast.journal import Journal
from triplecast.operators import declared_operators
from triplecast.outbox import OutboxReader

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
assert wild_operators
assert noting_operators

P = f"PREFIX : <https://example.org/> PREFIX w: <{WILD}> "
QUERIES = {
    "size": "SELECT ?p ?n { ?p a :Picture ; w:size ?n FILTER(?n > 4) }",
    "count": "SELECT (COUNT(?l) AS ?n) { ?p :title ?t . ?t w:letters ?l } GROUP BY ?p",
    "chance": "SELECT ?n { ?p a :Picture BIND(w:chance(?p) AS ?n) }",
    "raises": "SELECT ?n { ?p a :Picture BIND(w:raises(?p) AS ?n) }",
    "long": "ASK { ?p :title ?t FILTER(w:long(?t)) }",
}


def write_documents(inbox: Path) -> list[tuple[str, str, bytes]]:
    documents = []
    with (inbox / "pictures.jsonl").open("w") as lines:
        for number in range(30):
            graph, picture = f"urn:d{number}", bytes(number % 7)
            title = "t" * (number % 6)
            data = f'<urn:p{number}> a <https://example.org/Picture> ; <https://example.org/title> "{title}" .'
            attached = {f"urn:p{number}": base64.b64encode(picture).decode()}
            row = {"id": graph, "media_type": "text/turtle", "data": data, "attachments": attached}
            lines.write(json.dumps(row) + "\n")
            documents.append((graph, data, picture))
    return documents


def test_the_answers_are_those_of_an_engine(tmp_path: Path, spark: SparkSession) -> None:
    place = Workplace(tmp_path, {f"{name}.rq": P + text for name, text in QUERIES.items()})
    documents = write_documents(place.inbox)
    summary = place.run(spark)
    told: dict[tuple[str, str], str] = {}
    with OutboxReader.read_only(place.output) as outbox:
        for each in outbox.notifications():
            told[each.publication, each.subscription.removesuffix(".rq")] = each.json
        undecided = {(pair.publication, pair.subscription.removesuffix(".rq")) for pair in outbox.undecided()}
    wanted: dict[tuple[str, str], str] = {}
    with Engine() as engine:
        for name, text in QUERIES.items():
            engine.subscribe(P + text, id=name)
        for number, (graph, data, picture) in enumerate(documents):
            receipt = engine.publish(data, "text/turtle", graph=graph, attachments={f"urn:p{number}": picture})
            wanted.update(((graph, match.subscription), match.json) for match in receipt.matches)
    chance = [key for key in wanted if key[1] == "chance"]
    assert len(chance) == 30
    assert told.keys() == wanted.keys()
    assert all(told[key] == wanted[key] for key in wanted if key[1] != "chance")
    assert undecided == {(graph, "raises") for graph, _, _ in documents}
    with Journal.read_only(place.output) as journal:
        kept = journal.answers(0, journal.head(), declared_operators())
        assert sum(map(len, kept.values())) == summary.work.operator_calls
        assert journal.learnt()


@pytest.mark.parametrize(("learnt", "calls"), [(False, ["often", "rarely"]), (True, ["rarely"])])
def test_what_was_learnt_before_is_believed_by_workers(
    tmp_path: Path, spark: SparkSession, learnt: bool, calls: list[str]
) -> None:
    """`often` is declared the cheaper; `rarely` never holds, which an engine learnt and the run's journal is told."""
    text = f"SELECT ?p {{ ?p a <urn:Picture> FILTER(<{NOTING}often>(?p)) FILTER(<{NOTING}rarely>(?p)) }}"
    data, notes = "<urn:p> a <urn:Picture> .", tmp_path / "notes"
    place = Workplace(tmp_path, {"both.rq": text})
    place.run(spark)
    if learnt:
        with Engine.open(tmp_path / "engine") as engine:
            engine.subscribe(text)
            for number in range(40):
                attached = {NOTES: os.fsencode(tmp_path / "before")}
                engine.publish(data, "text/turtle", graph=f"urn:g{number}", attachments=attached)
        with Journal.read_only(tmp_path / "engine") as known, Journal.open(place.output) as journal:
            journal.keep_learnt(known.learnt())
    encoded = {NOTES: base64.b64encode(os.fsencode(notes)).decode()}
    row = {"id": "urn:last", "media_type": "text/turtle", "data": data, "attachments": encoded}
    (place.inbox / "last.jsonl").write_text(json.dumps(row) + "\n")
    place.run(spark)
    assert notes.read_text().split() == calls
