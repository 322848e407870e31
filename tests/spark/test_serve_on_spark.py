"""`triplecast serve --spark`: what it tells, killed in between, is what an engine tells that is asked for the same."""

from __future__ import annotations

import os
import signal
from itertools import islice
from pathlib import Path

import pytest

from tests.chaos import STANDING, children
from tests.properties.service_kills import Served, check_kills
from tests.spark.workplace import QUERIES, document
from triplecast import Engine, Notification
from triplecast.cli import main
from triplecast.client import Client

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE = 120.0
"""Seconds for something to happen on a busy machine."""
COUNT = 24
SPARK = ("--spark", "--operators", "tests.spark.weighing")

Door = Client | Engine
"""Both take the same calls."""


def begin(door: Door) -> dict[str, str]:
    """Return the tickets."""
    tickets = {}
    for name, text in QUERIES.items():
        notify = "changed" if name == "window.rq" else "every"
        tickets[name] = door.subscribe(text, id=name, notify=notify).ticket
    for name, text in STANDING.items():
        door.subscribe(text, id=name, scope="repository")
    publish(door, 0)
    return tickets


def go_on(door: Door, tickets: dict[str, str]) -> None:
    door.unsubscribe("joined.rq", tickets["joined.rq"])
    publish(door, 1)
    door.remove("http://e/graph/3")


def end(door: Door) -> None:
    door.subscribe(QUERIES["joined.rq"], id="joined.rq")
    door.subscribe(STANDING["standing/how-many"], id="late", scope="repository")
    publish(door, 2)


def publish(door: Door, shift: int) -> None:
    """New versions of all documents."""
    for number in range(COUNT):
        door.publish(document(number, (number + shift) % 7), "text/turtle", f"http://e/graph/{number}")


def row(told: Notification) -> tuple[object, ...]:
    return told.sequence, told.id, told.publication, told.version, told.subscription, told.change, told.json


def told(client: Client, since: int, upto: int) -> list[str]:
    """Ids of an event stream, from after a sequence to another."""
    return [each.id for each in islice(client.follow(since), upto - since)]


def test_rows_and_order_are_those_of_an_engine(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "engine") as engine:
        tickets = begin(engine)
        first = len(list(engine.notifications()))
        go_on(engine, tickets)
        end(engine)
        ids = [each.id for each in engine.notifications()]
        publish(engine, 3)
        wanted = [*map(row, engine.notifications())]

    served = Served(tmp_path / "folder", *SPARK)
    with Client(served.url) as client:
        tickets = begin(client)
        assert told(client, 0, first) == ids[:first]
        go_on(client, tickets)
        assert not client.publish(document(1, 2), "text/turtle", "http://e/graph/1").matched  # unchanged
    served.end(signal.SIGKILL)

    served = Served(tmp_path / "folder", *SPARK, "--partition", "hash", "--shards", "2")
    with Client(served.url) as client:
        end(client)
        assert told(client, first, len(ids)) == ids[first:]
        (java,) = children(served.process.pid, "java")
        os.kill(java, signal.SIGKILL)
        client.publish(document(0, 3), "text/turtle", "http://e/graph/0")
    assert served.process.wait(PATIENCE) == 2, served.lines[-5:]
    assert "start again" in served.lines[-1]

    with Engine.open(tmp_path / "folder") as engine:
        publish(engine, 3)
        assert [*map(row, engine.notifications())] == wanted


def test_nothing_acknowledged_is_lost_by_kills(tmp_path: Path, seed: int) -> None:
    assert check_kills(1, tmp_path / "folder", seed, "--spark").acknowledged > 5


def test_options_of_spark_need_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", str(tmp_path / "folder"), "--shards", "2", "--partition", "hash"]) == 2
    assert "add --spark" in capsys.readouterr().err
