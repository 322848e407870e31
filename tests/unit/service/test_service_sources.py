"""Sources over HTTP: added, polled by the service itself, shown, released and removed."""

from __future__ import annotations

import hmac
import socket
import time
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.feed_server import Said, rss, serve_feeds
from tests.unit.service.conftest import service_of
from triplecast import Engine
from triplecast.egress import EgressRules
from triplecast.sources import polling
from triplecast.sources.hubs import HubRow

OUTLINE = '<opml version="2.0"><body><outline text="N"><outline text="A" xmlUrl="{}"/></outline></body></opml>'


def test_a_source_is_polled_by_the_service(tmp_path: Path) -> None:
    rules = EgressRules(private=True, ports=frozenset())
    with serve_feeds() as server, Engine.open(tmp_path) as engine, service_of(engine, egress=rules) as client:
        url = server.url("/feed")
        server.pages["/feed"] = Said(rss([("urn:1", "One", "")]))
        engine.subscribe("SELECT ?title { ?item rss:title ?title }", id="titles")
        asked = {"url": url, "title": "News", "folder": ["A", "B"]}
        assert client.post("/sources", params=asked).json() == {"url": url, "added": True}
        assert client.post("/sources", params={"url": url}).json() == {"url": url, "added": False}
        until = time.monotonic() + 60
        while not (found := client.get("/sources/provenance", params={"graph": "urn:1"}).json()["provenance"]):
            assert time.monotonic() < until
            time.sleep(0.05)
        (row,) = client.get("/sources").json()["sources"]
        assert (row["title"], row["folders"], row["kind"], row["error"]) == ("News", [["A", "B"]], "feed", "")
        assert [each.publication for each in engine.notifications()] == ["urn:1"]
        (origin,) = found
        assert (origin["source"], origin["version"]) == (url, 1)
        assert client.post("/sources/check", params={"url": url}).status_code == 200
        assert client.post("/sources/release", params={"url": url}).json() == {"url": url, "released": 0}
        exported = client.get("/sources/outline")
        assert client.delete("/sources", params={"url": url}).status_code == 204
        imported = client.post("/sources/outline", content=exported.content)
        assert imported.json() == {"sources": [{"url": url, "added": True}], "faults": []}
        assert b'text="B"' in exported.content


def test_what_cannot_be_a_source_is_refused_and_an_engine_in_memory_has_none(
    client: TestClient, durable: TestClient
) -> None:
    assert client.get("/sources").status_code == 404
    for wrong in ("file:///etc/passwd", "https://user:secret@e.org/", "x"):
        answer = durable.post("/sources", params={"url": wrong})
        assert (answer.status_code, answer.json()["status"]) == (400, 400)
    assert durable.delete("/sources", params={"url": "https://e.org/"}).status_code == 400
    assert durable.post("/sources/outline", content=b"<rss/>").status_code == 400
    assert durable.get("/sources").json() == {"sources": []}


def test_a_damaged_list_of_sources_is_said_by_readyz(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object) -> object:
        raise socket.gaierror

    monkeypatch.setattr(polling, "LOOK_EVERY", 0.02)
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with Engine.open(tmp_path) as engine, service_of(engine) as client:
        client.post("/sources", params={"url": "https://e.org/feed"})
        assert client.get("/readyz").status_code == 200
        (tmp_path / "sources.sqlite").write_bytes(b"x" * 8192)
        until = time.monotonic() + 30
        while (answer := client.get("/readyz")).status_code == 200:
            assert time.monotonic() < until
            time.sleep(0.02)
        assert (answer.status_code, answer.json()["title"]) == (503, "no source is polled")
        assert str(tmp_path) not in answer.text
        assert client.get("/healthz").status_code == 200


def test_a_hub_reaches_the_callback_under_any_name_and_nothing_else(tmp_path: Path) -> None:
    rules = EgressRules(private=True, ports=frozenset())
    with serve_feeds() as server, Engine.open(tmp_path) as engine:
        links = {"Link": f'<{server.url("/hub")}>; rel="hub"', "Content-Type": "application/rss+xml"}
        server.pages["/feed"] = Said(rss([("urn:1", "One", "")]), headers=links)
        with service_of(engine, egress=rules, public_url="https://reader.example/base/") as client:
            client.post("/sources", params={"url": server.url("/feed")})
            sources = client.app.state.service.poller.sources

            def rows() -> list[HubRow]:
                with sources.writing() as file:
                    return [HubRow(*row) for row in file.ask("SELECT * FROM hub WHERE tries > 0")]

            until = time.monotonic() + 60
            while not rows():
                assert time.monotonic() < until
                time.sleep(0.05)
            (row,) = rows()
            proxied = {"Host": "reader.example"}
            asked = {
                "hub.mode": "subscribe",
                "hub.topic": row.topic,
                "hub.challenge": "<b>c",
                "hub.lease_seconds": "9000",
            }
            assert client.get("/sources", headers=proxied).status_code == 421
            assert client.get("/websub/guess", params=asked, headers=proxied).status_code == 410
            answer = client.get(f"/websub/{row.token}", params=asked, headers=proxied)
            assert (answer.status_code, answer.text) == (200, "<b>c")
            assert answer.headers["content-type"].startswith("text/plain")
            body = rss([("urn:2", "Two", "")]).encode()
            signature = f"sha256={hmac.digest(row.secret.encode(), body, 'sha256').hex()}"
            assert client.post("/websub/guess", content=body).status_code == 410
            sent = client.post(f"/websub/{row.token}", content=body, headers={**proxied, "X-Hub-Signature": signature})
            assert sent.status_code == 202
            assert engine.serving.state("urn:2") is not None
            wrong = {**proxied, "X-Hub-Signature": "sha256=00"}
            unsigned = rss([("urn:3", "Three", "")]).encode()
            assert client.post(f"/websub/{row.token}", content=unsigned, headers=wrong).status_code == 202
            assert engine.serving.state("urn:3") is None
