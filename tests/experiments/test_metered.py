"""The uncompiled kernels find what the compiled ones find, and count the work that these count and more."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.scenarios.indexes import index_workload
from benchmarks.steps import encode, match_rows
from experiments.engine import Engine
from experiments.metered import (
    ATOMS,
    ENTRIES,
    KEYS,
    LOOKUPS,
    SLOTS,
    STRUCTURES,
    TERMS,
    TESTS,
    TRIES,
    WORDS,
    count_work,
    meter,
)
from triplecast.index import Snapshot
from triplecast.index.registrations import NO_REMOVALS
from triplecast.match import Matcher
from triplecast.match.views import scan_views
from triplecast.model.subscription import Subscription


@pytest.mark.parametrize("name", ["gtopss", "cluster", "same", "realtail", "stars"])
def test_uncompiled_kernels_find_the_same(name: str) -> None:
    indexed = index_workload(name, 300, 8)
    metered = meter(indexed.segment, indexed.publications)
    views = scan_views(indexed.publications)
    matched, sheets = match_rows(indexed.segment, views, encode(indexed.segment, views), indexed.scratch)
    for field in set(matched._fields) - {"entry"}:  # without meaning for most; the sheets below depend on it
        np.testing.assert_array_equal(getattr(metered.matched, field), getattr(matched, field))
    for ours, theirs in zip(metered.sheets, sheets, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    with Matcher() as matcher:
        snapshot = Snapshot(300, (indexed.segment,), NO_REMOVALS)
        stats = matcher.match(snapshot, indexed.publications).stats
    assert metered.work[KEYS] == stats.keys
    assert metered.work[STRUCTURES] == stats.touched
    assert len(metered.matched.subscription) == stats.matches


VALUE = b'<urn:a> <urn:p> <urn:b> .\n<urn:a> <urn:q> "7"^^<http://www.w3.org/2001/XMLSchema#integer> .\n'
BOTH = {TERMS: 5, LOOKUPS: 2, KEYS: 2, STRUCTURES: 1, TESTS: 1 + 1, SLOTS: 2 + 2 + 2 + 2}
"""Of a star of two patterns that matches `VALUE`: both keys are filed, both chains are begun; for bindings again.
The second key is tested among places, then exactly."""


def star(*conditions: str) -> list[str]:
    return [f"SELECT ?x {{ ?x <urn:p> <urn:b> ; <urn:q> ?v FILTER({each}) }}" for each in conditions]


@pytest.mark.parametrize(
    ("asked", "content", "counted"),
    [
        pytest.param(
            ["SELECT ?x { ?x <urn:p> <urn:b> }"],
            VALUE,
            {TERMS: 5, LOOKUPS: 1, KEYS: 1, STRUCTURES: 1, TESTS: 1, SLOTS: 1 + 1 + 1, TRIES: 1},
            id="one pattern, no join; its binding",
        ),
        pytest.param(
            ["SELECT ?x { ?x <urn:p> <urn:b> }"],
            b"<urn:a> <urn:p> <urn:c> .\n",
            {TERMS: 3},
            id="no pattern has the predicate and an object that is known",
        ),
        pytest.param(
            star(*(f"?v > {bound}" for bound in (1, 3, 5, 8, 9, 10, 11, 12, 13))),
            VALUE,
            BOTH | {ENTRIES: 4 + 3, TRIES: 1 + 2},
            id="four halvings of nine bounds, the three below; one triple of the star's step, two bound",
        ),
        pytest.param(
            star(*(f"?v > {bound}" for bound in (1, 3, 5, 8, 9))),
            VALUE,
            BOTH | {ENTRIES: 5, TRIES: 1 + 2},
            id="five bounds, so few that none is looked for",
        ),
        pytest.param(
            star(*(f"?v = {value}" for value in (1, 3, 7, 8, 9))),
            VALUE,
            BOTH | {ENTRIES: 3 + 1 + 1, TRIES: 1 + 2},
            id="three halvings of five values, the one, and that which ends it",
        ),
        pytest.param(
            star(*["?v > 3 && ?v != 6"] * 2),
            VALUE,
            BOTH | {ENTRIES: 2, ATOMS: 2 * 2, TRIES: 1 + 2},
            id="two bounds, both; each condition's two comparisons",
        ),
        pytest.param(
            ["SELECT ?x { ?x <urn:p> ?y . ?y <urn:q> ?x }"],
            b"<urn:a> <urn:p> <urn:b> .\n<urn:b> <urn:q> <urn:a> .\n",
            BOTH | {TERMS: 4, TRIES: 2 + 2},
            id="a join of two triples, and again for its bindings",
        ),
        pytest.param(
            ["SELECT ?x { ?x <urn:p> ?y . ?y <urn:q> <urn:c> }"],
            b"<urn:a> <urn:p> <urn:b> .\n<urn:b> <urn:q> <urn:c> .\n<urn:d> <urn:p> <urn:c> .\n",
            BOTH | {TERMS: 6, LOOKUPS: 3, SLOTS: 3 + 2 + 2 + 2, TRIES: 2 + 1 + 2},
            id="a tree: two triples narrowed, one and two tried for its binding",
        ),
        pytest.param(
            star(*["?v != 6"] * 2),
            VALUE,
            BOTH | {ENTRIES: 2, TRIES: 1 + 2},
            id="both values of a list that does not end",
        ),
    ],
)
def test_each_thing_that_is_touched_counts_one(asked: list[str], content: bytes, counted: dict[str, int]) -> None:
    with Engine([Subscription(f"s{number}", text) for number, text in enumerate(asked)]) as engine:
        (segment,) = engine.snapshot.segments
        assert meter(segment, engine.take([content])).work == counted


def test_counts_are_means_over_the_publications() -> None:
    stars = index_workload("stars", 300, 8)
    counted = count_work([stars.segment], stars.publications)
    each = [meter(stars.segment, [publication]).work for publication in stars.publications]
    assert counted == {kind: pytest.approx(sum(work[kind] for work in each) / 8) for kind in counted}
    assert ATOMS not in counted


def test_words_and_phrases_that_are_looked_up_are_counted() -> None:
    """Five words, and four pairs of neighbours; a title that nobody asks words of is not cut."""
    texts = ['"olympic games"', '"rio"']
    asked = [f"SELECT ?s {{ ?s <urn:body> ?b FILTER(ft:contains(?b, '{text}')) }}" for text in texts]
    engine = Engine([Subscription(text, query) for text, query in zip(texts, asked, strict=True)])
    content = b'<urn:a> <urn:body> "the olympic games in rio" .\n<urn:a> <urn:title> "olympic games" .\n'
    try:
        assert count_work(engine.snapshot.segments, engine.take([content]))[WORDS] == 5 + 4
    finally:
        engine.close()
