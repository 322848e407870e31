"""Many event streams of a served folder: what an idle one costs, what a stalled one does to others."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.figures import Figure, at_most
from benchmarks.scenarios.serving import Clients, Connection, Reader, Server, connect, open_readers, p99_of

EVENT_P99, READER_BYTES, STALLED_BYTES = 100.0, 6_000, 40_000
HOT, NONE = "hot", "none"
"""Subscriptions to all that has a title, and to what nobody publishes."""
DOCUMENTS = 200
"""Each is put and waited for at a reader."""
LONG = 100_000
"""Characters of a title that fills the buffers of a connection;"""
LONG_ONES = 10
"""when so many have come."""
LET_GO = 60.0
"""Seconds after which nobody is connected who takes nothing."""


async def put_and_read(clients: Clients, port: int, name: str) -> list[float]:
    """Milliseconds from each acknowledgement to its event."""
    (reader,), connection = await open_readers(port, 1, f"subscription={HOT}"), await connect(clients.selector, port)
    found = []
    for number in range(DOCUMENTS):
        assert await connection.put(f"urn:{name}:{number}", "title") == 201
        while len(reader.arrived) <= number:
            await asyncio.sleep(0.0005)
        found.append(1000 * max(reader.arrived[-1] - connection.at, 0.0))
        await asyncio.sleep(0.01)
    reader.transport.close()
    return found


def measure_streams(clients: Clients, server: Server, count: int) -> Iterator[Figure]:
    run, port = clients.runner.run, server.port
    run(_subscribe(clients, port))
    for each in run(open_readers(port, 100, f"subscription={NONE}")):  # what the first ones take is kept
        each.transport.close()
    before = server.memory
    idle = run(open_readers(port, count, f"subscription={NONE}"))
    run(asyncio.sleep(2))
    size = f"{count} idle readers"
    each_bytes = (server.memory - before) / count
    yield Figure("an event stream's memory", size, 2, each_bytes, "bytes", target=at_most(READER_BYTES))
    p99 = p99_of(run(put_and_read(clients, port, "idle")))
    yield Figure("acknowledged to event: 99th percentile", size, 2, p99, "ms", target=at_most(EVENT_P99))
    run(_close(idle))
    yield run(_tell_all(clients, port, count))
    yield from _measure_stalled(clients, server, count)


def _measure_stalled(clients: Clients, server: Server, count: int) -> Iterator[Figure]:
    run, port = clients.runner.run, server.port
    size, before, files, kernel = f"{count} stalled readers", server.memory, server.files, _socket_bytes()
    stalled = run(open_readers(port, count, f"subscription={HOT}", stall=True))
    began = time.perf_counter()
    run(_fill(clients, port))
    p99 = p99_of(run(put_and_read(clients, port, "stalled")))
    work = {"the kernel's MiB": (_socket_bytes() - kernel) / 2**20}
    yield Figure("acknowledged to event: 99th percentile", size, 2, p99, "ms", work=work, target=at_most(EVENT_P99))
    each_bytes = (server.memory - before) / count
    yield Figure("a stalled stream's memory", size, 2, each_bytes, "bytes", target=at_most(STALLED_BYTES))
    while server.files > files + count // 20:  # some are files of its own
        assert time.perf_counter() < began + 2 * LET_GO, "stalled readers were kept"
        time.sleep(0.1)
    gone = time.perf_counter() - began
    yield Figure("stalled readers are let go", size, 2, gone, "s", target=at_most(LET_GO))
    run(_close(stalled))


async def _subscribe(clients: Clients, port: int) -> None:
    connection = await connect(clients.selector, port)
    for name, pattern in ((HOT, "?s dct:title ?t"), (NONE, "?s dct:title 'x'")):
        query = f'{{"text": "SELECT * {{ {pattern} }}", "id": "{name}", "notify": "every"}}'
        status, answer = await connection.send("POST", "/subscriptions", "application/json", query)
        assert status == 201, answer


async def _tell_all(clients: Clients, port: int, count: int) -> Figure:
    """One match, to all readers of its subscription."""
    readers = await open_readers(port, count, f"subscription={HOT}")
    connection = await connect(clients.selector, port)
    assert await connection.put("urn:all", "title") == 201
    while any(not each.arrived for each in readers):
        assert time.perf_counter() < connection.at + 60, "a reader was not told"
        await asyncio.sleep(0.01)
    last = max(each.arrived[0] for each in readers)
    assert {len(each.arrived) for each in readers} == {1}
    await _close(readers)
    return Figure("one match to all readers", f"{count} event streams", 2, last - connection.at, "s")


async def _close(readers: list[Reader]) -> None:
    for each in readers:
        each.transport.abort()
    await asyncio.sleep(2)


async def _fill(clients: Clients, port: int) -> None:
    connection: Connection = await connect(clients.selector, port)
    for number in range(LONG_ONES):
        long = f"<urn:long:{number}> <http://purl.org/dc/terms/title> '{'x' * LONG}' ."
        status, _ = await connection.send("PUT", f"/documents?graph=urn:long:{number}", "text/turtle", long)
        assert status == 201


def _socket_bytes() -> int:
    """That the kernel holds for all TCP connections of this machine."""
    return 4096 * int(re.findall(r"TCP: .* mem (\d+)", Path("/proc/net/sockstat").read_text())[0])
