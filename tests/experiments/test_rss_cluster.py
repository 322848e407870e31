"""Constraint tables, the workload of figure 9(b), and what each numbered correction changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

from experiments.gtopss.match import BOUND, CANDIDATES
from experiments.gtopss.model import COMPARISONS, Answers, Constraint, Edge, Publication, Subscription, compares
from experiments.rss_cluster.corrections import AS_PRINTED, CORRECTED, Corrections
from experiments.rss_cluster.match import Matcher
from experiments.rss_cluster.tables import VISITED, ConstraintTable, fill_matrix
from experiments.rss_cluster.workload import MATCHES, VARIATIONS, Variation, make_same_structure


def without(name: str) -> Corrections:
    (field,) = (field.name for field in fields(Corrections) if field.name.startswith(f"{name}_"))
    return replace(CORRECTED, **{field: False})


def run(
    corrections: Corrections, subscriptions: Sequence[Subscription], *publications: Publication
) -> tuple[Answers, Counter[str]]:
    """The answers to the last publication, and its work."""
    matcher = Matcher(fill_matrix(subscriptions), corrections)
    answers: Answers = {}
    for publication in publications:
        matcher.work.clear()
        answers = matcher.match(publication)
    return answers, matcher.work


def test_the_lists_hold_what_compares() -> None:
    table = ConstraintTable()
    limits = [Constraint(-1, how, value) for how in COMPARISONS for value in range(6)]
    for number, limit in enumerate(limits):
        table.insert(limit, number)
    for node in (-0, 3, 5, 9, "name"):
        wanted = sorted(n for n, limit in enumerate(limits) if compares(node, limit.operator, limit.value))
        assert sorted(table.satisfied(node, Counter())) == wanted


@pytest.mark.parametrize(("operator", "node"), [(">", 2), ("<", 997)])
def test_a_traversal_ends_at_the_first_that_does_not_hold(operator: str, node: int) -> None:
    table, work = ConstraintTable(), Counter[str]()
    for number in range(1_000):
        table.insert(Constraint(-1, operator, number), number)
    assert len(list(table.satisfied(node, work))) == 2
    assert work[VISITED] == 3


def test_an_equal_value_is_found_by_halving_and_another_is_refused() -> None:
    table, work = ConstraintTable(), Counter[str]()
    for number in range(1_000):
        table.insert(Constraint(-1, "=", number), number)
    assert list(table.satisfied(500, work)) == [500]
    assert work[VISITED] <= 12
    with pytest.raises(ValueError, match="comparisons with whole numbers"):
        table.insert(Constraint(-1, "is-a =", "class"), 1)


def test_every_correction_has_a_test_here() -> None:
    names = [field.name.split("_")[0] for field in fields(Corrections)]
    assert [name for name in names if not any(key.startswith(f"test_{name}_") for key in globals())] == []
    assert not any(getattr(AS_PRINTED, field.name) for field in fields(Corrections))


def test_c1_the_constraints_of_both_ends_count() -> None:
    asked = [Subscription((Edge(-1, "l", -2),), (Constraint(-1, "=", 5), Constraint(-2, "=", 6)))]
    assert run(CORRECTED, asked, (Edge(5, "l", 7),))[0] == {}
    assert run(without("c1"), asked, (Edge(5, "l", 7),))[0] == {0: {(5, 7)}}
    assert run(CORRECTED, asked, (Edge(5, "l", 6),))[0] == {0: {(5, 6)}}


def test_c2_all_constraints_of_an_end_count() -> None:
    asked = [Subscription((Edge(-1, "l", "a"),), (Constraint(-1, ">=", 3), Constraint(-1, "<=", 4)))]
    assert run(CORRECTED, asked, (Edge(9, "l", "a"),))[0] == {}
    assert run(without("c2"), asked, (Edge(9, "l", "a"),))[0] == {0: {(9,)}}
    assert run(CORRECTED, asked, (Edge(4, "l", "a"),))[0] == {0: {(4,)}}


def test_c3_a_row_that_another_subscription_admits_is_not_bound() -> None:
    edge = Edge(-1, "l", "a")
    asked = [Subscription((edge,), (Constraint(-1, how, 5),)) for how in "><"]
    publication = (Edge(9, "l", "a"), Edge(2, "l", "a"))
    assert run(CORRECTED, asked, publication)[0] == {0: {(9,)}, 1: {(2,)}}
    assert run(without("c3"), asked, publication)[0] == {0: {(2,), (9,)}, 1: {(2,), (9,)}}


@pytest.mark.parametrize("others", [CORRECTED, without("c3")])
def test_c4_rows_of_earlier_publications_are_gone(others: Corrections) -> None:
    asked = [Subscription((Edge(-1, "l", "a"),))]
    first, second = (Edge("b", "l", "a"),), (Edge("c", "l", "a"),)
    assert run(others, asked, first, second)[0] == {0: {("c",)}}
    kept = replace(others, c4_tables_are_cleared=False)
    assert run(kept, asked, first, second)[0] == {0: {("b",), ("c",)}}


def test_c5_an_edge_whose_ends_differ_is_no_loop() -> None:
    """The join drops the rows; they are bound and its subscription joined for nothing."""
    asked = [Subscription((Edge(-1, "l", -1),))]
    answers, work = run(CORRECTED, asked, (Edge("a", "l", "b"),))
    wasted, more = run(without("c5"), asked, (Edge("a", "l", "b"),))
    assert answers == wasted == {}
    assert (work[BOUND], more[BOUND]) == (0, 1)
    assert run(CORRECTED, asked, (Edge("a", "l", "a"),))[0] == {0: {("a",)}}


@pytest.mark.parametrize("variation", VARIATIONS)
def test_one_structure_has_a_fixed_number_of_matches(variation: Variation) -> None:
    """Only where every edge touches a limited star do the tables keep the others out of the candidates."""
    small, large = (make_same_structure(size, 2, variation) for size in (300, 900))
    assert large.subscriptions[:300] == small.subscriptions
    assert len({subscription.edges for subscription in large.subscriptions}) == 1
    for work in (small, large):
        matcher = Matcher(fill_matrix(work.subscriptions))
        assert [len(matcher.match(publication)) for publication in work.publications] == [MATCHES] * 2
        candidates = len(work.subscriptions) if variation.free_edges else MATCHES
        assert matcher.work[CANDIDATES] == 2 * candidates
