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
from experiments.engine import METERED
from experiments.figures import Figure, Line, Point
from experiments.measuring import TURNS

FORMAT = 3
"""2: times publication by publication; counts one for each thing touched. 3: in turns, by which noise is judged."""


RULE = (
    f"Times are processor time with Python's collector off; the lines of a point take {TURNS} turns over the "
    "publications, each publication's median counts, and a figure is their mean (the least to the most of the turns or "
    "seeds); where on fewer publications or in fewer turns, it is said. A claim holds, or does not, where each turn "
    "says so; else it cannot be judged. The engine's *in batches* is per publication of one call with all of them, of "
    f"which no two are alike. Work is per publication, of the engine over the first {METERED}. A claim's ratio is over "
    "the publications that both lines were measured on."
)


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
        "figures": [_to_plain(figure) for figure in record.figures],
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


def to_cell(text: str) -> str:
    """As it is read in a table's cell."""
    return text.replace("|", r"\|").replace("\n", " ")


def _to_plain(figure: Figure) -> dict[str, Any]:
    """Six digits; numbers by publication as one text, so that a point takes lines for its kinds of work only."""
    plain = asdict(figure)
    for line in plain["lines"]:
        for point in line["points"]:
            for name in ("each", "steps_each"):
                point[name] = _to_text(point[name])
            point["turns"] = list(map(_to_text, point["turns"]))
    return plain


def _to_text(numbers: Iterable[float]) -> str:
    return " ".join(f"{number:.6g}" for number in numbers)


def _to_numbers(text: str) -> tuple[float, ...]:
    return tuple(map(float, text.split()))


def read_figures(content: Mapping[str, Any]) -> list[Figure]:
    """The figures of a record's JSON, of format 2 too."""
    return [
        Figure(**(figure | {"lines": tuple(_read_line(line) for line in figure["lines"])}))
        for figure in content["figures"]
    ]


def _read_line(line: Mapping[str, Any]) -> Line:
    points = []
    for point in line["points"]:
        each = {name: _to_numbers(point[name]) for name in ("each", "steps_each")}
        turns = tuple(map(_to_numbers, point.get("turns", ())))
        value = math.nan if point["value"] is None else point["value"]
        kept = {name: held for name, held in point.items() if name != "rounds"}
        points.append(Point(**(kept | each | {"value": value, "turns": turns})))
    return Line(line["name"], tuple(points))


def to_markdown(record: Record) -> str:
    machine = record.machine
    versions = ", ".join(f"{name} {number}" for name, number in machine.versions.items())
    head = [
        f"# {record.title}: {'a quick run' if record.quick else 'the record'}",
        "",
        f"{record.stamp}; {machine.processor}, {machine.cores} cores, {machine.memory_gib} GiB; {machine.system}; "
        f"{versions}. {record.seconds:.0f} s.",
        RULE,
        "",
    ]
    return "\n".join([*head, *_verdict_table(record.verdicts), *(_figure_page(each) for each in record.figures)])


def _verdict_table(verdicts: Sequence[Verdict]) -> Iterable[str]:
    yield "| claim | figure | whose | expected | seen | holds |"
    yield "|---|---|---|---|---|---|"
    for verdict in verdicts:
        claim = verdict.claim
        whose = "ours" if claim.ours else "paper"
        cells = (claim.name, claim.figure, whose, claim.says, verdict.seen, verdict.word)
        yield f"| {' | '.join(map(to_cell, cells))} |"
    yield ""


def _figure_page(figure: Figure) -> str:
    rows = [f"## Figure {figure.name}: {figure.title}", ""]
    if figure.sizes:
        rows += [figure.sizes, ""]
    for name, printed in figure.printed.items():
        rows += [f"Printed of {name}: {', '.join(f'{show(value)} at {x:,g}' for x, value in printed.items())}.", ""]
    head = ("line", figure.across, figure.unit, "counted work", "of which")
    rows += [f"| {' | '.join(map(to_cell, head))} |", "|---|---:|---:|---:|---|"]
    most = max((len(point.each) for line in figure.lines for point in line.points), default=0)
    for line in figure.lines:
        rows += _line_rows(line, most)
    return "\n".join([*rows, ""])


def _line_rows(line: Line, most: int) -> Iterable[str]:
    """`most`: publications of the line that has most."""
    for point in line.points:
        spread = "" if point.spread is None else f" ({' to '.join(map(show, point.spread))})"
        value = f"{show(point.value)}{spread}{_tell_rule(point, most)}"
        kinds = ", ".join(f"{kind} {show(count)}" for kind, count in point.work.items())
        steps = show(point.steps) if point.work else ""
        yield f"| {to_cell(line.name)} | {point.x:,g} | {value} | {steps} | {kinds} |"


def _tell_rule(point: Point, most: int) -> str:
    """What was measured less than the rule asks."""
    fewer = f"{len(point.each)} of {most}" if 0 < len(point.each) < most else ""
    times = {1: "once", 2: "twice"}.get(len(point.turns), "")
    return f"; {', '.join(filter(None, (fewer, times)))}" if fewer or times else ""
