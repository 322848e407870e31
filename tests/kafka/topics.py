"""A folder that documents of a topic go into, without Spark; and what they say."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from triplecast.ingest import Parser
from triplecast.journal import Journal
from triplecast.kafka import Kafka, settle_group
from triplecast.kafka.topic_reader import TopicReader
from triplecast.pipeline.acceptor import Intake
from triplecast.pipeline.topic_acceptor import TopicAcceptor

TURTLE = {"content-type": "text/turtle"}


class Taking:
    """One start of a run's acceptor of a topic."""

    def __init__(self, kafka: Kafka, journal: Journal, parser: Parser, split: str | None = None) -> None:
        self.told: list[object] = []
        reader = TopicReader(kafka, settle_group(journal, kafka), journal, self.told.append)
        self.acceptor = TopicAcceptor(reader, Intake(journal, parser.parse, False, self.told.append, split=split))

    def drain(self) -> bool:
        return self.acceptor.drain(threading.Event())


@contextmanager
def taking(kafka: Kafka, folder: Path, split: str | None = None) -> Iterator[tuple[Taking, Journal]]:
    with Journal.open(folder) as journal, Parser() as parser:
        taken = Taking(kafka, journal, parser, split)
        try:
            yield taken, journal
        finally:
            taken.acceptor.close()


def take_all(kafka: Kafka, folder: Path, split: str | None = None) -> Taking:
    with taking(kafka, folder, split) as (taken, _):
        assert taken.drain()
        return taken


def events(folder: Path) -> list[tuple[str, str, int]]:
    """What happened to documents, in order: the kind, the graph, the version."""
    with Journal.read_only(folder) as journal:
        found = journal.documents(0, journal.head())
    return [(type(each).__name__, each.graph, each.version) for each in found]


def rejected(folder: Path) -> list[tuple[str, str]]:
    """The place and the reason of each reject."""
    with Journal.read_only(folder) as journal:
        return [(each.reject.source, each.reject.reason) for each in journal.rejects()]


def turtle(number: int, value: int = 0) -> bytes:
    return f"<http://e/{number}> <http://e/number> {value} .".encode()
