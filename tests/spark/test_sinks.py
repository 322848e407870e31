"""Tables of files hold each notification once, though their stream is stopped and begun again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.kafka.broker import fetch_jars

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

DELTA = {"4.0": "4.0.0", "4.1": "4.1.0", "4.2": "4.4.0"}
"""Releases of Delta by that of Spark; there is none for 4.3 yet."""


def test_parquet(tmp_path: Path, spark: SparkSession) -> None:
    from tests.spark.sinks import fill_with_a_break

    assert fill_with_a_break(spark, tmp_path, "parquet") == 80


def test_delta(tmp_path: Path) -> None:
    """In a process of its own: a session that runs takes no jars."""
    pyspark = pytest.importorskip("pyspark", reason="the pipeline needs the extra [spark]")
    release = DELTA.get(pyspark.__version__.rpartition(".")[0])
    if release is None:
        pytest.skip(f"Delta has no release for PySpark {pyspark.__version__}")
    jars = fetch_jars(Path(__file__).with_name("delta.xml"), f"delta-{release}", f"-Ddelta={release}")
    if isinstance(jars, str):
        pytest.skip(jars)
    command = [sys.executable, "-m", "tests.spark.sinks", "delta", str(tmp_path), str(jars)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, done.stdout) == (0, "80\n"), done.stderr
