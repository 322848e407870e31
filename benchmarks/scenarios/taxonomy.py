"""What a taxonomy costs: the same interests in the same records, with classes stated and with classes known."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.figures import Figure
from benchmarks.scenarios.variants import measure_variants
from benchmarks.workloads.taxonomy import make_known, make_stated

COST = 2.0
"""Times that of equality alone, at most."""


def measure_taxonomy(subscriptions: int, publications: int) -> Iterator[Figure]:
    stated, known = make_stated(subscriptions, publications), make_known(subscriptions, publications)
    yield from measure_variants(stated, known, "known over stated", COST)
