"""One broker for all tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from tests.kafka.broker import Broker, fetch_jars


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    pytest.importorskip("confluent_kafka", reason="the extra [kafka] is not installed")
    pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")
    jars = fetch_jars()
    if isinstance(jars, str):
        pytest.skip(jars)
    broker = Broker(jars, tmp_path_factory.mktemp("kafka"))
    broker.start()
    try:
        yield broker
    finally:
        broker.stop()


_numbers = count(1)


@pytest.fixture
def topics() -> tuple[str, str]:
    """Names of topics that no other test has."""
    number = next(_numbers)
    return f"documents-{number}", f"notifications-{number}"
