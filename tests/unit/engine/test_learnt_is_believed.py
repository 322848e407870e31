"""What was learnt of operators is believed by who starts after, told by the operators' own notes of their calls."""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import noting_operators
from noting_operators import NOTES, NOTING

from triplecast.engine import Engine

assert noting_operators
QUERY = f"SELECT ?p {{ ?p a <urn:Picture> FILTER(<{NOTING}often>(?p)) FILTER(<{NOTING}rarely>(?p)) }}"
ENOUGH = 40
"""Publications after which it is known that one of the two never holds."""


def publish(engine: Engine, number: int, notes: Path) -> list[str]:
    """The calls that it took."""
    notes.unlink(missing_ok=True)
    attached = {NOTES: os.fsencode(notes)}
    engine.publish("<urn:p> a <urn:Picture> .", "text/turtle", graph=f"urn:g{number}", attachments=attached)
    return notes.read_text().split()


def test_a_restarted_engine_asks_in_the_order_that_it_had_learnt(tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    with Engine.open(tmp_path / "engine") as engine:
        engine.subscribe(QUERY, id="both")
        assert publish(engine, 0, notes) == ["often", "rarely"]
        before = [publish(engine, number, notes) for number in range(1, ENOUGH)]
    assert before[-1] == ["rarely"]
    with Engine.open(tmp_path / "engine") as engine:
        after = [publish(engine, number, notes) for number in range(ENOUGH, ENOUGH + 3)]
    assert after == [["rarely"]] * 3
    with Engine.open(tmp_path / "another") as engine:
        engine.subscribe(QUERY, id="both")
        assert publish(engine, 0, notes) == ["often", "rarely"]
