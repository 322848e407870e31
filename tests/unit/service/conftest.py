"""A service in this process, over an engine in memory or in a folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the extra `service` is not installed")

from fastapi.testclient import TestClient

from triplecast import Engine
from triplecast.service.app import create_app
from triplecast.service.settings import ServiceSettings

BASE = "http://localhost"


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as engine:
        yield engine


@pytest.fixture
def client(engine: Engine) -> Iterator[TestClient]:
    with TestClient(create_app(engine), base_url=BASE) as client:
        yield client


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[TestClient]:
    """The same in a folder."""
    with Engine.open(tmp_path / "folder") as engine, TestClient(create_app(engine), base_url=BASE) as client:
        yield client


def service_of(engine: Engine, **settings: object) -> TestClient:
    return TestClient(create_app(engine, ServiceSettings(**settings)), base_url=BASE)  # type: ignore[arg-type]
