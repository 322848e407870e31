"""What ranges, classes and words cost over equality alone: the same interests in the same records, told in two ways."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.scenarios.variants import measure_variants
from benchmarks.workloads.mixed import make_mixed

COST = 2.0
"""Times that of equality alone, at most."""


def measure_mixed(subscriptions: int, publications: int) -> Iterator[Figure]:
    equality, mixed = make_mixed(subscriptions, publications)
    yield from measure_variants(equality, mixed, "mixed over equality alone", COST)
