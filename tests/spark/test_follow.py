"""A run that follows: changes while it goes, workers that are killed, and its end."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.chaos import children
from tests.spark.workplace import Workplace, document
from triplecast.pipeline.report import Caller, Notice, Summary
from triplecast.pipeline.run import Sources, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE = 90.0
"""Seconds for something to happen on a busy machine."""


def wait_until(happened: Callable[[], bool], task: Future[Summary]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not happened():
        if task.done():
            task.result()
        assert time.monotonic() < deadline
        time.sleep(0.05)


@contextmanager
def following(place: Workplace, spark: SparkSession) -> Iterator[tuple[Future[Summary], list[Notice]]]:
    """A run in a thread, stopped at the end."""
    stop, notices = threading.Event(), list[Notice]()
    with ThreadPoolExecutor(1) as thread:
        task = thread.submit(
            run,
            Sources([place.subscriptions], place.inbox),
            place.output,
            caller=Caller(on_notice=notices.append, stop=stop),
            spark=spark,
        )
        try:
            yield task, notices
        finally:
            stop.set()
            task.result(PATIENCE)


def test_documents_and_subscriptions_are_followed(tmp_path: Path, spark: SparkSession) -> None:
    place = Workplace(tmp_path)
    place.write("a.ttl", document(3))
    with following(place, spark) as (task, notices):
        wait_until(lambda: len(place.outbox()) == 3, task)
        (place.subscriptions / "new.rq").write_text("SELECT ?t { ?s <http://e/next> ?t }")
        (place.subscriptions / "bad.rq").write_text("SELECT")
        wait_until(lambda: len(notices) == 1, task)
        place.write("b.ttl", document(10))
        wait_until(lambda: "new.rq" in {row.subscription for row in place.outbox()}, task)
    assert {row.publication for row in place.outbox() if row.subscription == "new.rq"} == {
        "urn:triplecast:document:b.ttl"
    }
    assert task.result().publications == 2


def test_killed_workers_are_made_up_for(tmp_path: Path, spark: SparkSession) -> None:
    place = Workplace(tmp_path)
    place.fill(60)
    expected = place.told_without_spark()
    with following(place, spark) as (task, notices):
        wait_until(lambda: len(place.told()) == len(expected), task)
        victims = children(os.getpid(), "pyspark.daemon")
        assert victims
        for pid in victims:
            os.kill(pid, signal.SIGKILL)
        told = len(place.outbox())
        place.write("after.ttl", document(3, kind=3))
        wait_until(lambda: len(place.outbox()) > told, task)
    expected = place.told_without_spark()
    assert place.told() == expected
    assert all("matching continues" in str(notice) for notice in notices)
