"""``python -m experiments``: every paper's experiments in turn; ``--quick`` in small sizes."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from experiments.run import QUICK_RESULTS, Paper, run_paper

PAPERS: tuple[str, ...] = ("gtopss", "rss_cluster", "rtf")
"""Folders with a ``run.py`` that has a `PAPER`."""


def find_paper(name: str) -> Paper:
    paper: Paper = import_module(f"experiments.{name}.run").PAPER
    return paper


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, about a minute a paper")
    parser.add_argument("--only", action="append", choices=PAPERS, help="a paper; may be repeated")
    given = parser.parse_args()
    for name in given.only or PAPERS:
        paper = find_paper(name)
        run_paper(paper, given.quick, QUICK_RESULTS / name if given.quick else paper.folder / "results")
    return 0


if __name__ == "__main__":
    sys.exit(main())
