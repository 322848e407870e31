"""``python -m experiments.rtf.run``: figures 5 to 7 of the RTF paper; ``--quick`` in small sizes."""

from __future__ import annotations

import sys

from experiments.rtf.measure import measure
from experiments.run import Paper, run

TITLE = "RTF: full-text filtering of RDF publications"
PAPER = Paper("rtf", TITLE, measure, (("5a", "5b"), ("6a", "6b"), ("7a", "7b"), ("memory",)))

if __name__ == "__main__":
    sys.exit(run(PAPER))
