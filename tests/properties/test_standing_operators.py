"""Random standing queries that ask operators (`tests.properties.standing_operators`)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from tests.conftest import DEFAULT_SEED
from tests.properties.standing_operators import check_history


def test_what_is_told_adds_up_while_operators_fail(tmp_path: Path) -> None:
    seen: Counter[str] = Counter()
    for number in range(3):
        (tmp_path / str(number)).mkdir()
        seen += check_history(DEFAULT_SEED, number, tmp_path / str(number))
    assert seen["changed"] > 100
    assert seen["removed"] > 50
    assert seen["owed"] > 50
    assert seen["made up for"] > 20
