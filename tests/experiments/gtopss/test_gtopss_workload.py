"""Table 1's workload is what its parameters say, and the engine's line is about the same subscriptions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from experiments.engine import Engine
from experiments.figures import ENGINE, ENGINE_BATCH
from experiments.gtopss.asking import expect_answers
from experiments.gtopss.match import Matcher
from experiments.gtopss.matrix import fill_matrix
from experiments.gtopss.model import Subscription, compares, is_star
from experiments.gtopss.rdf import contents, to_answers, to_asked
from experiments.gtopss.workload import Parameters, make_workload
from experiments.measuring import take_turns
from triplecast.model.match import AnswerLimits

SMALL = Parameters(subscriptions=1_000, publications=3, matched=0.01)


def nodes_of(subscription: Subscription) -> set[int | str]:
    return {node for edge in subscription.edges for node in (edge.subject, edge.object)}


def test_every_parameter_of_table_1() -> None:
    work = make_workload(SMALL)
    assert (len(work.subscriptions), len(work.publications)) == (1_000, 3)
    for publication in work.publications:
        assert len({node for edge in publication for node in (edge.subject, edge.object)}) == 35
        assert len(set(publication)) == 90
    sizes = {len(subscription.edges) for subscription in work.subscriptions}
    assert max(sizes) == 35
    assert min(sizes) > 30  # edges that become equal by their stars are one
    starred = [subscription for subscription in work.subscriptions if subscription.stars]
    assert len(starred) == 900
    assert {subscription.stars for subscription in starred} == {(-1, -2)}
    assert not any(subscription.constraints for subscription in work.subscriptions)
    own = [subscription for subscription in work.subscriptions if len(nodes_of(subscription)) == 5]
    assert abs(len(own) - 485) <= 10  # half of those that do not match a publication
    matcher = Matcher(fill_matrix(work.subscriptions))
    assert [len(matcher.match(publication)) for publication in work.publications] == [10, 10, 10]


def test_a_smaller_workload_is_the_beginning_of_a_larger_one() -> None:
    work = make_workload(SMALL)
    begun = make_workload(replace(SMALL, subscriptions=300))
    assert work.publications == begun.publications
    assert work.subscriptions[:300] == begun.subscriptions


def test_what_overlaps_lies_in_one_graph() -> None:
    for overlap, fewest, most in ((0.0, 2_000, 4_000), (1.0, 90, 90)):
        work = make_workload(replace(SMALL, subscriptions=100, overlap=overlap, matched=0.0, with_stars=0.0))
        distinct = {edge for subscription in work.subscriptions for edge in subscription.edges}
        assert fewest <= len(distinct) <= most


def test_a_limited_star_still_matches() -> None:
    work = make_workload(replace(SMALL, limited=1.0, subscriptions=200))
    limits = [limit for subscription in work.subscriptions for limit in subscription.constraints]
    assert len(limits) == 2 * 180
    assert {limit.operator for limit in limits} == {"=", "<=", ">=", "!="}
    matcher = Matcher(fill_matrix(work.subscriptions))
    assert [len(matcher.match(publication)) for publication in work.publications] == [2, 2, 2]
    assert all(is_star(limit.star) for limit in limits)
    assert compares(3, "<=", 3)
    assert not compares("name", "!=", 3)


def test_an_index_that_grew_answers_as_one_that_was_made_whole() -> None:
    work = make_workload(replace(SMALL, subscriptions=100, limited=0.5))
    asked = [to_asked(each, f"s{number}") for number, each in enumerate(work.subscriptions)]
    bytes_in = contents(work.publications, work.subscriptions)
    grown, whole = Engine(asked[40:], before=Engine(asked[:40])), Engine(asked)
    found = grown.match(grown.take(bytes_in))
    assert found == whole.match(whole.take(bytes_in))
    assert all(found)
    assert grown.file_size() > 1_000
    runs = {ENGINE: grown.alone(bytes_in), ENGINE_BATCH: grown.batch(bytes_in), "ids": grown.numbers_alone(bytes_in)}
    points = grown.count_work(bytes_in, take_turns(runs, 100.0))
    alone, batch = points[ENGINE], points[ENGINE_BATCH]
    assert (alone.x, alone.work["structures"]) == (100.0, 1.0)
    assert (batch.x, batch.work, batch.each) == (100.0, alone.work, ())
    assert (len(alone.each), len(alone.steps_each)) == (3, 3)
    assert grown.match_numbers(grown.take(bytes_in)) == [sorted(each) for each in found]
    grown._matcher.limits = AnswerLimits(pairs=1)  # a piece for each publication
    assert grown.match(grown.take(bytes_in)) == found
    assert grown.match_numbers(grown.take(bytes_in)) == [sorted(each) for each in found]
    assert take_turns({"batch": grown.batch(bytes_in)}, 100.0)["batch"].value > 0
    assert points["ids"].value > 0
    assert not points["ids"].work
    assert ENGINE == "Triplecast"
    expected = expect_answers(grown, bytes_in)
    answers = to_answers(found[0])
    expected.checking("G-ToPSS")(0, answers)
    with pytest.raises(ValueError, match=r"G-ToPSS and the engine differ on publication 0 in subscriptions \[99\]"):
        expected.checking("G-ToPSS")(0, {**answers, 99: {()}})


def test_the_engine_refuses_loudly() -> None:
    from triplecast import Subscription as Asked

    with pytest.raises(ValueError, match="refuses subscription 1"):
        Engine([Asked("s", "SELECT * { SERVICE <http://example.org/> { ?s ?p ?o } }")])
