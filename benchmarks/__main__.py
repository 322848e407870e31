"""``python -m benchmarks``: measures, prints a table and writes it to ``benchmarks/results``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.machine import describe_machine
from benchmarks.report import show, to_markdown, write_results
from benchmarks.scenarios.following import measure_changed_line
from benchmarks.scenarios.fulltext import measure_fulltext
from benchmarks.scenarios.indexes import index_workload
from benchmarks.scenarios.matching import measure_matching
from benchmarks.scenarios.pipeline import measure_pipeline
from benchmarks.scenarios.registering import (
    measure_index_size,
    measure_known_templates,
    measure_new_templates,
    measure_one_more,
)
from benchmarks.scenarios.scanning import measure_scan
from benchmarks.scenarios.taxonomy import measure_taxonomy
from benchmarks.workloads import WORKLOADS
from triplecast.kernels.warm import warm

ROOT = Path(__file__).resolve().parents[1]
SUBSCRIPTIONS = {"gtopss": 30_000, "cluster": 100_000, "same": 100_000, "real": 100_000, "realtail": 100_000}
SUBSCRIPTIONS |= {"alerts": 100_000, "stars": 100_000}
"""Of each workload in a whole run."""
LARGE = {"realtail": 1_000_000}
PUBLICATIONS = 4_000
QUICK_SUBSCRIPTIONS = 10_000
QUICK_SUBSCRIPTIONS_OF_GRAPHS = 1_000
"""Each subscription of `gtopss` and `cluster` is a template of its own, so that building them takes long."""
QUICK_PUBLICATIONS = 500
QUICK_PARTS = ["scan", "templates", "realtail", "alerts", "same", "stars"]
FULLTEXT_SUBSCRIPTIONS = 100_000
SPARK_WORKLOADS = ("alerts", "realtail")
SPARK_SUBSCRIPTIONS = 100_000
SPARK_SECONDS = 75.0


def measure_workload(name: str, subscriptions: int, publications: int) -> Iterator[Figure]:
    indexed = index_workload(name, subscriptions, publications)
    yield from measure_matching(indexed)
    yield from measure_index_size(indexed)
    if name == "realtail":
        yield measure_known_templates(indexed)
        yield measure_one_more(indexed)


def plan_runs(quick: bool, only: list[str], large: bool) -> list[Callable[[], Iterator[Figure]]]:
    """What to measure, in order; each yields figures as they are known."""
    publications = QUICK_PUBLICATIONS if quick else PUBLICATIONS
    sizes = {
        name: (QUICK_SUBSCRIPTIONS_OF_GRAPHS if name in ("gtopss", "cluster") else QUICK_SUBSCRIPTIONS)
        if quick
        else count
        for name, count in SUBSCRIPTIONS.items()
    }
    runs: list[Callable[[], Iterator[Figure]]] = []
    if "scan" in only:
        runs.append(partial(measure_scan, publications))
    if "templates" in only:
        texts = WORKLOADS["realtail"](2_000, 1).subscriptions
        runs.append(partial(measure_new_templates, texts, 200 if quick else 2_000))
    chosen = [(name, size) for name, size in sizes.items() if name in only]
    chosen += [(name, size) for name, size in LARGE.items() if name in only and large]
    for name, size in chosen:
        runs.append(partial(measure_workload, name, size, publications))
    if "fulltext" in only:
        size, texts = (QUICK_SUBSCRIPTIONS, QUICK_PUBLICATIONS) if quick else (FULLTEXT_SUBSCRIPTIONS, 5_000)
        runs.append(partial(measure_fulltext, ROOT, size, texts))
    if "taxonomy" in only:
        for size in (QUICK_SUBSCRIPTIONS,) if quick else (100_000, 1_000_000) if large else (100_000,):
            runs.append(partial(measure_taxonomy, size, publications))
    if "spark" in only:
        size, seconds = (QUICK_SUBSCRIPTIONS, 10.0) if quick else (SPARK_SUBSCRIPTIONS, SPARK_SECONDS)
        for name in SPARK_WORKLOADS:
            runs.append(partial(measure_pipeline, name, size, seconds))
    if "following" in only:
        runs.append(partial(measure_changed_line, "alerts", QUICK_SUBSCRIPTIONS if quick else SPARK_SUBSCRIPTIONS))
    return runs


def warm_up() -> None:
    """Compiles every kernel that the measured stages call, in this process and for those that share its cache."""
    warm()
    for name in ("realtail", "cluster"):
        indexed = index_workload(name, 50, 20)
        for _ in measure_matching(indexed):
            continue


def main() -> int:
    parts = ["scan", "templates", *WORKLOADS, "fulltext", "taxonomy", "spark", "following"]
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute; writes no results")
    parser.add_argument("--only", action="append", choices=parts, help="a part; may be repeated")
    parser.add_argument("--no-large", action="store_true", help="without the million subscriptions")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results", help="folder of the results")
    arguments = parser.parse_args()
    warm_up()
    start = time.perf_counter()
    figures: list[Figure] = []
    busy = os.getloadavg()[0]
    only = arguments.only or (QUICK_PARTS if arguments.quick else parts)
    for run in plan_runs(arguments.quick, only, not (arguments.quick or arguments.no_large)):
        for figure in run():
            figures.append(figure)
            size = f"{figure.workload} {figure.subscriptions:,}"
            line = f"{figure.scenario}, {size}: {show(figure.value)} {figure.unit}"
            print(f"{time.perf_counter() - start:6.0f} s  {line}", file=sys.stderr, flush=True)
    machine, day = describe_machine(ROOT), datetime.now(UTC).date().isoformat()
    load = f"Load average before the run {busy:.1f}."
    print(to_markdown(figures, machine, day, load))
    if not arguments.quick:
        table, _ = write_results(arguments.results, figures, machine, day, load)
        print(f"written to {table}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
