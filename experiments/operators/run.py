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
        *(
            tuple(figure for sweep in SWEEPS[first : first + 2] for figure in (sweep.name, f"{sweep.name}-gap"))
            for first in range(0, len(SWEEPS), 2)
        ),
        ("optimum", "learning", "batches"),
        ("order", "insert", "memory", "share"),
    ),
)

if __name__ == "__main__":
    sys.exit(run(PAPER))
