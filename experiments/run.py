"""What every paper's ``run.py`` does: measure its figures, hold them against ``expected.json``, write and plot them."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.machine import describe_machine
from experiments.claims import judge, read_claims
from experiments.figures import Figure
from experiments.plots import Layout, can_plot, write_plots
from experiments.record import Record, write_record

_SHOWN = {True: "holds", False: "FAILS", None: "?    "}
ROOT = Path(__file__).resolve().parents[1]
QUICK_RESULTS = ROOT / "build" / "experiments"
"""Where quick runs write: not in the repository. The record of a full run stands in the paper's own folder."""


@dataclass(frozen=True, slots=True)
class Paper:
    """One paper's experiments: its folder holds ``README.md``, ``expected.json`` and, of full runs, ``results``."""

    name: str
    """Of its folder below ``experiments``."""
    title: str
    measure: Callable[[bool], Iterator[Figure]]
    """Quick or full to figures, each as soon as it is known."""
    layout: Layout

    @property
    def folder(self) -> Path:
        return ROOT / "experiments" / self.name


def run(paper: Paper, arguments: Sequence[str] | None = None) -> int:
    """Always 0: a claim that does not hold is reported as such."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{paper.name}.run", description=paper.title)
    parser.add_argument(
        "--quick", action="store_true", help="small sizes, about a minute; written to build/experiments"
    )
    parser.add_argument("--results", type=Path, help="folder of the results")
    given = parser.parse_args(arguments)
    folder = given.results or (QUICK_RESULTS / paper.name if given.quick else paper.folder / "results")
    run_paper(paper, given.quick, folder)
    return 0


def run_paper(paper: Paper, quick: bool, folder: Path) -> Record:
    start = time.perf_counter()
    figures: list[Figure] = []
    for figure in paper.measure(quick):
        figures.append(figure)
        print(f"{time.perf_counter() - start:6.0f} s  {paper.name}: figure {figure.name}", file=sys.stderr, flush=True)
    verdicts = judge(read_claims(paper.folder / "expected.json"), figures, quick)
    day = datetime.now(UTC).date().isoformat()
    machine = describe_machine(ROOT, ("src", "benchmarks", "experiments"))
    record = Record(paper.title, day, machine, quick, time.perf_counter() - start, figures, verdicts)
    written = write_record(folder, record)
    if can_plot():
        written += write_plots(folder, record, paper.layout)
    else:
        print("no plots: matplotlib is not installed (`make experiments` installs it)", file=sys.stderr)
    for verdict in verdicts:
        print(f"{_SHOWN[verdict.held]}  {verdict.claim.name}: {verdict.claim.says}: {verdict.seen}")
    print(f"written to {folder} ({len(written)} files)", file=sys.stderr)
    return record
