"""How far a run is, for who waits for it."""

from __future__ import annotations

import sys


def tell(what: str) -> None:
    """A line on standard error, at once: what is measured next, or has been. Never called while something is timed."""
    print(f"          {what}", file=sys.stderr, flush=True)
