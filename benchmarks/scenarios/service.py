"""`triplecast serve` under load: documents put, acknowledged and told over event streams.

The server is a process of its own, and this one its clients, on the same cores. Latency is from when a request was to
be sent, so that a late answer delays no other. Clients that are told to come again do so after the time they are told.
"""

from __future__ import annotations

import asyncio
import random
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.figures import Figure, at_least, at_most
from benchmarks.scenarios.event_streams import measure_streams
from benchmarks.scenarios.serving import Clients, Connection, Server, allow_files, connect, p99_of

CONNECTIONS = 64
HALF = 1_000
"""Documents a second at which latency is measured."""
PUT_RATE, PUT_P99 = 2_000, 50.0
RECOVERY = 30.0
"""Seconds."""


@dataclass
class Puts:
    """What became of documents that were put."""

    milliseconds: list[float] = field(default_factory=list)
    """Of those that were accepted;"""
    waited: list[float] = field(default_factory=list)
    """for how many of these, at most, the answer was there before the client took it."""
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0
    refused_at: float = 0.0
    """When the last one was told to come again, in seconds since they began."""

    def note(self, connection: Connection, status: int, due: float, began: float) -> None:
        self.statuses[status] += 1
        if status == 429:
            self.refused_at = connection.at - began
        else:
            self.milliseconds.append(1000 * (connection.at - due))
            self.waited.append(1000 * (connection.at - connection.there_at))

    @property
    def p99(self) -> float:
        return p99_of(self.milliseconds)

    @property
    def rate(self) -> float:
        return len(self.milliseconds) / self.seconds


async def put_closed(clients: Clients, port: int, connections: int, seconds: float, name: str) -> Puts:
    """As fast as so many clients get answers."""
    puts, start = Puts(seconds=seconds), time.perf_counter()

    async def work(number: int) -> None:
        connection = await connect(clients.selector, port)
        for each in range(1 << 30):
            began = time.perf_counter()
            if began > start + seconds:
                return
            status = await connection.put(f"urn:{name}:{number}:{each}")
            puts.note(connection, status, began, start)
            if status == 429:
                await asyncio.sleep(random.uniform(1, 2))

    await asyncio.gather(*map(work, range(connections)))
    return puts


async def put_open(clients: Clients, port: int, rate: float, seconds: float, name: str) -> Puts:
    """So many a second, at random times, whatever became of those before."""
    puts, free = Puts(seconds=seconds), asyncio.Queue[Connection]()
    for _ in range(CONNECTIONS):
        free.put_nowait(await connect(clients.selector, port))
    start = due = time.perf_counter()

    async def put(number: int, due: float) -> None:
        connection = await free.get()
        puts.note(connection, await connection.put(f"urn:{name}:{number}"), due, start)
        free.put_nowait(connection)

    tasks = list[asyncio.Task[None]]()
    while due < start + seconds:
        due += random.expovariate(rate)
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        tasks.append(asyncio.create_task(put(len(tasks), due)))
    await asyncio.gather(*tasks)
    return puts


def measure_service(readers: int, seconds: float) -> Iterator[Figure]:
    readers = min(readers, allow_files() - 1_000)
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder:
        server, clients = Server(Path(folder) / "served"), Clients()
        try:
            with clients.runner:
                yield from _measure_puts(clients, server, seconds)
                yield from measure_streams(clients, server, readers)
        finally:
            server.end()


def _measure_puts(clients: Clients, server: Server, seconds: float) -> Iterator[Figure]:
    run, port = clients.runner.run, server.port
    run(put_closed(clients, port, CONNECTIONS, 3.0, "warm"))
    most = run(put_closed(clients, port, CONNECTIONS, seconds, "most"))
    size = f"{CONNECTIONS} connections"
    yield Figure("PUT acknowledged", size, 0, most.rate, "documents/s", work=_work(most), target=at_least(PUT_RATE))
    half = run(put_open(clients, port, HALF, seconds, "half"))
    size = f"{HALF} documents/s"
    yield Figure("PUT: 99th percentile", size, 0, half.p99, "ms", work=_work(half), target=at_most(PUT_P99))
    over = run(put_closed(clients, port, 10 * CONNECTIONS, seconds, "over"))
    after = run(put_open(clients, port, HALF, seconds / 2, "after"))
    assert set(over.statuses) <= {201, 429}
    yield Figure(
        "accepted PUT: 99th percentile", f"{10 * CONNECTIONS} connections", 0, over.p99, "ms", work=_work(over),
        target=at_most(2 * half.p99),
    )  # fmt: skip
    yield Figure(
        "PUT after overload: 99th percentile", size, 0, after.p99, "ms", work=_work(after), target=at_most(PUT_P99)
    )
    yield Figure("PUT after overload: none refused", size, 0, after.refused_at, "s", target=at_most(RECOVERY))


def _work(puts: Puts) -> dict[str, float]:
    """Beside a figure, of which the client's share is at most its own 99th percentile."""
    return {"accepted/s": puts.rate, "told to come again": puts.statuses[429], "client's ms": p99_of(puts.waited)}
