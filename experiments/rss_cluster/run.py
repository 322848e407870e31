"""``python -m experiments.rss_cluster.run``: figures 9(a) and 9(b)."""

from __future__ import annotations

import sys

from experiments.rss_cluster.measure import measure
from experiments.run import Paper, run

PAPER = Paper(
    "rss_cluster",
    "Efficient Filtering of RSS Documents on Computer Cluster (2007), figures 9(a) and 9(b)",
    measure,
    (("9a", "9b"), ("9b-windows", "9b-free")),
)

if __name__ == "__main__":
    sys.exit(run(PAPER))
