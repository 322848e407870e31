"""The law documents through the pipeline on Spark: pairs and row counts as the oracle and as `match` have them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.properties.oracle import Question
from tests.real.law import FOLDER, SHARE_WITH_RESULTS, SUBSCRIPTIONS, documents, expected, subscriptions
from triplecast.ingest.document_files import read_documents
from triplecast.offline import match_documents
from triplecast.outbox import Notification, Outbox
from triplecast.pipeline.report import Summary
from triplecast.pipeline.run import Sources, run
from triplecast.registry.admission import admit_all
from triplecast.registry.files import load_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [
    pytest.mark.spark,
    pytest.mark.slow,
    pytest.mark.skipif(not FOLDER.is_dir(), reason="the fetched collection law-sanipueblo is not on this machine"),
]

Rows = Mapping[tuple[str, str], int]
"""How many solutions each matching pair (graph, subscription) has."""


class Desk:
    """All law documents in one inbox file, subscriptions in one file, and the output of runs on one Spark session."""

    def __init__(self, folder: Path, spark: SparkSession) -> None:
        self.inbox = folder / "inbox"
        self.inbox.mkdir()
        self.asked = folder / "subscriptions.jsonl"
        self.output = folder / "output"
        self._spark = spark
        self._time = 1_000_000

    def ask(self, questions: Sequence[Question]) -> None:
        lines = [
            json.dumps({"id": str(number), "text": each.text, "notify": "every"})
            for number, each in enumerate(questions)
        ]
        self.asked.write_text("\n".join(lines))

    def drop(self, name: str, edit: Callable[[bytes], bytes] = bytes) -> None:
        """Writes all documents, each after `edit`, to a file whose time differs from every earlier one's."""
        lines = [
            json.dumps({"id": law.graph, "media_type": "application/rdf+xml", "data": edit(law.data).decode()})
            for law in documents()
        ]
        self._time += 10
        (self.inbox / name).write_text("\n".join(lines))
        os.utime(self.inbox / name, (self._time, self._time))

    def run(self) -> Summary:
        return run(Sources([self.asked], self.inbox), self.output, once=True, spark=self._spark)

    def told(self, since: int = 0) -> list[Notification]:
        with Outbox.read_only(self.output) as outbox:
            return list(outbox.notifications(since))

    def matched(self) -> Rows:
        """By `triplecast match`, without Spark."""
        admitted = admit_all(load_subscriptions([self.asked]))
        found = {}
        for outcome in match_documents(admitted, read_documents([self.inbox])):
            assert outcome.matched.undecided == ()
            for row in range(len(outcome.matched)):
                graph = outcome.publications[int(outcome.matched.publication[row])].graph
                name = admitted.subscriptions[int(outcome.matched.registration[row]) - 1].name
                found[graph, name] = len(json.loads(outcome.matched.bindings_of(row)))
        return found


def rows_of(told: Sequence[Notification]) -> Rows:
    assert len({(row.publication, row.version, row.registration) for row in told}) == len(told)
    return {(row.publication, str(row.subscription)): len(json.loads(row.json)) for row in told}


def test_same_pairs_and_row_counts_as_the_oracle_and_as_match(tmp_path: Path, spark: SparkSession, seed: int) -> None:
    answers = {(documents()[index].graph, str(number)): len(rows) for (index, number), rows in expected(seed).items()}
    assert len({name for _, name in answers}) >= SHARE_WITH_RESULTS * SUBSCRIPTIONS
    desk = Desk(tmp_path, spark)
    desk.ask(subscriptions(seed))
    desk.drop("law.jsonl")
    summary = desk.run()
    assert (summary.accepted, summary.publications, summary.undecided) == (len(documents()),) * 2 + (0,)
    assert (summary.reject_count, summary.faults) == (0, ())
    found = rows_of(desk.told())
    assert found == answers
    assert found == desk.matched()


def test_a_changed_document_is_matched_again_an_unchanged_one_is_not_and_a_b_a_are_three(
    tmp_path: Path, spark: SparkSession, seed: int
) -> None:
    changed = b"Pueblo de San Ildefonso</dcterms:creator>"
    affected = {law.graph for law in documents() if changed in law.data}
    assert 0 < len(affected) < len(documents())
    desk = Desk(tmp_path, spark)
    desk.ask(subscriptions(seed))
    desk.drop("law.jsonl")
    desk.run()
    first = desk.told()
    for version, edit in (
        (2, lambda data: data.replace(changed, b"Somebody else</dcterms:creator>")),
        (3, bytes),
    ):
        since = desk.told()[-1].sequence
        desk.drop("law.jsonl", edit)
        summary = desk.run()
        assert (summary.accepted, summary.unchanged) == (len(affected), len(documents()) - len(affected))
        told = desk.told(since)
        assert {row.version for row in told} == {version}
        assert {row.publication for row in told} <= affected
    assert rows_of(told) == {pair: rows for pair, rows in rows_of(first).items() if pair[0] in affected}
