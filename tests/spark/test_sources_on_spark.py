"""One folder, many sources: an engine and a run take turns, and a live run takes subscriptions through its socket."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.spark.test_follow import following, wait_until
from tests.spark.workplace import Workplace, document
from triplecast import Engine
from triplecast.cli import main
from triplecast.registry.control_client import open_requests

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]

NEXT = "SELECT ?t { ?s <http://e/next> ?t }"


def test_calls_and_files_share_a_folder_between_runs_and_during_one(
    tmp_path: Path, spark: SparkSession, capsys: pytest.CaptureFixture[str]
) -> None:
    place = Workplace(tmp_path)
    place.output.mkdir()
    with Engine.open(place.output) as engine:
        mine = engine.subscribe(NEXT, id="mine")
    place.write("a.ttl", document(3))
    assert place.run(spark).subscriptions == 6, "the run keeps what the engine registered"
    assert {row.publication for row in place.outbox() if row.subscription == "mine"} == {
        "urn:triplecast:document:a.ttl"
    }
    with Engine.open(place.output) as engine:
        assert {each.id: each.source for each in engine.subscriptions()}["narrow.rq"] == "files"
        engine.unsubscribe("mine", mine.ticket)
    with following(place, spark) as (task, _):
        socket = place.output / "control.sock"
        wait_until(socket.exists, task)
        query = tmp_path / "late.rq"
        query.write_text(NEXT)
        assert main(["subscribe", str(place.output), str(query), "--id", "late", "--json"]) == 0
        late = json.loads(capsys.readouterr().out)
        place.write("b.ttl", document(10))
        wait_until(lambda: "late" in {row.subscription for row in place.outbox()}, task)
        with open_requests(place.output) as ask:
            (outcome,) = _outcomes(ask({"request": "subscribe", "subscriptions": [{"id": "brief", "text": NEXT}]}))
            assert ask({"request": "renew", "id": "brief", "lease": 1})["expires"] > outcome["expires"][:4]  # type: ignore[operator]
        assert main(["unsubscribe", str(place.output), "narrow.rq"]) == 2
        assert "belongs to the subscription files" in capsys.readouterr().err
        assert main(["unsubscribe", str(place.output), "late", "--ticket", late["ticket"]]) == 0
        (place.subscriptions / "late.rq").write_text(NEXT)
        before = len(place.outbox())
        wait_until(lambda: _ids(place) == {"late.rq"} | {f"{name}" for name in _names(place)}, task)
        place.write("c.ttl", document(10))
        wait_until(lambda: "late.rq" in {row.subscription for row in place.outbox()}, task)
    new = [row for row in place.outbox()[before:] if row.publication.endswith("c.ttl")]
    assert "late" not in {row.subscription for row in new}
    assert "brief" not in {row.subscription for row in new}, "its lease is over"
    assert not socket.exists()


def _outcomes(answer: dict[str, object]) -> list[dict[str, str]]:
    outcomes = answer["outcomes"]
    assert isinstance(outcomes, list)
    return outcomes


def _names(place: Workplace) -> set[str]:
    return {str(file.relative_to(place.subscriptions)) for file in place.subscriptions.rglob("*.rq")}


def _ids(place: Workplace) -> set[object]:
    with open_requests(place.output) as ask:
        listed = ask({"request": "list"})["subscriptions"]
        assert isinstance(listed, list)
        return {each["id"] for each in listed}
