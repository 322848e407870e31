"""Some of ``python -m tests.flips`` (docs/testing.md)."""

from __future__ import annotations

from pathlib import Path

from tests.flips import KINDS, REFUSED, run_trials


def test_damaged_files_never_give_a_wrong_answer(tmp_path: Path) -> None:
    trials = list(run_trials(20261121, 0, 150, tmp_path))
    assert [trial for trial in trials if trial.wrong is not None] == []
    assert {trial.kind for trial in trials} == set(KINDS)
    assert {REFUSED, "index made again, answered as before"} <= {trial.outcome for trial in trials}
    assert {trial.outcome for trial in trials if trial.kind == "journal.sqlite-wal"} >= {REFUSED}
