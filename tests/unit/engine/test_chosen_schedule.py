"""The schedule is chosen by whoever opens an engine, matches files or starts a run: equal answers, other calls."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

from wild_operators import WILD

from triplecast import Engine
from triplecast.errors import InputError
from triplecast.model.operators import SCHEDULE, SCHEDULES, check_schedule
from triplecast.operators.asking import schedules

QUERY = f"""PREFIX : <urn:> PREFIX w: <{WILD}>
    SELECT ?p {{ ?p :title ?t ; :count ?n FILTER(w:positive(?n)) FILTER(w:long(?t)) }}"""


def rows_and_calls(engine: Engine) -> tuple[list[str], int]:
    """Of things of which few have a long title and all a positive number."""
    engine.subscribe(QUERY, id="s")
    told: list[str] = []
    for number in range(4):
        things = (
            f"<urn:{each}> <urn:title> '{'long' if each == number else each}' ; <urn:count> 1{each} ."
            for each in range(6)
        )
        receipt = engine.publish(" ".join(things), "text/turtle", graph=f"urn:g{number}")
        assert not receipt.undecided
        told += [str(row["p"]) for match in receipt.matches for row in match.bindings]
    return told, engine.statistics().work.operator_calls


def test_answers_are_equal_and_calls_are_not() -> None:
    calls = {}
    for schedule in SCHEDULES:
        with Engine(schedule=schedule) as engine:
            told, calls[schedule] = rows_and_calls(engine)
        assert told == ["<urn:0>", "<urn:1>", "<urn:2>", "<urn:3>"]
    assert calls["sequential"] == 4 * 12, "all predicates of every row"
    assert calls["adaptive"] < calls["stopping"] <= calls["sequential"]


def test_a_folder_is_opened_with_any(tmp_path: Path) -> None:
    with Engine.open(tmp_path, schedule="sequential") as engine:
        assert rows_and_calls(engine) == (["<urn:0>", "<urn:1>", "<urn:2>", "<urn:3>"], 48)
    with Engine.open(tmp_path, schedule="adaptive") as engine:
        receipt = engine.publish("<urn:a> <urn:title> 'a' ; <urn:count> 1 .", "text/turtle")
        assert not receipt.matches
        assert engine.statistics().work.operator_calls == 1, "what was learnt under the other schedule serves this one"


def test_one_that_is_none_is_refused(tmp_path: Path) -> None:
    for make in (lambda: Engine(schedule="fast"), lambda: Engine.open(tmp_path / "e", schedule="fast")):
        with pytest.raises(InputError, match="no schedule is called 'fast'; name one of adaptive, sub-order"):
            make()
    assert not (tmp_path / "e").exists(), "nothing was made"


def test_the_names_are_those_that_there_are() -> None:
    assert set(SCHEDULES) == set(schedules.SCHEDULES)
    assert check_schedule(SCHEDULE) == "adaptive"
