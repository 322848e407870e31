"""The kernels' comparisons against `terms.compare`, for every pair of a long list of terms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.unit.match.match_samples import LITERALS, publication
from triplecast.compile.comparisons import _lane
from triplecast.compile.constants import place_of
from triplecast.kernels import njit
from triplecast.kernels.conditions import holds, narrow_range, see
from triplecast.kernels.layout import F64, I32
from triplecast.match.views import scan_views
from triplecast.model.algebra import from_ntriples
from triplecast.model.comparison_codes import Comparison, Lane
from triplecast.terms.compare import ValueFault, compare

OPERATORS = {
    "=": Comparison.EQUAL,
    "!=": Comparison.UNEQUAL,
    "<": Comparison.LESS,
    "<=": Comparison.AT_MOST,
    ">": Comparison.GREATER,
    ">=": Comparison.AT_LEAST,
}
_EDGES = ("0", "0.1", "16777217", "16777216", "-3", "100000000000000000", "0.30000000000000004")
NUMBERS = (
    *(f'"{number}"^^xsd:{kind}' for number in _EDGES for kind in ("decimal", "float", "double")),
    *('"-INF"^^xsd:double', '"NaN"^^xsd:float', '"1e400"^^xsd:double', "100000000000000001", "99999999999999999"),
)
TIMES = tuple(
    f'"{time}"^^xsd:{kind}'
    for kind, times in {
        "dateTime": ("1970-01-01T00:00:00", "1970-01-01T14:00:00", "1969-12-31T10:00:00.0001", "-0001-01-01T00:00:00"),
        "date": ("1970-01-01", "1970-01-02", "1969-12-31"),
        "time": ("00:00:00", "14:00:00", "23:59:59.99999"),
        "gYear": ("1970", "1971", "-0001"),
        "gYearMonth": ("1970-01", "1970-02"),
    }.items()
    for base in times
    for time in (base, f"{base}Z", f"{base}+14:00", f"{base}-14:00")
)


@njit
def _holds(values: F64, identity: I32, extras: F64, term: int, operator: int, lane: int, constant: float) -> bool:
    return holds(values, identity, extras, term, operator, lane, constant)


@njit
def _range(
    values: F64, identity: I32, extras: F64, term: int, operator: int, lane: int, constants: F64
) -> tuple[int, int]:
    how, number, strict = see(values, identity, extras, term, operator, lane)
    return narrow_range(how, number, strict, operator, constants, 0, len(constants), 0.0)


def _scanned(literals: tuple[str, ...]) -> tuple[list[str], F64]:
    views = scan_views([publication(" ".join(f"e:s e:p {literal} ." for literal in literals) + " e:s e:p _:b , e:o .")])
    terms = [
        views.terms.text[start : start + length].tobytes().decode()
        for start, length in zip(views.terms.start.tolist(), views.terms.length.tolist(), strict=True)
    ]
    return terms, views.values


@pytest.mark.parametrize("family", [NUMBERS, TIMES, LITERALS], ids=["numbers", "times", "all"])
def test_comparisons_agree_with_the_library(family: tuple[str, ...]) -> None:
    terms, values = _scanned(family)
    identity = np.arange(len(terms), dtype=np.int32)
    extras = np.full((len(terms), 2), np.nan)
    by_code_point = sorted(i for i, term in enumerate(terms) if term.startswith('"') and term.endswith('"'))
    by_code_point.sort(key=lambda i: from_ntriples(terms[i]).value)
    extras[by_code_point, 0] = 2.0 * np.arange(len(by_code_point)) + 1.0
    checked = 0
    for (term, constant), (sign, operator) in itertools.product(
        itertools.product(range(len(terms)), repeat=2), OPERATORS.items()
    ):
        if terms[constant].startswith("_:"):
            continue
        kind, number = place_of(terms[constant])
        lane = _lane(sign, kind)
        if lane is None:
            continue
        if lane <= Lane.STRING:
            number = float(constant)
        elif lane == Lane.STRING_ORDER:
            number = extras[constant, 0]
        elif lane in (Lane.NEVER, Lane.UNLIKE):
            number = 0.0
        try:
            wanted = compare(sign, from_ntriples(terms[term]), from_ntriples(terms[constant]))
        except ValueFault:
            wanted = False
        found = _holds(values, identity, extras, term, int(operator), int(lane), number)
        assert found == wanted, f"{terms[term]} {sign} {terms[constant]}"
        checked += 1
    assert checked > 1000


@pytest.mark.parametrize("lane", [Lane.EXACT, Lane.DOUBLE, Lane.FLOAT, Lane.DATETIME, Lane.DATETIME_LOCAL])
def test_ranges_are_what_holds(lane: Lane) -> None:
    terms, values = _scanned(NUMBERS + TIMES)
    identity = np.full(len(terms), -1, np.int32)
    extras = np.zeros((0, 2))
    seen = np.unique(values[np.isfinite(values[:, 1]), 1])
    constants = np.unique(np.concatenate([seen, seen + 1.0, seen - 5.04e7, seen + 5.04e7]))
    constants = constants.astype(np.float32).astype(np.float64) if lane == Lane.FLOAT else constants
    constants.sort()
    for term, operator in itertools.product(range(len(terms)), OPERATORS.values()):
        if operator == Comparison.UNEQUAL:
            continue
        start, end = _range(values, identity, extras, term, int(operator), int(lane), constants)
        wanted = [
            i
            for i, constant in enumerate(constants.tolist())
            if _holds(values, identity, extras, term, int(operator), int(lane), constant)
        ]
        assert list(range(start, end)) == wanted, f"{terms[term]} {operator.name} {lane.name}"
