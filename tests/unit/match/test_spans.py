"""Two bounds of one value: found, combined with other conditions, merged and written as the evaluator has it."""

from __future__ import annotations

import random

import numpy as np
import pytest

from tests.unit.match.match_samples import (
    expected,
    match_all,
    matcher,
    matches_of,
    publication,
    registrations,
    snapshot_of,
)
from triplecast.index import Segment, build_segment
from triplecast.index.merge import merge_segments
from triplecast.kernels.conditions import FEW, SPAN
from triplecast.kernels.layout import GROUP_BYTE, GROUP_OPERATOR
from triplecast.model.subscription import Registration

NUMBERS = ("0", "1", "1.5", "2", "2.0e0", '"2"^^xsd:float', '"0.1"^^xsd:float', "0.1", "3", "-1", '"NaN"^^xsd:double')
TIMES = tuple(
    f'"2026-11-{day:02}T{hour:02}:00:00{zone}"^^xsd:dateTime'
    for day, hour in ((1, 0), (1, 12), (2, 0), (3, 0))
    for zone in ("", "Z", "+14:00", "-14:00")
)
BOUNDS = (NUMBERS[:-1], TIMES)
"""Constants of one kind."""


def _random_span(source: random.Random, variable: str) -> str:
    constants = source.choice(BOUNDS)
    low, high = source.choice(constants), source.choice(constants)
    parts = [f"?{variable} {source.choice(['>', '>='])} {low}", f"?{variable} {source.choice(['<', '<='])} {high}"]
    source.shuffle(parts)
    if source.random() < 0.2:
        parts.append(f"?{variable} != {source.choice(NUMBERS)}")
    return " && ".join(parts)


def _random_query(source: random.Random) -> str:
    more = source.choice(["", "?x e:p e:c .", "?x e:p ?w .", "?x e:p ?y . ?y e:p e:c ."])
    condition = _random_span(source, "v")
    if "?w" in more and source.random() < 0.5:
        condition += f" && {_random_span(source, 'w')}"
    return f"SELECT * {{ ?x e:q ?v . {more} FILTER({condition}) }}"


def _random_text(source: random.Random) -> str:
    values = [f"e:a{source.randrange(2)} e:{source.choice('pq')} {source.choice(NUMBERS + TIMES)}" for _ in range(6)]
    return " . ".join([*values[: source.randrange(1, 7)], "e:a0 e:p e:c, e:a1", "e:a1 e:p e:c"])


@pytest.mark.parametrize("merged", [False, True])
def test_spans_agree_with_evaluator(merged: bool, seed: int) -> None:
    matched = spans = 0
    for number in range(seed, seed + 30):
        source = random.Random(number)
        queries = registrations(*(_random_query(source) for _ in range(source.choice([6, 60]))))
        publications = [publication(_random_text(source)) for _ in range(6)]
        segment = build_segment(queries)
        if merged:
            segment = merge_segments((segment,), np.zeros(0, np.int64))
        wanted = expected(queries, publications)
        assert matches_of(matcher().match(snapshot_of([segment]), publications)) == wanted, f"case {number}"
        matched, spans = matched + len(wanted), spans + _count_spans(segment)
    assert matched > 150
    assert spans > 150


def _count_spans(segment: Segment) -> int:
    groups = segment.tables.index.groups
    return int(((groups[:-1, 0] >> GROUP_OPERATOR) & GROUP_BYTE >= SPAN).sum())


def _windows(count: int) -> list[Registration]:
    return registrations(
        *(f"SELECT ?x {{ ?x e:q ?v FILTER(?v >= {i} && ?v < {i + 1 + i % 40}) }}" for i in range(count))
    )


@pytest.mark.parametrize("count", [FEW, FEW + 1, 100])
@pytest.mark.parametrize("value", ["-1", "0", "3", "7", "8", "8.5", "57", "139", "140"])
def test_few_and_many_spans(count: int, value: str) -> None:
    queries, publications = _windows(count), [publication(f"e:a e:q {value}")]
    assert match_all(queries, publications) == expected(queries, publications)


def test_a_span_takes_one_entry_and_no_further_conditions() -> None:
    index = build_segment(_windows(FEW)).tables.index
    assert (len(index.entries), len(index.groups) - 1, len(index.atom_value)) == (FEW, 1, 0)
    assert index.entry_upper.tolist() == [i + 1 + i % 40 for i in range(FEW)]


@pytest.mark.parametrize("value", ["0", "1", "2", "3", "4", "INF", "-INF", "NaN"])
@pytest.mark.parametrize("kind", ["double", "float", "decimal"])
@pytest.mark.parametrize("more", [0, FEW])
def test_bounds_on_one_side(value: str, kind: str, more: int) -> None:
    """Few of them are spans without a lower or an upper bound, beside spans that have both."""
    if kind == "decimal" and not value.isdigit():
        value, kind = "5", "integer"
    infinite = [f'?v {sign} "{bound}"^^xsd:double' for sign in ("<", ">", "<=", ">=") for bound in ("INF", "-INF")]
    bounds = [f"?v {sign} {bound}" for sign in ("<", ">", "<=", ">=") for bound in (1, 2)]
    bounds += [*infinite, "?v > 1 && ?v <= 3", "?v >= 1 && ?v < 3"]
    bounds += [f"?v < {bound}.5 && ?v != 7" for bound in range(more)]
    queries = registrations(*(f"SELECT * {{ ?x e:q ?v FILTER({each}) }}" for each in bounds))
    publications = [publication(f'e:a e:q "{value}"^^xsd:{kind} . e:b e:q {other}') for other in ("2", "e:c")]
    segment, wanted = build_segment(queries), expected(queries, publications)
    assert wanted
    for each in (segment, merge_segments((segment,), np.zeros(0, np.int64))):
        assert matches_of(matcher().match(snapshot_of([each]), publications)) == wanted


def test_few_bounds_on_one_side_are_in_one_group() -> None:
    queries = registrations(
        *(f"ASK {{ ?x e:q ?v FILTER({each}) }}" for each in ("?v < 3", "?v >= 4", "?v >= 1 && ?v < 3"))
    )
    index = build_segment(queries).tables.index
    assert (len(index.groups) - 1, len(index.entries)) == (1, 3)


def test_rows_of_a_span_are_those_within_it() -> None:
    queries = registrations("SELECT ?v { ?x e:q ?v FILTER(?v > 1 && ?v <= 3) }")
    publications = [publication("e:a e:q 0, 1, 2, 3, 4")]
    assert match_all(queries, publications) == expected(queries, publications)
