"""Some of ``python -m tests.outbox_damage`` (docs/testing.md).

No earlier test saw an older outbox restored with its mark, or the errors without a name that single rows raise: damage
was random bytes of one file, and nobody went on reading from a cursor. These trials damage rows, files and copies, and
go on with a reader.
"""

from __future__ import annotations

from pathlib import Path

from tests.outbox_damage import run_trials


def test_damaged_outboxes_give_nothing_wrong_and_nothing_twice(tmp_path: Path, seed: int) -> None:
    trials = list(run_trials(seed, 0, 25, tmp_path))
    assert [trial for trial in trials if trial.wrong is not None] == []
    assert {"nothing was lost", "matched again"} <= {trial.outcome for trial in trials}
