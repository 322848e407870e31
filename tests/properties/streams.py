"""What idle and stalled readers of streams cost a service: python -m tests.properties.streams N

N readers each take all notifications, of N more each reads a subscription that matches nothing; memory is that of the
service's process (RSS). Latency is from the acknowledgement of a `PUT` to the event at a reader among them.
"""

from __future__ import annotations

import asyncio
import json
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import httpx

from triplecast.client import Client

DOCUMENTS = 100


def resident(process: int) -> float:
    """In KiB."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return float(found[1])


async def open_readers(port: int, count: int, query: str) -> list[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    readers = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=4096)
        request = f"GET /notifications?{query} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n"
        writer.write(request.encode())
        readers.append((reader, writer))
    for reader, _ in readers:
        await reader.readuntil(b"\r\n\r\n")
    return readers


def latencies(url: str, client: Client) -> list[float]:
    """Milliseconds from each acknowledgement to its event."""
    arrived: dict[str, float] = {}
    started = threading.Event()

    def read() -> None:
        with httpx.stream(
            "GET", f"{url}/notifications?since=now&subscription=all", headers={"Accept": "text/event-stream"}
        ) as answer:
            started.set()
            for line in answer.iter_lines():
                if line.startswith("data: "):
                    arrived[json.loads(line[6:])["publication"]] = time.perf_counter()
                if len(arrived) == DOCUMENTS:
                    return

    thread = threading.Thread(target=read)
    thread.start()
    started.wait()
    acknowledged = {}
    for number in range(DOCUMENTS):
        graph = f"https://example.org/{time.time()}/{number}"
        client.publish(f'<{graph}> <http://purl.org/dc/terms/title> "{number}" .', "application/n-triples", graph)
        acknowledged[graph] = time.perf_counter()
    thread.join()
    return sorted(1000 * (arrived[graph] - at) for graph, at in acknowledged.items())


def describe(found: Sequence[float]) -> str:
    return f"median {found[len(found) // 2]:.1f} ms, 99th percentile {found[len(found) * 99 // 100]:.1f} ms"


def main(count: int) -> None:
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        command = [sys.executable, "-m", "triplecast", "serve", folder, "--port", str(port)]
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            url = f"http://127.0.0.1:{port}"
            for _ in range(600):
                try:
                    httpx.get(f"{url}/healthz")
                    break
                except httpx.TransportError:
                    time.sleep(0.1)
            with Client(url) as client:
                client.subscribe("SELECT ?t { ?s dct:title ?t }", id="all", notify="every")
                client.subscribe('SELECT ?t { ?s dct:title ?t, "nothing" }', id="none")
                print(f"alone: {describe(latencies(url, client))}, {resident(process.pid) / 1024:.0f} MiB")
                asyncio.run(_with_readers(process.pid, port, url, client, count))
        finally:
            process.terminate()
            process.wait()


async def _with_readers(pid: int, port: int, url: str, client: Client, count: int) -> None:
    for query, kind in (
        ("subscription=none", "idle"),
        ("subscription=all&since=now", "reading nothing of what is sent"),
    ):
        before = resident(pid)
        readers = await open_readers(port, count, query)
        await asyncio.sleep(1)
        after = resident(pid)
        print(f"{count} readers, {kind}: {(after - before) / count:.1f} KiB each")
        print(f"beside them: {describe(await asyncio.to_thread(latencies, url, client))}")
        print(f"then: {(resident(pid) - before) / count:.1f} KiB each")
        for _, writer in readers:
            writer.close()


if __name__ == "__main__":
    main(int(sys.argv[1]))
