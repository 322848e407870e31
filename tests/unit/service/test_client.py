"""The client against a service, across its restarts; and its reader of event streams against the specification."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import timedelta
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra `service` is not installed")

from tests.properties.replicas import Parts
from tests.unit.service.served import served
from triplecast import EgressFailed, Engine, HistoryPruned, InputError, ServiceRefused
from triplecast.client import AsyncClient, Client, calls, connection
from triplecast.client.events import EventReader
from triplecast.client.log_client import LogClient

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))
TITLES = "SELECT ?title ?by { ?s dct:title ?title OPTIONAL { ?s dct:creator ?by } }"
NT = "application/n-triples"


def document(number: int) -> tuple[str, str]:
    graph = f"https://example.org/{number}"
    return f'<{graph}> <http://purl.org/dc/terms/title> "{number}" .', graph


def publish(engine: Engine, number: int) -> None:
    data, graph = document(number)
    engine.publish(data, NT, graph)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "folder") as engine:
        yield engine


def test_both_clients_explain_preview_and_ask_what_has_no_method(engine: Engine) -> None:
    ticket = engine.subscribe(TITLES, id="titles").ticket
    publish(engine, 1)
    data, graph = document(2)

    async def in_loop(url: str) -> list[object]:
        async with AsyncClient(url) as client:
            explained = await client.explain(data, "titles", ticket, media_type=NT, graph=graph)
            return [explained, await client.preview(TITLES, last=5), (await client.ask(calls.sources("GET"))).json()]

    with served(engine) as url, Client(url) as client:
        explained = client.explain(data, "titles", ticket, media_type=NT, graph=graph)
        found = [explained, client.preview(TITLES, last=5), client.ask(calls.sources("GET")).json()]
        assert asyncio.run(in_loop(url)) == found
    assert [(each["publication"], each["matched"]) for each in explained] == [(graph, True)]
    assert found[1]["matches"] == 1  # type: ignore[call-overload]
    assert found[2] == {"sources": []}


def test_it_does_what_an_engine_does(engine: Engine) -> None:
    with served(engine) as url, Client(url) as client:
        titles = client.subscribe(TITLES, id="titles/1", lease=timedelta(hours=1), notify="every")
        assert (titles.id, titles.cost) == ("titles/1", "predicate")
        assert titles.ticket not in repr(titles)
        assert client.subscription(titles.id, titles.ticket).row["notify"] == "every"
        assert (client.renew(titles.id, titles.ticket, 7200) or "") > (titles.expires or "")
        receipt = client.publish(*_swapped(document(1)))
        assert (receipt.matches, receipt.publications[0]["version"], receipt.rejects) == (1, 1, ())
        many = client.publish_many(
            {"id": document(n)[1], "media_type": NT, "data": document(n)[0]} for n in range(2, 450)
        )
        assert [each.matches for each in many] == [1] * 448
        assert client.query("SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")[0]["n"].value == "449"  # type: ignore[index]
        assert client.query("ASK { ?s ?p 'none' }") is False
        assert client.query("CONSTRUCT WHERE { <https://example.org/7> ?p ?o }") == engine.query(
            "CONSTRUCT WHERE { <https://example.org/7> ?p ?o }"
        )
        removal = client.remove(document(1)[1])
        assert removal is not None
        assert removal.removals == 1
        assert client.remove(document(1)[1]) is None
        told = [*client.notifications(subscription=titles.id, ticket=titles.ticket)]
        recorded = [*engine.notifications()]
        assert [each.id for each in told] == [each.id for each in recorded]
        assert [each.bindings for each in told] == [each.bindings for each in recorded]
        assert [each.cursor for each in client.notifications(since=told[-2].cursor)] == [told[-1].cursor]
        with pytest.raises(ServiceRefused, match="422: the document was rejected"):
            client.publish("<a", NT, "https://example.org/bad")
        with pytest.raises(ServiceRefused) as refused:
            client.subscribe("SELEKT")
        assert (refused.value.status, refused.value.mend != "") == (400, True)
        client.unsubscribe(titles.id, titles.ticket)
        with pytest.raises(ServiceRefused, match="404"):
            client.unsubscribe(titles.id, titles.ticket)


def _swapped(named: tuple[str, str]) -> tuple[str, str, str]:
    return named[0], NT, named[1]


def test_following_goes_on_over_restarts_of_the_service(tmp_path: Path) -> None:
    """Each restart leaves the client to find out by itself; notifications are recorded before, between and after."""
    waits: list[float] = []
    ready = threading.Event()

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        ready.wait(0.2)

    seen: list[str] = []
    loop_seen: list[str] = []

    def read(url: str) -> None:
        with Client(url, sleep=sleep) as client:
            seen.extend(each.id for each in islice(client.follow(subscription="titles"), 9))

    async def read_in_loop(url: str) -> None:
        async with AsyncClient(url, sleep=lambda _: asyncio.sleep(0.2)) as client:
            async for each in client.follow(subscription="titles"):
                loop_seen.append(each.id)
                if len(loop_seen) == 9:
                    return

    url, port, readers = "", 0, []
    for life in range(3):
        with Engine.open(tmp_path) as engine, ExitStack() as opened:
            if life == 0:
                engine.subscribe(TITLES, id="titles", notify="every")
            publish(engine, 10 * life)
            url = opened.enter_context(served(engine, port))
            port = int(url.rpartition(":")[2])
            if life == 0:
                readers = [
                    threading.Thread(target=read, args=(url,)),
                    threading.Thread(target=asyncio.run, args=(read_in_loop(url),)),
                ]
                for each in readers:
                    each.start()
            publish(engine, 10 * life + 1)
            while min(len(seen), len(loop_seen)) < 3 * life + 2:
                ready.wait(0.01)
            publish(engine, 10 * life + 2)
            if life == 2:
                for each in readers:
                    each.join(30)
                recorded = [each.id for each in engine.notifications()]
    assert seen == loop_seen == recorded
    assert waits
    assert all(wait <= 30 for wait in waits)


def test_following_says_what_is_gone_and_when_it_is_over(engine: Engine) -> None:
    titles = engine.subscribe(TITLES, id="titles", notify="every")
    for number in range(5):
        publish(engine, number)
    engine.prune(3)
    with served(engine) as url, Client(url) as client:
        with pytest.raises(HistoryPruned, match="notifications 2 to 3 have been pruned") as gone:
            next(client.follow("1:1"))
        assert gone.value.cursor == "1:5"
        with pytest.raises(ServiceRefused, match="410"):
            next(client.notifications("1:1"))
        told = client.follow(subscription="titles", ticket=titles.ticket)
        assert [each.sequence for each in islice(told, 2)] == [4, 5]
        client.unsubscribe("titles", titles.ticket)
        with pytest.raises(InputError, match="has ended"):
            next(told)
        with pytest.raises(ServiceRefused, match="404"):
            next(client.follow(subscription="titles", ticket=titles.ticket))


def test_importing_it_loads_no_kernels() -> None:
    program = "import sys, triplecast.client; print(sorted({'numba', 'numpy', 'pyspark', 'lark'} & {*sys.modules}))"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout == "[]\n"


@pytest.mark.parametrize("seed", range(SEED, SEED + 40))
def test_events_are_the_same_however_their_bytes_arrive(seed: int) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/service/test_client.py"""
    rng = random.Random(seed)
    end = rng.choice(("\n", "\r\n", "\r"))
    stream, expected, last = ["\ufeff"], [], ""
    for number in range(rng.randint(1, 8)):
        data = [rng.choice(("", "x", " two", "é\u2028\x85:", "{}")) for _ in range(rng.randint(0, 3))]
        name, id = rng.choice(("", "resync")), rng.choice((None, f"1:{number}"))
        lines = [": comment", *([f"event: {name}"] if name else []), *([] if id is None else [f"id:{id}"])]
        lines += [f"data: {each}" for each in data] + rng.choice(([], ["retry: 5", "unknown"]))
        stream += [line + end for line in lines] + [end]
        if data:
            expected.append((name or "message", "\n".join(data), last if id is None else id))
        elif id not in (None, last):
            expected.append(("", "", id))
        last = last if id is None else id
    sent = "".join(stream).encode() + (b":" if end == "\r" else b"")
    reader, found, at = EventReader(), [], 0
    while at < len(sent):
        size = rng.randint(1, 9)
        found += [tuple(each) for each in reader.read(sent[at : at + size])]
        at += size
    assert found == expected


def _said(status: int, **more: Any) -> httpx.MockTransport:
    return httpx.MockTransport(lambda _: httpx.Response(status, **more))


@pytest.mark.parametrize("make", [Client, LogClient])
def test_each_client_refuses_what_is_no_answer(make: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def ask(transport: httpx.BaseTransport) -> object:
        client = make("http://localhost", transport=transport, sleep=lambda _: None)
        return client.query("ASK {}")

    with pytest.raises(ServiceRefused, match="302: it leads to http://other; give the service's own address"):
        ask(_said(302, headers={"Location": "http://other"}))
    with pytest.raises(ServiceRefused, match="304"):
        ask(_said(304))
    monkeypatch.setattr(connection, "MOST_BYTES", 1 << 20)
    sent = []

    def endless() -> Iterator[bytes]:
        while True:
            sent.append(1)
            yield b"x" * 65536

    with pytest.raises(ServiceRefused, match="more than 1 MiB"):
        ask(_said(200, stream=Parts(endless())))
    assert len(sent) <= 18
    with pytest.raises(EgressFailed, match="broken"):
        ask(httpx.MockTransport(_break))
    with pytest.raises(EgressFailed):
        make("http://[::1")


def _break(_: httpx.Request) -> httpx.Response:
    raise httpx.ConnectError("broken")
