"""What all tests share: where fetched data lies, and the seed of random tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.bucket import Bucket, running_bucket

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHARED_DATA = Path(__file__).resolve().parents[1] / ".." / "shared" / "data"
SEED_VARIABLE = "TRIPLECAST_SEED"
DEFAULT_SEED = 20261121


def pytest_report_header() -> str:
    given = os.environ.get(SEED_VARIABLE)
    return f"random tests: seed {given}" if given else f"random tests: fixed seeds (another: {SEED_VARIABLE}=number)"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The fetched data beside the project. Skips where it is absent: it is no part of the product."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the fetched data set ../shared/data is not on this machine")
    return SHARED_DATA.resolve()


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """One Spark session for all tests of a process: there cannot be two."""
    pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")
    from triplecast.pipeline.session import session

    with session(2, tmp_path_factory.mktemp("spark") / "spark.log") as started:
        yield started


@pytest.fixture
def bucket() -> Iterator[Bucket]:
    """A bucket on this machine; its credentials are in the environment."""
    with running_bucket() as started:
        yield started


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> int:
    """The seed of a random test; a failing test's report shows it, and the variable in the header replays it."""
    number = int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))
    request.node.user_properties.append(("seed", number))
    print(f"seed {number} (replay: {SEED_VARIABLE}={number} pytest {request.node.nodeid!r})")
    return number
