"""`python -m tests.properties.followed_logs N`: N lives of `triplecast serve`, each ended by kill -9 while writers
write and others follow its logs, as Linked Data Event Streams and as Durable Streams.

In the end each follower has every event once, in order, whatever it was told to read again.
"""

from __future__ import annotations

import os
import random
import signal
import socket
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import httpx

from tests.conftest import DEFAULT_SEED, SEED_VARIABLE
from tests.properties.service_kills import Served, Writer
from tests.unit.service.ldes_client import EventStreamClient, Fetched
from triplecast import Engine
from triplecast.journal import JournalFile
from triplecast.syndication.event_streams import event_iri
from triplecast.syndication.turtle import NOTIFICATION

PATHS = ("/documents", "/subscriptions/all")


class Gone(Exception):
    """The server answers 410."""


def fetch(client: httpx.Client, address: str) -> httpx.Response:
    answer = client.get(address, headers={"Accept": "application/trig, application/json"})
    if answer.status_code == 410:
        raise Gone
    assert answer.status_code in (200, 204), (address, answer.status_code, answer.text)
    return answer


class PageFollower:
    """Of a Linked Data Event Stream."""

    def __init__(self, client: httpx.Client, root: str) -> None:
        def read(address: str) -> Fetched:
            answer = fetch(client, address)
            return Fetched(answer.content, answer.headers["Content-Type"], answer.headers["Cache-Control"])

        self._stream = EventStreamClient(root, read)
        self.gone = 0

    def follow(self, waits: bool = True) -> None:
        try:
            self._stream.synchronize()
        except Gone:
            self.gone += 1
            self._stream.begin_again()

    @property
    def ids(self) -> Sequence[str]:
        return [*self._stream.members]


class OffsetFollower:
    """Of a Durable Stream, by long polls."""

    def __init__(self, client: httpx.Client, address: str, id_of: Callable[[dict[str, object]], str]) -> None:
        self._client, self._address, self._id_of = client, address, id_of
        self._offset = "-1"
        self.ids: list[str] = []
        self.gone = 0

    def follow(self, waits: bool = True) -> None:
        try:
            live = "&live=long-poll" if waits else ""
            answer = fetch(self._client, f"{self._address}?offset={self._offset}{live}")
        except Gone:
            self.gone += 1
            self._offset = "-1"
            return
        known = {*self.ids} if self._offset == "-1" else set[str]()
        self.ids += [id for each in (answer.json() if answer.content else ()) if (id := self._id_of(each)) not in known]
        self._offset = answer.headers["Stream-Next-Offset"]


def check_lives(lives: int, folder: Path, seed: int) -> str:
    chance = random.Random(seed)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        base = f"http://127.0.0.1:{free.getsockname()[1]}"
    with Engine.open(folder) as engine:
        engine.subscribe("SELECT ?o { ?s ?p ?o }", id="all", notify="every", lease=10**7)
    writers = [Writer(number, random.Random(chance.random())) for number in range(3)]
    with httpx.Client(base_url=base, trust_env=False, timeout=120) as client:
        pages = [PageFollower(client, f"{base}{path}/ldes") for path in PATHS]
        offsets = [
            OffsetFollower(client, "/documents/stream", lambda row: str(row["position"])),
            OffsetFollower(client, "/subscriptions/all/stream", lambda row: str(row["id"])),
        ]
        for _ in range(lives):
            server = Served(folder, "--port", base.rpartition(":")[2])
            for writer in writers:
                writer.check(client)
            threads = [threading.Thread(target=each.write, args=(base,)) for each in writers]
            threads += [threading.Thread(target=_follow, args=(each,)) for each in (*pages, *offsets)]
            for each in threads:
                each.start()
            enough = sum(each.acknowledged for each in writers) + chance.randrange(5, 80)
            until = time.monotonic() + 60
            while sum(each.acknowledged for each in writers) < enough and time.monotonic() < until:
                time.sleep(0.01)
            server.end(signal.SIGKILL)
            for each in threads:
                each.join()
        server = Served(folder, "--port", base.rpartition(":")[2])
        for each in (*pages, *offsets):
            for _ in range(3):
                each.follow(waits=False)
        server.end(signal.SIGTERM)
    with JournalFile.read_only(folder) as journal, Engine.open(folder) as engine:
        events = journal.documents(0, journal.head())
        told = [each.id for each in engine.notifications(subscription="all")]
    assert pages[0].ids == [event_iri(each).value for each in events]
    assert offsets[0].ids == [str(each.position) for each in events]
    assert pages[1].ids == [NOTIFICATION + each for each in told]
    assert offsets[1].ids == told
    gone = sum(each.gone for each in (*pages, *offsets))
    return f"{len(events)} events of documents, {len(told)} notifications, {gone} times begun again"


def _follow(follower: PageFollower | OffsetFollower) -> None:
    """Until the server is gone."""
    try:
        while True:
            follower.follow()
    except httpx.HTTPError:
        return


if __name__ == "__main__":
    given = int(os.environ.get(SEED_VARIABLE, DEFAULT_SEED))
    with tempfile.TemporaryDirectory() as folder:
        print(f"seed {given}:", check_lives(int(sys.argv[1]), Path(folder) / "folder", given))
