"""``python -m experiments``: every paper's experiments in turn, in small sizes or for the record."""

from __future__ import annotations

import argparse
import sys
from importlib import import_module

from experiments.run import Paper, add_options, run_papers

PAPERS: tuple[str, ...] = ("gtopss", "rss_cluster", "rss_partition", "rtf", "operators", "mdv")
"""Folders with a ``run.py`` that has a `PAPER`."""


def find_paper(name: str) -> Paper:
    paper: Paper = import_module(f"experiments.{name}.run").PAPER
    return paper


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    add_options(parser)
    parser.add_argument("--only", action="append", choices=PAPERS, help="a paper; may be repeated")
    given = parser.parse_args()
    if not (given.quick or given.record):
        parser.error("say --quick or --record (which replaces the committed records)")
    return run_papers([find_paper(name) for name in given.only or PAPERS], given.quick)


if __name__ == "__main__":
    sys.exit(main())
