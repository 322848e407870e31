"""The Python surface: all stages in one object."""

from triplecast.engine.engine import Engine
from triplecast.engine.receipt import (
    LoadedTaxonomy,
    Match,
    Preview,
    Receipt,
    Standing,
    Statistics,
    Subscribed,
    UndecidedMatch,
)
from triplecast.registry.upkeep import open_index

__all__ = [
    "Engine",
    "LoadedTaxonomy",
    "Match",
    "Preview",
    "Receipt",
    "Standing",
    "Statistics",
    "Subscribed",
    "UndecidedMatch",
    "open_index",
]
