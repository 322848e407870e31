"""Streams of notifications: nothing between history and what comes is lost or comes twice, whoever else reads."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra `service` is not installed")

from tests.unit.service.served import served
from triplecast import Engine
from triplecast.client.events import EventReader, StreamEvent
from triplecast.outbox import Cursor
from triplecast.outbox.recent_rows import WantedRows
from triplecast.service import streams
from triplecast.service.settings import ServiceSettings
from triplecast.service.state import ServiceState
from triplecast.service.tail import Tail

TITLES = "SELECT ?title { ?s dct:title ?title }"


def publish(engine: Engine, number: int) -> None:
    graph = f"https://example.org/{number}"
    engine.publish(f'<{graph}> <http://purl.org/dc/terms/title> "{number}" .', "application/n-triples", graph)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "folder") as engine:
        yield engine


def stream_events(url: str, headers: dict[str, str] | None = None) -> Iterator[StreamEvent]:
    with httpx.stream("GET", url, headers={"Accept": "text/event-stream", **(headers or {})}, timeout=20) as response:
        assert response.status_code == 200, response.read()
        reader = EventReader()
        for received in response.iter_bytes():
            yield from reader.read(received)


def sequences(events: Iterator[StreamEvent], count: int) -> list[int]:
    told = (json.loads(each.data)["sequence"] for each in events if each.name == "message")
    return [*islice(told, count)]


class Gates:
    """Moments of a stream at which something is recorded, each once."""

    def __init__(self, engine: Engine, moments: Sequence[str]) -> None:
        self._engine = engine
        self._left = [*moments]
        self._number = 1000

    def at(self, moment: str) -> None:
        if moment in self._left:
            self._left.remove(moment)
            self._number += 1
            publish(self._engine, self._number)


@pytest.mark.parametrize("moment", ["before the page", "after the page", "before waiting", "as it is woken"])
def test_what_is_recorded_between_history_and_the_live_stream_comes_once(
    engine: Engine, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race, step by step, with the stream on a loop that does nothing else meanwhile."""
    subscribed = engine.subscribe(TITLES, id="titles", notify="every")
    engine.subscribe(TITLES, id="others", notify="every")
    for number in range(3):
        publish(engine, number)
    gates = Gates(engine, [moment, moment])
    read, wait = streams.read_rows, Tail.wait

    def page(*arguments: object) -> object:
        gates.at("before the page")
        found = read(*arguments)  # type: ignore[arg-type]
        gates.at("after the page")
        return found

    async def waiting(self: Tail, place: Cursor, wanted: WantedRows, seconds: float) -> None:
        gates.at("before waiting")
        await wait(self, place, wanted, seconds)
        gates.at("as it is woken")

    monkeypatch.setattr(streams, "read_rows", page)
    monkeypatch.setattr(Tail, "wait", waiting)

    async def scene() -> list[StreamEvent]:
        state = ServiceState(engine, ServiceSettings(), None, None)
        state.start()
        wanted = WantedRows("titles", None, subscribed.registration)
        frames = streams.NotificationStream(state, 0, wanted, lambda: True)._frames()
        reader, seen = EventReader(), list[StreamEvent]()
        last = threading.Timer(0.4, publish, (engine, 9999))
        last.start()
        with suppress(TimeoutError):
            async with asyncio.timeout(1.2):
                async for received in frames:
                    seen += reader.read(received)
        last.join()
        state.stop()
        return seen

    told = [json.loads(each.data) for each in asyncio.run(scene()) if each.name == "message"]
    recorded = [each.id for each in engine.notifications(subscription="titles")]
    assert [each["id"] for each in told] == recorded
    assert len(told) > 4


def test_a_heartbeat_never_passes_over_what_was_recorded_while_it_was_made(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser goes on from the id of the last frame, also from one without an event."""
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.02)
    engine.subscribe(TITLES, id="titles", notify="every")

    async def scene() -> tuple[list[StreamEvent], ServiceState]:
        state = ServiceState(engine, ServiceSettings(), None, None)
        state.start()
        looks = iter(range(10**6))

        def is_live() -> bool:
            if next(looks) < 5:
                before = state.tail.sequence
                publish(engine, before)
                while state.tail.sequence == before:
                    time.sleep(0.001)
            return True

        frames = streams.NotificationStream(state, 0, WantedRows("titles"), is_live)._frames()
        reader, seen = EventReader(), list[StreamEvent]()
        async for received in frames:
            seen += reader.read(received)
            if len([each for each in seen if each.name]) == 5:
                break
        await frames.aclose()
        state.stop()
        return seen, state

    seen, _ = asyncio.run(scene())
    places = [int(each.id.partition(":")[2]) for each in seen]
    assert places == sorted(places)
    told = 0
    for event, place in zip(seen, places, strict=True):
        if event.name:
            told += 1
        assert place <= told


def test_readers_of_all_kinds_get_each_notification_once_while_it_is_written(engine: Engine) -> None:
    tickets = {name: engine.subscribe(TITLES, id=name, notify="every").ticket for name in ("a", "b/c?", "d")}
    publish(engine, 0)
    with served(engine) as url:
        seen: dict[str, list[int]] = {}

        def read(name: str, since: str) -> None:
            query = httpx.QueryParams({"since": since, "subscription": name})
            events = stream_events(f"{url}/notifications?{query}", {"Triplecast-Ticket": tickets[name]})
            seen[f"{name} {since}"] = sequences(events, 41 if since == "0" else 40)

        readers = [threading.Thread(target=read, args=(name, since)) for name in tickets for since in ("0", "1:3")]
        writers = [
            threading.Thread(target=lambda n=n: [publish(engine, 100 * n + i) for i in range(10)]) for n in range(1, 5)
        ]
        for each in (*readers, *writers):
            each.start()
        for each in (*readers, *writers):
            each.join(60)
        for name in tickets:
            recorded = [each.sequence for each in engine.notifications(subscription=name)]
            assert seen[f"{name} 0"] == recorded
            assert seen[f"{name} 1:3"] == recorded[1:]


def test_a_reader_goes_on_from_last_event_id_and_is_told_what_was_pruned(engine: Engine) -> None:
    engine.subscribe(TITLES, id="titles", notify="every")
    for number in range(6):
        publish(engine, number)
    with served(engine) as url:
        address = f"{url}/notifications?since=0"
        assert sequences(stream_events(address, {"Last-Event-ID": "1:2"}), 4) == [3, 4, 5, 6]
        assert next(stream_events(f"{url}/notifications?since=now")).id == "1:6"
        engine.prune(4)
        event, *others = islice(stream_events(address, {"Last-Event-ID": "1:2"}), 3)
        assert (event.name, event.id) == ("resync", "1:6")
        assert json.loads(event.data)["reason"] == "notifications 3 to 4 have been pruned"
        assert [json.loads(each.data)["sequence"] for each in others] == [5, 6]
        event = next(stream_events(address, {"Last-Event-ID": "7:2"}))
        assert event.name == "resync"
        assert "epoch" in json.loads(event.data)["reason"]
        assert sequences(stream_events(address), 2) == [5, 6]


def test_nothing_comes_after_a_cancel_and_the_reader_is_told(engine: Engine) -> None:
    with served(engine) as url:
        made = httpx.post(f"{url}/subscriptions", json={"text": TITLES, "id": "titles", "notify": "every"}).json()
        header = {"Triplecast-Ticket": made["ticket"]}
        publish(engine, 1)
        events = stream_events(f"{url}/notifications?subscription=titles", header)
        assert sequences(events, 1) == [1]
        assert httpx.delete(f"{url}/subscriptions/titles", headers=header).status_code == 200
        again = httpx.post(f"{url}/subscriptions", json={"text": TITLES, "id": "titles"}).json()
        publish(engine, 2)
        assert [each.name for each in events if each.name] == ["end"]
        answer = httpx.get(f"{url}/notifications?subscription=titles", headers=header)
        assert answer.status_code == 404
        new = {"Triplecast-Ticket": again["ticket"]}
        read = httpx.get(f"{url}/notifications?subscription=titles", headers=new).json()["notifications"]
        assert [each["sequence"] for each in read] == [2]


def test_a_reader_that_stalls_is_bounded_and_harms_nobody(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "STALL_SECONDS", 0.5)
    engine.subscribe(TITLES, id="titles", notify="every")
    with served(engine) as url:
        host, port = url.removeprefix("http://").split(":")
        stalled = []
        for _ in range(20):
            connection = socket.create_connection((host, int(port)))
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            connection.sendall(
                f"GET /notifications HTTP/1.1\r\nHost: {host}\r\nAccept: text/event-stream\r\n\r\n".encode()
            )
            stalled.append(connection)
        long = "x" * 200_000
        began = time.monotonic()
        for number in range(30):
            graph = f"https://example.org/{number}"
            triple = f'<{graph}> <http://purl.org/dc/terms/title> "{number}{long}" .'
            engine.publish(triple, "application/n-triples", graph)
        assert sequences(stream_events(f"{url}/notifications"), 30) == [*range(1, 31)]
        assert time.monotonic() - began < 20
        for connection in stalled:
            connection.close()


def test_too_many_streams_are_told_to_come_again(engine: Engine) -> None:
    with served(engine, streams=1) as url:
        events = stream_events(f"{url}/notifications")
        next(events)
        answer = httpx.get(f"{url}/notifications", headers={"Accept": "text/event-stream"})
        assert answer.status_code == 429
        assert answer.headers["Retry-After"]
        assert httpx.get(f"{url}/notifications").status_code == 200


def test_streams_end_with_the_service_and_at_once(engine: Engine) -> None:
    with served(engine) as url:
        readers = [stream_events(f"{url}/notifications") for _ in range(5)]
        for each in readers:
            next(each)
        began = time.monotonic()
    assert time.monotonic() - began < 4
    for each in readers:
        assert [event.name for event in each] == []
