"""Figures as a table for people and as JSON for whoever compares runs."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from benchmarks.figures import Figure, Target
from benchmarks.machine import Machine

FORMAT = 1


def to_markdown(figures: Sequence[Figure], machine: Machine, day: str, load: str) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions.items())
    place = f"{machine.processor}, {machine.cores} cores, {machine.memory_gib} GiB; {machine.system}; {versions}"
    head = [
        f"# Benchmarks of {day}",
        "",
        f"Commit {machine.commit}; {place}. {load}",
        "Median of the runs; the spread is that of the single runs. One core unless said.",
        "",
        "| scenario | workload | subscriptions | figure | spread | target | counted work |",
        "|---|---|---:|---:|---|---|---|",
    ]
    return "\n".join([*head, *(_row(figure) for figure in figures), ""])


def _row(figure: Figure) -> str:
    cells = (
        figure.scenario,
        figure.workload,
        f"{figure.subscriptions:,}",
        f"{show(figure.value)} {figure.unit}",
        "" if figure.low is None or figure.high is None else f"{show(figure.low)} to {show(figure.high)}",
        _judge(figure.value, figure.target),
        ", ".join(f"{name} {show(value)}" for name, value in figure.work.items()),
    )
    return f"| {' | '.join(cells)} |"


def _judge(value: float, target: Target | None) -> str:
    if target is None:
        return ""
    bound = f"{'≥' if target.at_least else '≤'} {show(target.bound)}"
    if target.is_met(value):
        return f"{bound}: met"
    return f"{bound}: missed by {abs(value - target.bound) / target.bound:.0%}"


def show(value: float) -> str:
    """Three significant digits or whole numbers."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def to_json(figures: Sequence[Figure], machine: Machine, day: str, load: str) -> str:
    content = {
        "format": FORMAT,
        "day": day,
        "load": load,
        "machine": asdict(machine),
        "figures": [asdict(figure) for figure in figures],
    }
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def write_results(
    folder: Path, figures: Sequence[Figure], machine: Machine, day: str, load: str, kind: str = ""
) -> tuple[Path, Path]:
    """Writes ``<day>-<commit><kind>.md`` and ``.json``; a later run of the same day and commit replaces them."""
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{day}-{machine.commit.replace('+', '-changed')}{kind}"
    table, content = folder / f"{stem}.md", folder / f"{stem}.json"
    table.write_text(to_markdown(figures, machine, day, load), encoding="utf-8")
    content.write_text(to_json(figures, machine, day, load), encoding="utf-8")
    return table, content
