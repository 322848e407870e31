"""RTFm, RTFs, iBroker, the engine and a reading without index give the same answers."""

from __future__ import annotations

import pytest

from experiments.engine import Engine
from experiments.rtf.corrections import CORRECTED, SPARED, Form
from experiments.rtf.publications import read_publication
from experiments.rtf.queries import write_sparql
from tests.experiments.rtf import naive
from tests.experiments.rtf.generate import make_workload
from tests.experiments.rtf.indexes import ALGORITHMS, make_index
from triplecast.model.subscription import Subscription


@pytest.mark.parametrize("form", [CORRECTED, SPARED], ids=["as the text has it", "hashed"])
def test_all_algorithms_answer_as_a_reading_without_index(seed: int, form: Form) -> None:
    contents, queries = make_workload(seed, 30, 60)
    indexes = {name: make_index(name, form) for name in ALGORITHMS}
    for index in indexes.values():
        for query in queries:
            index.insert(query)
    for content in contents:
        publication = read_publication(content)
        expected = [query.subscription for query in queries if naive.matches(query, publication)]
        for name, index in indexes.items():
            assert index.filter(publication) == expected, (name, content)


@pytest.mark.slow
def test_all_algorithms_answer_as_the_engine_on_ten_thousand_pairs(seed: int) -> None:
    """100 publications and 100 subscriptions; at least a quarter of the pairs match. Each algorithm in both forms."""
    contents, queries = make_workload(seed, 100, 100)
    indexes = {(name, form): make_index(name, form) for name in ALGORITHMS for form in (CORRECTED, SPARED)}
    for index in indexes.values():
        for query in queries:
            index.insert(query)
    with Engine([Subscription(f"s{query.subscription}", write_sparql(query)) for query in queries]) as engine:
        answers = engine.match_numbers(engine.take(contents))
    for content, expected in zip(contents, answers, strict=True):
        publication = read_publication(content)
        for name, index in indexes.items():
            found = index.filter(publication)
            differ = sorted(set(found) ^ set(expected))
            assert found == expected, (name, content, [write_sparql(queries[number]) for number in differ])
    assert sum(map(len, answers)) >= len(contents) * len(queries) / 4
