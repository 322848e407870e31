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


def test_a_run_asks_rules_of_all_documents(tmp_path: Path) -> None:
    place = Workplace(tmp_path / "run")
    rule = "prefix : <http://e/> search Provider c register c where c.host contains 'passau' and c.info.memory > 64"
    (place.subscriptions / "passau.rule").write_text(rule)
    place.write("info.ttl", "<http://e/i> <http://e/memory> 92 .")
    run_in_turn(place)
    provider = "<http://e/p> a <http://e/Provider> ; <http://e/info> <http://e/i> ; <http://e/host> "
    for more, memory in (("'a.passau.de'", 92), ("'b.passau.de'", 92), ("'b.passau.de'", 32)):
        place.write("provider.ttl", f"{provider} {more} .")
        place.write("info.ttl", f"<http://e/i> <http://e/memory> {memory} .")
        run_in_turn(place)
    found = [told(each) for each in place.outbox()]
    assert [(each[1], each[4]) for each in found] == [("passau.rule", kind) for kind in ("added", "changed", "removed")]
