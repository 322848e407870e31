"""``python -m experiments.pages``: writes the tables of claims into the papers' pages, a summary into `docs/papers.md`.

A table stands between ``<!-- claims: NAME -->`` and ``<!-- end of claims -->``. It is the committed record
(``results/figures.json``) held against ``expected.json`` as it stands now, so no figure in it is copied by hand; the
prose around it is. Run it after a record was made.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from experiments.__main__ import PAPERS, find_paper
from experiments.claims import Verdict, judge, read_claims
from experiments.record import FORMAT, read_figures, to_cell
from experiments.run import ROOT

END = "<!-- end of claims -->"


def mark_of(name: str) -> str:
    return f"<!-- claims: {name} -->"


def judge_record(folder: Path) -> list[Verdict]:
    """Every claim of a paper, in order, by its committed record; what that does not have is not checked."""
    figures = read_figures(json.loads((folder / "results" / "figures.json").read_text("utf-8")))
    return judge(read_claims(folder / "expected.json"), figures, quick=False)


def write_table(folder: Path) -> str:
    """What stands between the marks."""
    content = json.loads((folder / "results" / "figures.json").read_text("utf-8"))
    machine = content["machine"]
    verdicts = judge_record(folder)
    head = (
        f"The record: {content['day']}, commit {machine['commit']}, {machine['processor']}, "
        f"{content['seconds']:,.0f} s.\n"
        f"Of the paper's claims {_held(verdicts, ours=False)} hold; of ours "
        f"{_held(verdicts, ours=True)}."
    )
    if content["format"] < FORMAT:
        head += "\nThe record is older than its claims and its rule of timing; what it lacks is not checked."
    rows = [head, "", "| claim | whose | what is said | seen | holds |", "|---|---|---|---|---|"]
    for verdict in verdicts:
        claim = verdict.claim
        whose = "ours" if claim.ours else "paper"
        cells = (claim.name, whose, f"{claim.figure}: {claim.says}", verdict.seen, verdict.word)
        rows.append(f"| {' | '.join(map(to_cell, cells))} |")
    return "\n".join(rows)


def _held(verdicts: Sequence[Verdict], ours: bool) -> str:
    """Of those that count."""
    asked = [verdict for verdict in verdicts if verdict.claim.ours == ours and not verdict.claim.discounted]
    return f"{sum(verdict.held is True for verdict in asked)} of {len(asked)}"


def write_summary(root: Path) -> str:
    """A row for each paper."""
    rows = ["| paper | its claims that hold | our claims that hold |", "|---|---|---|"]
    for name in PAPERS:
        verdicts = judge_record(root / "experiments" / name)
        title = to_cell(find_paper(name).title)
        rows.append(f"| {title} | {_held(verdicts, ours=False)} | {_held(verdicts, ours=True)} |")
    return "\n".join(rows)


def fill(page: str, name: str, table: str) -> str:
    """The page with that table. Raises ValueError where the page has no place for it."""
    before, found, rest = page.partition(mark_of(name))
    _, ended, after = rest.partition(END)
    if not found or not ended:
        raise ValueError(f"the page has no {mark_of(name)!r} … {END!r} for the claims of {name}")
    return f"{before}{found}\n\n{table}\n\n{ended}{after}"


def make_pages(root: Path = ROOT) -> Iterator[tuple[Path, str]]:
    """Every page that has such tables, and what it should be."""
    tables = {name: write_table(root / "experiments" / name) for name in PAPERS}
    table_of_all = root / "docs" / "papers.md"
    yield table_of_all, fill(table_of_all.read_text("utf-8"), "all", write_summary(root))
    for name, table in tables.items():
        page = root / "experiments" / name / "README.md"
        yield page, fill(page.read_text("utf-8"), name, table)


def main() -> int:
    for path, text in make_pages():
        if path.read_text("utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(f"written: {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
