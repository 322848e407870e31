"""What changed is told in order, also where an earlier version waited for an operator that was away."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.unit.engine.test_unasked import MODULE

CALL = """
import importlib.util, json, sys, warnings
folder, away, *words = sys.argv[1].split()
sys.path.insert(0, away)
if importlib.util.find_spec("away_operators"):
    import away_operators
from tests.unit.engine.test_unasked import P
from triplecast import Engine
warnings.simplefilter("ignore")
with Engine.open(folder) as engine:
    if not list(engine.subscriptions()):
        for notify in ("changed", "new", "every"):
            engine.subscribe(P + "SELECT ?n { ?p :title ?t BIND(o:length(?t) AS ?n) }", id=notify, notify=notify)
    waiting = 0
    for word in words:
        if word == "-":
            waiting += len(engine.remove("urn:d").pending)
        else:
            text = f'<urn:p> <https://example.org/{"other" if word == "." else "title"}> "{word}" .'
            waiting += len(engine.publish(text, "text/turtle", "urn:d").pending)
    told = [[each.subscription, each.version, each.change, each.json] for each in engine.notifications()]
print(json.dumps([waiting, told]))
"""


def call(folder: Path, away: Path, *words: str) -> tuple[int, list[list[object]]]:
    ended = subprocess.run(
        [sys.executable, "-c", CALL, " ".join(map(str, (folder, away, *words)))],
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr
    waiting, told = json.loads(ended.stdout.splitlines()[-1])
    return waiting, told


def test_versions_wait_for_those_before_them(tmp_path: Path) -> None:
    here, away = tmp_path / "here", tmp_path / "away"
    here.mkdir()
    away.mkdir()
    (here / "away_operators.py").write_text(MODULE)
    folder = tmp_path / "folder"
    waiting, told = call(folder, here, "a")
    assert (waiting, len(told)) == (0, 3)
    waiting, still = call(folder, away, "aa", "bb", ".", "-")
    assert still == told, "nothing is told while the operator is away"
    assert waiting == 2 * 3 + 1, "that without a title waits too, for who hears what changed"
    waiting, told = call(folder, here, "aaa")
    assert waiting == 0

    def of(name: str) -> list[list[object]]:
        return [row[1:] for row in told if row[0] == name]

    def rows(number: int) -> str:
        return f'[{{"n":"\\"{number}\\"^^<http://www.w3.org/2001/XMLSchema#integer>"}}]'

    both = f'{{"added":{rows(2)},"removed":{rows(1)}}}'
    assert of("changed") == [
        [1, "added", rows(1)],
        [2, "changed", both],
        [4, "removed", rows(2)],
        [5, "added", rows(3)],
    ]
    assert of("every") == [[version, "added", rows(n)] for version, n in ((1, 1), (2, 2), (3, 2), (5, 3))]
    assert of("new") == [[1, "added", rows(1)], [2, "added", rows(2)], [5, "added", rows(3)]]
