"""``python -m experiments.gtopss.run``: figures 9(a) to 9(h)."""

from __future__ import annotations

import sys

from experiments.gtopss.measure import measure
from experiments.run import Paper, run

PAPER = Paper(
    "gtopss",
    "G-ToPSS: Fast Filtering of Graph-based Metadata (2005), figure 9",
    measure,
    (("9a", "9b", "9c"), ("9d", "9e", "9f"), ("9g", "9h", "9e-nodes")),
)

if __name__ == "__main__":
    sys.exit(run(PAPER))
