"""The papers' algorithms, corrected, give the engine's answers: matches and all their bindings.

Random workloads of each paper's kind, 10,000 pairs for each algorithm, at least a quarter of them matches.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import pytest

from experiments.engine import Engine
from experiments.gtopss.match import Matcher
from experiments.gtopss.matrix import fill_matrix
from experiments.gtopss.model import COMPARISONS, IS_A, Answers, Publication, Subscription
from experiments.gtopss.naive import Naive
from experiments.gtopss.ops import Ops
from experiments.gtopss.ops_tree import OpsTree
from experiments.gtopss.rdf import contents, to_answers, to_asked, to_taxonomies
from experiments.gtopss.workload import Parameters, make_workload
from experiments.rss_cluster.match import Matcher as TableMatcher
from experiments.rss_cluster.tables import fill_matrix as fill_tables
from tests.experiments.random_graphs import Drawn, draw_all

SUBSCRIPTIONS = 100
PUBLICATIONS = 100
MATCHING = 0.25

Rival = TypeVar("Rival", Ops, OpsTree, Naive)
Match = Callable[[Publication], Answers]


def ask_engine(drawn: Drawn) -> list[Answers]:
    asked = [to_asked(each, f"s{number}") for number, each in enumerate(drawn.subscriptions)]
    engine = Engine(asked, to_taxonomies(drawn.taxonomy))
    try:
        return [
            to_answers(found) for found in engine.match(engine.take(contents(drawn.publications, drawn.subscriptions)))
        ]
    finally:
        engine.close()


def fill(rival: Rival, subscriptions: Sequence[Subscription]) -> Rival:
    for subscription in subscriptions:
        rival.insert(subscription)
    return rival


def compare(drawn: Drawn, expected: Sequence[Answers], match: Match) -> None:
    for publication, answers in zip(drawn.publications, expected, strict=True):
        assert match(publication) == answers, (publication, drawn.taxonomy)


@pytest.mark.parametrize("operators", [(*COMPARISONS, *IS_A), tuple(COMPARISONS)], ids=["is-a too", "values"])
def test_all_give_the_answers_of_the_engine(seed: int, operators: tuple[str, ...]) -> None:
    drawn = draw_all(seed, SUBSCRIPTIONS, PUBLICATIONS, operators)
    expected = ask_engine(drawn)
    matching = sum(map(len, expected))
    assert matching >= MATCHING * SUBSCRIPTIONS * PUBLICATIONS, f"only {matching} pairs match"
    compare(drawn, expected, Matcher(fill_matrix(drawn.subscriptions), drawn.taxonomy).match)
    for rival in (Ops(drawn.taxonomy), OpsTree(drawn.taxonomy), Naive(drawn.taxonomy)):
        compare(drawn, expected, fill(rival, drawn.subscriptions).match)
    if not drawn.taxonomy.broader:
        compare(drawn, expected, TableMatcher(fill_tables(drawn.subscriptions)).match)


def test_table_1s_workload_has_one_answer(seed: int) -> None:
    parameters = Parameters((12, 24), (4, 6), 60, 0.1, limited=0.5, publications=10, names=40, seed=seed)
    work = make_workload(parameters)
    engine = Engine([to_asked(each, f"s{number}") for number, each in enumerate(work.subscriptions)])
    found = engine.match(engine.take(contents(work.publications, work.subscriptions)))
    engine.close()
    expected = [to_answers(each) for each in found]
    assert all(len(answers) >= 6 for answers in expected)
    for match in (
        Matcher(fill_matrix(work.subscriptions)).match,
        *(fill(rival, work.subscriptions).match for rival in (Ops(), OpsTree(), Naive())),
        TableMatcher(fill_tables(work.subscriptions)).match,
    ):
        assert [match(publication) for publication in work.publications] == expected
