"""``python -m experiments.mdv.run``: figures 11 to 15."""

from __future__ import annotations

import sys

from experiments.mdv.measure import measure
from experiments.run import Paper, run

PAPER = Paper(
    "mdv",
    "MDV: A Publish & Subscribe Architecture for Distributed Metadata Management (2002), figures 11 to 15",
    measure,
    (("11", "12"), ("13", "14"), ("15", "14-equal")),
)

if __name__ == "__main__":
    sys.exit(run(PAPER))
