"""Where Spark finds the data source ``triplecast`` by itself: `DefaultSource` in a module of such a name."""

from triplecast.spark.source import TriplecastSource as DefaultSource

__all__ = ["DefaultSource"]
