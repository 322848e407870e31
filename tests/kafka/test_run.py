"""The whole run between two topics: what an engine tells of the same documents, each once, whatever ends in between."""

from __future__ import annotations

import json
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kafka.broker import Broker
from tests.kafka.topics import TURTLE
from tests.spark.workplace import Workplace, document
from triplecast.engine import Engine
from triplecast.kafka import Kafka
from triplecast.pipeline.report import Caller, Progress, Summary
from triplecast.pipeline.run import Sources, run
from triplecast.registry.files import load_subscriptions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
Told = tuple[str, int, str | None, str]


def told_by_an_engine(place: Workplace, documents: list[tuple[str, bytes | None]]) -> list[Told]:
    with Engine() as engine:
        engine.subscribe_many(load_subscriptions([place.subscriptions]).subscriptions)
        for graph, text in documents:
            if text is None:
                engine.remove(graph)
            else:
                engine.publish(text, "text/turtle", graph)
        return sorted((row.publication, row.version, row.subscription, row.json) for row in engine.notifications())


def documents(count: int, first: int = 0) -> list[tuple[str, bytes | None]]:
    """Versions of documents, and removals, in order."""
    found: list[tuple[str, bytes | None]] = []
    for number in range(first, first + count):
        graph = f"http://e/doc/{number % 50}"
        found.append((graph, None if number % 17 == 16 else document(number).encode()))
    return found


def ids(broker: Broker, topic: str) -> list[str]:
    return [json.loads(message.value())["id"] for message in broker.read(topic, 2)]


def test_a_run_between_topics_tells_what_an_engine_tells(
    broker: Broker, topics: tuple[str, str], tmp_path: Path, spark: SparkSession
) -> None:
    place, kafka = Workplace(tmp_path), Kafka(broker.address, *topics)
    broker.make_topic(topics[0])
    broker.make_topic(topics[1], 2)
    sources = Sources([place.subscriptions], kafka=kafka)

    def once() -> Summary:
        return run(sources, place.output, once=True, spark=spark)

    sent = documents(150)
    broker.send(topics[0], *((graph, text, TURTLE) for graph, text in sent))
    first = once()
    assert place.told() == told_by_an_engine(place, sent)
    assert (first.interrupted, first.reject_count) == (False, 0)
    assert sorted(ids(broker, topics[1])) == sorted(row.id for row in place.outbox())
    assert once().publications == 0

    more, caught, stop = documents(150, 150), threading.Event(), threading.Event()
    wanted = told_by_an_engine(place, sent + more)

    def watch(progress: Progress) -> None:
        if progress.phase == "running" and not caught.is_set():
            caught.set()
            broker.send(topics[0], *((graph, text, TURTLE) for graph, text in more[:100]))
            broker.restart(signal.SIGKILL)
            broker.send(topics[0], *((graph, text, TURTLE) for graph, text in more[100:]))
        if len(place.outbox()) == len(wanted) and progress.lag == 0:
            stop.set()

    run(sources, place.output, caller=Caller(watch, print, stop), spark=spark)
    once()
    assert place.told() == wanted
    assert sorted(ids(broker, topics[1])) == sorted(row.id for row in place.outbox())
