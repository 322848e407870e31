"""What a paper claims, as ``expected.json`` states it, held against the figures of a run.

A claim that does not hold is reported; nothing is raised for it. Each has a check of one kind:

| check | holds when |
|---|---|
| ``growth`` | the exponent of growth, that of the best straight line through logarithms, lies within ``between`` |
| ``linear`` | that of what is added beyond the first point does (0.85 to 1.15 unless said): a constant part is none |
| ``rises`` | each point is at least ``by`` times the one before (1 unless said) |
| ``steady`` | the greatest point is at most ``at_most`` times the least |
| ``adds`` | what each point adds to the one before lies within ``between`` |
| ``factor`` | the point at ``to`` over that at ``from`` lies within ``between`` |
| ``share`` | of what is added from ``from`` to ``to``, ``part`` (a kind of work) is at least ``at_least`` |
| ``ratio`` | line ``over`` over line ``under`` is at least ``at_least``, at most ``at_most``: at the last point, at |
| | that which ``at`` names, or at ``all`` |
| ``widens`` | that ratio is at the last point at least ``at_least`` times what it is at the first |
| ``value`` | the point at ``at``, or each ``at`` ``all``, lies within ``between`` |
| ``either``, ``both`` | one of ``checks`` holds, all do |

``of`` says of what: ``value`` (the figure's unit), ``work`` (all counted steps) or one kind of work. An end of
``between`` that is null is open. Growth is told from at least `POINTS` points. A ratio of lines of which one was
measured on fewer publications is of those that both were.

Where a figure's values were repeated, the check is asked of their medians and of each turn by itself: a claim holds, or
does not, where all say so, and else cannot be judged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from experiments.expected import read_expected
from experiments.figures import Figure, Line, Point


@dataclass(frozen=True, slots=True)
class Claim:
    name: str
    """E.g. ``G-9b``; The paper's README has it under this name."""
    figure: str
    says: str
    """What the paper states or the issue expects, in few words."""
    check: Mapping[str, Any]
    full_only: bool = False
    """True of what small sizes cannot show."""
    ours: bool = False
    """No paper says it: what the issue expects of the engine, or what we ask beside the paper."""
    discounted: str = ""
    """Why it counts neither among what holds nor among what does not, e.g. ``a coincidence``."""


@dataclass(frozen=True, slots=True)
class Verdict:
    claim: Claim
    held: bool | None
    """None: the figures do not have what it is about, or not all turns agree."""
    seen: str
    noisy: bool = False
    """Whether it holds in some turns and not in others."""

    @property
    def word(self) -> str:
        unknown = "cannot be judged" if self.noisy else "not checked"
        seen = unknown if self.held is None else "yes" if self.held else "**no**"
        return f"{seen}; not counted: {self.claim.discounted}" if self.claim.discounted else seen


POINTS = 5
LINEAR = (0.85, 1.15)


def read_claims(path: Path) -> list[Claim]:
    """Raises ValueError where it is not what `experiments.expected` says that it can be."""
    return [Claim(**entry) for entry in read_expected(path)]


def judge(claims: Sequence[Claim], figures: Sequence[Figure], quick: bool) -> list[Verdict]:
    """Of each claim, in order; those for full runs only where `quick` is false."""
    known = {figure.name: figure for figure in figures}
    return [_judge_one(claim, known) for claim in claims if not (quick and claim.full_only)]


def _judge_one(claim: Claim, known: Mapping[str, Figure]) -> Verdict:
    if claim.figure not in known:
        return Verdict(claim, None, f"not measured: no figure {claim.figure}")
    check = _CHECKS[claim.check["kind"]]
    try:
        held, seen = check(known[claim.figure], claim.check)
        turns = [check(turn, claim.check)[0] for turn in known[claim.figure].turns()]
    except (LookupError, ArithmeticError, ValueError) as error:
        return Verdict(claim, None, f"cannot be checked: {error.args[0]}")
    if len({held, *turns}) == 1:
        return Verdict(claim, held, seen)
    return Verdict(claim, None, f"{seen}; so in {turns.count(True)} of {len(turns)} turns", noisy=True)


def _measure(point: Point, of: str) -> float:
    """Raises KeyError where such steps were not counted and ValueError where the value is not finite."""
    if of not in ("value", "work") and of not in point.work:
        raise KeyError(f"no steps {of!r} were counted at {point.x:g}, but {[*point.work]}")
    return _finite(point.value if of == "value" else point.steps if of == "work" else point.work[of], point.x)


def _finite(value: float, x: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} at {x:g} is no number")
    return value


def _points(figure: Figure, check: Mapping[str, Any], least: int = POINTS) -> list[tuple[float, float]]:
    """Raises ValueError where there are fewer."""
    line: Line = figure.line(check["line"])
    points = [(point.x, _measure(point, check["of"])) for point in line.points]
    if len(points) < least:
        raise ValueError(f"line {line.name!r} has {len(points)} points, growth is told from {least}")
    return points


def _within(value: float, between: Sequence[float | None]) -> bool:
    least, most = between
    return (least is None or least <= value) and (most is None or value <= most)


def find_exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the straight line of least squares through the logarithms. Raises ValueError where one is not above
    0."""
    if any(x <= 0 or y <= 0 for x, y in points):
        raise ValueError(f"growth is told of what is above 0: {points}")
    logs = [(math.log(x), math.log(y)) for x, y in points]
    middle = sum(x for x, _ in logs) / len(logs), sum(y for _, y in logs) / len(logs)
    spread = sum((x - middle[0]) ** 2 for x, _ in logs)
    return sum((x - middle[0]) * (y - middle[1]) for x, y in logs) / spread


def _check_growth(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    exponent = find_exponent(_points(figure, check))
    return _within(exponent, check["between"]), f"exponent {exponent:.2f}"


def _check_linear(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    (first, low), *later = _points(figure, check)
    if any(y <= low for _, y in later):
        return False, "no rise"
    exponent = find_exponent([(x - first, y - low) for x, y in later])
    return _within(exponent, check.get("between", LINEAR)), f"rises with exponent {exponent:.2f}"


def _check_rises(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    points = _points(figure, check, 2)
    least, x = min((after / before, x) for (_, before), (x, after) in pairwise(points))
    return least >= check.get("by", 1.0), f"at least {show_times(least)} the point before, at {x:,g}"


def _check_steady(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    values = [value for _, value in _points(figure, check, 2)]
    spread = max(values) / min(values)
    return spread <= check["at_most"], f"{show_times(spread)} from the least to the greatest"


def _check_adds(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    added = [after - before for (_, before), (_, after) in pairwise(_points(figure, check, 2))]
    return all(_within(each, check["between"]) for each in added), show_range(added)


def _check_factor(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    line = figure.line(check["line"])
    factor = _measure(line.at(check["to"]), check["of"]) / _measure(line.at(check["from"]), check["of"])
    return _within(factor, check["between"]), f"{show_times(factor)} from {check['from']:,g} to {check['to']:,g}"


def _check_share(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    line = figure.line(check["line"])
    before, after = line.at(check["from"]), line.at(check["to"])
    share = (after.work[check["part"]] - before.work[check["part"]]) / (after.steps - before.steps)
    return share >= check["at_least"], f"{share:.0%} of the steps added from {check['from']:,g} to {check['to']:,g}"


def _check_ratio(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    over, under = figure.line(check["over"]), figure.line(check["under"])
    at = check.get("at", "last")
    shared = [point.x for point in over.points if point.x in {other.x for other in under.points}]
    asked = shared if at == "all" else shared[-1:] if at == "last" else [at]
    if not asked:
        raise ValueError(f"lines {over.name!r} and {under.name!r} have no x in common")
    ratios = [(_compare(over.at(x), under.at(x), check["of"]), x) for x in asked]
    (least, x), (most, _) = min(ratios), max(ratios)
    held = check.get("at_least", 0.0) <= least and most <= check.get("at_most", math.inf)
    if at == "all" and show_times(least) != show_times(most):
        return held, f"{show_times(least)} at {x:,g}, {show_times(most)} at {max(ratios)[1]:,g}"
    return held, f"{show_times(least)} at {x:,g}"


def _check_widens(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    over, under = figure.line(check["over"]), figure.line(check["under"])
    first, last = (_compare(over.points[at], under.points[at], check["of"]) for at in (0, -1))
    return last / first >= check["at_least"], f"{show_times(first)}, at last {show_times(last)}"


def _compare(over: Point, under: Point, of: str) -> float:
    """Over the publications that both have, where each publication's are known."""
    if of in ("value", "work"):
        both = (over.each, under.each) if of == "value" else (over.steps_each, under.steps_each)
        shared = min(map(len, both))
        if shared:
            return _finite(sum(both[0][:shared]), over.x) / _finite(sum(both[1][:shared]), under.x)
    return _measure(over, of) / _measure(under, of)


def _check_value(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    line = figure.line(check["line"])
    asked = line.points if check["at"] == "all" else [line.at(check["at"])]
    values = [_measure(point, check["of"]) for point in asked]
    return all(_within(value, check["between"]) for value in values), show_range(values)


def _check_several(figure: Figure, check: Mapping[str, Any]) -> tuple[bool, str]:
    found = [_CHECKS[each["kind"]](figure, each) for each in check["checks"]]
    seen = (f"{told} ({_name_part(each)})" for (_, told), each in zip(found, check["checks"], strict=True))
    held = (any if check["kind"] == "either" else all)(held for held, _ in found)
    return held, ", ".join(seen)


def _name_part(check: Mapping[str, Any]) -> str:
    """What one of several checks is about: what is measured, or the line."""
    of = check.get("of", check["kind"])
    return str(check.get("told", {"work": "steps", "value": "time"}.get(of, of)))


def show_times(ratio: float) -> str:
    return f"{show_number(ratio)} times"


def show_range(values: Sequence[float]) -> str:
    least, most = show_number(min(values)), show_number(max(values))
    return least if least == most else f"{least} to {most}"


def show_number(value: float) -> str:
    """Two significant digits below 10, whole numbers from 10 on: 1.04 is not shown as 1, as it decides a claim."""
    if value >= 10:
        return f"{value:,.0f}"
    return f"{value:.2f}" if 0.9 <= value < 2 else f"{value:.2g}"


_CHECKS: Mapping[str, Callable[[Figure, Mapping[str, Any]], tuple[bool, str]]] = {
    "growth": _check_growth,
    "linear": _check_linear,
    "rises": _check_rises,
    "steady": _check_steady,
    "adds": _check_adds,
    "factor": _check_factor,
    "share": _check_share,
    "ratio": _check_ratio,
    "widens": _check_widens,
    "value": _check_value,
    "either": _check_several,
    "both": _check_several,
}
