"""One document that matches a hundred thousand subscriptions: each is told, over an event stream or by a webhook."""

from __future__ import annotations

import asyncio
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from benchmarks.figures import Figure
from benchmarks.scenarios.serving import Clients, Server, allow_files, connect, open_readers
from triplecast import FOREVER, Engine, Subscription
from triplecast.delivery.store import FOLDER, TargetStore
from triplecast.delivery.target import WEBHOOK, Target
from triplecast.registry.registry import Subscribed
from triplecast.storage_faults import make_folder

QUERY = "SELECT * { ?s dct:title ?t }"
PATIENCE = 300.0
"""Seconds."""


class Receiver(asyncio.Protocol):
    """Of webhooks: counts what came to each address, and what each notification's id came to."""

    def __init__(self, got: Counter[bytes], addresses: dict[bytes, bytes]) -> None:
        self._got, self._addresses = got, addresses
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, ended, body = self._received.partition(b"\r\n\r\n")
        if not ended or len(body) < int(re.findall(rb"(?i)content-length: (\d+)", head)[0]):
            return
        address = head.split(b" ", 2)[1]
        id = re.findall(rb"(?i)webhook-id: (\S+)", head)[0]
        self._got[address] += 1
        assert self._addresses.setdefault(id, address) == address, "two targets got one id"
        self._transport.write(b"HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
        self._transport.close()


def measure_everybody(streams: int, webhooks: int) -> Iterator[Figure]:
    streams = min(streams, allow_files() - 1_000)
    clients = Clients()
    got, addresses = Counter[bytes](), dict[bytes, bytes]()
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as name, clients.runner:
        listening = clients.runner.run(_listen(got, addresses))
        port = listening.sockets[0].getsockname()[1]
        folder = Path(name) / "served"
        _subscribe_all(folder, webhooks, port)
        server = Server(folder, "--private", "--webhook-port", str(port))
        try:
            yield from clients.runner.run(_tell_all(clients, server, streams, webhooks, got))
        finally:
            server.end()


async def _listen(got: Counter[bytes], addresses: dict[bytes, bytes]) -> asyncio.Server:
    loop = asyncio.get_running_loop()
    return await loop.create_server(lambda: Receiver(got, addresses), "127.0.0.1", 0, backlog=1_000)


def _subscribe_all(folder: Path, webhooks: int, port: int) -> None:
    """One subscription for all streams, and one for each webhook."""
    names = ["streamed", *(f"hook-{number}" for number in range(webhooks))]
    with Engine.open(folder) as engine:
        found = engine.subscribe_many([Subscription(each, QUERY, notify="every") for each in names], FOREVER)
        head = engine.serving.progress().position
    make_folder(folder / FOLDER)
    with closing(TargetStore.writer(folder / FOLDER)) as store, store.write(synced=True):
        store.save(_target(each, head, port) for each in found[1:] if isinstance(each, Subscribed))


def _target(subscribed: Subscribed, position: int, port: int) -> Target:
    return Target(
        id=f"t-{subscribed.id}",
        subscription=subscribed.id,
        registration=subscribed.registration,
        source="api",
        kind=WEBHOOK,
        address=f"http://127.0.0.1:{port}/{subscribed.id}",
        secret="whsec_" + "A" * 32,
        every=0.0,
        topic="",
        expires=None,
        created_at=0,
        position=position,
        epoch=0,
        sequence=0,
    )


async def _tell_all(clients: Clients, server: Server, streams: int, webhooks: int, got: Counter[bytes]) -> list[Figure]:
    readers = await open_readers(server.port, streams, "subscription=streamed")
    connection = await connect(clients.selector, server.port)
    began = time.perf_counter()
    assert await connection.put("urn:all", "title") == 201
    acknowledged = connection.at
    while any(not each.arrived for each in readers) or len(got) < webhooks:
        assert time.perf_counter() < began + PATIENCE, f"{len(got)} of {webhooks} webhooks came"
        await asyncio.sleep(0.05)
    told = time.perf_counter()
    await asyncio.sleep(1)
    assert {len(each.arrived) for each in readers} == {1} == {*got.values()}
    size = f"{streams} event streams, {webhooks} webhooks", webhooks + 1
    last = max(each.arrived[0] for each in readers)
    return [
        Figure("one match to everybody: acknowledged", *size, acknowledged - began, "s"),
        Figure("one match to everybody: the last stream", *size, last - began, "s"),
        Figure(
            "one match to everybody: all told",
            *size,
            told - began,
            "s",
            work={"webhooks/s": webhooks / (told - acknowledged)},
        ),
    ]
