"""Answers that several conjunctions make together: by hand, and never by the evaluator."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tests.unit.match.match_samples import (
    PREFIXES,
    answer,
    matcher,
    matches_of,
    publication,
    registrations,
    snapshot_of,
)
from triplecast.compile.combination import Agreement, Check, Combination, Part, read_combination, write_combination
from triplecast.compile.compiled import plan_of
from triplecast.index import IndexWriter, build_segment
from triplecast.index.merge import merge_segments
from triplecast.kernels.rows import SOLUTIONS_LIMIT
from triplecast.languages import parse_template
from triplecast.model.operators import NO_OPERATORS
from triplecast.residual import ResidualPlans, agreement
from triplecast.residual.agreement import combine_rows


def _short(term: str) -> str:
    return term[1:].partition('"')[0] if term[0] == '"' else term.removeprefix("<http://e/").removesuffix(">")


def _rows(query: str, turtle: str) -> list[str] | None:
    """The answer, each row as its short values by name; None without a match."""
    template, constants = parse_template(PREFIXES + query)
    plan = plan_of(template, constants)
    assert plan.decided, plan.reason
    found = answer(query, turtle)
    if found is None:
        return None
    return [" ".join(f"{name}={_short(value)}" for name, value in row.items()) for row in json.loads(found)]


@pytest.mark.parametrize(
    ("query", "turtle", "rows"),
    [
        ("SELECT * { { ?x e:p ?y } UNION { ?x e:q ?z } }", "e:a e:p e:b ; e:q e:c", ["x=a z=c", "x=a y=b"]),
        ("SELECT * { { ?x e:p ?y } UNION { ?x e:p ?y } }", "e:a e:p e:b", ["x=a y=b", "x=a y=b"]),
        ("SELECT DISTINCT ?x { { ?x e:p ?y } UNION { ?x e:q ?y } }", "e:a e:p e:b ; e:q e:c", ["x=a"]),
        ("SELECT REDUCED ?x { { ?x e:p ?y } UNION { ?x e:q ?y } }", "e:a e:p e:b ; e:q e:c", ["x=a", "x=a"]),
        ("SELECT ?n { { ?x e:p ?y } UNION { ?x e:q ?y } }", "e:a e:p e:b ; e:q e:c", ["", ""]),
        ("SELECT * { ?x e:p|e:q ?y }", "e:a e:p e:b ; e:q e:b", ["x=a y=b", "x=a y=b"]),
        ("SELECT * { ?x (e:p|^e:q)/e:r ?y }", "e:a e:p e:b . e:b e:r e:c . e:b e:q e:d", ["x=a y=c", "x=d y=c"]),
        (
            "SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } }",
            "e:a e:p e:b . e:c e:p e:d ; e:q e:z",
            ["x=a y=b", "x=c y=d z=z"],
        ),
        ("SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z FILTER(?z != e:z) } }", "e:c e:p e:d ; e:q e:z", ["x=c y=d"]),
        (
            "SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z FILTER(?y = 2) } }",
            "e:a e:p 1, 2 ; e:q 3",
            ["x=a y=1", "x=a y=2 z=3"],
        ),
        (
            "SELECT * { ?x e:p ?y OPTIONAL { ?v e:q ?z FILTER(?y = 2) } }",
            "e:a e:p 1 . e:b e:p 2",
            ["x=a y=1", "x=b y=2"],
        ),
        ("SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } ?w e:r ?z }", "e:c e:p e:d ; e:q e:z . e:w e:r e:u", None),
        ("SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } ?w e:r ?z }", "e:c e:p e:d . e:w e:r e:u", ["w=w x=c y=d z=u"]),
        (
            "SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } OPTIONAL { ?x e:r ?z } }",
            "e:a e:p e:b ; e:r e:c",
            ["x=a y=b z=c"],
        ),
        (
            "SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } OPTIONAL { ?x e:r ?z } }",
            "e:a e:p e:b ; e:r e:c ; e:q e:d",
            ["x=a y=b z=d"],
        ),
        ("SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } FILTER(!BOUND(?z)) }", "e:a e:p e:b ; e:q e:c", None),
        ("SELECT * { ?x e:p ?y OPTIONAL { ?x e:q ?z } FILTER(!BOUND(?z)) }", "e:a e:p e:b", ["x=a y=b"]),
        (
            "SELECT * { ?x e:p ?y OPTIONAL { { ?x e:q ?z } UNION { ?x e:r ?z } } }",
            "e:a e:p e:b ; e:r e:c",
            ["x=a y=b z=c"],
        ),
        ("SELECT * { ?x e:p ?y OPTIONAL { ?v e:q ?w } }", "e:a e:p e:b", ["x=a y=b"]),
        ("SELECT * { ?x e:p ?y MINUS { ?x e:q ?z } }", "e:a e:p e:b . e:c e:p e:d ; e:q 1", ["x=a y=b"]),
        ("SELECT * { ?x e:p ?y MINUS { ?v e:q ?w } }", "e:a e:p e:b ; e:q 1", ["x=a y=b"]),
        ("SELECT * { ?x e:p ?y MINUS { { ?v e:p ?w } UNION { ?x e:q ?w } } }", "e:a e:p e:b ; e:q 1", None),
        ("SELECT * { ?x e:p ?y FILTER NOT EXISTS { ?v e:q ?w } }", "e:a e:p e:b ; e:q 1", None),
        ("SELECT * { ?x e:p ?y FILTER NOT EXISTS { ?x e:q 2 } }", "e:a e:p e:b ; e:q 1", ["x=a y=b"]),
        ("SELECT ?x { ?x e:p ?y FILTER EXISTS { ?x e:q ?z } }", "e:a e:p 1, 2 ; e:q 1, 2", ["x=a", "x=a"]),
        ("SELECT ?x { ?x e:p 1 FILTER EXISTS { { ?x e:q ?z } UNION { ?x e:r ?z } } }", "e:a e:p 1 ; e:r 1", ["x=a"]),
        ("SELECT ?x { ?x e:p ?y VALUES ?y { e:a e:b } }", "e:a e:p e:a, e:b, e:c", ["x=a", "x=a"]),
        ("SELECT ?x { ?x e:p ?y VALUES ?y { e:b e:b } }", "e:a e:p e:a, e:b, e:c", ["x=a", "x=a"]),
        ("SELECT ?y { ?x e:p ?y VALUES (?x ?y) { (UNDEF e:b) (e:a e:b) } }", "e:a e:p e:b . e:c e:p e:b", ["y=b"] * 3),
        ("SELECT ?y { ?x e:p ?y VALUES ?y { 1 } }", "e:a e:p 01, 1.0", None),
        ("SELECT ?x { ?x e:p ?y ; e:q ?z FILTER(?y > 2 * ?z) }", "e:a e:p 5 ; e:q 2 . e:b e:p 5 ; e:q 3", ["x=a"]),
        ("SELECT ?z { ?x e:p ?y BIND(?y + 1 AS ?z) }", "e:a e:p 5, 'a'", ["", "z=6"]),
        ("SELECT ?z { ?x e:p ?y BIND(?y + 1 AS ?z) FILTER(?z > 5) }", "e:a e:p 5, 4", ["z=6"]),
        ("SELECT DISTINCT ?z { { ?x e:p ?y BIND(?y + 1 AS ?z) } UNION { ?x e:q ?z } }", "e:a e:p 5 ; e:q 6", ["z=6"]),
        ("SELECT ?z { ?x e:p ?y OPTIONAL { ?x e:q ?z } FILTER(?y > ?z || ?y = 5) }", "e:a e:p 5", [""]),
        ("SELECT ?z { ?x e:p ?y OPTIONAL { ?x e:q ?z FILTER(?y > ?z) } }", "e:a e:p 5, 2 ; e:q 3", ["", "z=3"]),
        ("SELECT ?y { ?x e:p ?y FILTER(!(?y < 3)) }", "e:a e:p 5, 2, 'a'", ["y=5"]),
        ("ASK { { ?x e:p ?y } UNION { ?x e:q ?y } }", "e:a e:p e:b ; e:q e:c", [""]),
        ("ASK { ?x e:p ?y FILTER NOT EXISTS { ?x e:q ?z } }", "e:a e:p e:b, e:c", [""]),
        ("ASK { ?x e:p ?y FILTER NOT EXISTS { ?x e:q ?z } }", "e:a e:p e:b ; e:q e:c", None),
        ("ASK { FILTER NOT EXISTS { ?x e:q ?z } }", "e:a e:p e:b", [""]),
        ("CONSTRUCT { ?x e:s ?y } { { ?x e:p ?y } UNION { ?x e:q ?y } }", "e:a e:q e:b", ["x=a y=b"]),
    ],
)
def test_answers(query: str, turtle: str, rows: list[str] | None) -> None:
    assert _rows(query, turtle) == rows


UNION = "SELECT * { { ?x e:p ?y } UNION { ?x e:q ?z } }"


def test_pairs_are_counted_where_they_are_decided() -> None:
    snapshot = snapshot_of([build_segment(registrations(UNION, UNION, "ASK { ?x e:p ?y }", "ASK { ?x e:p+ ?y }"))])
    batch = matcher().match(snapshot, [publication("e:a e:p 1 ; e:q 2"), publication("e:a e:r 1")])
    assert (batch.stats.matches, batch.stats.combined, batch.stats.candidates) == (4, 2, 1)
    assert sorted(matches_of(batch)) == [(0, 1), (0, 2), (0, 3), (0, 4)]


@pytest.mark.parametrize(
    ("query", "objects", "matches"),
    [
        (UNION, SOLUTIONS_LIMIT, True),
        (UNION, SOLUTIONS_LIMIT + 1, True),
        ("ASK { ?x e:q ?z FILTER NOT EXISTS { ?x e:p ?v . ?x e:p ?w } }", 100, False),
        ("ASK { ?x e:q ?z FILTER NOT EXISTS { ?x e:p ?v . ?x e:p ?w } }", 101, False),
    ],
)
def test_what_is_beyond_the_bounds_is_the_evaluators(query: str, objects: int, matches: bool) -> None:
    turtle = f"e:a e:p {', '.join(map(str, range(objects)))} ; e:q e:z . e:z e:r 1"
    batch = matcher().match(snapshot_of([build_segment(registrations(query))]), [publication(turtle)])
    beyond = objects in (101, SOLUTIONS_LIMIT + 1)
    assert (batch.stats.candidates, batch.undecided, len(batch) == 1) == (int(beyond), (), matches)


def test_constants_of_what_is_calculated_are_each_subscriptions_own() -> None:
    queries = registrations(*(f"SELECT ?x {{ ?x e:p ?y ; e:q ?z FILTER(?y > {n} * ?z) }}" for n in range(1, 5)))
    batch = matcher().match(snapshot_of([build_segment(queries)]), [publication("e:a e:p 5 ; e:q 2")])
    assert (sorted(matches_of(batch)), batch.stats.candidates) == ([(0, 1), (0, 2)], 0)


def test_what_costs_too_much_to_calculate_is_the_evaluators(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agreement, "DEFAULT_STEPS", 3)
    queries = registrations("SELECT ?x { ?x e:p ?y ; e:q ?z FILTER(?y > ?z) }")
    batch = matcher().match(snapshot_of([build_segment(queries)]), [publication("e:a e:p 5, 6 ; e:q 2, 3")])
    assert (len(batch), batch.stats.candidates, batch.stats.combined) == (1, 1, 0)


def test_a_subscription_of_many_members_is_one() -> None:
    index = IndexWriter()
    queries = registrations(UNION, "ASK { ?x e:p ?y }", UNION)
    segment = build_segment(queries)
    assert (len(segment), segment.members, segment.firsts.tolist()) == (3, 5, [0, 2, 3])
    assert len(index.apply(queries, (), 3)) == 3
    snapshot = index.apply((), [(1, 4)], 4)
    assert len(snapshot) == 2
    assert sorted(matches_of(matcher().match(snapshot, [publication("e:a e:p 1 ; e:q 2")]))) == [(0, 2), (0, 3)]
    merged = merge_segments([segment, build_segment(registrations(UNION)[:1])], np.array([1]))
    assert merged.tables.registrations[:].tolist() == [2, 3, 3]


def test_a_combination_is_read_as_it_was_written() -> None:
    combination = Combination(
        (("x", "y"), ("x",)),
        (Part(0, (Check((Agreement(1, ("x",)),), False),)), Part(1, ())),
        ("x", "y"),
        True,
        False,
        False,
    )
    assert read_combination(json.loads(json.dumps(write_combination(combination)))) == combination
    plan = ResidualPlans(NO_OPERATORS).plain(combination)
    assert combine_rows(plan, {0: [(1, 2), (3, 4)], 1: [(3,)]}, str).bindings == b'[{"x":"1","y":"2"},{"x":"3"}]'
    assert combine_rows(plan, {0: [(3, 4)]}, str).bindings == b'[{"x":"3","y":"4"}]'
    assert combine_rows(plan, {0: [(3, 4)], 1: [(3,)]}, str).bindings == b'[{"x":"3"}]'
