"""``python -m experiments.rss_partition.run``: figures 9(c) to 9(i) and 10."""

from __future__ import annotations

import sys

from experiments.rss_partition.measure import measure
from experiments.run import Paper, run

PAPER = Paper(
    "rss_partition",
    "Efficient Filtering of RSS Documents on Computer Cluster (2007), figures 9(c) to 9(i) and 10",
    measure,
    (("9c", "9d", "9g"), ("9e", "9f", "9h"), ("9i", "9i-timed", "10")),
)

if __name__ == "__main__":
    sys.exit(run(PAPER))
