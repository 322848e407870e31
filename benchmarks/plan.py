"""What to measure, in which sizes and in which order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from enum import Enum
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.scenarios.dropping import measure_dropped
from benchmarks.scenarios.everybody import measure_everybody
from benchmarks.scenarios.executors import measure_executors
from benchmarks.scenarios.following import measure_changed_line
from benchmarks.scenarios.frontdoor import measure_front_door
from benchmarks.scenarios.fulltext import measure_fulltext
from benchmarks.scenarios.indexes import index_workload
from benchmarks.scenarios.matching import measure_matching
from benchmarks.scenarios.mixed import measure_mixed
from benchmarks.scenarios.partition import measure_partition
from benchmarks.scenarios.pipeline import measure_pipeline
from benchmarks.scenarios.readers import measure_readers
from benchmarks.scenarios.registering import (
    measure_index_size,
    measure_known_templates,
    measure_new_templates,
    measure_one_more,
)
from benchmarks.scenarios.replacing import measure_replaced
from benchmarks.scenarios.repository import LARGE_STORE, measure_repository
from benchmarks.scenarios.scanning import measure_scan
from benchmarks.scenarios.service import measure_service
from benchmarks.scenarios.shards import measure_shards
from benchmarks.scenarios.skew import measure_skew
from benchmarks.scenarios.standing import QUICK as QUICK_STANDING
from benchmarks.scenarios.standing import measure_hub, measure_standing, measure_structures
from benchmarks.scenarios.storing import measure_stored
from benchmarks.scenarios.subscribing import measure_subscribing
from benchmarks.scenarios.taxonomy import measure_taxonomy
from benchmarks.scenarios.tenmillion import measure_ten_million
from benchmarks.workloads import WORKLOADS

Run = Callable[[], Iterator[Figure]]
"""Yields figures as they are known."""


class Extent(Enum):
    QUICK = "small sizes"
    NO_LARGE = "at most 100,000 subscriptions"
    WHOLE = "up to a million"


DEFAULT_PARTS: tuple[str, ...] = (
    "scan",
    "templates",
    *WORKLOADS,
    "mixed",
    "skew",
    "replaced",
    "subscribing",
    "storing",
    "repository",
    "standing",
    "readers",
    "frontdoor",
)
DEFAULT_PARTS += ("fulltext", "taxonomy", "spark", "following", "dropped")
"""In the order of `plan_runs`."""
PARTS = (*DEFAULT_PARTS, "partition", "service", "tenmillion", "shards", "executors")
"""With those that run only where they are named: they take long."""
QUICK_PARTS: tuple[str, ...] = ("scan", "templates", "realtail", "alerts", "same", "stars")
QUICK_PARTS += ("mixed", "skew", "replaced", "subscribing", "storing", "repository", "standing")
QUICK_PARTS += ("readers", "frontdoor")

SIZES = {"gtopss": 30_000, "cluster": 100_000, "same": 100_000, "real": 100_000, "realtail": 100_000}
SIZES |= {"alerts": 100_000, "stars": 100_000}
"""Subscriptions of each workload."""
LARGE = 1_000_000
TEN_MILLION = 10_000_000
PUBLICATIONS = 4_000
QUICK_SIZE = 10_000
QUICK_SIZE_OF_GRAPHS = 1_000
"""Each subscription of `gtopss` and `cluster` is a template of its own, so that building them takes long."""
QUICK_PUBLICATIONS = 500
QUICK_STORE = 50_000
"""Triples."""
ABSTRACTS = 5_000
SPARK_WORKLOADS = ("alerts", "realtail")
SPARK_SUBSCRIPTIONS = 100_000
SPARK_SECONDS = 75.0
STANDING = (10_000, 100_000)
"""Subscriptions of repository scope; and a million where those are measured."""
STRUCTURES = (10, 100, 1_000, 10_000)
REFERENCES = (1_000, 10_000, 100_000)
REPLACED_SECONDS = 60.0
READ_SECONDS = 10.0
SERVICE, QUICK_SERVICE = (9_900, 15.0), (1_000, 3.0)
"""Readers, and seconds of each load."""
EVERYBODY, QUICK_EVERYBODY = (9_900, 90_100), (100, 900)
"""Event streams, and webhooks, that are told of one match."""
FRONT_DOOR = 100_000, 1.5
"""Subscriptions, and seconds of a turn."""
QUICK_FRONT_DOOR = 10_000, 0.2


def plan_runs(root: Path, extent: Extent, only: Collection[str]) -> list[Run]:
    """The parts named in `only`, in order."""
    plan = _plan_quick(root) if extent is Extent.QUICK else _plan_whole(root, extent is Extent.WHOLE)
    return [run for part, run in plan if part in only]


def _plan_whole(root: Path, large: bool) -> list[tuple[str, Run]]:
    tail = (SIZES["realtail"], LARGE) if large else (SIZES["realtail"],)
    largest = tail[-1]
    texts = WORKLOADS["realtail"](2_000, 1).subscriptions
    plan: list[tuple[str, Run]] = [
        ("scan", partial(measure_scan, PUBLICATIONS)),
        ("templates", partial(measure_new_templates, texts, len(texts))),
    ]
    plan += [(name, partial(measure_workload, name, size, PUBLICATIONS)) for name, size in SIZES.items()]
    plan += [("realtail", partial(measure_workload, "realtail", size, PUBLICATIONS)) for size in tail[1:]]
    plan += [("mixed", partial(measure_mixed, size, PUBLICATIONS)) for size in tail]
    plan += [("skew", partial(measure_skew, size, PUBLICATIONS)) for size in tail]
    plan += [("partition", partial(measure_partition, size)) for size in tail]
    plan += [
        ("replaced", partial(measure_replaced, "realtail", largest, PUBLICATIONS, REPLACED_SECONDS)),
        ("subscribing", partial(measure_subscribing, "realtail", largest)),
        ("storing", partial(measure_stored, largest)),
        ("repository", partial(measure_repository, LARGE_STORE if large else LARGE_STORE // 10)),
        *(("standing", partial(measure_standing, size)) for size in (*STANDING, *tail[1:])),
        ("standing", partial(measure_structures, STRUCTURES)),
        ("standing", partial(measure_hub, REFERENCES)),
        ("readers", partial(measure_readers, "realtail", largest, PUBLICATIONS, READ_SECONDS)),
        ("frontdoor", partial(measure_front_door, *FRONT_DOOR)),
        ("fulltext", partial(measure_fulltext, root, SIZES["realtail"], ABSTRACTS)),
    ]
    plan += [("taxonomy", partial(measure_taxonomy, size, PUBLICATIONS)) for size in tail]
    plan += [("spark", partial(measure_pipeline, name, SPARK_SUBSCRIPTIONS, SPARK_SECONDS)) for name in SPARK_WORKLOADS]
    plan += [("spark", partial(measure_pipeline, "alerts", SPARK_SUBSCRIPTIONS, SPARK_SECONDS, 1))]
    plan += [
        ("following", partial(measure_changed_line, "alerts", SPARK_SUBSCRIPTIONS)),
        ("dropped", partial(measure_dropped, "alerts", SPARK_SUBSCRIPTIONS)),
        ("service", partial(measure_service, *SERVICE)),
        ("service", partial(measure_everybody, *EVERYBODY)),
        ("tenmillion", partial(measure_ten_million, TEN_MILLION, PUBLICATIONS)),
        ("shards", partial(measure_shards, LARGE)),
        ("executors", partial(measure_executors, "alerts", QUICK_SIZE, heavy=True)),
    ]
    return plan


def _plan_quick(root: Path) -> list[tuple[str, Run]]:
    texts = WORKLOADS["realtail"](200, 1).subscriptions
    plan: list[tuple[str, Run]] = [
        ("scan", partial(measure_scan, QUICK_PUBLICATIONS)),
        ("templates", partial(measure_new_templates, texts, len(texts))),
    ]
    for name in SIZES:
        size = QUICK_SIZE_OF_GRAPHS if name in ("gtopss", "cluster") else QUICK_SIZE
        plan.append((name, partial(measure_workload, name, size, QUICK_PUBLICATIONS)))
    plan += [
        ("mixed", partial(measure_mixed, QUICK_SIZE, QUICK_PUBLICATIONS)),
        ("skew", partial(measure_skew, QUICK_SIZE, QUICK_PUBLICATIONS, crowd=QUICK_SIZE // 10)),
        ("partition", partial(measure_partition, QUICK_SIZE)),
        ("replaced", partial(measure_replaced, "realtail", QUICK_SIZE, QUICK_PUBLICATIONS, 3.0)),
        ("subscribing", partial(measure_subscribing, "realtail", QUICK_SIZE)),
        ("storing", partial(measure_stored, QUICK_SIZE)),
        ("repository", partial(measure_repository, QUICK_STORE)),
        ("standing", partial(measure_standing, QUICK_SIZE // 10, QUICK_STANDING)),
        ("standing", partial(measure_structures, STRUCTURES[:1], QUICK_STANDING)),
        ("standing", partial(measure_hub, REFERENCES[:1], QUICK_STANDING)),
        ("readers", partial(measure_readers, "realtail", QUICK_SIZE, QUICK_PUBLICATIONS, 1.0)),
        ("frontdoor", partial(measure_front_door, *QUICK_FRONT_DOOR)),
        ("fulltext", partial(measure_fulltext, root, QUICK_SIZE, QUICK_PUBLICATIONS)),
        ("taxonomy", partial(measure_taxonomy, QUICK_SIZE, QUICK_PUBLICATIONS)),
    ]
    plan += [("spark", partial(measure_pipeline, name, QUICK_SIZE, 10.0)) for name in SPARK_WORKLOADS]
    plan += [
        ("following", partial(measure_changed_line, "alerts", QUICK_SIZE)),
        ("dropped", partial(measure_dropped, "alerts", QUICK_SIZE)),
        ("service", partial(measure_service, *QUICK_SERVICE)),
        ("service", partial(measure_everybody, *QUICK_EVERYBODY)),
        ("tenmillion", partial(measure_ten_million, 10 * QUICK_SIZE, QUICK_PUBLICATIONS, slice_size=QUICK_SIZE)),
        ("shards", partial(measure_shards, QUICK_SIZE)),
        ("executors", partial(measure_executors, "alerts", QUICK_SIZE, heavy=True, seconds=8.0)),
    ]
    return plan


def measure_workload(name: str, subscriptions: int, publications: int) -> Iterator[Figure]:
    indexed = index_workload(name, subscriptions, publications)
    yield from measure_matching(indexed)
    yield from measure_index_size(indexed)
    if name == "realtail":
        yield measure_known_templates(indexed)
        yield measure_one_more(indexed)
