"""Shards of an index: an index stage names those that a publication has to visit, and each answers for its
subscriptions."""

from triplecast.partition.matching import match_shards
from triplecast.partition.routing import Routing
from triplecast.partition.shards import SLICES, STRATEGIES, Partition, Partitioner, check_partition

__all__ = ["SLICES", "STRATEGIES", "Partition", "Partitioner", "Routing", "check_partition", "match_shards"]
