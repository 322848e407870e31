"""A run's figures and verdicts as a page for people and as JSON, stamped with date, commit and machine."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.machine import Machine
from benchmarks.report import show
from experiments.claims import Verdict
from experiments.figures import Figure, Line

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Record:
    """What one run of one paper's experiments gave."""

    title: str
    day: str
    machine: Machine
    quick: bool
    seconds: float
    figures: Sequence[Figure]
    verdicts: Sequence[Verdict]

    @property
    def stamp(self) -> str:
        return f"{self.day}, commit {self.machine.commit}{', quick' if self.quick else ''}"


def to_json(record: Record) -> str:
    content = {
        "format": FORMAT,
        "title": record.title,
        "day": record.day,
        "quick": record.quick,
        "seconds": round(record.seconds, 1),
        "machine": asdict(record.machine),
        "figures": [asdict(figure) for figure in record.figures],
        "claims": [
            {"name": verdict.claim.name, "held": verdict.held, "seen": verdict.seen} for verdict in record.verdicts
        ],
    }
    return json.dumps(_to_finite(content), indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _to_finite(content: Any) -> Any:
    """Null for what JSON has no number for."""
    if isinstance(content, Mapping):
        return {name: _to_finite(each) for name, each in content.items()}
    if isinstance(content, list | tuple):
        return [_to_finite(each) for each in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content


def _to_cell(text: str) -> str:
    """As it is read in a table's cell."""
    return text.replace("|", r"\|").replace("\n", " ")


def to_markdown(record: Record) -> str:
    machine = record.machine
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions.items())
    head = [
        f"# {record.title}: {'a quick run' if record.quick else 'the record'}",
        "",
        f"{record.stamp}; {machine.processor}, {machine.cores} cores, {machine.memory_gib} GiB; {machine.system}; "
        f"{versions}. {record.seconds:.0f} s.",
        "Times are processor time, means over the publications (fastest to slowest); work is per publication.",
        "",
    ]
    return "\n".join([*head, *_verdict_table(record.verdicts), *(_figure_page(each) for each in record.figures)])


def _verdict_table(verdicts: Sequence[Verdict]) -> Iterable[str]:
    yield "| claim | figure | expected | seen | holds |"
    yield "|---|---|---|---|---|"
    for verdict in verdicts:
        claim = verdict.claim
        cells = (claim.name, claim.figure, claim.says, verdict.seen, "yes" if verdict.held else "NO")
        yield f"| {' | '.join(map(_to_cell, cells))} |"
    yield ""


def _figure_page(figure: Figure) -> str:
    rows = [f"## Figure {figure.name}: {figure.title}", ""]
    if figure.sizes:
        rows += [figure.sizes, ""]
    rows += [f"| line | {_to_cell(figure.across)} | {_to_cell(figure.unit)} | counted work | of which |", "|---|---:|---:|---:|---|"]
    for line in figure.lines:
        rows += _line_rows(line)
    return "\n".join([*rows, ""])


def _line_rows(line: Line) -> Iterable[str]:
    for point in line.points:
        spread = "" if point.low is None or point.high is None else f" ({show(point.low)} to {show(point.high)})"
        kinds = ", ".join(f"{kind} {show(count)}" for kind, count in point.work.items())
        steps = show(point.steps) if point.work else ""
        yield f"| {_to_cell(line.name)} | {point.x:,g} | {show(point.value)}{spread} | {steps} | {kinds} |"
