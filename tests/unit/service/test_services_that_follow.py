"""One service publishes; another follows its feed by the first one's hub, and a folder the log of its documents."""

from __future__ import annotations

import re
import signal
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest

from tests.feed_server import SEND
from tests.properties.service_kills import Served
from tests.unit.service.served import served
from triplecast import Document, Engine
from triplecast.sources import NewSource, Poller


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def put(client: httpx.Client, number: int) -> None:
    content = f'<https://e.org/{number}> <http://purl.org/dc/elements/1.1/title> "T{number}" .'
    headers = {"Content-Type": "text/turtle"}
    assert client.put(f"/documents?graph=https://e.org/{number}", content=content, headers=headers).status_code == 201


def until(what: Callable[[], object]) -> None:
    ends = time.monotonic() + 60
    while not what():
        assert time.monotonic() < ends
        time.sleep(0.05)


@pytest.mark.slow
def test_one_service_follows_another_by_its_hub(tmp_path: Path) -> None:
    ports = free_port(), free_port()
    allowed = [option for port in ports for option in ("--webhook-port", str(port))]
    with ExitStack() as opened:
        services = []
        for name, port in zip(("a", "b"), ports, strict=True):
            own = ("--port", str(port), "--public-url", f"http://127.0.0.1:{port}", "--private", *allowed)
            services.append(Served(tmp_path / name, *own))
            opened.callback(services[-1].end, signal.SIGTERM)
        a, b = (opened.enter_context(httpx.Client(base_url=each.url, trust_env=False, timeout=60)) for each in services)
        made = a.post("/subscriptions", json={"text": "SELECT ?title { ?s dc:title ?title }"}).json()
        ticket = {"Triplecast-Ticket": made["ticket"]}
        feed = a.get(f"/subscriptions/{made['id']}/feed", headers=ticket).json()["atom"]
        b.post("/subscriptions", json={"text": "SELECT ?title { ?i a rss:item ; rss:title ?title }"})

        def titles() -> list[str]:
            answer = b.get("/notifications", headers={"Accept": "application/x-ndjson"})
            return sorted(re.findall(r'"(T\d)', answer.text.replace("\\", "")))

        def delivered() -> list[int]:
            targets = a.get(f"/subscriptions/{made['id']}/delivery", headers=ticket).json()["targets"]
            return [each["delivered"] for each in targets]

        def next_check() -> datetime:
            (source,) = b.get("/sources").json()["sources"]
            return datetime.fromisoformat(source["next_check"])

        put(a, 1)
        assert b.post("/sources", params={"url": feed}).status_code == 201
        until(lambda: titles() == ["T1"] and delivered() == [0])
        until(lambda: next_check() > datetime.now(UTC) + timedelta(hours=20))
        for number in (2, 3):
            put(a, number)
        until(lambda: titles() == ["T1", "T2", "T3"] and delivered() == [2])
        assert b.delete("/sources", params={"url": feed}).status_code == 204
        until(lambda: delivered() == [])
        put(a, 4)
        assert b.get("/websub/guess", params={"hub.mode": "subscribe", "hub.topic": feed}).status_code == 410
        assert titles() == ["T1", "T2", "T3"]


def test_one_folder_follows_the_documents_of_a_service(tmp_path: Path) -> None:
    with (
        Engine.open(tmp_path / "a") as a,
        served(a) as address,
        Engine.open(tmp_path / "b") as b,
        closing(Poller(b, tmp_path / "b", SEND)) as poller,
    ):
        url = f"{address}/documents/ldes"
        poller.sources.add([NewSource(url)], 0)

        def follow() -> set[tuple[str, str]]:
            poller.sources.check(url, 0)
            (polled,) = poller.poll([url])
            assert polled.error == ""
            rows = b.query("SELECT ?g ?title { GRAPH ?g { ?s dc:title ?title } }")
            assert isinstance(rows, list)
            return {(row["g"].value, row["title"].value) for row in rows}

        documents = [Document(f"urn:{n}", title(n), "text/turtle", f"urn:{n}") for n in range(12)]
        a.publish_many([*documents, Document("urn:1", title(99), "text/turtle", "urn:1")])
        wanted = {(f"urn:{n}", f"T{n}") for n in range(12)} - {("urn:1", "T1")} | {("urn:1", "T99")}
        assert follow() == wanted
        a.remove("urn:3")
        assert follow() == wanted - {("urn:3", "T3")}
        a.publish(title(3), media_type="text/turtle", graph="urn:3")
        assert (follow(), poller.sources.named(url).kind) == (wanted, "ldes")


def title(number: int) -> bytes:
    return f'<urn:{number}> <http://purl.org/dc/elements/1.1/title> "T{number}" .'.encode()
