"""Random standing queries that ask operators (`tests.properties.standing_operators`)."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import DEFAULT_SEED
from tests.properties.standing_operators import POINTS, check_history, check_kills


def test_what_is_told_adds_up_while_operators_fail(tmp_path: Path) -> None:
    seen = check_history(DEFAULT_SEED, 0, tmp_path)
    assert seen["changed"] > 100
    assert seen["removed"] > 50
    assert seen["owed"] > 30
    assert seen["made up for"] > 20


@pytest.mark.slow
def test_kills_lose_nothing_that_operators_gave(tmp_path: Path) -> None:
    seen = check_kills(DEFAULT_SEED, 0, len(POINTS), tmp_path)
    assert sum(seen[point] for point in POINTS) > len(POINTS) // 2, seen
    assert seen["owed"] > 0, seen
