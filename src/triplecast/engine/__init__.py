"""The Python surface: all stages in one object."""

from triplecast.engine.engine import Engine
from triplecast.engine.previews import Preview
from triplecast.engine.receipt import LoadedSchema, LoadedTaxonomy, Match, Receipt, Statistics, UndecidedMatch
from triplecast.registry.listing import LiveSubscription
from triplecast.registry.registry import Subscribed

__all__ = [
    "Engine",
    "LiveSubscription",
    "LoadedSchema",
    "LoadedTaxonomy",
    "Match",
    "Preview",
    "Receipt",
    "Statistics",
    "Subscribed",
    "UndecidedMatch",
]
