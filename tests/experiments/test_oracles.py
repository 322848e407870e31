"""The papers' algorithms, corrected, give the engine's answers: matches and all their bindings.

Random workloads of each paper's kind, 10,000 pairs for each algorithm, at least a quarter of them matches.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import pytest

from experiments.gtopss.match import Matcher
from experiments.gtopss.matrix import fill_matrix
from experiments.gtopss.model import COMPARISONS, IS_A, Subscription
from experiments.gtopss.naive import Naive
from experiments.gtopss.ops import Ops
from experiments.gtopss.ops_tree import OpsTree
from experiments.gtopss.oracle import compare, find_answers
from experiments.gtopss.workload import Parameters, make_workload
from experiments.rss_cluster.match import Matcher as TableMatcher
from experiments.rss_cluster.tables import fill_matrix as fill_tables
from tests.experiments.random_graphs import draw_all

SUBSCRIPTIONS = 100
PUBLICATIONS = 100
MATCHING = 0.25

Rival = TypeVar("Rival", Ops, OpsTree, Naive)


def fill(rival: Rival, subscriptions: Sequence[Subscription]) -> Rival:
    for subscription in subscriptions:
        rival.insert(subscription)
    return rival


@pytest.mark.parametrize("operators", [(*COMPARISONS, *IS_A), tuple(COMPARISONS)], ids=["is-a too", "values"])
def test_all_give_the_answers_of_the_engine(seed: int, operators: tuple[str, ...]) -> None:
    drawn = draw_all(seed, SUBSCRIPTIONS, PUBLICATIONS, operators)
    expected = find_answers(drawn.subscriptions, drawn.publications, drawn.taxonomy)
    matching = sum(map(len, expected))
    assert matching >= MATCHING * SUBSCRIPTIONS * PUBLICATIONS, f"only {matching} pairs match"
    compare(Matcher(fill_matrix(drawn.subscriptions), drawn.taxonomy).match, drawn.publications, expected)
    for rival in (Ops(drawn.taxonomy), OpsTree(drawn.taxonomy), Naive(drawn.taxonomy)):
        compare(fill(rival, drawn.subscriptions).match, drawn.publications, expected)
    if not drawn.taxonomy.broader:
        compare(TableMatcher(fill_tables(drawn.subscriptions)).match, drawn.publications, expected)


def test_table_1s_workload_has_one_answer(seed: int) -> None:
    parameters = Parameters((12, 24), (4, 6), 60, 0.1, limited=0.5, publications=10, names=40, seed=seed)
    work = make_workload(parameters)
    expected = find_answers(work.subscriptions, work.publications)
    assert all(len(answers) >= 6 for answers in expected)
    for match in (
        Matcher(fill_matrix(work.subscriptions)).match,
        *(fill(rival, work.subscriptions).match for rival in (Ops(), OpsTree(), Naive())),
        TableMatcher(fill_tables(work.subscriptions)).match,
    ):
        compare(match, work.publications, expected)
