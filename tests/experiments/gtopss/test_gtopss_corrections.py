"""The paper's own examples, and what each numbered correction changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields, replace

import pytest

from experiments.gtopss.corrections import AS_PRINTED, CORRECTED, Corrections
from experiments.gtopss.join import JOINED, Table, join_all, star_rows
from experiments.gtopss.match import BOUND, CANDIDATES, LOOKUPS, POSTINGS, Matcher
from experiments.gtopss.matrix import fill_matrix
from experiments.gtopss.model import Answers, Constraint, Edge, Publication, Row, Subscription
from experiments.gtopss.naive import Naive
from experiments.gtopss.ops import Ops
from experiments.gtopss.ops_tree import OpsTree
from experiments.gtopss.steps import NAMED
from experiments.gtopss.taxonomy import NO_TAXONOMY, Taxonomy

FIGURE_5 = (
    Subscription(
        (Edge("paper17", "author", "Jacobsen"), Edge("paper17", "conference", "SIGMOD"), Edge("SIGMOD", "year", -1)),
        (Constraint(-1, ">", 2000),),
    ),
    Subscription(
        (Edge(-2, "author", "Jacobsen"), Edge(-2, "conference", "SIGMOD"), Edge("SIGMOD", "year", -1)),
        (Constraint(-1, ">", 1999), Constraint(-2, "is-a <=", "Publication")),
    ),
)
EVENT = (
    Edge("paper17", "author", "Jacobsen"),
    Edge("paper17", "title", "VeryFast"),
    Edge("paper17", "conference", "SIGMOD"),
    Edge("SIGMOD", "year", 2001),
    Edge("SIGMOD", "location", "SomeLocation"),
)
FIGURE_6 = Taxonomy(
    {
        "Journal": ("Publication",),
        "Proceedings": ("Publication",),
        "Report": ("Publication", "DepartmentPublication", "JacobsensPublication"),
        "SIGMODProceedings": ("Proceedings",),
    },
    {"paper17": ("JacobsensPublication", "SIGMODProceedings")},
)


def without(name: str) -> Corrections:
    (field,) = (field.name for field in fields(Corrections) if field.name.startswith(f"{name}_"))
    return replace(CORRECTED, **{field: False})


def run(
    corrections: Corrections,
    subscriptions: Sequence[Subscription],
    *publications: Publication,
    taxonomy: Taxonomy = NO_TAXONOMY,
) -> tuple[Answers, Matcher]:
    """The answers to the last publication."""
    matcher = Matcher(fill_matrix(subscriptions), taxonomy, corrections)
    answers: Answers = {}
    for publication in publications:
        matcher.work.clear()
        answers = matcher.match(publication)
    return answers, matcher


def ask(*edges: Edge, limits: Sequence[Constraint] = ()) -> Subscription:
    return Subscription(edges, tuple(limits))


def test_figure_5_and_6() -> None:
    matrix = fill_matrix(FIGURE_5)
    assert len(matrix.tables) == 5
    assert matrix.tables["SIGMOD", -1]["year"].subscriptions == [0, 1]
    assert matrix.stars == 2
    expected: dict[int, set[Row]] = {0: {(2001,)}, 1: {(2001, "paper17")}}
    assert run(CORRECTED, FIGURE_5, EVENT, taxonomy=FIGURE_6)[0] == expected
    for rival in (Ops(FIGURE_6), OpsTree(FIGURE_6), Naive(FIGURE_6)):
        for subscription in FIGURE_5:
            rival.insert(subscription)
        assert rival.match(EVENT) == expected


def test_figure_8() -> None:
    a = Table(("A", -1), [("A", "B"), ("A", "C"), ("A", "E")])
    b = Table((-1, "B"), [(end, "B") for end in "ADCEG"])
    joined = join_all([a, b], Counter())
    assert joined.columns == ("A", -1, "B")
    assert list(joined.rows) == [("A", "C", "B"), ("A", "E", "B")]
    assert star_rows(joined) == [("C",), ("E",)]


def test_every_correction_has_a_test_here() -> None:
    names = [field.name.split("_")[0] for field in fields(Corrections)]
    assert names == [f"c{number}" for number in range(1, len(names) + 1)]
    assert [name for name in names if not any(key.startswith(f"test_{name}_") for key in globals())] == []
    assert not any(getattr(AS_PRINTED, field.name) for field in fields(Corrections))


def test_c1_an_edge_is_not_taken_for_its_reverse() -> None:
    asked = [ask(Edge("a", "l", "b")), ask(Edge(-1, "l", "b"))]
    reverse = (Edge("b", "l", "a"),)
    assert run(CORRECTED, asked, reverse)[0] == {}
    assert run(without("c1"), asked, reverse)[0] == {0: {()}, 1: {("b",)}}


def test_c2_loops_are_found() -> None:
    asked = [ask(Edge("a", "l", "a")), ask(Edge(-1, "l", -1))]
    assert run(CORRECTED, asked, (Edge("a", "l", "a"),))[0] == {0: {()}, 1: {("a",)}}
    assert run(without("c2"), asked, (Edge("a", "l", "a"),))[0] == {}
    assert run(CORRECTED, asked, (Edge("a", "l", "b"),))[0] == {}


def test_c3_rows_of_earlier_publications_are_gone() -> None:
    asked = [ask(Edge("a", "l", -1))]
    first, second = (Edge("a", "l", "b"),), (Edge("a", "l", "c"),)
    assert run(CORRECTED, asked, first, second)[0] == {0: {("c",)}}
    assert run(without("c3"), asked, first, second)[0] == {0: {("b",), ("c",)}}


def test_c4_counts_of_earlier_publications_are_gone() -> None:
    asked = [ask(Edge(-1, "m", "c"), Edge("a", "l", -1))]
    first, second = (Edge("a", "l", "b"),), (Edge("b", "m", "c"),)
    answers, matcher = run(CORRECTED, asked, first, second)
    wasted, other = run(without("c4"), asked, first, second)
    assert answers == wasted == {}
    assert (matcher.work[JOINED], other.work[JOINED]) == (0, 2)  # a row, joined with an empty table
    both = replace(without("c4"), c3_tables_are_cleared=False)
    assert run(both, asked, first, second)[0] == {0: {("b",)}}


def test_c5_an_edge_that_fits_twice_is_one_edge() -> None:
    asked = [ask(Edge("a", "l", -1), Edge(-1, "m", "c"))]
    twice = (Edge("a", "l", "b"), Edge("a", "l", "d"))
    answers, matcher = run(CORRECTED, asked, twice)
    wasted, other = run(without("c5"), asked, twice)
    assert answers == wasted == {}
    assert matcher.work[JOINED] == 0
    assert other.work[JOINED] > 0


def test_c6_a_row_is_found_once() -> None:
    asked = [ask(Edge("a", "l", -1))] * 3
    publication = (Edge("a", "l", "b"),)
    once = Matcher(fill_matrix(asked)).match_rows(publication)
    assert once == [(0, ("b",)), (1, ("b",)), (2, ("b",))]
    assert len(Matcher(fill_matrix(asked), corrections=without("c6")).match_rows(publication)) == 9


def test_c7_the_second_constraint_counts_too() -> None:
    limits = (Constraint(-1, "=", 1), Constraint(-2, "=", 3))
    asked = [ask(Edge(-1, "l", -2), limits=limits)]
    assert run(CORRECTED, asked, (Edge(1, "l", 2),))[0] == {}
    assert run(without("c7"), asked, (Edge(1, "l", 2),))[0] == {0: {(1, 2)}}


def test_c8_equal_is_a_direct_instance() -> None:
    asked = [
        ask(Edge(-1, "author", "Jacobsen"), limits=[Constraint(-1, "is-a =", name)])
        for name in ("SIGMODProceedings", "Proceedings")
    ]
    assert run(CORRECTED, asked, EVENT, taxonomy=FIGURE_6)[0] == {0: {("paper17",)}}
    assert run(without("c8"), asked, EVENT, taxonomy=FIGURE_6)[0] == {}


@pytest.mark.parametrize(
    ("node", "operator", "wanted"), [("paper17", "is-a >=", "Proceedings"), ("Journal", "is-a <=", "Journal")]
)
def test_c9_types_stand_for_their_instance(node: str, operator: str, wanted: str) -> None:
    below = Taxonomy(
        {**FIGURE_6.broader, "Proceedings": ("SIGMODProceedings",), "SIGMODProceedings": ()}, FIGURE_6.types
    )
    taxonomy = below if operator == "is-a >=" else FIGURE_6
    asked = [ask(Edge(-1, "author", "Jacobsen"), limits=[Constraint(-1, operator, wanted)])]
    publication = (Edge(node, "author", "Jacobsen"),)
    assert run(CORRECTED, asked, publication, taxonomy=taxonomy)[0] == {0: {(node,)}}
    assert run(without("c9"), asked, publication, taxonomy=taxonomy)[0] == {}


@pytest.mark.parametrize("kind", [Ops, OpsTree])
def test_o1_two_nodes_may_be_one(kind: type[Ops | OpsTree]) -> None:
    corrected, printed = kind(), kind(one_to_one=True)
    for ops in (corrected, printed):
        ops.insert(ask(Edge(-1, "l", -2)))
    publication = (Edge("a", "l", "a"),)
    assert corrected.match(publication) == {0: {("a", "a")}}
    assert printed.match(publication) == {}


def test_o2_nothing_is_left_of_an_earlier_publication() -> None:
    first, second = (Edge("a", "l", "b"),), (Edge("a", "l", "c"),)
    corrected, printed = Ops(), Ops(clears=False)
    for ops in (corrected, printed):
        ops.insert(ask(Edge("a", "l", -1)))
        assert ops.match(first) == {0: {("b",)}}
    assert corrected.match(second) == {0: {("c",)}}
    assert printed.match(second) == {0: {("b",), ("c",)}}


def test_each_thing_that_is_touched_counts_one() -> None:
    """Of four pairs of ends for each of two edges, where there is one star (no loop), two are found; two subscriptions
    of the one, one of the other; a row for each; the two candidates whose edges are all there join their rows."""
    asked = [ask(Edge("a", "l", -1)), ask(Edge("a", "l", -1), Edge(-1, "m", "c")), ask(Edge("a", "n", -1))]
    publication = (Edge("a", "l", "b"), Edge("b", "m", "c"))
    answers, matcher = run(CORRECTED, asked, publication)
    assert answers == {0: {("b",)}, 1: {("b",)}}
    assert matcher.work == {LOOKUPS: 2 * 3 + 2, POSTINGS: 2 + 1, BOUND: 2, CANDIDATES: 2, JOINED: 1 + (1 + 1 + 1 + 1)}
    ops = Ops()
    for each in asked:
        ops.insert(each)
    assert ops.match(publication) == answers
    assert ops.work == {
        LOOKUPS: 2,
        POSTINGS: 2 + 1,
        BOUND: 2,
        CANDIDATES: 2,
        JOINED: 1 + (1 + 1 + 1 + 1),
        NAMED: 2 + 3,
    }
