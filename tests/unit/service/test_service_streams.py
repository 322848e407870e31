"""Streams of notifications: nothing between history and what comes is lost or comes twice, whoever else reads."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra `service` is not installed")

from tests.unit.service.served import served
from triplecast import Document, Engine
from triplecast.client.events import EventReader, StreamEvent
from triplecast.outbox import Cursor
from triplecast.outbox.json_lines import NotificationLine
from triplecast.outbox.recent_rows import RecentRows, WantedRows
from triplecast.service import handover, streams, tail
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


class Connection(asyncio.Transport):
    """What a stream sends, as its reader sees it."""

    def __init__(self) -> None:
        super().__init__()
        self.reader, self.seen = EventReader(), list[StreamEvent]()
        self.is_closed = False

    def write(self, data: bytes) -> None:  # type: ignore[override]
        assert not self.is_closed
        self.seen += self.reader.read(data)

    def close(self) -> None:
        self.is_closed = True

    abort = close

    def is_closing(self) -> bool:
        return self.is_closed

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == 0


async def follow(
    engine: Engine, wanted: WantedRows, seconds: float, is_live: Callable[[], bool] | None = None
) -> list[StreamEvent]:
    """What a stream sends in so much time, on a loop that does nothing else."""
    state = ServiceState(engine, ServiceSettings(), None, None)
    state.start()
    connection = Connection()
    state.streams.open(streams.Stream(state.streams, 0, wanted, is_live, False), connection)
    await asyncio.sleep(seconds)
    state.finish_streams()
    assert connection.is_closed
    state.stop()
    return connection.seen


@pytest.mark.parametrize("moment", ["before the page", "after the page", "before looking", "after looking"])
def test_what_is_recorded_between_history_and_the_live_stream_comes_once(
    engine: Engine, moment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The race, step by step. `before looking`: the tail has not seen what was recorded as the stream looks at it."""
    subscribed = engine.subscribe(TITLES, id="titles", notify="every")
    engine.subscribe(TITLES, id="others", notify="every")
    for number in range(3):
        publish(engine, number)
    gates = Gates(engine, [moment, moment])
    read, after = streams.read_rows, Tail.after

    def page(*arguments: object) -> object:
        gates.at("before the page")
        found = read(*arguments)  # type: ignore[arg-type]
        gates.at("after the page")
        return found

    def looking(self: Tail, place: Cursor, wanted: WantedRows) -> Sequence[NotificationLine] | None:
        gates.at("before looking")
        found = after(self, place, wanted)
        gates.at("after looking")
        return found

    monkeypatch.setattr(streams, "read_rows", page)
    monkeypatch.setattr(Tail, "after", looking)
    last = threading.Timer(0.4, publish, (engine, 9999))
    last.start()
    seen = asyncio.run(follow(engine, WantedRows("titles", None, subscribed.registration), 1.2))
    last.join()
    told = [json.loads(each.data) for each in seen if each.name == "message"]
    recorded = [each.id for each in engine.notifications(subscription="titles")]
    assert [each["id"] for each in told] == recorded
    assert len(told) > 4


def test_readers_of_one_subscription_are_read_for_together_and_others_not_at_all(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where so much was recorded that the tail no longer has all of it."""
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.2)
    monkeypatch.setattr(tail, "RecentRows", partial(RecentRows, most_bytes=3_000))
    engine.subscribe(TITLES, id="titles", notify="every")
    engine.subscribe("SELECT * { ?s dct:creator ?t }", id="quiet", notify="every")
    reads = []

    def read(source: object, place: object, wanted: WantedRows, *more: object) -> object:
        reads.append((wanted.subscription, place))
        return read_rows(source, place, wanted, *more)  # type: ignore[arg-type]

    read_rows = streams.read_rows
    monkeypatch.setattr(streams, "read_rows", read)

    async def scene() -> list[list[StreamEvent]]:
        state = ServiceState(engine, ServiceSettings(), None, None)
        state.start()
        connections = [Connection() for _ in range(300)]
        for number, each in enumerate(connections):
            wanted = WantedRows(("titles", "quiet", "silent")[number % 3])
            state.streams.open(streams.Stream(state.streams, Cursor(1, 0), wanted, None, False), each)
        graphs = [f"https://example.org/{number}" for number in range(30)]
        engine.publish_many(
            Document(each, f'<{each}> <http://purl.org/dc/terms/title> "{each}" .'.encode(), "text/turtle", each)
            for each in graphs
        )
        engine.publish("<a:b> <http://purl.org/dc/terms/creator> <a:c> .", "application/n-triples", "a:b")
        await asyncio.sleep(1.5)
        state.finish_streams()
        state.stop()
        return [each.seen for each in connections]

    told = [[json.loads(each.data)["sequence"] for each in seen if each.name] for seen in asyncio.run(scene())]
    assert told == [[*range(1, 31)], [31], []] * 100
    assert 0 < len(reads) < 10
    assert "silent" not in {subscription for subscription, _ in reads}


def test_a_fault_while_one_stream_is_sent_to_ends_it_alone_and_one_of_reading_ends_all(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.subscribe(TITLES, id="titles", notify="every")
    publish(engine, 1)

    class Broken(Connection):
        def write(self, data: bytes) -> None:  # type: ignore[override]
            if b"sequence" in data:
                raise RuntimeError("broken")

    def fail(*_: object) -> object:
        raise RuntimeError("read")

    async def scene(*connections: Connection) -> list[bool]:
        """Which are closed."""
        state = ServiceState(engine, ServiceSettings(), None, None)
        state.start()
        for each in connections:
            state.streams.open(streams.Stream(state.streams, 0, WantedRows("titles"), None, False), each)
        await asyncio.sleep(0.5)
        closed = [each.is_closed for each in connections]
        state.finish_streams()
        state.stop()
        return closed

    first = Connection()
    assert asyncio.run(scene(Broken(), first)) == [True, False]
    assert [each.name for each in first.seen if each.name] == ["message"]
    monkeypatch.setattr(streams, "read_rows", fail)
    assert asyncio.run(scene(Connection(), Connection())) == [True, True]


def test_what_is_recorded_is_sent_at_once(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not only when the tail looks by itself."""
    monkeypatch.setattr(tail, "LOOK_SECONDS", 60.0)
    engine.subscribe(TITLES, id="titles", notify="every")
    last = threading.Timer(0.3, publish, (engine, 1))
    last.start()
    seen = asyncio.run(follow(engine, WantedRows("titles"), 1.5))
    assert [each.name for each in seen if each.name] == ["message"]


def test_a_heartbeat_never_passes_over_what_was_recorded_while_it_was_made(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser goes on from the id of the last frame, also from one without an event."""
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.02)
    engine.subscribe(TITLES, id="titles", notify="every")
    looks = iter(range(10**6))

    def is_live() -> bool:
        number = next(looks)
        if number < 5:
            publish(engine, number)
        return True

    seen = asyncio.run(follow(engine, WantedRows("titles"), 1.0, is_live))
    places = [int(each.id.partition(":")[2]) for each in seen]
    assert places == sorted(places)
    told = 0
    for event, place in zip(seen, places, strict=True):
        if event.name:
            told += 1
        assert place <= told
    assert told == 5


def test_a_stream_ends_with_its_subscription(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.02)
    looks = iter([True, True, False])
    seen = asyncio.run(follow(engine, WantedRows("titles"), 0.5, lambda: next(looks)))
    assert [each.name for each in seen][-1] == "end"
    assert [each.name for each in seen].count("end") == 1


def test_a_stream_whose_connection_takes_nothing_is_ended(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 0.1)
    monkeypatch.setattr(streams, "STALL_SECONDS", 0.2)
    engine.subscribe(TITLES, id="titles", notify="every")
    publish(engine, 1)

    async def scene() -> tuple[Connection, Connection]:
        state = ServiceState(engine, ServiceSettings(), None, None)
        state.start()
        connections = []
        for _ in range(2):
            connections.append(Connection())
            stream = streams.Stream(state.streams, 0, WantedRows(), None, False)
            state.streams.open(stream, connections[-1])
        stream.pause_writing()
        await asyncio.sleep(1.0)
        assert [each.is_closed for each in connections] == [False, True]
        state.finish_streams()
        state.stop()
        return connections[0], connections[1]

    taking, stalled = asyncio.run(scene())
    assert [each.name for each in taking.seen if each.name] == ["message"]
    assert stalled.seen == []


class Narrow(Connection):
    """Takes nothing for a moment after each write."""

    def __init__(self) -> None:
        super().__init__()
        self.stream: streams.Stream | None = None
        self.longest = 0

    def write(self, data: bytes) -> None:  # type: ignore[override]
        super().write(data)
        self.longest = max(self.longest, len(data))
        assert self.stream is not None
        if self.stream.stalled_at is None:
            self.stream.pause_writing()
            asyncio.get_running_loop().call_later(0.001, self.stream.resume_writing)


@pytest.mark.parametrize("moment", ["recorded", "comes", "is pruned meanwhile"])
def test_a_long_event_is_sent_as_its_reader_takes_it_whole_or_not_at_all(engine: Engine, moment: str) -> None:
    """What is left of it is not held. If it is pruned meanwhile its stream ends, and its reader is told when it comes
    again."""
    engine.subscribe(TITLES, id="titles", notify="every")

    def fill() -> None:
        for number, length in enumerate((10, 80_000, 9_000, 9_000, 20_000)):
            triple = f'<a:{number}> <http://purl.org/dc/terms/title> "{"x" * length}" .'
            engine.publish(triple, "application/n-triples", f"a:{number}")

    async def scene() -> Narrow:
        state = ServiceState(engine, ServiceSettings(), None, None)
        if moment != "comes":
            fill()
        state.start()
        connection = Narrow()
        connection.stream = streams.Stream(state.streams, Cursor(1, 0), WantedRows("titles"), None, False)
        state.streams.open(connection.stream, connection)
        if moment == "comes":
            await asyncio.to_thread(fill)
        if moment == "is pruned meanwhile":
            while not connection.stream.begun:
                await asyncio.sleep(0)
            engine.prune(2)
        while not connection.is_closed and len([each for each in connection.seen if each.name]) < 5:
            await asyncio.sleep(0.001)
        state.finish_streams()
        state.stop()
        return connection

    connection = asyncio.run(asyncio.wait_for(scene(), 30))
    told = [json.loads(each.data)["sequence"] for each in connection.seen if each.name]
    assert told == ([1] if moment == "is pruned meanwhile" else [1, 2, 3, 4, 5])
    assert connection.longest <= streams.BYTES_AT_ONCE


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
    monkeypatch.setattr(streams, "STALL_SECONDS", 5.0)
    monkeypatch.setattr(streams, "HEARTBEAT_SECONDS", 1.5)
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


def test_connections_that_say_nothing_or_stop_in_a_head_are_closed(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "HEAD_SECONDS", 0.3)
    with served(engine) as url:
        host, port = url.removeprefix("http://").split(":")

        def connect(said: bytes) -> socket.socket:
            connection = socket.create_connection((host, int(port)), timeout=5)
            connection.sendall(said)
            return connection

        head = f"GET /healthz HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        silent, begun, second = connect(b""), connect(head[:10]), connect(head + head[:10])
        kept = httpx.stream("GET", f"{url}/notifications", headers={"Accept": "text/event-stream"}, timeout=5)
        with kept as response:
            received = response.iter_raw()
            next(received)
            assert [silent.recv(100), begun.recv(100)] == [b"", b""]
            while second.recv(1000):
                pass
            publish(engine, 1)
            engine.subscribe(TITLES, id="titles")
            publish(engine, 2)
            assert any(b"data: " in each for each in received)


@pytest.mark.parametrize("kept", ["close", "keep-alive"])
def test_a_client_that_takes_nothing_of_its_answer_is_let_go(
    engine: Engine, kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(handover, "STALL_SECONDS", 0.2)
    engine.publish(f'<a:b> <a:c> "{"x" * 12_000_000}" .', "application/n-triples", "a:long")
    with served(engine) as url, socket.socket() as connection:
        host, port = url.removeprefix("http://").split(":")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.connect((host, int(port)))
        connection.settimeout(10)
        head = f"GET /documents?graph=a:long HTTP/1.1\r\nHost: {host}\r\nConnection: {kept}\r\n\r\n"
        connection.sendall(head.encode())
        time.sleep(1.5)
        size = 0
        with suppress(ConnectionError):
            while received := connection.recv(1 << 20):
                size += len(received)
        assert size < 12_000_000
