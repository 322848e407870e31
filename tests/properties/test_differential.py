"""20,000 generated pairs through the index, and 2,000 through the evaluator alone, against the oracles."""

from __future__ import annotations

from tests.properties.running import run, show

PAIRS = 20_000
SMALLEST_SHARE_OF_MATCHES = 0.25


def test_index_answers_as_the_oracles_do(seed: int) -> None:
    tally, faults = run(seed, PAIRS)
    print(tally)
    assert not faults, show(faults, "index")
    assert tally.matched >= SMALLEST_SHARE_OF_MATCHES * tally.pairs
    assert not tally.gaps(), "the census misses:\n" + "\n".join(tally.gaps())


def test_evaluator_answers_as_the_oracles_do(seed: int) -> None:
    tally, faults = run(seed + 1, 2_000, "evaluator")
    assert not faults, show(faults, "evaluator")
    assert tally.matched >= SMALLEST_SHARE_OF_MATCHES * tally.pairs
