"""Constraint tables, the workload of figure 9(b), and what each numbered correction changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

from experiments.gtopss.join import JOINED
from experiments.gtopss.match import BOUND, CANDIDATES, LOOKUPS, POSTINGS
from experiments.gtopss.model import COMPARISONS, Answers, Constraint, Edge, Publication, Subscription, compares
from experiments.gtopss.taxonomy import CHECKED
from experiments.rss_cluster.corrections import AS_PRINTED, CORRECTED, Corrections
from experiments.rss_cluster.match import Matcher
from experiments.rss_cluster.tables import VISITED, ConstraintTable, fill_matrix
from experiments.rss_cluster.workload import MATCHES, SECTION_5, VARIATIONS, WIDTH, Variation, make_same_structure


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


NO_SECOND_LOOK = without("c3")
"""Without it, what the other corrections keep out is an answer; with it, it is joined for nothing."""


def test_c1_the_constraints_of_both_ends_count() -> None:
    asked = [Subscription((Edge(-1, "l", -2),), (Constraint(-1, "=", 5), Constraint(-2, "=", 6)))]
    publication = (Edge(5, "l", 7),)
    assert run(NO_SECOND_LOOK, asked, publication)[0] == {}
    assert run(replace(NO_SECOND_LOOK, c1_both_ends_count=False), asked, publication)[0] == {0: {(5, 7)}}
    assert [run(form, asked, publication)[1][CANDIDATES] for form in (CORRECTED, without("c1"))] == [0, 1]
    assert run(CORRECTED, asked, (Edge(5, "l", 6),))[0] == {0: {(5, 6)}}


def test_c2_all_constraints_of_an_end_count() -> None:
    asked = [Subscription((Edge(-1, "l", "a"),), (Constraint(-1, ">=", 3), Constraint(-1, "<=", 4)))]
    publication = (Edge(9, "l", "a"),)
    assert run(NO_SECOND_LOOK, asked, publication)[0] == {}
    form = replace(NO_SECOND_LOOK, c2_all_constraints_of_an_end_count=False)
    assert run(form, asked, publication)[0] == {0: {(9,)}}
    assert [run(form, asked, publication)[1][CANDIDATES] for form in (CORRECTED, without("c2"))] == [0, 1]
    assert run(CORRECTED, asked, (Edge(4, "l", "a"),))[0] == {0: {(4,)}}


def test_c3_a_row_that_another_subscription_admits_is_not_bound() -> None:
    edge = Edge(-1, "l", "a")
    asked = [Subscription((edge,), (Constraint(-1, how, 5),)) for how in "><"]
    publication = (Edge(9, "l", "a"), Edge(2, "l", "a"))
    assert run(CORRECTED, asked, publication)[0] == {0: {(9,)}, 1: {(2,)}}
    assert run(without("c3"), asked, publication)[0] == {0: {(2,), (9,)}, 1: {(2,), (9,)}}


def test_each_thing_that_is_touched_counts_one() -> None:
    """One label and one pair of ends for each of two edges; both lists' entries, of which one ends a traversal and one
    is halved for; the free one as a posting; two rows in one table, joined for the two candidates and the free one, and
    looked at once more where there are constraints."""
    edge = Edge(-1, "l", "a")
    asked = [Subscription((edge,), (Constraint(-1, how, 5),)) for how in ">="] + [Subscription((edge,))]
    answers, work = run(CORRECTED, asked, (Edge(9, "l", "a"), Edge(5, "l", "a")))
    assert answers == {0: {(9,)}, 1: {(5,)}, 2: {(9,), (5,)}}
    assert work == {
        LOOKUPS: 2 * (1 + 4 - 1),
        VISITED: (1 + 1) + (1 + 1 + 1),
        POSTINGS: 2,
        BOUND: 2,
        CANDIDATES: 3,
        JOINED: 3 * 2,
        CHECKED: 2 * 2,
    }


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


def test_windows_lie_above_and_below_all_nodes() -> None:
    workload = make_same_structure(MATCHES + 400, 1, VARIATIONS[1])
    lows = [
        limit.value for each in workload.subscriptions[MATCHES:] for limit in each.constraints if limit.operator == ">="
    ]
    assert sum(low < -WIDTH for low in lows) == sum(low >= SECTION_5.names for low in lows) == 400
