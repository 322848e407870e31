"""`triplecast serve` under load: documents put, acknowledged and told over event streams.

The server is a process of its own, and this one its clients, on the same cores. Latency is from when a request was to
be sent, so that a late answer delays no other. Clients that are told to come again do so after the time they are told.
"""

from __future__ import annotations

import asyncio
import random
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.figures import Figure, at_least, at_most

CONNECTIONS = 64
HALF = 1_000
"""Documents a second at which latency is measured."""
PUT_RATE, PUT_P99, EVENT_P99, READER_BYTES = 2_000, 50.0, 100.0, 6_000
TURTLE = "<{0}> <http://purl.org/dc/terms/{1}> 'title {0}', 'rail' ; <http://purl.org/dc/terms/creator> <{0}#me> ."
HOT, NONE = "hot", "none"
DOCUMENTS = 200
"""Each is put and waited for at a reader."""


@dataclass
class Puts:
    """What became of documents that were put."""

    milliseconds: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0

    @property
    def p99(self) -> float:
        return sorted(self.milliseconds)[len(self.milliseconds) * 99 // 100]

    @property
    def rate(self) -> float:
        return len(self.milliseconds) / self.seconds


class Server:
    """In a process of its own."""

    def __init__(self, folder: Path) -> None:
        command = [sys.executable, "-m", "triplecast", "serve", str(folder), "--port", "0"]
        self.log = (folder.parent / "log").open("w+")
        self.process = subprocess.Popen(command, stderr=self.log)
        while not (found := re.search(r"http://[\d.]+:(\d+)", (folder.parent / "log").read_text())):
            assert self.process.poll() is None
            time.sleep(0.05)
        self.port = int(found[1])

    @property
    def memory(self) -> int:
        """Bytes of its own."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(re.findall(r"RssAnon:\s+(\d+)", status)[0])

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.log.close()


class Connection:
    """Sends one request after the other."""

    async def open(self, port: int) -> Connection:
        self._reader, self._writer = await asyncio.open_connection("127.0.0.1", port)
        return self

    async def send(self, method: str, path: str, media_type: str, body: str) -> tuple[int, bytes]:
        data = body.encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nContent-Length: {len(data)}"
        )
        self._writer.write(head.encode() + b"\r\n\r\n" + data)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = next(int(line[15:]) for line in answer.split(b"\r\n") if line.lower().startswith(b"content-length:"))
        return int(answer[9:12]), await self._reader.readexactly(length)

    async def put(self, graph: str, predicate: str = "subject") -> int:
        status, _ = await self.send("PUT", f"/documents?graph={graph}", "text/turtle", TURTLE.format(graph, predicate))
        return status


class Reader(asyncio.Protocol):
    """Of an event stream."""

    def __init__(self, query: str) -> None:
        self._query = query
        self.begun = asyncio.get_running_loop().create_future()
        self.arrived: list[float] = []
        """When each event came."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        head = f"GET /notifications?since=now&{self._query} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream"
        transport.write(head.encode() + b"\r\n\r\n")

    def data_received(self, data: bytes) -> None:
        if not self.begun.done() and b"id: " in data:
            self.begun.set_result(None)
        self.arrived += [time.perf_counter()] * data.count(b"data: {")


async def open_readers(port: int, count: int, query: str) -> list[Reader]:
    readers: list[Reader] = []
    while len(readers) < count:
        wave = [
            asyncio.get_running_loop().create_connection(lambda: Reader(query), "127.0.0.1", port)
            for _ in range(min(200, count - len(readers)))
        ]
        opened = [reader for _, reader in await asyncio.gather(*wave)]
        await asyncio.gather(*(each.begun for each in opened))
        readers += opened
    return readers


async def put_closed(port: int, connections: int, seconds: float, name: str) -> Puts:
    """As fast as so many clients get answers."""
    puts, until = Puts(), time.perf_counter() + seconds

    async def work(number: int) -> None:
        connection = await Connection().open(port)
        for each in range(1 << 30):
            began = time.perf_counter()
            if began > until:
                return
            status = await connection.put(f"urn:{name}:{number}:{each}")
            puts.statuses[status] += 1
            if status == 201:
                puts.milliseconds.append(1000 * (time.perf_counter() - began))
            else:
                await asyncio.sleep(random.uniform(1, 2))

    await asyncio.gather(*map(work, range(connections)))
    puts.seconds = seconds
    return puts


async def put_open(port: int, rate: float, seconds: float, name: str) -> Puts:
    """So many a second, at random times, whatever became of those before."""
    puts, free = Puts(seconds=seconds), asyncio.Queue[Connection]()
    for _ in range(CONNECTIONS):
        free.put_nowait(await Connection().open(port))

    async def put(number: int, due: float) -> None:
        connection = await free.get()
        puts.statuses[await connection.put(f"urn:{name}:{number}")] += 1
        puts.milliseconds.append(1000 * (time.perf_counter() - due))
        free.put_nowait(connection)

    due, tasks, until = time.perf_counter(), list[asyncio.Task[None]](), time.perf_counter() + seconds
    while due < until:
        due += random.expovariate(rate)
        await asyncio.sleep(max(due - time.perf_counter(), 0))
        tasks.append(asyncio.create_task(put(len(tasks), due)))
    await asyncio.gather(*tasks)
    return puts


async def put_and_read(port: int) -> list[float]:
    """Milliseconds from each acknowledgement to its event."""
    (reader,), connection = await open_readers(port, 1, f"subscription={HOT}"), await Connection().open(port)
    found = []
    for number in range(DOCUMENTS):
        assert await connection.put(f"urn:read:{number}", "title") == 201
        acknowledged = time.perf_counter()
        while len(reader.arrived) <= number:
            await asyncio.sleep(0.0005)
        found.append(1000 * max(reader.arrived[-1] - acknowledged, 0.0))
        await asyncio.sleep(0.01)
    reader.transport.close()
    return sorted(found)


def measure_service(readers: int, seconds: float) -> Iterator[Figure]:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    readers = min(readers, hard - 1_000)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="triplecast-bench-") as folder:
        server = Server(Path(folder) / "served")
        try:
            with asyncio.Runner() as runner:
                yield from _measure_puts(runner, server, seconds)
                yield from _measure_streams(runner, server, readers)
        finally:
            server.end()


def _measure_puts(runner: asyncio.Runner, server: Server, seconds: float) -> Iterator[Figure]:
    runner.run(put_closed(server.port, CONNECTIONS, 3.0, "warm"))
    most = runner.run(put_closed(server.port, CONNECTIONS, seconds, "most"))
    yield Figure(
        "PUT acknowledged", f"{CONNECTIONS} connections", 0, most.rate, "documents/s", target=at_least(PUT_RATE)
    )
    half = runner.run(put_open(server.port, HALF, seconds, "half"))
    size = f"{HALF} documents/s"
    yield Figure("PUT: 99th percentile", size, 0, half.p99, "ms", target=at_most(PUT_P99))
    over = runner.run(put_closed(server.port, 10 * CONNECTIONS, seconds, "over"))
    work = {"accepted/s": over.rate, "told to come again": over.statuses[429]}
    assert set(over.statuses) <= {201, 429}
    yield Figure(
        "accepted PUT: 99th percentile", f"{10 * CONNECTIONS} connections", 0, over.p99, "ms", work=work,
        target=at_most(2 * PUT_P99),
    )  # fmt: skip
    after = runner.run(put_open(server.port, HALF, seconds / 2, "after"))
    yield Figure("PUT after overload: 99th percentile", size, 0, after.p99, "ms", target=at_most(PUT_P99))


def _measure_streams(runner: asyncio.Runner, server: Server, count: int) -> Iterator[Figure]:
    runner.run(_subscribe(server.port))
    for each in runner.run(open_readers(server.port, 100, f"subscription={NONE}")):  # what the first ones take is kept
        each.transport.close()
    before = server.memory
    idle = runner.run(open_readers(server.port, count, f"subscription={NONE}"))
    runner.run(asyncio.sleep(2))
    size = f"{count} idle readers"
    each_bytes = (server.memory - before) / count
    yield Figure("an event stream's memory", size, 2, each_bytes, "bytes", target=at_most(READER_BYTES))
    found = runner.run(put_and_read(server.port))
    p99 = found[len(found) * 99 // 100]
    yield Figure("acknowledged to event: 99th percentile", size, 2, p99, "ms", target=at_most(EVENT_P99))
    for each in idle:
        each.transport.close()
    runner.run(asyncio.sleep(2))
    yield runner.run(_tell_all(server.port, count))


async def _subscribe(port: int) -> None:
    connection = await Connection().open(port)
    for name, pattern in ((HOT, "?s dct:title ?t"), (NONE, '?s dct:title "nothing"')):
        query = f'{{"text": "SELECT * {{ {pattern} }}", "id": "{name}", "notify": "every"}}'.replace('"nothing"', "'x'")
        status, answer = await connection.send("POST", "/subscriptions", "application/json", query)
        assert status == 201, answer


async def _tell_all(port: int, count: int) -> Figure:
    """One match, to all readers of its subscription."""
    readers = await open_readers(port, count, f"subscription={HOT}")
    connection = await Connection().open(port)
    assert await connection.put("urn:all", "title") == 201
    began = time.perf_counter()
    while any(not each.arrived for each in readers):
        assert time.perf_counter() < began + 60, "a reader was not told"
        await asyncio.sleep(0.01)
    last = max(each.arrived[0] for each in readers)
    assert {len(each.arrived) for each in readers} == {1}
    return Figure("one match to all readers", f"{count} event streams", 2, last - began, "s")
