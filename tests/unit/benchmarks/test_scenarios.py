"""Scenarios in tiny sizes: they run, count the same work each time, and are what they say of their workloads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from benchmarks.figures import Figure
from benchmarks.plan import DEFAULT_PARTS, PARTS, QUICK_PARTS, Extent, plan_runs
from benchmarks.scenarios import frontdoor
from benchmarks.scenarios.fulltext import match_batches
from benchmarks.scenarios.indexes import Indexed, to_publications, to_registrations
from benchmarks.scenarios.mixed import measure_mixed
from benchmarks.scenarios.readers import measure_readers
from benchmarks.scenarios.replacing import Registry
from benchmarks.scenarios.skew import measure_skew
from benchmarks.scenarios.subscribing import measure_subscribing
from benchmarks.scenarios.tenmillion import measure_ten_million
from benchmarks.scenarios.variants import IndexedVariant, check_alike
from benchmarks.workloads import WORKLOADS
from benchmarks.workloads.mixed import make_mixed
from benchmarks.workloads.skew import write_all_variable, write_common
from triplecast.index import build_segment
from triplecast.match.segment import Scratch
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit


def _counted(figures: Iterator[Figure], *names: str) -> list[float]:
    return [figure.work[name] for figure in figures for name in names if name in figure.work]


def test_mixed_interests_match_as_equality_alone_does() -> None:
    equality, mixed = make_mixed(1_500, 40)
    asked = [subscription.text for subscription in mixed.subscriptions]
    assert min(sum(part in text for text in asked) for part in ("FILTER(?v", "ft:contains", "?x a")) > 200
    assert not any("FILTER" in subscription.text for subscription in equality.subscriptions)
    told = IndexedVariant(equality), IndexedVariant(mixed)
    check_alike(*told)
    assert told[0].match_bytes() == told[1].match_bytes() > 100


def test_told_otherwise_is_found_out() -> None:
    equality, mixed = make_mixed(300, 20)
    other = [*mixed.subscriptions[1:], mixed.subscriptions[0]]
    with pytest.raises(ValueError, match="equality alone give"):
        check_alike(IndexedVariant(equality), IndexedVariant(replace(mixed, subscriptions=other)))


def test_what_crowds_is_what_it_says_it_is() -> None:
    for text in write_all_variable(12):
        assert "b:" not in text.split("{")[1]
        assert admit(Subscription("s", text)).decided
    common = write_common(200)
    assert len(set(common)) == 200
    assert len({name for text in common for name in re.findall(r"b:class\d+", text)}) == 6


@pytest.fixture
def no_repeats(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures of a single run."""
    monkeypatch.setattr("benchmarks.figures.SHORTEST", 0.0)
    monkeypatch.setattr("benchmarks.figures.REPEATS", 1)


@pytest.mark.usefixtures("no_repeats")
def test_counted_work_is_the_same_each_time() -> None:
    names = ("matches", "triples", "segments", "keys", "structures", "joins")
    for measure in (partial(measure_mixed, 120, 12), partial(measure_skew, 120, 12, crowd=8)):
        first, again = _counted(measure(), *names), _counted(measure(), *names)
        assert first == again
        assert len(first) > 5


def test_after_replacements_the_new_ones_are_asked_and_the_old_ones_not(tmp_path: Path) -> None:
    workload = WORKLOADS["realtail"](600, 30)
    texts = workload.subscriptions
    registry = Registry(tmp_path, texts[:500], texts[500:], workload.publications)
    try:
        for _ in range(5):
            registry.replace(20)
            found = sum(map(registry.ids_in, range(len(registry.batches))))
            assert found == sum(map(registry.bytes_in, range(len(registry.batches))))
        wanted = build_segment(to_registrations(texts[100:]))
        indexed = Indexed(workload, to_publications(workload), wanted, Scratch(wanted))
        assert found == sum(match_batches(indexed)) > 20
        assert len(registry.snapshot.removals.registration) == 100
    finally:
        registry.close()


def test_the_figures_of_a_durable_engine() -> None:
    figures = {figure.scenario: figure for figure in measure_subscribing("realtail", 40, single=5)}
    assert figures["durable subscribe, one at a time: median"].work["99th percentile, ms"] > 0
    assert figures["index files of an engine"].work["segments"] < 5
    assert len(figures) == 6


@pytest.mark.slow
def test_the_front_door_is_measured_by_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontdoor, "AT_ONCE", 20)
    figures = [*frontdoor.measure_front_door(500, 0.02)]
    assert {figure.unit for figure in figures} >= {"documents/s", "notifications/s", "subscriptions/s"}
    read = [figure for figure in figures if "notifications" in figure.work]
    assert [figure.scenario.split()[0] for figure in read] == [
        "notifications",
        "notifications",
        "notification_batches,",
    ]
    assert len({figure.work["notifications"] for figure in read}) == 1
    assert all(figure.value > 0 for figure in figures)
    matches = {figure.workload: figure.work["matches"] for figure in figures if "matches" in figure.work}
    assert matches["items, many matches"] > matches["items, hardly a match"]


@pytest.mark.slow
def test_figures_that_come_from_other_processes() -> None:
    figures = [*measure_ten_million(600, 20, slice_size=200), *measure_readers("realtail", 200, 20, 0.1)]
    told = {figure.scenario: figure for figure in figures}
    assert told["index files with dictionaries"].work["segments"] == 3
    assert 0.01 < told["peak memory after matching"].value < 3
    assert told["two processes over one"].value > 0


def test_every_part_can_be_planned_in_every_extent() -> None:
    assert set(QUICK_PARTS) < set(DEFAULT_PARTS) < set(PARTS)
    for extent in Extent:
        for part in PARTS:
            assert plan_runs(Path(), extent, [part]), (extent, part)
