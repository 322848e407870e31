"""Micro-batches that are killed anywhere and come again in another order: each document once, in its first order."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("pyspark", reason="the source needs the extra [spark]")

import pyarrow as pa

import triplecast
from triplecast.errors import InputError
from triplecast.journal import Journal
from triplecast.spark.writing import STAGED, publish_batch, stage

POINTS = (
    "taking.group-taken",
    pytest.param("spark.order-kept", marks=pytest.mark.slow),
    pytest.param("spark.batch-published", marks=pytest.mark.slow),
    pytest.param("journal.committed", marks=pytest.mark.slow),
)
PUBLISH = """
import sys
from pathlib import Path
from triplecast.spark.writing import publish_batch
folder, query, number, *files = sys.argv[1:]
publish_batch(Path(folder), query, int(number), files)
"""


def rows(number: int) -> pa.RecordBatch:
    """A document of 150 rows, whose content is another in each row but comes back."""
    data = [f"<urn:s> <urn:p> {number * 2 + row % 2} ." for row in range(150)]
    return pa.record_batch({"data": data, "media_type": ["text/turtle"] * 150, "graph": ["urn:g"] * 150})


@pytest.mark.parametrize("point", POINTS)
def test_a_batch_that_comes_again_is_published_once(tmp_path: Path, point: str, seed: int) -> None:
    random, log = Random(seed), tmp_path / "log"
    deaths = 0
    for number in range(2):
        for hit in (1 + number, 1000):
            tasks = [*range(3)]
            random.shuffle(tasks)
            if hit < 1000:
                order = tasks
            files = [stage(tmp_path, [rows(3 * number + task)]) for task in tasks]
            armed = {"TRIPLECAST_CRASH": f"{point}:{hit}", "TRIPLECAST_CRASH_LOG": str(log)}
            command = [sys.executable, "-c", PUBLISH, str(tmp_path), "query", str(number), *map(str, files)]
            ended = subprocess.run(command, env={**os.environ, **armed}, capture_output=True, text=True, check=False)
            assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
            deaths += ended.returncode != 0
        published = _values(tmp_path)
        assert published[450 * number :] == [2 * (3 * number + task) + row % 2 for task in order for row in range(150)]
    assert deaths
    assert [*(tmp_path / STAGED).iterdir()] == []


def _values(folder: Path) -> list[int]:
    """What each version says."""
    with Journal.read_only(folder) as journal:
        found = journal.publications(0, journal.head())
    assert [each.version for each in found] == [*range(1, len(found) + 1)]
    return [int(each.quads.split(b'"')[1]) for each in found]


def test_batches_of_one_query_do_not_stand_for_anothers(tmp_path: Path) -> None:
    for query in ("one", "other"):
        for _ in range(2):
            file = stage(tmp_path, [pa.record_batch({"data": [f"<urn:{query}> a <urn:c> ."]})])
            publish_batch(tmp_path, query, 0, [str(file)])
    with triplecast.Engine.open(tmp_path) as engine:
        assert [bool(engine.query(f"ASK {{ <urn:{query}> ?p ?o }}")) for query in ("one", "other")] == [True, True]


def test_rows_without_data_are_refused(tmp_path: Path) -> None:
    for columns in ({"graph": ["urn:g"]}, {"data": ["<urn:a> a <urn:b> .", None]}):
        with pytest.raises(InputError, match="no `data`"):
            stage(tmp_path, [pa.record_batch(columns)])
    assert stage(tmp_path, []) is None
