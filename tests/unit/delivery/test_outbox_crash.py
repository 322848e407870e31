"""Kill -9 at each crash point of the outbox: a restart goes on from its progress and ends with the undisturbed rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.journal.journal_samples import run_and_crash
from triplecast.delivery import Outbox
from triplecast.faults import POINTS

COMMIT = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from outbox_samples import batch, registrations
from triplecast.delivery import Outbox
prune = "prune" in sys.argv[1]
with Outbox.open(sys.argv[1]) as outbox:
    for position in range(outbox.progress + 1, 31):
        again = max(1, position - 1)
        rows = [(p, r, f"[{{p * r}}]") for p in range(again, position + 1) for r in range(1, 4)]
        assert outbox.commit(batch(rows, [(position, 9, "why")]), position, registrations).differing == ()
        if prune and position % 3 == 0:
            outbox.prune(outbox.counts().sequence - 4)
"""


@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith("outbox.")])
def test_nothing_is_lost_twice_or_renamed(tmp_path: Path, point: str) -> None:
    folder = tmp_path / "prune" if point == "outbox.pruned" else tmp_path
    deaths = sum(run_and_crash(COMMIT, folder, point, hit, tmp_path / "log") for hit in (1, 3, 4, 100))
    assert deaths == 3
    with Outbox.open(folder) as outbox:
        outbox.check()
        rows = [(n.sequence, n.version, n.registration, n.bindings) for n in outbox.notifications()]
        every = [(p, r, f"[{p * r}]") for p in range(1, 31) for r in range(1, 4)]
        expected = [(sequence, *row) for sequence, row in enumerate(every, start=1)]
        assert rows == (expected[86:] if point == "outbox.pruned" else expected)
        assert outbox.progress == 30
