"""A run with inbox, snapshots and output at addresses of a store."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.bucket import Bucket
from tests.properties.output_kills import check_files, recorded, stored
from tests.spark.workplace import Workplace, document
from triplecast.pipeline.run import Sources, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_a_driver_that_is_killed_while_it_uploads_tells_the_same(
    tmp_path: Path, bucket: Bucket, spark: SparkSession
) -> None:
    """Between two files of the index, and between the plan of a file of notifications and its upload."""
    place = Workplace(tmp_path)
    inbox, shared, output = map(bucket.address, ("in", "shared", "out"))

    def write(first: int, count: int) -> None:
        for number in range(first, first + count):
            place.write(f"d{number}.ttl", document(number))
            bucket.put(f"in/d{number}.ttl", document(number).encode())

    command = [sys.executable, "-m", "triplecast.cli", "run", "--subscriptions", str(place.subscriptions), "--once"]
    command += ["--inbox", inbox, "--snapshots", shared, "--output", output, "--folder", str(place.output)]
    for wave, point in enumerate(("snapshots.written", "output.planned")):
        write(100 * wave, 60)
        armed = os.environ | {"TRIPLECAST_CRASH": point}
        killed = subprocess.run(command, env=armed, capture_output=True, text=True, timeout=240, check=False)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        assert not stored(bucket, "out")
    write(200, 60)
    files = output, True, None, 2, spark
    summary = run(Sources([place.subscriptions], inbox), *files, snapshots=shared, folder=place.output)
    assert summary.left == 0
    assert place.told() == place.told_without_spark()
    found = stored(bucket, "out")
    check_files(found, recorded(place.output))
    rows = [json.loads(line) for content in found.values() for line in content.splitlines()]
    assert [row["id"] for row in rows] == [row.id for row in place.outbox()]
