"""A folder with subscriptions, an inbox and a run's output, and what should come out of it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from triplecast.engine import Engine
from triplecast.ingest.document_files import read_documents
from triplecast.outbox import Notification, Outbox
from triplecast.pipeline.report import Caller, Summary
from triplecast.pipeline.run import Sources, run
from triplecast.registry.files import load_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Told = tuple[str, int, str | None, str]
"""Graph, version, subscription and bindings of a notification."""

QUERIES = {
    "narrow.rq": 'SELECT ?s { ?s <http://e/kind> "k3" }',
    "window.rq": "SELECT ?s ?n { ?s <http://e/number> ?n FILTER(?n >= 5 && ?n < 12) }",
    "joined.rq": "SELECT * { ?s <http://e/kind> ?k ; <http://e/next> ?t . ?t <http://e/number> ?n }",
    "verified.rq": "SELECT ?s { ?s <http://e/kind> ?k FILTER NOT EXISTS { ?s <http://e/hidden> ?h } }",
    "ask/dated.rq": "ASK { ?s <http://e/on> ?d FILTER(?d > '2026-06-01'^^xsd:date) }",
}


class Workplace:
    def __init__(self, folder: Path, queries: Mapping[str, str] = QUERIES) -> None:
        """`queries` by the name of their file; they are written where the folder has no inbox yet."""
        self.subscriptions = folder / "subscriptions"
        self.inbox = folder / "inbox"
        self.output = folder / "output"
        if not self.inbox.exists():
            self.inbox.mkdir(parents=True)
            for name, text in queries.items():
                (self.subscriptions / name).parent.mkdir(parents=True, exist_ok=True)
                (self.subscriptions / name).write_text(text)
        self._time = 1_000_000

    def write(self, name: str, text: str) -> None:
        """A file whose time differs from every earlier one's."""
        self._time += 10
        (self.inbox / name).write_text(text)
        os.utime(self.inbox / name, (self._time, self._time))

    def fill(self, count: int) -> None:
        """Documents of every kind that the queries tell apart, most as files, some as lines."""
        texts = [document(number) for number in range(count)]
        for number, text in enumerate(texts[: count // 2]):
            self.write(f"d{number}.ttl", text)
        lines = [
            json.dumps({"id": f"http://e/line/{number}", "media_type": "text/turtle", "data": text})
            for number, text in enumerate(texts[count // 2 :])
        ]
        self.write("lines.jsonl", "\n".join(lines) + "\n")

    def run(self, spark: SparkSession, caller: Caller | None = None) -> Summary:
        """Once, or as long as the `caller` wants it."""
        return run(Sources([self.subscriptions], self.inbox), self.output, caller is None, caller, spark=spark)

    def outbox(self) -> list[Notification]:
        with Outbox.read_only(self.output) as outbox:
            return list(outbox.notifications())

    def told(self) -> list[Told]:
        return sorted((row.publication, row.version, row.subscription, row.json) for row in self.outbox())

    def told_without_spark(self) -> list[Told]:
        """What one engine in memory tells of the files as they are now."""
        with Engine() as engine:
            engine.subscribe_many(load_subscriptions([self.subscriptions]).subscriptions)
            engine.publish_many(document for document in read_documents([self.inbox]))  # type: ignore[misc]
            return sorted((row.publication, row.version, row.subscription, row.json) for row in engine.notifications())


def document(number: int, kind: int | None = None) -> str:
    """A document in Turtle: two resources, one of them hidden now and then."""
    kind = number % 7 if kind is None else kind
    lines = [
        f'<http://e/{number}> <http://e/kind> "k{kind}" ; <http://e/number> {number % 20} .',
        f"<http://e/{number}> <http://e/next> <http://e/n> .",
        f"<http://e/n> <http://e/number> {number % 3} ; <http://e/on> '2026-{1 + number % 12:02}-01'^^<{XSD}date> .",
    ]
    if number % 4 == 0:
        lines.append(f"<http://e/{number}> <http://e/hidden> true .")
    return "\n".join(lines)


XSD = "http://www.w3.org/2001/XMLSchema#"
