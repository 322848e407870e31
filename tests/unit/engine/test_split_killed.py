"""A process that publishes a cut catalogue is killed between any two steps: the next one ends as if it had not been."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from triplecast import Engine

SCRIPT = f"""
import sys
sys.path[:0] = {sys.path!r}
from test_split_killed import STATES, publish
from triplecast import Engine
with Engine.open(sys.argv[1]) as engine:
    live = {{each.id for each in engine.subscriptions()}}
    for name in {{"each", "all"}} - live:
        engine.subscribe("SELECT * {{ ?d a dcat:Dataset ; dct:title ?title }}", id=name, lease=1e6,
                         scope="repository" if name == "all" else "publication")
    for state in STATES:
        publish(engine, state)
"""
STATES = ({1: "a", 2: "b"}, {1: "a", 2: "B", 3: "c"}, {3: "c"})
POINTS = (
    "journal.before-append:5",
    "journal.appended:5",
    "journal.committed:5",
    "journal.appended:4",
    "outbox.rows-written:3",
    "outbox.position-written:3",
    "outbox.committed:3",
)


def publish(engine: Engine, titles: dict[int, str]) -> None:
    rows = [f'<urn:{number}> a dcat:Dataset ; dct:title "{title}" .' for number, title in titles.items()]
    prefixes = "@prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> ."
    engine.publish("\n".join([prefixes, *rows]), "text/turtle", "urn:all", split="dcat:Dataset")


def run(folder: Path, crash: str = "") -> int:
    environment = {**os.environ, "TRIPLECAST_CRASH": crash}
    ended = subprocess.run([sys.executable, "-c", SCRIPT, str(folder)], env=environment, capture_output=True, text=True)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    return ended.returncode


@pytest.mark.slow
@pytest.mark.parametrize("point", POINTS)
def test_a_kill_loses_and_repeats_nothing(point: str, tmp_path: Path) -> None:
    """A killed process that publishes all states again goes through those that it had published: each is told as the
    change that it is, so what is compared is where a straight run of the states left comes to."""
    assert run(tmp_path / "killed", point) == -signal.SIGKILL
    with Engine.open(tmp_path / "killed") as engine:
        reached = max(each.version for each in engine._journal.publications(0, 99)) if engine._journal.head() > 2 else 0
        journal = [type(each).__name__ for each in engine._journal.events(0, 99)]
        held = {row["d"].value for row in engine.query("SELECT ?d { ?d a dcat:Dataset }")}  # type: ignore[index, union-attr]
    assert held in (set(), {"urn:1", "urn:2"}, {"urn:1", "urn:2", "urn:3"}, {"urn:3"}), "never half a version"
    assert run(tmp_path / "killed") == 0
    assert (reached, len(journal)) in ((0, 0), (1, 2), (2, 4), (2, 6))
    with Engine.open(tmp_path / "killed") as engine:
        rows = engine.query("SELECT ?d { ?d a dcat:Dataset }")
        assert [row["d"].value for row in rows] == ["urn:3"]  # type: ignore[index, union-attr]
        changes = {"added": 1, "changed": 0, "removed": -1}
        rows_told = sum(changes[row.change] for row in engine.notifications() if row.subscription == "all")
        assert rows_told == 1, "what was added and not removed is what is there"
        engine._journal.check()
