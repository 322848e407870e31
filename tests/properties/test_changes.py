"""A few of the worlds that ``python -m tests.properties.changes`` makes by the hundred."""

from __future__ import annotations

import pytest

from tests.properties.changes import run_world


def test_each_change_is_told_once(seed: int) -> None:
    assert run_world(seed)["events"] > 0


@pytest.mark.slow
@pytest.mark.parametrize("world", [1_000_000, 1_000_002])  # one page each; a page whose newest stand in a later one
def test_each_change_is_told_once_in_worlds_that_found_something(world: int) -> None:
    assert run_world(world)["kills"] > 0
