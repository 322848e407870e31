"""Triplecast in Spark's own words: `match` makes a DataFrame of matches, `register` the data source ``triplecast``.

Both use the DataFrame API alone, so they work in a session of Spark Connect too (docs/spark.md).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from triplecast.spark.matching import match
    from triplecast.spark.source import register

__all__ = ["match", "register"]

_LAZY = {"match": "triplecast.spark.matching", "register": "triplecast.spark.source"}
"""Spark imports the source alone, in each process that plans or reads: without the stages of matching."""


def __getattr__(name: str) -> object:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_LAZY[name]), name)
