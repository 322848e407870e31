"""`python -m tests.properties.service_kills N`: N lives of `triplecast serve`, each ended by kill -9 under load.

Writers put, add to and remove documents of their own, with and without conditions and an Idempotency-Key. After each
kill a document is what its last acknowledged request made of it, or what the one that was not answered did. That one is
then sent again; with its key it is done once. At the end each version was told once, in order.
"""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import httpx

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from triplecast import Engine

WRITERS = 4
TURTLE = {"Content-Type": "text/turtle"}


class Served:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "triplecast", "serve", str(folder), "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.lines: list[str] = []
        self.url = self._address(self.process.stderr)
        threading.Thread(target=self._drain, args=(self.process.stderr,), daemon=True).start()

    def _address(self, stream: IO[str]) -> str:
        for line in stream:
            self.lines.append(line)
            if found := re.search(r"http://\S+", line):
                return found[0]
        raise AssertionError("".join(self.lines))

    def _drain(self, stream: IO[str]) -> None:
        self.lines.extend(stream)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


@dataclass
class Request:
    method: str
    graph: str
    values: frozenset[int]
    """What it sends."""
    key: str | None

    def after(self, before: frozenset[int]) -> frozenset[int]:
        """The values of the document once it is done."""
        return {"PUT": self.values, "POST": before | self.values, "DELETE": frozenset[int]()}[self.method]

    def send(self, client: httpx.Client, tag: str | None = None) -> httpx.Response:
        content = "".join(f"<a:s> <a:p> {value} ." for value in sorted(self.values))
        headers = TURTLE | ({} if self.key is None else {"Idempotency-Key": self.key})
        headers |= {} if tag is None else {"If-Match": tag}
        params = {"graph": self.graph}
        return client.request(self.method, "/documents", params=params, content=content, headers=headers)


@dataclass
class Writer:
    """What one writer knows to be so."""

    number: int
    chance: random.Random
    documents: dict[str, frozenset[int]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    unanswered: Request | None = None
    acknowledged: int = 0
    sent: int = 0

    def write(self, url: str) -> None:
        """Until the server is gone."""
        with httpx.Client(base_url=url, trust_env=False, timeout=120) as client:
            while True:
                self.sent += 1
                graph = f"a:{self.number}-{self.chance.randrange(5)}"
                method = self.chance.choice(("PUT", "PUT", "POST", "DELETE"))
                key = None if method == "DELETE" or self.chance.random() < 0.5 else f"{self.number}-{self.sent}"
                request = Request(method, graph, frozenset((self.sent, self.sent + 1)), key)
                tag = self.tags.get(graph) if key is None and self.chance.random() < 0.5 else None
                self.unanswered = request
                try:
                    answer = request.send(client, tag)
                except httpx.HTTPError:
                    return
                self._learn(request, answer)

    def check(self, client: httpx.Client) -> None:
        """Each document is what it must be; then what was not answered is sent again."""
        for graph, before in self.documents.items():
            possible = {before}
            if self.unanswered is not None and self.unanswered.graph == graph:
                possible.add(self.unanswered.after(before))
            assert self._read(client, graph) in possible, (graph, self._read(client, graph), possible)
        if self.unanswered is not None:
            graph = self.unanswered.graph
            wanted = self.unanswered.after(self.documents.get(graph, frozenset()))
            self._learn(self.unanswered, self.unanswered.send(client))
            assert self._read(client, graph) == wanted

    def _learn(self, request: Request, answer: httpx.Response) -> None:
        graph, before = request.graph, self.documents.get(request.graph, frozenset())
        expected = (200, 201) if request.method != "DELETE" else (200, 404)
        assert answer.status_code in expected, (request, answer.status_code, answer.text)
        self.documents[graph] = request.after(before)
        self.tags.pop(graph, None)
        if "ETag" in answer.headers:
            self.tags[graph] = answer.headers["ETag"]
        self.unanswered = None
        self.acknowledged += 1

    @staticmethod
    def _read(client: httpx.Client, graph: str) -> frozenset[int]:
        answer = client.get("/documents", params={"graph": graph}, headers={"Accept": "application/n-triples"})
        assert answer.status_code in (200, 404)
        return frozenset(map(int, re.findall(r'"(\d+)"', answer.text))) if answer.status_code == 200 else frozenset()


def check_kills(lives: int, folder: Path, seed: int) -> int:
    """How many requests were acknowledged."""
    chance = random.Random(seed)
    writers = [Writer(number, random.Random(f"{seed} {number}")) for number in range(WRITERS)]
    for life in range(lives + 1):
        served = Served(folder)
        with httpx.Client(base_url=served.url, trust_env=False, timeout=120) as client:
            if life == 0:
                wanted = {"text": "SELECT ?o { <a:s> <a:p> ?o }", "lease": "forever", "notify": "every"}
                assert client.post("/subscriptions", json=wanted).status_code == 201
            for each in writers:
                each.check(client)
        if life == lives:
            served.end(signal.SIGTERM)
            break
        threads = [threading.Thread(target=each.write, args=(served.url,)) for each in writers]
        before = sum(each.acknowledged for each in writers)
        for thread in threads:
            thread.start()
        most = before + chance.randrange(10, 100)
        while sum(each.acknowledged for each in writers) < most and all(thread.is_alive() for thread in threads):
            threads[0].join(0.002)
        served.end(signal.SIGKILL)
        for thread in threads:
            thread.join()
        assert all(each.unanswered is not None for each in writers), "a writer failed"
    _check_told(folder)
    return sum(each.acknowledged for each in writers)


def _check_told(folder: Path) -> None:
    with Engine.open(folder) as engine:
        told = list(engine.notifications())
        versions = [(each.publication, each.version) for each in told]
        assert max(Counter(versions).values()) == 1
        assert len({each.id for each in told}) == len(told)
        assert [each.position for each in told] == sorted(each.position for each in told)
        for graph in {each.publication for each in told}:
            latest = max(version for name, version in versions if name == graph)
            assert [version for name, version in versions if name == graph] == list(range(1, latest + 1))


def main() -> None:
    lives = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    seed = int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))
    with tempfile.TemporaryDirectory() as folder:
        print(check_kills(lives, Path(folder) / "folder", seed), "requests acknowledged, and so it is")


if __name__ == "__main__":
    main()
