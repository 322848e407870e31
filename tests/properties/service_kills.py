"""`python -m tests.properties.service_kills N --seed S`: N lives of `triplecast serve`, each ended by kill -9.

Writers put, add to and remove documents of their own, with and without conditions and an Idempotency-Key. After each
kill a document is what its last acknowledged request made of it, or what the one that was not answered did. That one is
then sent again; with its key it is done once. At the end each version was told once, in order: by the outbox, by event
streams and pages whose readers go on from their cursor, and to a webhook, there under its id at least once.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import IO

import httpx

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from tests.unit.egress.receivers import Receiver, answering, receiver
from triplecast import Engine
from triplecast.cli import main as main_of_triplecast
from triplecast.client.events import EventReader

WRITERS, STREAMS = 4, 2
WHOLE = 20
"""Of so many lives one begins as a command does, which loads its modules and kernels; the others are forked."""
DELIVERED_SECONDS = 900.0
"""For the webhook to get what is left, at the end."""
TURTLE = {"Content-Type": "text/turtle"}


class Served:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *options: str, under: Sequence[str] = (), forked: bool = False) -> None:
        """A `forked` one begins with modules and kernels loaded (`begun`), and is otherwise the same."""
        arguments = ["serve", str(folder), "--port", "0", *options]
        began = time.monotonic()
        if forked:
            stream, written = map(os.fdopen, os.pipe(), ("r", "w"))
            self.process = _FORKING.Process(target=_serve, args=(arguments, DupFd(written.fileno())))
            self.process.start()
            written.close()
        else:
            command = [*under, sys.executable, "-m", "triplecast", *arguments]
            self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            stream = self.process.stderr
        assert stream is not None
        self.lines: list[str] = []
        self.url = self._address(stream)
        threading.Thread(target=self._drain, args=(stream,), daemon=True).start()
        while not self._is_ready():
            if time.monotonic() > began + 120:
                self.kill()
                raise AssertionError(f"it is not ready: {''.join(self.lines)}")
        spent = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(") ")[2].split()
        work = (int(spent[11]) + int(spent[12])) / os.sysconf("SC_CLK_TCK")
        self.recovery = time.monotonic() - began, work
        """Seconds until it was ready, and of CPU time."""

    def _address(self, stream: IO[str]) -> str:
        for line in stream:
            self.lines.append(line)
            if found := re.search(r"http://\S+", line):
                return found[0]
        code = self.code(9)
        self.kill()
        raise AssertionError(f"it closed its stderr, and ended with {code}: {''.join(self.lines)}")

    def _is_ready(self) -> bool:
        try:
            return httpx.get(f"{self.url}/readyz", trust_env=False, timeout=60).status_code == 200
        except httpx.HTTPError:
            return False

    def _drain(self, stream: IO[str]) -> None:
        self.lines.extend(stream)

    def end(self, number: int) -> int:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)
        code = self.code(30)
        assert code is not None
        return code

    def kill(self) -> None:
        """Whatever it does; nothing where it has ended."""
        if self.code(0) is None:
            self.end(signal.SIGKILL)

    def code(self, seconds: float) -> int | None:
        """How it ended within so many seconds: minus a signal's number; None where it goes on."""
        if isinstance(self.process, subprocess.Popen):
            with suppress(subprocess.TimeoutExpired):
                return self.process.wait(seconds)
            return None
        self.process.join(seconds)
        return self.process.exitcode


_FORKING = get_context("forkserver")
_FORKING.set_forkserver_preload(["tests.properties.begun"])


def _serve(arguments: Sequence[str], stderr: DupFd) -> None:
    sys.stderr = os.fdopen(stderr.detach(), "w", buffering=1)
    os.dup2(sys.stderr.fileno(), 2)
    faulthandler.enable()
    sys.exit(main_of_triplecast(arguments))


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


@dataclass
class Reader:
    """Reads all notifications, life after life, from where it is."""

    is_stream: bool
    place: str = "0"
    ids: list[str] = field(default_factory=list)
    fault: str = ""
    """What it was answered in the place of a page."""

    def read(self, url: str) -> None:
        """Until the server is gone."""
        try:
            with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
                if self.is_stream:
                    self._follow(client)
                while not self.is_stream:
                    answer = client.get("/notifications", params={"since": self.place, "wait": 1})
                    if answer.status_code != 200:
                        self.fault = f"{answer.status_code} {answer.text}"
                        return
                    page = answer.json()
                    self.ids += [each["id"] for each in page["notifications"]]
                    self.place = page["cursor"]
        except httpx.HTTPError:
            return

    def _follow(self, client: httpx.Client) -> None:
        events = EventReader(self.place)
        headers = {"Accept": "text/event-stream", "Last-Event-ID": self.place}
        with client.stream("GET", "/notifications", headers=headers) as answer:
            for received in answer.iter_bytes():
                for event in events.read(received):
                    assert event.name in ("", "message"), event
                    self.place = event.id
                    if event.name:
                        self.ids.append(json.loads(event.data)["id"])


@dataclass
class Lives:
    """What was seen of one folder's."""

    acknowledged: int = 0
    told: int = 0
    posted: int = 0
    """Requests to the webhook;"""
    recoveries: list[tuple[float, float]] = field(default_factory=list)

    def __str__(self) -> str:
        seconds, work = (sorted(each) for each in zip(*self.recoveries, strict=True))
        return (
            f"{len(seconds)} lives: {self.acknowledged} requests acknowledged, {self.told} notifications, each told "
            f"once by {STREAMS} streams and a page reader, {self.posted} posted to the webhook; ready again after "
            f"{seconds[len(seconds) // 2]:.1f} s (median), {seconds[-1]:.1f} s at most, of CPU time "
            f"{work[len(work) // 2]:.1f} s and {work[-1]:.1f} s"
        )


def check_kills(lives: int, folder: Path, seed: int, *options: str) -> Lives:
    """`options`: of `triplecast serve`. Raises AssertionError, once its server has ended: the folder goes later."""
    with receiver(answering(b"HTTP/1.1 204 No Content\r\n\r\n")) as hook, ExitStack() as ending:
        return _live(lives, folder, random.Random(seed), seed, hook, ending, options)


def _live(
    lives: int,
    folder: Path,
    chance: random.Random,
    seed: int,
    hook: Receiver,
    ending: ExitStack,
    options: Sequence[str] = (),
) -> Lives:
    writers = [Writer(number, random.Random(f"{seed} {number}")) for number in range(WRITERS)]
    readers = [Reader(True) for _ in range(STREAMS)] + [Reader(False)]
    seen = Lives()
    for life in range(lives + 1):
        ports = ("--private", "--webhook-port", str(hook.port))
        served = Served(folder, *ports, *options, forked=life % WHOLE != 0)
        ending.pop_all()  # of the life before, which has ended
        ending.callback(served.kill)
        seen.recoveries.append(served.recovery)
        with httpx.Client(base_url=served.url, trust_env=False, timeout=120) as client:
            if life == 0:
                wanted = {"text": "SELECT ?o { <a:s> <a:p> ?o }", "lease": "forever", "notify": "every"}
                wanted["delivery"] = {"webhook": hook.url}  # type: ignore[assignment]
                assert client.post("/subscriptions", json=wanted).status_code == 201
            for each in writers:
                each.check(client)
        threads = [threading.Thread(target=each.read, args=(served.url,)) for each in readers]
        for thread in threads:
            thread.start()
        if life == lives:
            break
        writing = [threading.Thread(target=each.write, args=(served.url,)) for each in writers]
        before = sum(each.acknowledged for each in writers)
        for thread in writing:
            thread.start()
        most = before + chance.randrange(10, 100)
        while sum(each.acknowledged for each in writers) < most and all(thread.is_alive() for thread in writing):
            writing[0].join(0.002)
        served.end(signal.SIGKILL)
        for thread in (*writing, *threads):
            thread.join()
        assert all(each.unanswered is not None for each in writers), "a writer failed"
        assert not any(each.fault for each in readers), ([each.fault for each in readers], served.lines[-20:])
        if life % 50 == 49:
            seen.acknowledged = sum(each.acknowledged for each in writers)
            print(f"{life + 1} lives, {seen.acknowledged} acknowledged", file=sys.stderr, flush=True)
    told = _all_told(served.url)
    ends = time.monotonic() + DELIVERED_SECONDS
    while time.monotonic() < ends and (
        any(len(each.ids) < len(told) for each in readers) or len({*_posted(hook)}) < len(told)
    ):
        time.sleep(0.1)
    assert served.end(signal.SIGTERM) == 0, served.lines[-10:]
    for thread in threads:
        thread.join()
    for each in readers:
        assert each.ids == told, (len(each.ids), len({*each.ids}), len(told))
    posted = _posted(hook)
    assert list(dict.fromkeys(posted)) == told, (len({*posted}), len(told))
    _check_told(folder)
    seen.acknowledged, seen.told, seen.posted = sum(each.acknowledged for each in writers), len(told), len(posted)
    return seen


def _posted(hook: Receiver) -> list[str]:
    return [re.findall(rb"(?i)webhook-id: (\S+)", each)[0].decode() for each in [*hook.requests]]


def _all_told(url: str) -> list[str]:
    reader = Reader(False)
    with httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        while True:
            page = client.get("/notifications", params={"since": reader.place}).json()
            reader.ids += [each["id"] for each in page["notifications"]]
            reader.place = page["cursor"]
            if not page["more"]:
                return reader.ids


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
            state = engine.serving.state(graph)
            assert state is None or state.version == latest, (graph, state, latest)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.properties.service_kills")
    parser.add_argument("lives", type=int, nargs="?", default=10)
    parser.add_argument("--seed", type=int, default=int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED)))
    parser.add_argument("--spark", action="store_true", help="matched on Spark")
    options = parser.parse_args()
    spark = ["--spark"] * options.spark
    with tempfile.TemporaryDirectory() as folder:
        print(f"seed {options.seed}, {check_kills(options.lives, Path(folder) / 'folder', options.seed, *spark)}")


if __name__ == "__main__":
    main()
