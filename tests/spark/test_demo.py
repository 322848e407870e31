"""`triplecast demo`: every subscription of the samples, with what it matched."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from pyoxigraph import QueryResultsFormat, parse_query_results

pytestmark = [pytest.mark.spark, pytest.mark.slow]


def test_it_prints_each_subscription_and_the_summary_as_json() -> None:
    """The demo left out those of other files than .rq, and no test ran it; one that adds up its counts sees it."""
    command = [sys.executable, "-m", "triplecast", "demo", "--json"]  # a process has one Spark session
    demo = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [json.loads(line) for line in demo.stdout.splitlines()]
    summary = json.loads(demo.stderr.splitlines()[-1])
    assert len(rows) == summary["subscriptions"]
    assert sum(row["matches"] for row in rows) == summary["matches"]
    for row in rows:
        assert (row["example"] is None) == (row["matches"] == 0)
        if row["example"]:
            parse_query_results(json.dumps(row["example"]["answer"]).encode(), format=QueryResultsFormat.JSON)
