"""Claims are held against figures; what fails or cannot be checked is a verdict, not an error."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from experiments import claims as judging
from experiments.claims import Claim, judge, read_claims
from experiments.expected import KINDS
from experiments.figures import Figure, Line, Point

SIZES = (10.0, 20.0, 40.0, 80.0, 160.0)


def make_line(name: str, *values: float) -> Line:
    return Line(
        name, tuple(Point(x, y, work={"joins": 2 * y, "checks": 1}) for x, y in zip(SIZES, values, strict=False))
    )


def make_prefix(name: str, *each: float) -> Line:
    """Publications of which the later ones are dear."""
    return Line(name, (Point(10.0, sum(each) / len(each), work={"joins": 1}, each=each, steps_each=each),))


FIGURE = Figure(
    "9b",
    "time",
    "subscriptions",
    "ms",
    (
        make_line("slow", 30, 60, 120, 240, 480),
        make_line("flat", 2, 2, 3, 3, 3),
        make_line("u", 9, 1, 9, 4, 9),
        make_line("offset", 1010, 1020, 1040, 1080, 1160),
        make_line("square", 1001, 1004, 1016, 1064, 1256),
        make_line("short", 1, 2, 3, 4),
        make_prefix("few", 8, 8),
        make_prefix("many", 2, 2, 50, 50),
    ),
)


def seen(**check: Any) -> tuple[bool | None, str]:
    (verdict,) = judge([Claim("c", "9b", "says", check)], [FIGURE], quick=False)
    return verdict.held, verdict.seen


def growth(line: str, *between: float, kind: str = "growth") -> dict[str, Any]:
    return {"kind": kind, "line": line, "of": "value"} | ({"between": between} if between else {})


def ratio(over: str, under: str, of: str = "value", **asked: Any) -> dict[str, Any]:
    return {"kind": "ratio", "over": over, "under": under, "of": of, **asked}


@pytest.mark.parametrize(
    ("check", "held", "told"),
    [
        (growth("slow", 0.9, 1.1), True, "exponent 1.00"),
        (growth("flat", -0.1, 0.1), False, "exponent 0.18"),
        (growth("offset", 0.85, 1.15), False, "exponent 0.05"),
        (growth("offset", kind="linear"), True, "rises with exponent 1.00"),
        (growth("square", kind="linear"), False, "rises with exponent 1.64"),
        (growth("u", kind="linear"), False, "no rise"),
        (growth("slow", kind="rises"), True, "at least 2 times the point before, at 20"),
        (growth("flat", kind="rises") | {"by": 1.01}, False, "at least 1.00 times the point before, at 20"),
        (growth("flat", kind="steady") | {"at_most": 1.5}, True, "1.50 times from the least to the greatest"),
        (growth("u", kind="steady") | {"at_most": 8.9}, False, "9 times from the least to the greatest"),
        (growth("slow", 30, 240, kind="adds"), True, "30 to 240"),
        (growth("slow", 31, None, kind="adds"), False, "30 to 240"),
        (growth("slow", None, 239, kind="adds"), False, "30 to 240"),
        (
            {"kind": "factor", "line": "slow", "of": "joins", "from": 10, "to": 20, "between": [1.9, 2.1]},
            True,
            "2 times from 10 to 20",
        ),
        (
            {"kind": "share", "line": "slow", "part": "joins", "of": "work", "from": 10, "to": 20, "at_least": 1.1},
            False,
            "100% of the steps added from 10 to 20",
        ),
        (ratio("slow", "flat", at_least=160), True, "160 times at 160"),
        (ratio("slow", "flat", at_least=40, at_most=150), False, "160 times at 160"),
        (ratio("slow", "flat", at_least=40, at="all"), False, "15 times at 10, 160 times at 160"),
        (ratio("slow", "flat", at_least=15, at=10), True, "15 times at 10"),
        (ratio("slow", "flat", "work", at_least=137), True, "137 times at 160"),
        (ratio("few", "many", at_least=4, at_most=4), True, "4 times at 10"),
        (ratio("few", "many", "work", at_least=4, at_most=4), True, "4 times at 10"),
        (ratio("slow", "flat", at_least=10.6) | {"kind": "widens"}, True, "15 times, at last 160 times"),
        (ratio("slow", "flat", at_least=10.7) | {"kind": "widens"}, False, "15 times, at last 160 times"),
        (growth("flat", 2, 3, kind="value") | {"at": "all"}, True, "2 to 3"),
        (growth("flat", 2.1, None, kind="value") | {"at": "all"}, False, "2 to 3"),
        ({"kind": "value", "line": "flat", "of": "checks", "at": 10, "between": [1, 1]}, True, "1.00"),
        (
            {
                "kind": "either",
                "checks": [ratio("slow", "flat", "work", at_least=200), ratio("slow", "flat", at_least=150)],
            },
            True,
            "137 times at 160 (steps), 160 times at 160 (time)",
        ),
        (
            {
                "kind": "both",
                "checks": [ratio("slow", "flat", "joins", at_least=200, told="them"), ratio("slow", "u", at_least=1)],
            },
            False,
            "160 times at 160 (them), 53 times at 160 (time)",
        ),
    ],
)
def test_checks(check: dict[str, Any], held: bool, told: str) -> None:
    assert seen(**check) == (held, told)


def test_what_cannot_be_checked_fails_with_the_reason() -> None:
    held, told = seen(kind="value", line="flat", of="value", at=15, between=[0, 9])
    assert held is None
    assert "no point at 15" in told
    held, told = seen(kind="growth", line="absent", of="value", between=[0, 9])
    assert held is None
    assert "no line 'absent'" in told
    assert seen(**growth("short", 0, 9)) == (
        None,
        "cannot be checked: line 'short' has 4 points, growth is told from 5",
    )


def test_full_runs_are_held_to_more_and_figures_that_nobody_measured_are_told() -> None:
    check = growth("slow", kind="linear")
    claims = [Claim("a", "9b", "", check), Claim("b", "9b", "", check, full_only=True), Claim("c", "9c", "", check)]
    assert [verdict.claim.name for verdict in judge(claims, [FIGURE], quick=True)] == ["a", "c"]
    assert [verdict.claim.name for verdict in judge(claims, [FIGURE], quick=False)] == ["a", "b", "c"]
    absent = judge(claims, [FIGURE], quick=True)[1]
    assert (absent.held, absent.seen) == (None, "not measured: no figure 9c")


def test_values_that_are_no_numbers_and_lines_without_points_decide_nothing() -> None:
    empty = Figure("9b", "", "x", "ms", (Line("slow", ()), Line("nan", (Point(1, math.nan), Point(2, 1)))))
    for check in (ratio("nan", "nan", at="all", at_least=0), ratio("slow", "nan", at_least=0), growth("slow", 0, 9)):
        (verdict,) = judge([Claim("c", "9b", "says", check)], [empty], quick=False)
        assert verdict.held is None
        assert verdict.seen.startswith("cannot be checked: ")


def write_expected(path: Path, **claim: Any) -> Path:
    path.write_text(json.dumps({"claims": [{"name": "a", "figure": "1", "says": "grows", **claim}]}))
    return path


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ({"kind": "guess"}, "claim a: no check 'guess', but \\['growth'"),
        ({"kind": ["ratio"]}, "claim a: no check \\['ratio'\\]"),
        (growth("slow", 0, 9) | {"between": [0]}, "check 'growth': 'between' is \\[0\\], expected \\[least, most\\]"),
        (growth("slow", 9, 0), "expected \\[least, most\\]"),
        (ratio("a", "b", at_least="high"), "check 'ratio': 'at_least' is 'high', expected a number"),
        (ratio("a", "b", at_least=True), "'at_least' is True, expected a number"),
        (ratio("a", "b", at_least=1, att="all"), "check 'ratio': no option 'att', but"),
        (ratio("a", "b", at_least=1, at="al"), """'at' is 'al', expected "last", "all" or an x"""),
        (ratio("a", "b"), "'at_least' or 'at_most' is missing"),
        ({"kind": "rises", "line": "slow"}, "check 'rises': 'of' is missing"),
        ({"kind": "either", "checks": []}, "'checks' is \\[\\], expected a list of checks"),
        ({"kind": "either", "checks": [{"kind": "guess"}]}, "check 'either', number 1: no check 'guess'"),
        ("ratio", "'check' is 'ratio', expected an object"),
    ],
)
def test_a_slip_of_the_pen_in_a_check_is_told(tmp_path: Path, check: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        read_claims(write_expected(tmp_path / "expected.json", check=check))


def test_a_slip_of_the_pen_in_a_claim_is_told(tmp_path: Path) -> None:
    path, check = tmp_path / "expected.json", growth("slow", 0, 9)
    assert len(read_claims(write_expected(path, check=check))) == 1
    with pytest.raises(ValueError, match="claim a: no option 'fullonly'"):
        read_claims(write_expected(path, check=check, fullonly=True))
    with pytest.raises(ValueError, match="claim a: 'full_only' is 1, expected true or false"):
        read_claims(write_expected(path, check=check, full_only=1))
    with pytest.raises(ValueError, match="claim number 1: 'name' is '', expected a name"):
        read_claims(write_expected(path, check=check, name=""))
    claims = json.loads(path.read_text())["claims"]
    for text, told in (
        (json.dumps({"claims": [claims[0] | {"name": "b"}] * 2}), "claim b: the name occurs twice"),
        (json.dumps(claims), "each claim an object"),
        ('{"claims": [NaN]}', "NaN is no number"),
        ("{", "cannot be read as JSON"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=told):
            read_claims(path)


def test_each_kind_of_check_has_its_options() -> None:
    assert set(KINDS) == set(judging._CHECKS)


def test_what_not_every_turn_bears_out_cannot_be_judged() -> None:
    def line(name: str, *turns: float) -> Line:
        middle = sorted(turns)[len(turns) // 2]
        return Line(name, (Point(10.0, middle, turns=tuple((turn,) for turn in turns), each=(middle,)),))

    figure = Figure("9b", "", "x", "ms", (line("a", 4, 6, 5), line("b", 3, 3, 5.5), line("once", 5)))
    said = [
        judge([Claim("c", "9b", "says", ratio("a", under, at_least=least))], [figure], quick=False)[0]
        for under, least in (("b", 1.0), ("b", 0.9), ("b", 3.0), ("once", 1.0))
    ]
    assert [(verdict.held, verdict.noisy, verdict.word) for verdict in said] == [
        (None, True, "cannot be judged"),
        (True, False, "yes"),
        (False, False, "**no**"),
        (None, True, "cannot be judged"),
    ]
    assert said[0].seen == "1.67 times at 10; so in 2 of 3 turns"
