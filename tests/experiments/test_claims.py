"""Claims are held against figures; what fails or cannot be checked is a verdict, not an error."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.claims import Claim, judge, read_claims
from experiments.figures import Figure, Line, Point

SIZES = (10.0, 20.0, 40.0)


def make_line(name: str, *values: float) -> Line:
    return Line(
        name, tuple(Point(x, y, work={"joins": 2 * y, "checks": 1}) for x, y in zip(SIZES, values, strict=True))
    )


FIGURE = Figure(
    "9b",
    "time",
    "subscriptions",
    "ms",
    (make_line("slow", 30, 60, 120), make_line("flat", 2, 2, 3), make_line("u", 9, 1, 9)),
)


def seen(**check: Any) -> tuple[bool, str]:
    (verdict,) = judge([Claim("c", "9b", "says", check)], [FIGURE], quick=False)
    return verdict.held, verdict.seen


@pytest.mark.parametrize(
    ("check", "held", "told"),
    [
        ({"kind": "linear", "line": "slow", "of": "value", "r2": 0.99}, True, "r² 1.000"),
        ({"kind": "linear", "line": "u", "of": "value", "r2": 0.99}, False, "r² 0.036"),
        ({"kind": "linear", "line": "slow", "of": "value", "r2": 0.99, "rises": False}, False, "r² 1.000"),
        ({"kind": "growth", "line": "slow", "of": "value", "between": [0.9, 1.1]}, True, "exponent 1.00"),
        ({"kind": "growth", "line": "flat", "of": "value", "between": [-0.2, 0.2]}, False, "exponent 0.29"),
        (
            {"kind": "factor", "line": "slow", "of": "joins", "from": 10, "to": 20, "between": [1.9, 2.1]},
            True,
            "2 times from 10 to 20",
        ),
        ({"kind": "ratio", "over": "slow", "under": "flat", "of": "value", "at_least": 40}, True, "40 times at 40"),
        (
            {"kind": "ratio", "over": "slow", "under": "flat", "of": "value", "at_least": 40, "at": "all"},
            False,
            "15 times at 10",
        ),
        ({"kind": "ratio", "over": "slow", "under": "flat", "of": "work", "at_least": 34}, True, "34 times at 40"),
        ({"kind": "value", "line": "flat", "of": "checks", "at": 10, "between": [1, 1]}, True, "1"),
    ],
)
def test_checks(check: dict[str, Any], held: bool, told: str) -> None:
    assert seen(**check) == (held, told)


def test_what_cannot_be_checked_fails_with_the_reason() -> None:
    held, told = seen(kind="value", line="flat", of="value", at=15, between=[0, 9])
    assert not held
    assert "no point at 15" in told
    held, told = seen(kind="growth", line="absent", of="value", between=[0, 9])
    assert not held
    assert "no line 'absent'" in told


def test_full_runs_are_held_to_more_and_other_figures_to_nothing() -> None:
    check = {"kind": "linear", "line": "slow", "of": "value", "r2": 0.9}
    claims = [Claim("a", "9b", "", check), Claim("b", "9b", "", check, full_only=True), Claim("c", "9c", "", check)]
    assert [verdict.claim.name for verdict in judge(claims, [FIGURE], quick=True)] == ["a"]
    assert [verdict.claim.name for verdict in judge(claims, [FIGURE], quick=False)] == ["a", "b"]


def test_an_unknown_check_and_a_repeated_name_are_told(tmp_path: Path) -> None:
    path = tmp_path / "expected.json"
    claim = {"name": "a", "figure": "1", "says": "", "check": {"kind": "guess"}}
    path.write_text(json.dumps({"claims": [claim]}))
    with pytest.raises(ValueError, match="claim a: no check 'guess'"):
        read_claims(path)
    claim["check"] = {"kind": "linear"}
    path.write_text(json.dumps({"claims": [claim, claim]}))
    with pytest.raises(ValueError, match="name occurs twice"):
        read_claims(path)
