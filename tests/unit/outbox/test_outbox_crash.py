"""Kill -9 at each crash point of the outbox: a restart goes on from its progress and ends with the undisturbed rows."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.journal.journal_samples import run_and_crash
from triplecast.crash_points import POINTS
from triplecast.outbox import Outbox

COMMIT = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from outbox_samples import batch, names
from triplecast.outbox import Outbox, chunks
chunks.MERGED = 3
prune = "prune" in sys.argv[1]
with Outbox.open(sys.argv[1]) as outbox:
    for position in range(outbox.progress + 1, 31):
        again = max(1, position - 1)
        rows = [(p, r, f"[{{p * r}}]") for p in range(again, position + 1) for r in range(1, 4)]
        assert outbox.commit(batch(rows, [(position, 9, "why")]), position, names).differing == ()
        if prune and position % 3 == 0:
            outbox.prune(outbox.state.sequence - 4)
"""


LATE = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from outbox_samples import batch, names
from triplecast.outbox import Outbox, chunks
chunks.MERGED = 2
def rows_of(positions):
    return [(p, r, f"[{{p * r}}]") for p in positions for r in range(1, 4)]
with Outbox.open(sys.argv[1]) as outbox:
    while outbox.progress < 30:
        if outbox.told < 30 and outbox.told < outbox.progress + 5:
            position = outbox.told + 1
            told = [row for row in rows_of([position]) if row[1] != position % 4]
            waits = [(position, position % 4)] if position % 4 else []
            assert outbox.commit(batch(told, [], waits), position, names).differing == ()
        else:
            upto = outbox.progress + 3 if outbox.progress + 3 < outbox.told else outbox.told
            settled = rows_of(range(outbox.progress + 1, upto + 1))
            assert outbox.settle(batch(settled), upto, names).differing == ()
"""


POINTS_OF_COMMITS = [point for point in POINTS if point.startswith("outbox.") and point != "outbox.pruned"]


@pytest.mark.parametrize("point", POINTS_OF_COMMITS)
def test_a_kill_between_the_halves_tells_the_same(tmp_path: Path, point: str) -> None:
    """The other half follows after the restart; each subscriber's notifications stand in order."""
    deaths = sum(run_and_crash(LATE, tmp_path, point, hit, tmp_path / "log") for hit in (1, 3, 7, 100))
    assert deaths == 3
    with Outbox.open(tmp_path) as outbox:
        outbox.check()
        rows = [(n.version, n.registration, n.json) for n in outbox.notifications()]
        assert sorted(rows) == [(p, r, f"[{p * r}]") for p in range(1, 31) for r in range(1, 4)]
        for registration in (1, 2, 3):
            assert [p for p, each, _ in rows if each == registration] == list(range(1, 31))
        assert (outbox.progress, outbox.told, outbox.state.sequence) == (30, 30, 90)


@pytest.mark.parametrize("point", ["outbox.pruned", *POINTS_OF_COMMITS[:-1]])
def test_nothing_is_lost_twice_or_renamed(tmp_path: Path, point: str) -> None:
    folder = tmp_path / "prune" if point == "outbox.pruned" else tmp_path
    deaths = sum(run_and_crash(COMMIT, folder, point, hit, tmp_path / "log") for hit in (1, 3, 4, 100))
    assert deaths == 3
    with Outbox.open(folder) as outbox:
        outbox.check()
        rows = [(n.sequence, n.version, n.registration, n.json) for n in outbox.notifications()]
        every = [(p, r, f"[{p * r}]") for p in range(1, 31) for r in range(1, 4)]
        expected = [(sequence, *row) for sequence, row in enumerate(every, start=1)]
        assert rows == (expected[86:] if point == "outbox.pruned" else expected)
        assert outbox.progress == 30
