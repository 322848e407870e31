"""A few random histories of what is told (`python -m tests.properties.told N` runs more)."""

from __future__ import annotations

from tests.properties.told import run_histories


def test_what_is_told_is_what_a_slow_statement_says(seed: int) -> None:
    seen = run_histories(seed, 6)
    assert {
        "every added",
        "changed changed",
        "changed removed",
        "new added",
        "changed present",
        "compared changed",
    } <= {*seen}
