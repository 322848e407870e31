"""A few of the polls that ``python -m tests.properties.sources`` makes by the thousand."""

from __future__ import annotations

import pytest

from tests.properties.sources import SERIES, run_feeds, run_series


def test_each_item_is_told_once(seed: int) -> None:
    assert run_feeds(60, seed)["items"] > 60


def test_each_item_of_a_real_feed_is_told_once() -> None:
    if not SERIES.exists():
        pytest.skip("the fetched data set ../shared/data is not on this machine")
    assert run_series(20)["new"] > 60


@pytest.mark.slow
def test_each_item_of_a_real_feed_is_told_once_through_all_its_states() -> None:
    if not SERIES.exists():
        pytest.skip("the fetched data set ../shared/data is not on this machine")
    assert run_series(0)["items"] == 86
