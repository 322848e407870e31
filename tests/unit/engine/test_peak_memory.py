"""Peak memory of real processes while a publication is matched by many subscriptions with many rows each (decision 15):
every way stays within `PEAK` above what stood before. `tests/unit/match/test_answer_limit.py` says why no test saw it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from triplecast.match.answer_limit import NO_ROOM

PEAK = 512
"""MiB, as docs/language.md states it."""

PROGRAM = """
import json, sys
from pathlib import Path
from triplecast import Document, Engine, Subscription

way, subscriptions, documents, rows = sys.argv[1], *map(int, sys.argv[2:5])
QUERY = "SELECT * { ?s <urn:p> ?o FILTER(?o != %d) }"
queries = [Subscription(f"s{i}", QUERY % i, owner=f"o{i}") for i in range(subscriptions)]
published = [
    Document(
        f"d{d}",
        "".join(f"<urn:s{d}x{n}> <urn:p> {n} .\\n" for n in range(rows)).encode(),
        "text/turtle",
        graph=f"urn:g{d}",
    )
    for d in range(documents)
]
small = Document("small", b"<urn:a> <urn:p> 100000 .", "text/turtle")

def memory(field):
    return int(Path("/proc/self/status").read_text().partition(field)[2].split()[0]) >> 10

def publish(engine):
    engine.subscribe_many(queries)
    engine.publish(small.data, small.media_type)
    before = memory("VmRSS:")
    receipts = engine.publish_many(published)
    pairs = [each for receipt in receipts for each in (len(receipt.matches), len(receipt.undecided))]
    last = [pair.reason for receipt in receipts for pair in receipt.undecided[-1:]]
    told = sum(1 for _ in engine.notifications())
    return before, sum(pairs[::2]), sum(pairs[1::2]), sorted({*last}), told - len(queries)

if way == "memory":
    with Engine() as engine:
        before, *counted = publish(engine)
elif way == "folder":
    with Engine.open(sys.argv[5]) as engine:
        before, *counted = publish(engine)
elif way == "again":
    with Engine.open(Path(sys.argv[5]) / "other") as engine:
        engine.publish(small.data, small.media_type)
    before = memory("VmRSS:")
    with Engine.open(sys.argv[5]) as engine:
        undecided = engine.undecided()
        told = sum(1 for _ in engine.notifications()) - len(queries)
        counted = told, len(undecided), sorted({pair.reason for pair in undecided}), told
else:
    from triplecast.offline import match_documents
    from triplecast.registry.admission import admit_all
    from triplecast.registry.lines import LoadedSubscriptions
    before, matches, undecided, reasons = 0, 0, 0, set()
    admitted = admit_all(LoadedSubscriptions(tuple(queries), ("",) * len(queries), ()))
    for outcome in match_documents(admitted, [small, *published]):
        before = before or memory("VmRSS:")
        matches += len(outcome.matched)
        undecided += len(outcome.matched.undecided)
        reasons |= {pair.reason for pair in outcome.matched.undecided}
    counted = matches - len(queries), undecided, sorted(reasons), matches - len(queries)
print(json.dumps([memory("VmHWM:") - before, *counted]))
"""

CASES = [
    pytest.param(1_000, 1, 9_000, id="one large publication"),
    pytest.param(10_000, 1, 9_000, id="10,000 subscriptions", marks=pytest.mark.slow),
    pytest.param(10_000, 300, 20, id="300 publications", marks=pytest.mark.slow),
]


def run(way: str, subscriptions: int, documents: int, rows: int, folder: Path, crash: str = "") -> str:
    """Run the program and return what it printed; "" where it was killed at a crash point."""
    arguments = [way, str(subscriptions), str(documents), str(rows), str(folder)]
    environment = {**os.environ, "TRIPLECAST_CRASH": crash}
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM, *arguments]
    ended = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=500)
    assert ended.returncode == 0 or crash, ended.stderr
    return ended.stdout


@pytest.mark.parametrize("way", ["memory", "folder", "offline"])
@pytest.mark.parametrize(("subscriptions", "documents", "rows"), CASES)
def test_every_way_stays_within_the_stated_peak(
    way: str, subscriptions: int, documents: int, rows: int, tmp_path: Path
) -> None:
    peak, matches, undecided, reasons, told = json.loads(run(way, subscriptions, documents, rows, tmp_path))
    assert peak <= PEAK
    assert matches + undecided == subscriptions * documents
    assert told == matches > 0
    assert reasons == ([NO_ROOM] if rows == 9_000 else [])


def test_a_folder_whose_journal_holds_such_a_publication_opens_and_goes_on(tmp_path: Path) -> None:
    """It was acknowledged, and every later `Engine.open` raised MemoryError."""
    assert run("folder", 1_000, 1, 9_000, tmp_path, crash="outbox.rows-written:2") == ""
    peak, matches, undecided, reasons, told = json.loads(run("again", 1_000, 1, 9_000, tmp_path))
    assert peak <= PEAK
    assert (matches + undecided, reasons, told) == (1_000, [NO_ROOM], matches)
