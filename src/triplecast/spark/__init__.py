"""Triplecast in Spark's own words: `match` makes a DataFrame of matches, `register` the data source ``triplecast``.

Both use the DataFrame API alone, so they work in a session of Spark Connect too (docs/spark.md).
"""

from triplecast.spark.matching import match
from triplecast.spark.source import register

__all__ = ["match", "register"]
