"""What is remembered of solutions that are told once: a bound, and rows that are damaged."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from tests.lives import ParserHere
from triplecast import Engine, StorageFault
from triplecast.outbox import heard
from triplecast.outbox.reader import DATABASE

ASKED = "SELECT ?o { ?s <urn:p> ?o }"


@pytest.fixture(autouse=True)
def parser_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecast.engine.engine.Parser", ParserHere)


def told(engine: Engine, *numbers: int) -> list[str]:
    objects = ", ".join(map(str, numbers))
    receipt = engine.publish(f"<urn:s> <urn:p> {objects} .", "text/turtle", "urn:g")
    return [row["o"].value for match in receipt.matches for row in match.added]


def test_the_oldest_are_forgotten_beyond_the_bound(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(heard, "HEARD", 4)
    with Engine.open(tmp_path) as engine:
        engine.subscribe(ASKED, id="new", notify="new")
        engine.subscribe(ASKED, id="other", scope="repository", notify="new", initial="none")
        for number in range(1, 6):
            assert told(engine, number) == [str(number)] * 2
    with Engine.open(tmp_path) as engine:  # counted again
        assert told(engine, 5, 4, 3) == []
        assert told(engine, 6) == ["6"] * 2
        assert told(engine, 4, 5, 6) == []
        assert len(told(engine, 1, 2)) == 4  # forgotten, so told again


def test_a_damaged_row_is_named_and_nothing_is_told(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(ASKED, id="new", notify="new")
        assert told(engine, 1) == ["1"]
    with sqlite3.connect(tmp_path / DATABASE) as database:
        database.execute("UPDATE heard SET position = position + 1")
    database.close()
    with Engine.open(tmp_path) as engine, pytest.raises(StorageFault, match="heard"):
        told(engine, 1, 2)
