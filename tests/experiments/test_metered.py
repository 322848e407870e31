"""The uncompiled kernels find what the compiled ones find, and count the work that these count and more."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.scenarios.indexes import index_workload
from experiments.engine import Engine
from experiments.metered import CHECKS, KEYS, LOOKUPS, MATCHES, STRUCTURES, TRIES, WORDS, count_work, meter
from triplecast.index import Snapshot
from triplecast.index.removals import NO_REMOVALS
from triplecast.match import Matcher
from triplecast.match.pairs import match_rows
from triplecast.match.views import encode, scan_views
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
    assert metered.work[MATCHES] == stats.matches
    assert metered.work[LOOKUPS] >= stats.keys


def test_work_grows_with_what_is_joined_and_compared() -> None:
    same, stars = index_workload("same", 300, 8), index_workload("stars", 300, 8)
    compared = count_work([same.segment], same.publications)
    assert compared[TRIES] > 0
    assert compared[CHECKS] > 0
    plain = count_work([stars.segment], stars.publications)
    assert CHECKS not in plain
    assert plain[LOOKUPS] == pytest.approx(
        sum(meter(stars.segment, [each]).work[LOOKUPS] for each in stars.publications) / 8
    )


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
