"""What every paper's ``run.py`` does: measure its figures, hold them against ``expected.json``, write and plot them."""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.machine import Machine, describe_machine
from experiments.claims import Verdict, judge, read_claims
from experiments.figures import Figure
from experiments.plots import Layout, find_plotting, write_plots
from experiments.record import Record, to_json, to_markdown
from experiments.results import CannotRun, open_results
from triplecast.kernels.compiling import warm

ROOT = Path(__file__).resolve().parents[1]
QUICK_RESULTS = ROOT / "build" / "experiments"
"""Where quick runs write: not in the repository. The record of a full run stands in the paper's own folder."""
_SHOWN = {True: "holds", False: "FAILS", None: "?    "}
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


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


def add_options(parser: argparse.ArgumentParser) -> None:
    """``--quick`` or ``--record``; neither is taken for granted, as a record is committed."""
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="small sizes: about a minute a paper, to build/experiments")
    sizes.add_argument(
        "--record",
        action="store_true",
        help="full sizes, six minutes to half an hour a paper, over the record in experiments/<paper>/results",
    )


def run(paper: Paper, arguments: Sequence[str] | None = None) -> int:
    """Always 0 when it was measured: a claim that does not hold is reported as such. 2 when it could not be."""
    parser = argparse.ArgumentParser(prog=f"python -m experiments.{paper.name}.run", description=paper.title)
    add_options(parser)
    parser.add_argument("--results", type=_read_folder, help="folder for the results; without --quick in full sizes")
    given = parser.parse_args(arguments)
    if not (given.quick or given.record or given.results):
        parser.error("say --quick, --record (which replaces the committed record) or --results FOLDER (full sizes)")
    return run_papers([paper], given.quick, given.results)


def run_papers(papers: Sequence[Paper], quick: bool, folder: Path | None = None) -> int:
    """`folder`: of the results, of one paper; else each has its own. What cannot be run does not keep the next from
    it."""
    machine = _find_machine()  # what runs is what was there when it began
    warm()  # or the first turn would hold the loading of the engine's kernels
    failed = 0
    for paper in papers:
        own = QUICK_RESULTS / paper.name if quick else paper.folder / "results"
        try:
            run_paper(paper, quick, folder or own, machine)
        except CannotRun as error:
            print(f"{paper.name}: {error}", file=sys.stderr)
            failed = 2
        except OSError as error:
            print(f"{paper.name}: {error}; the results in {folder or own} are what they were", file=sys.stderr)
            failed = 2
    return failed


def _read_folder(text: str) -> Path:
    if not text.strip():
        raise argparse.ArgumentTypeError("the name of a folder is empty")
    return Path(text)


def _find_machine() -> Machine:
    return describe_machine(ROOT, ("src", "benchmarks", "experiments"))


def run_paper(paper: Paper, quick: bool, folder: Path, machine: Machine | None = None) -> Record:
    """Raises `CannotRun` where ``expected.json``, the folder or a figure's name cannot be used: before anything is
    measured where that can be known. What was measured before an error stays as `UNFINISHED` beside the earlier
    record, which stays as it is."""
    start = time.perf_counter()
    try:
        claims = read_claims(paper.folder / "expected.json")
    except ValueError as error:
        raise CannotRun(str(error)) from error
    day = datetime.now(UTC).date().isoformat()
    record = Record(paper.title, day, machine or _find_machine(), quick, 0.0, (), ())
    with open_results(folder) as results:
        for figure in paper.measure(quick):
            _check_name(figure.name, record.figures)
            record = replace(record, figures=(*record.figures, figure), seconds=time.perf_counter() - start)
            results.keep_unfinished(to_json(record))
            _tell(paper, record.seconds, f"figure {figure.name}")
        if not record.figures:
            raise CannotRun(f"{paper.name}: nothing was measured: its measure() yields no figure")
        record = replace(record, verdicts=judge(claims, record.figures, quick))
        _print_verdicts(record.verdicts)
        results.write("figures.md", to_markdown(record))
        results.write("figures.json", to_json(record))
        if absent := find_plotting():
            print(f"no plots, and those of an earlier run are removed: {absent}", file=sys.stderr)
        else:
            write_plots(results.writing, record, paper.layout)
        written = results.publish()
    skipped = sum(claim.full_only for claim in claims) if quick else 0
    print(f"{_sum_up(record.verdicts, skipped)}; written to {folder} ({len(written)} files)")
    return record


def _check_name(name: str, before: Sequence[Figure]) -> None:
    """A figure's name is part of a file's."""
    if not _SAFE_NAME.fullmatch(name):
        expected = "letters, digits, '.', '_' and '-', first a letter or a digit"
        raise CannotRun(f"figure {name!r}: the name is part of a file's: {expected}")
    if name.lower() in {figure.name.lower() for figure in before}:
        raise CannotRun(f"figure {name!r} is measured twice: a name is one figure's")


def _tell(paper: Paper, seconds: float, what: str) -> None:
    print(f"{seconds:6.0f} s  {paper.name}: {what}", file=sys.stderr, flush=True)


def _print_verdicts(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        print(f"{_SHOWN[verdict.held]}  {verdict.claim.name}: {verdict.claim.says}: {verdict.seen}", flush=True)


def _sum_up(verdicts: Sequence[Verdict], skipped: int) -> str:
    held = [verdict.held for verdict in verdicts]
    unchecked = f"; {held.count(None)} could not be checked" if None in held else ""
    later = f"; {skipped} more in a full run only" if skipped else ""
    return f"{len(held) - held.count(None)} judged, {held.count(True)} hold, {held.count(False)} fail{unchecked}{later}"
