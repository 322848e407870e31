"""``python -m experiments.operators.run``: figures 4 to 8."""

from __future__ import annotations

import sys

from experiments.operators.measure import SWEEPS, measure
from experiments.run import Paper, run

PAPER = Paper(
    "operators",
    "Scalable Event Matching for Overlapping Subscriptions (2007), figures 4 to 8",
    measure,
    (
        *((sweep.name, f"{sweep.name}-gap", f"{sweep.name}-ratios") for sweep in SWEEPS),
        ("4-5", "6-similar"),
        ("optimum", "optimum-worst", "learning", "batches"),
        ("order", "insert", "memory"),
        ("share", "share-stage", "share-run"),
    ),
)

if __name__ == "__main__":
    sys.exit(run(PAPER))
