"""``python -m benchmarks``: measures, prints a table and writes it to ``benchmarks/results``."""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.machine import describe_machine
from benchmarks.plan import DEFAULT_PARTS, PARTS, QUICK_PARTS, Extent, plan_runs
from benchmarks.report import show, to_markdown, write_results
from benchmarks.scenarios.indexes import index_workload
from benchmarks.scenarios.matching import measure_matching
from triplecast.kernels.compiling import warm

ROOT = Path(__file__).resolve().parents[1]


def warm_up() -> None:
    """Compiles every kernel that the measured stages call, in this process and for those that share its cache."""
    warm()
    for name in ("realtail", "cluster"):
        indexed = index_workload(name, 50, 20)
        for _ in measure_matching(indexed):
            continue


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, some two minutes; writes no results")
    parser.add_argument("--only", action="append", choices=PARTS, help="a part; may be repeated")
    parser.add_argument("--no-large", action="store_true", help="without the million subscriptions")
    parser.add_argument("--results", type=Path, default=ROOT / "benchmarks" / "results", help="folder of the results")
    arguments = parser.parse_args()
    warm_up()
    start = time.perf_counter()
    figures: list[Figure] = []
    busy = os.getloadavg()[0]
    extent = Extent.QUICK if arguments.quick else Extent.NO_LARGE if arguments.no_large else Extent.WHOLE
    only = arguments.only or (QUICK_PARTS if arguments.quick else DEFAULT_PARTS)
    for run in plan_runs(ROOT, extent, only):
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
