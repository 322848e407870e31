"""A run whose operators' module is not there: who asks them waits, everybody else is told, and they are told once, in
order, when it is back."""

from __future__ import annotations

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.unit.engine.test_unasked import MODULE, QUERIES, P
from triplecast.outbox import OutboxReader
from triplecast.pipeline import operator_jobs
from triplecast.pipeline.report import Caller, Notice
from triplecast.pipeline.run import Sources, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
DOCUMENTS = operator_jobs.SMALLEST + 6
"""More than one job asks about."""


def told(output: Path) -> list[tuple[str, str]]:
    with OutboxReader.read_only(output) as outbox:
        outbox.check()
        return [(each.subscription.removesuffix(".rq"), each.publication) for each in outbox.notifications()]


def test_who_asks_waits_and_the_others_are_told(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "away_operators.py"
    module.write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("away_operators")
    module.write_text("import nowhere_at_all")
    inbox, subscriptions, output = tmp_path / "inbox", tmp_path / "subscriptions", tmp_path / "output"
    for folder in (inbox, subscriptions):
        folder.mkdir()
    for name, text in QUERIES.items():
        (subscriptions / f"{name}.rq").write_text(P + text)
    lines = [
        f'{{"id": "urn:d{n}", "media_type": "text/turtle", "data": "@prefix : <https://example.org/> . '
        f'<urn:p> a :Picture ; :title \\"title{n}\\" ; :ok {"true" if n % 2 else "false"} ."}}'
        for n in range(DOCUMENTS)
    ]
    (inbox / "all.jsonl").write_text("\n".join(lines) + "\n")
    try:
        _run_without_and_with(Sources([subscriptions], inbox), output, module, spark)
    finally:
        del sys.modules["away_operators"]


def _run_without_and_with(sources: Sources, output: Path, module: Path, spark: SparkSession) -> None:
    graphs = [f"urn:d{n}" for n in range(DOCUMENTS)]
    notices: list[Notice] = []
    summary = run(sources, output, True, Caller(on_notice=notices.append), spark=spark)
    assert (summary.left, summary.interrupted, summary.undecided) == (DOCUMENTS, True, 0)
    assert told(output) == [("cheap", graph) for graph in graphs], "`sometimes` waits with its first publication"
    (reason,) = [str(notice) for notice in notices if "is unavailable" in str(notice)]
    assert "No module named 'nowhere_at_all'; install nowhere_at_all where operators are evaluated" in reason

    stop = threading.Event()
    with ThreadPoolExecutor(1) as thread:
        task = thread.submit(run, sources, output, False, Caller(stop=stop), spark=spark)
        time.sleep(1)
        module.write_text(MODULE)
        try:
            began = time.monotonic()
            while len(told(output)) < len(QUERIES) * DOCUMENTS and not task.done():
                assert time.monotonic() - began < 120
                time.sleep(0.1)
        finally:
            stop.set()
        assert task.result(60).left == 0
    for name in QUERIES:
        assert [graph for each, graph in told(output) if each == name] == graphs
