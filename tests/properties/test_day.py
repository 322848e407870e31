"""A few hours of the day that ``python -m tests.properties.day`` goes through."""

from __future__ import annotations

from tests.properties.day import run_day


def test_each_item_is_told_once_to_its_subscription(seed: int) -> None:
    seen = run_day(hours=4, feeds=10, subscriptions=100, seed=seed)
    assert seen.counted["notifications"] > 10
    assert seen.counted["polls"] > 10
