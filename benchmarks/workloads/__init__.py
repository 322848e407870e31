"""The workloads, by name: each makes `subscriptions` SPARQL texts and `publications` N-Triples texts.

The distributions are those of the prototype whose figures the first targets came from; each module says where it
differs.
"""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.workloads.catalogue import make_alerts, make_real, make_real_tail
from benchmarks.workloads.graphs import make_cluster, make_gtopss, make_same_structure
from benchmarks.workloads.stars import make_stars
from benchmarks.workloads.texts import Workload

WORKLOADS: dict[str, Callable[[int, int], Workload]] = {
    "gtopss": make_gtopss,
    "cluster": make_cluster,
    "same": make_same_structure,
    "real": make_real,
    "realtail": make_real_tail,
    "alerts": make_alerts,
    "stars": make_stars,
}
"""Name → ``make(subscriptions, publications)``."""

__all__ = ["WORKLOADS", "Workload"]
