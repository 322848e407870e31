"""What a paper claims, as ``expected.json`` states it, held against the figures of a run.

A claim that does not hold is reported; nothing is raised for it. Each has a check of one kind:

| check | holds when |
|---|---|
| ``linear`` | a straight line explains at least ``r2`` of the points |
| ``growth`` | the exponent of growth, from the first point to the last, lies within ``between`` |
| ``factor`` | the point at ``to`` over that at ``from`` lies within ``between`` |
| ``ratio`` | line ``over`` over line ``under`` is at least ``at_least``, at the last point or at ``all`` |
| ``value`` | the point at ``at`` lies within ``between`` |

``of`` says of what: ``value`` (the figure's unit), ``work`` (all counted steps) or one kind of work.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.figures import Figure, Line, Point


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    """E.g. ``G-9b``; `docs/papers.md` and the paper's README have it under this name."""
    figure: str
    says: str
    """What the paper states or the issue expects, in few words."""
    check: Mapping[str, Any]
    full_only: bool = False
    """True of what small sizes cannot show."""


@dataclass(frozen=True, slots=True)
class Verdict:
    claim: Claim
    held: bool
    seen: str


def read_claims(path: Path) -> list[Claim]:
    """Raises ValueError where a claim has a check that does not exist, or a name twice."""
    claims = [Claim(**entry) for entry in json.loads(path.read_text("utf-8"))["claims"]]
    for claim in claims:
        if claim.check.get("kind") not in _CHECKS:
            raise ValueError(f"{path}: claim {claim.name}: no check {claim.check.get('kind')!r}, but {[*_CHECKS]}")
    names = [claim.name for claim in claims]
    if len(set(names)) < len(names):
        raise ValueError(f"{path}: a claim's name occurs twice among {names}")
    return claims


def judge(claims: Sequence[Claim], figures: Sequence[Figure], quick: bool) -> list[Verdict]:
    """Of each claim about one of the figures; those for full runs only where `quick` is false."""
    known = {figure.name: figure for figure in figures}
    return [
        _judge_one(claim, known[claim.figure])
        for claim in claims
        if claim.figure in known and not (quick and claim.full_only)
    ]


def _judge_one(claim: Claim, figure: Figure) -> Verdict:
    try:
        held, seen = _CHECKS[claim.check["kind"]](figure, claim.check)
    except (KeyError, ZeroDivisionError, ValueError) as error:
        return Verdict(claim, False, f"cannot be checked: {error}")
    return Verdict(claim, held, seen)


def _measure(point: Point, of: str) -> float:
    if of == "value":
        return point.value
    return point.steps if of == "work" else point.work[of]


def _points(figure: Figure, name: str, of: str) -> list[tuple[float, float]]:
    line: Line = figure.line(name)
    return [(point.x, _measure(point, of)) for point in line.points]


def _within(value: float, between: Sequence[float]) -> bool:
    return between[0] <= value <= between[1]


def _check_linear(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    points = _points(figure, check["line"], check["of"])
    explained = fit_line(points)
    rises = points[-1][1] > points[0][1]
    return (explained >= check["r2"] and rises == check.get("rises", True)), f"r² {explained:.3f}"


def fit_line(points: Sequence[tuple[float, float]]) -> float:
    """r² of the straight line of least squares; 1 for points that are level."""
    count = len(points)
    middle = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - middle[0]) ** 2 for x, _ in points), sum((y - middle[1]) ** 2 for _, y in points)
    if not spread[1]:
        return 1.0
    return sum((x - middle[0]) * (y - middle[1]) for x, y in points) ** 2 / (spread[0] * spread[1])


def _check_growth(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    points = _points(figure, check["line"], check["of"])
    (first, low), (last, high) = points[0], points[-1]
    exponent = math.log(high / low) / math.log(last / first)
    return _within(exponent, check["between"]), f"exponent {exponent:.2f}"


def _check_factor(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    line = figure.line(check["line"])
    factor = _measure(line.at(check["to"]), check["of"]) / _measure(line.at(check["from"]), check["of"])
    return _within(factor, check["between"]), f"{show_times(factor)} from {check['from']} to {check['to']}"


def _check_ratio(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    over, under = figure.line(check["over"]), figure.line(check["under"])
    of = check["of"]
    shared = [point.x for point in over.points if point.x in {other.x for other in under.points}]
    ratios = [(_measure(over.at(x), of) / _measure(under.at(x), of), x) for x in shared]
    asked = ratios if check.get("at") == "all" else ratios[-1:]
    least, x = min(asked)
    return least >= check["at_least"], f"{show_times(least)} at {x:,g}"


def _check_value(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    value = _measure(figure.line(check["line"]).at(check["at"]), check["of"])
    return _within(value, check["between"]), f"{value:,.3g}"


def show_times(ratio: float) -> str:
    return f"{ratio:,.0f} times" if ratio >= 20 else f"{ratio:.2g} times"


_CHECKS: Mapping[str, Callable[[Figure, Mapping[str, Any]], tuple[bool, str]]] = {
    "linear": _check_linear,
    "growth": _check_growth,
    "factor": _check_factor,
    "ratio": _check_ratio,
    "value": _check_value,
}
