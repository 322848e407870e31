"""One broker for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from tests.kafka.broker import Broker, fetch_jars
from tests.spark.conftest import spark

assert spark


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    pytest.importorskip("confluent_kafka", reason="the extra [kafka] is not installed")
    pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")
    jars = fetch_jars()
    if isinstance(jars, str):
        pytest.skip(jars)
    broker = start_broker(jars, tmp_path_factory)
    try:
        yield broker
    finally:
        broker.stop()


def start_broker(jars: Path, places: pytest.TempPathFactory) -> Broker:
    """A free port may be another process's a moment later."""
    for attempts_left in (2, 1, 0):
        broker = Broker(jars, places.mktemp("kafka"))
        try:
            broker.start()
        except RuntimeError:
            if not attempts_left:
                raise
        else:
            return broker
    raise AssertionError


_numbers = count(1)


@pytest.fixture
def topics() -> tuple[str, str]:
    """Names of topics that no other test has."""
    number = next(_numbers)
    return f"documents-{number}", f"notifications-{number}"
