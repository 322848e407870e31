"""A taxonomy and full text through the pipeline on Spark: the rows that `Engine` tells."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.workplace import Told
from triplecast.engine import Engine
from triplecast.ingest.document_files import read_documents
from triplecast.outbox import Outbox
from triplecast.pipeline.run import Sources, run
from triplecast.registry.files import load_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

QUERIES = {
    "rdfs.rq": "# triplecast: entailment=rdfs\nSELECT ?x { ?x a <http://e/Animal> }",
    "taxonomy.rq": "# triplecast: entailment=taxonomy\n"
    "SELECT * { ?x a/rdfs:subClassOf* <http://e/Animal> ; <http://e/says> ?t }",
    "function.rq": "SELECT ?x { ?x <http://e/says> ?t FILTER(tc:descendant(?x, <http://e/Pet>)) }",
    "plain.rq": "SELECT ?x { ?x a <http://e/Animal> }",
    "words.rq": "SELECT ?x ?t { ?x <http://e/says> ?t FILTER(ft:contains(?t, '\"night train\"')) }",
    "distance.rq": "SELECT ?x { ?x ?p ?t "
    'FILTER(ft:contains(?t, \'("night" ftand "7") distance at most 2 words ordered\')) }',
    "stems.rq": "SELECT ?x { ?x ?p ?t FILTER(ft:contains(?t, '\"training\" using stemming')) }",
    "score.rq": 'SELECT ?x { ?x ?p ?t FILTER(ft:score(?t, "night train") > 0.8) }',
    "both.rq": "# triplecast: entailment=rdfs\n"
    'SELECT ?x { ?x a <http://e/Pet> ; ?p ?t FILTER(ft:contains(?t, \'"train" ftand ftnot "1"\')) }',
}
TAXONOMY = """@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> . @prefix : <http://e/> .
:Cat rdfs:subClassOf :Pet . :Pet rdfs:subClassOf :Animal . :tom a :Cat . :sings rdfs:subPropertyOf :says ."""


def document(number: int) -> str:
    kind = ("<http://e/Cat>", "<http://e/Animal>", "<http://e/Train>")[number % 3]
    said = ("The night-train", "trains by Night", "no words", "the Night TRAIN")[number % 4]
    lines = [f'<http://e/{number}> a {kind} ; <http://e/says> "{said} {number % 10}"@en .']
    if number % 5 == 0:
        lines.append('<http://e/tom> <http://e/sings> "night train" .')
    return "\n".join(lines)


def test_the_rows_are_those_of_engine(tmp_path: Path, spark: SparkSession) -> None:
    asked, inbox, known = tmp_path / "asked", tmp_path / "inbox", tmp_path / "known.ttl"
    asked.mkdir()
    inbox.mkdir()
    known.write_text(TAXONOMY)
    for name, text in QUERIES.items():
        (asked / name).write_text(text)
    for number in range(60):
        (inbox / f"d{number}.ttl").write_text(document(number))
    summary = run(Sources([asked], inbox, taxonomy=[known]), tmp_path / "output", once=True, spark=spark)
    with Outbox.read_only(tmp_path / "output") as outbox:
        told = _rows(outbox.notifications())
    assert told == _told_by_engine(asked, inbox)
    assert (summary.publications, summary.undecided) == (60, 0)
    assert {name for _, _, name, _ in told} == set(QUERIES)


def _told_by_engine(asked: Path, inbox: Path) -> list[Told]:
    with Engine() as engine:
        engine.subscribe_many(load_subscriptions([asked]).subscriptions)
        engine.load_taxonomy(TAXONOMY, "text/turtle")
        engine.publish_many(document for document in read_documents([inbox]))  # type: ignore[misc]
        assert engine.undecided() == []
        return _rows(engine.notifications())


def _rows(notifications: object) -> list[Told]:
    return sorted((row.publication, row.version, row.subscription, row.json) for row in notifications)  # type: ignore[attr-defined]
