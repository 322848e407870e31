"""Kill -9 at each crash point of the journal: what was acknowledged is there, once; what was not may be there, once."""

from __future__ import annotations

from pathlib import Path

import pytest
from journal_samples import draft, run_and_crash

from triplecast.crash_points import POINTS
from triplecast.journal import Journal

APPEND = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
from journal_samples import draft
from triplecast.journal import FileState, Journal
from triplecast.model.answers import OperatorResult
folder = Path(sys.argv[1])
acknowledged = os.open(folder / "acknowledged", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
with Journal.open(folder) as journal:
    for i in range(len(journal.sources()), 12):
        drafts = [draft(f"d{{i}}", "x"), draft("shared", str(i))]
        answers = journal.commit_documents(drafts, sources={{f"{{i:02}}": FileState(1, 1, b"", "accepted")}}).accepted
        journal.keep_results([OperatorResult(answers[0].position, "x:op", "1", ("1",), b"{{}}")])
        os.write(acknowledged, "".join(f"{{a.position}} {{a.graph}} {{a.version}}\\n" for a in answers).encode())
"""


@pytest.mark.parametrize("point", [point for point in POINTS if point.startswith("journal.")])
def test_nothing_is_lost_and_nothing_is_twice(tmp_path: Path, point: str) -> None:
    log = tmp_path / "log"
    deaths = sum(run_and_crash(APPEND, tmp_path, point, hit, log) for hit in (1, 3, 2, 100))
    assert deaths == 3
    with Journal.open(tmp_path) as journal:
        journal.check()
        written = {(p.position, p.graph, p.version) for p in journal.publications(0, journal.head())}
        lines = (tmp_path / "acknowledged").read_text().split("\n")[:-1]
        told = [(int(position), graph, int(version)) for position, graph, version in map(str.split, lines)]
        assert len(told) == len(set(told))
        assert written >= set(told)
        assert len(written) == journal.head() == 24
        assert sorted(version for _, graph, version in written if graph == draft("shared", "").graph) == list(
            range(1, 13)
        )
        assert list(journal.sources()) == [f"{i:02}" for i in range(12)]
