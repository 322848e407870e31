"""20,000 generated pairs through the index, and 2,000 through the evaluator alone, against the oracles."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.properties import running
from tests.properties.progress import Run, read_log, report, total
from tests.properties.running import run_rounds, show

PAIRS = 20_000
SMALLEST_SHARE_OF_MATCHES = 0.25


def test_index_answers_as_the_oracles_do(seed: int) -> None:
    run = Run(seed)
    blocks, faults = run_rounds(run, PAIRS)
    tally = total(blocks)
    print(tally)
    assert not faults, show(faults, run)
    assert tally.matched >= SMALLEST_SHARE_OF_MATCHES * tally.pairs
    assert not tally.gaps(), "the census misses:\n" + "\n".join(tally.gaps())


def test_evaluator_answers_as_the_oracles_do(seed: int) -> None:
    run = Run(seed + 1, "evaluator")
    blocks, faults = run_rounds(run, 2_000)
    assert not faults, show(faults, run)
    assert total(blocks).matched >= SMALLEST_SHARE_OF_MATCHES * total(blocks).pairs


def test_a_run_goes_on_where_its_log_ends(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "ROUNDS_OF_A_BLOCK", 3)
    run, log = Run(seed, "evaluator", publications=2), tmp_path / "run.jsonl"
    whole, _ = run_rounds(run, 10**9, numbers=range(6))
    first, _ = run_rounds(run, 1, log=log)
    assert [block.start for block in first] == [0]
    both, _ = run_rounds(run, 10**9, numbers=range(6), log=log)
    assert total(both) == total(whole)
    assert [block.start for block in read_log(log)] == [0, 3]
    assert f"{total(whole).pairs} pairs share a key" in report(read_log(log))
    assert [block.start for block in run_rounds(replace(run, seed=seed + 1), 1, log=log)[0]] == [0]


def test_a_torn_line_of_a_log_is_named(tmp_path: Path) -> None:
    log = tmp_path / "run.jsonl"
    log.write_text('{"run": {"seed"')
    with pytest.raises(ValueError, match=r"run\.jsonl:1"):
        read_log(log)
