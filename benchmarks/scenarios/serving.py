"""A server in a process of its own, and clients that cost little: they use the same cores."""

from __future__ import annotations

import asyncio
import re
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path
from selectors import EpollSelector, SelectorKey

TURTLE = "<{0}> <http://purl.org/dc/terms/{1}> 'title {0}', 'rail' ; <http://purl.org/dc/terms/creator> <{0}#me> ."


class Server:
    """`triplecast serve` of a folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "triplecast", "serve", str(folder), "--port", "0", *options]
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

    @property
    def files(self) -> int:
        """That it has open, connections among them."""
        return len([*Path(f"/proc/{self.process.pid}/fd").iterdir()])

    def end(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.log.close()


class NotingSelector(EpollSelector):
    """Knows since when what it found may have been there."""

    _QUICK = 50e-6
    """Seconds in which nobody has waited."""

    def __init__(self) -> None:
        super().__init__()
        self.since = self._returned = time.perf_counter()

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        asked = time.perf_counter()
        found = super().select(timeout)
        before, self._returned = self._returned, time.perf_counter()
        self.since = self._returned if self._returned - asked > self._QUICK else before
        return found


class Clients:
    """The event loop of all clients."""

    def __init__(self) -> None:
        self.selector = NotingSelector()
        self.runner = asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(self.selector))


class Connection(asyncio.Protocol):
    """Sends one request after the other."""

    def __init__(self, selector: NotingSelector) -> None:
        self._selector = selector
        self._received = b""
        self.at = self.there_at = 0.0
        """When the last answer was read, and since when it may have been there."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, ended, body = self._received.partition(b"\r\n\r\n")
        if ended and len(body) == int(re.findall(rb"(?i)content-length: (\d+)", head)[0]):
            self.at, self.there_at, self._received = time.perf_counter(), self._selector.since, b""
            self._answer.set_result((head, body))

    def connection_lost(self, error: Exception | None) -> None:
        if error is not None and not self._answer.done():
            self._answer.set_exception(error)

    async def send(self, method: str, path: str, media_type: str, body: str) -> tuple[int, bytes]:
        data = body.encode()
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: {media_type}\r\nContent-Length: {len(data)}"
        )
        self._answer: asyncio.Future[tuple[bytes, bytes]] = asyncio.get_running_loop().create_future()
        self._transport.write(head.encode() + b"\r\n\r\n" + data)
        answer, found = await self._answer
        status = int(answer[9:12])
        assert status != 429 or b"retry-after: " in answer.lower()
        return status, found

    async def put(self, graph: str, predicate: str = "subject") -> int:
        status, _ = await self.send("PUT", f"/documents?graph={graph}", "text/turtle", TURTLE.format(graph, predicate))
        return status


async def connect(selector: NotingSelector, port: int) -> Connection:
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: Connection(selector), "127.0.0.1", port)
    return connection


class Reader(asyncio.Protocol):
    """Of an event stream."""

    def __init__(self, query: str, stalls: bool = False) -> None:
        """One that `stalls` takes nothing after its stream has begun."""
        self._query, self._stalls = query, stalls
        self.begun = asyncio.get_running_loop().create_future()
        self.arrived: list[float] = []
        """When each event came."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        if self._stalls:
            transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = f"GET /notifications?since=now&{self._query} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream"
        transport.write(head.encode() + b"\r\n\r\n")

    def data_received(self, data: bytes) -> None:
        if not self.begun.done() and b"id: " in data:
            self.begun.set_result(None)
            if self._stalls:
                self.transport.pause_reading()
        self.arrived += [time.perf_counter()] * data.count(b"data: {")


async def open_readers(port: int, count: int, query: str, stall: bool = False) -> list[Reader]:
    readers: list[Reader] = []
    while len(readers) < count:
        wave = [
            asyncio.get_running_loop().create_connection(lambda: Reader(query, stall), "127.0.0.1", port)
            for _ in range(min(200, count - len(readers)))
        ]
        opened = [reader for _, reader in await asyncio.gather(*wave)]
        await asyncio.gather(*(each.begun for each in opened))
        readers += opened
    return readers


def allow_files() -> int:
    """Descriptors that this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def p99_of(values: list[float]) -> float:
    return sorted(values)[len(values) * 99 // 100]
