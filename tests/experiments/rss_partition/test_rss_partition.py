"""The workload's readings, and what containment and merging make of them, at a small size."""

from __future__ import annotations

import numpy as np
import pytest

from experiments.rss_partition.cluster import Coefficients, entries_found, load_of, match_members, work_of
from experiments.rss_partition.measure import Scale, _draw, _grow, _single, _Workload
from experiments.rss_partition.workload import CONTAINED, EDGES

SCALE = Scale((60, 120), 120, 60, 60, 8, 8)


@pytest.fixture(scope="module")
def work() -> _Workload:
    return _draw(SCALE, 120, 0.05, 0.5, CONTAINED)


def test_half_is_contained_in_one_reading_and_nothing_in_the_other(work: _Workload) -> None:
    assert 60 <= len(work.roots()) <= 72
    assert len(_draw(SCALE, 120, 0.05, 0.5, EDGES).roots()) >= 118


def test_a_workload_that_grew_is_one_that_was_made_whole(work: _Workload) -> None:
    half, grown = _grow(SCALE, SCALE.numbers, 0.05, 0.5, CONTAINED)
    assert (half.filed.subscriptions, grown.filed.subscriptions) == (60, 120)
    assert grown.measured == work.measured
    found, expected = (
        {
            (publication, int(each.segment.tables.registrations[member]))
            for publication, member in zip(*match_members(each.segment, each.measured), strict=True)
        }
        for each in (grown, work)
    )
    assert found == expected
    assert len(grown.roots()) == len(work.roots())


def test_a_contained_subscription_matches_where_its_root_does(work: _Workload) -> None:
    stage = work.contain(2)
    found = set(zip(*(column.tolist() for column in entries_found(stage, work.measured)), strict=True))
    publication, member = match_members(work.segment, work.measured)
    assert len(member) > 20
    assert set(zip(publication.tolist(), stage.entry_of[member].tolist(), strict=True)) <= found
    roots = np.isin(member, work.roots())
    assert roots.any()
    assert not roots.all()


def test_more_is_merged_as_it_is_asked_for_and_no_match_is_lost(work: _Workload) -> None:
    sizes = []
    for percentage in (0.0, 30.0):
        stage = work.merge(2, percentage)
        sizes.append(int(stage.entry_of.max()) + 1)
        found = set(zip(*(column.tolist() for column in entries_found(stage, work.measured)), strict=True))
        publication, member = match_members(work.segment, work.measured)
        assert set(zip(publication.tolist(), stage.entry_of[member].tolist(), strict=True)) <= found
    assert sizes[1] < sizes[0] <= 120
    assert len(_single(work.merge(2, 0.0))) <= 120


def test_the_busiest_node_has_no_more_than_one_node_has(work: _Workload) -> None:
    whole, cost = work_of(work.segment, work.measured), Coefficients(0.0, 1.0)
    loads = [load_of(work.contain(nodes), work.roots(), nodes, work.measured, cost) for nodes in (1, 3)]
    assert all(load.steps == load.seconds for load in loads)
    assert loads[1].steps <= loads[0].steps <= whole.steps.sum()
