"""A run tells of repository scope what an `Engine` tells of the same journal; its parts called in turn, without a
JVM."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.chaos import STANDING, first_files, run_in_turn, second_files
from tests.spark.workplace import Workplace
from triplecast import Engine, Notification
from triplecast.model.match import AnswerLimits
from triplecast.pipeline import sink


@pytest.mark.parametrize("bytes_at_once", [64 << 20, 1])
def test_a_run_tells_what_an_engine_tells_of_the_same_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bytes_at_once: int
) -> None:
    monkeypatch.setattr(sink, "EVENTS_AT_ONCE", 7)
    monkeypatch.setattr(sink, "ANSWER_LIMITS", AnswerLimits(publication=bytes_at_once))
    place = Workplace(tmp_path / "run")
    first_files(place)
    run_in_turn(place)
    second_files(place)
    run_in_turn(place)
    copy = tmp_path / "engine"
    shutil.copytree(place.output, copy)
    for path in copy.glob("outbox*"):
        path.unlink()
    with Engine.open(copy) as engine:
        expected = [told(each) for each in engine.notifications()]
    found = [told(each) for each in place.outbox()]
    assert sorted(found) == sorted(expected)
    assert {each[1] for each in found} >= {*STANDING}


def told(row: Notification) -> tuple[object, ...]:
    return row.id, row.subscription, row.version, row.position, row.change, row.json
