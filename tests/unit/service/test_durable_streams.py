"""Both logs held to the cases of the public conformance tests of Durable Streams (durable-streams/durable-streams,
packages/server-conformance-tests 0.3.6) that read, each under its name there.

Left out: what creates, appends, closes, forks or deletes, and streams of other types than JSON, since events come by
publishing; CORS preflights, since no page of another site is answered.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

pytest.importorskip("fastapi", reason="the extra `service` is not installed")

from fastapi.testclient import TestClient
from httpx import Response

from tests.unit.service.conftest import service_of
from triplecast import Engine
from triplecast.client.events import EventReader
from triplecast.service import durable_streams
from triplecast.service.settings import Access
from triplecast.service.tokens import hash_token

TITLES = "SELECT ?title { ?s dct:title ?title }"
NEXT, CURSOR, LAST = "Stream-Next-Offset", "Stream-Cursor", "Stream-Up-To-Date"


class Stream(NamedTuple):
    client: TestClient
    address: str
    append: Callable[[str], None]
    said: Callable[[dict[str, Any]], str]
    """What a message says, as appended."""

    def get(self, query: str = "", **headers: str) -> Response:
        return self.client.get(self.address + query, headers=headers)

    def texts(self, query: str = "") -> list[str]:
        answer = self.get(query)
        assert answer.status_code == 200, answer.text
        return [self.said(each) for each in answer.json()]

    def offset(self) -> str:
        return str(self.get().headers[NEXT])

    def until_waited_for(self) -> None:
        tail = self.client.app.state.service.tail  # type: ignore[attr-defined]
        while not tail._waiting:
            time.sleep(0.01)

    def events(self, query: str) -> list[tuple[str, Any]]:
        """Of a stream of server-sent events, until it ends."""
        answer = self.get(query)
        assert answer.headers["Content-Type"] == "text/event-stream", answer.text
        return [(each.name, json.loads(each.data)) for each in EventReader().read(answer.content)]


@pytest.fixture(params=["documents", "subscription"])
def stream(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stream]:
    monkeypatch.setattr(durable_streams, "POLL_SECONDS", 0.3)
    monkeypatch.setattr(durable_streams, "FOLLOW_SECONDS", 0.3)
    with Engine.open(tmp_path) as engine, service_of(engine) as client:
        engine.subscribe(TITLES, id="a b", notify="every")

        def append(text: str) -> None:
            graph = f"https://example.org/{threading.get_ident()}"
            data = f"<{graph}> <http://purl.org/dc/terms/title> {json.dumps(text)} ."
            assert not engine.publish(data, "text/turtle", graph).rejects

        if request.param == "documents":
            yield Stream(client, "/documents/stream", append, lambda row: _literal(row["data"]))
        else:
            yield Stream(client, "/subscriptions/a%20b/stream", append, _title)


def _literal(data: str) -> str:
    return str(json.loads(data[data.index('"') : data.rindex('"') + 1]))


def _title(row: dict[str, Any]) -> str:
    return str(row["answer"]["results"]["bindings"][0]["title"]["value"])


def test_read_operations(stream: Stream) -> None:
    """should read empty stream; should read stream with data; should read from offset; should return empty body with
    up-to-date for empty stream; should return correct headers on GET."""
    empty = stream.get()
    assert (empty.json(), empty.headers[LAST]) == ([], "true")
    assert empty.headers[NEXT] not in ("-1", "now")
    stream.append("first")
    first = stream.get()
    assert (first.status_code, first.headers["Content-Type"], first.headers[LAST]) == (200, "application/json", "true")
    assert first.headers["ETag"]
    stream.append("second")
    assert stream.texts(f"?offset={first.headers[NEXT]}") == ["second"]
    assert stream.texts() == ["first", "second"]


def test_offset_validation_and_resumability(stream: Stream) -> None:
    """should accept -1 as sentinel for stream beginning; should return same data for offset=-1 and no offset; should
    accept offset=now as sentinel for current tail position; should return correct tail offset for offset=now; should
    be able to resume from offset=now result; should return empty JSON array for offset=now on JSON streams; should
    support resumable reads (no duplicate data); should return empty response when reading from tail offset; should
    preserve data immutability by position; should ignore unknown query parameters."""
    now = stream.get("?offset=now")
    assert (now.json(), now.headers[LAST], now.headers["Cache-Control"]) == ([], "true", "no-store")
    stream.append("one")
    assert stream.texts(f"?offset={now.headers[NEXT]}") == ["one"]
    assert stream.texts("?offset=-1&foo=bar") == stream.texts() == ["one"]
    now = stream.get("?offset=now")
    assert now.headers[NEXT] == stream.offset()
    at = now.headers[NEXT]
    tail = stream.get(f"?offset={at}")
    assert (tail.json(), tail.headers[NEXT], tail.headers[LAST]) == ([], at, "true")
    stream.append("two")
    stream.append("three")
    assert stream.texts(f"?offset={at}") == ["two", "three"]
    assert stream.texts(f"?offset={at}") == ["two", "three"]


@pytest.mark.parametrize("query", ["?offset=0,1", "?offset=0 1", "?offset=", "?offset=a&offset=b", "?offset=0/1"])
def test_offsets_that_are_none(stream: Stream, query: str) -> None:
    """should reject malformed offset (contains comma); should reject offset with spaces; should reject empty offset
    parameter; should reject multiple offset parameters; should reject offsets with invalid characters; should include
    security headers on error responses."""
    refused = stream.get(query)
    assert refused.status_code == 400
    assert refused.headers["X-Content-Type-Options"] == "nosniff"
    for live in ("long-poll", "sse"):
        assert stream.get(f"{query}&live={live}").status_code == 400
        assert stream.get(f"?live={live}").status_code == 400, "should require offset parameter"
    assert stream.get("?offset=-1&live=websocket").status_code == 400


def test_offsets_rise(stream: Stream) -> None:
    """should generate unique, monotonically increasing offsets."""
    offsets = [stream.offset()]
    for number in range(12):
        stream.append(f"chunk {number}")
        offsets.append(stream.offset())
    assert sorted({*offsets}) == offsets
    assert not {*",&=?/"} & {*"".join(offsets)}


def test_head_metadata(stream: Stream) -> None:
    """should return metadata without body; should return tail offset; should include Cache-Control: no-store on HEAD
    responses; should include X-Content-Type-Options: nosniff on HEAD responses; should return 404 for non-existent
    stream."""
    stream.append("one")
    head = stream.client.head(stream.address)
    assert (head.status_code, head.content, head.headers[NEXT]) == (200, b"", stream.offset())
    assert (head.headers["Content-Type"], head.headers["Cache-Control"]) == ("application/json", "no-store")
    assert head.headers["X-Content-Type-Options"] == "nosniff"
    for query in ("", "?offset=now", "?offset=now&live=long-poll", "?offset=now&live=sse"):
        assert stream.client.get(f"/subscriptions/nobody/stream{query}").status_code == 404
    assert stream.client.head("/subscriptions/nobody/stream").status_code == 404


def test_browser_security_headers(stream: Stream) -> None:
    """should include X-Content-Type-Options: nosniff on GET, SSE and long-poll responses; should include
    Cross-Origin-Resource-Policy header on GET responses."""
    for query in ("", "?offset=-1&live=sse", "?offset=-1&live=long-poll"):
        headers = stream.get(query).headers
        assert (headers["X-Content-Type-Options"], headers["Cross-Origin-Resource-Policy"]) == (
            "nosniff",
            "cross-origin",
        )


def test_caching_and_etag(stream: Stream) -> None:
    """should generate ETag on GET responses; should return 304 Not Modified for matching If-None-Match; should return
    200 for non-matching If-None-Match; should return new ETag after data changes."""
    stream.append("one")
    tag = stream.get().headers["ETag"]
    known = stream.get(**{"If-None-Match": tag})
    assert (known.status_code, known.content, known.headers["ETag"]) == (304, b"", tag)
    assert stream.get(**{"If-None-Match": '"wrong-etag"'}).status_code == 200
    stream.append("two")
    assert stream.get(**{"If-None-Match": tag}).status_code == 200


def test_long_poll(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """should wait for new data with long-poll; should return immediately with Stream-Up-To-Date when data exists at
    offset; should receive data with offset=now long-poll when appended; should support offset=now with long-poll mode
    (waits for data); should support offset=now with long-poll on empty stream; should return Stream-Cursor,
    Stream-Up-To-Date and Stream-Next-Offset on 204 timeout; should generate Stream-Cursor header on long-poll
    responses; should echo cursor and handle collision with jitter."""
    empty = stream.get("?offset=now&live=long-poll")
    assert (empty.status_code, empty.content, empty.headers[LAST]) == (204, b"", "true")
    assert empty.headers[CURSOR].isdecimal()
    monkeypatch.setattr(durable_streams, "POLL_SECONDS", 60.0)
    begun = time.monotonic()
    answered = threading.Event()

    def append() -> None:
        while not answered.wait(0.1):
            stream.append("later")

    writer = threading.Thread(target=append)
    writer.start()
    poll = stream.get("?offset=now&live=long-poll")
    answered.set()
    writer.join()
    assert {stream.said(each) for each in poll.json()} == {"later"}
    assert poll.headers[LAST] == "true"
    assert time.monotonic() < begun + 40, "it is woken"
    at_once = stream.get(f"?offset={empty.headers[NEXT]}&live=long-poll")
    assert {stream.said(each) for each in at_once.json()} == {"later"}
    seen = at_once.headers[CURSOR]
    again = stream.get(f"?offset=-1&live=long-poll&cursor={seen}")
    assert int(again.headers[CURSOR]) > int(seen)
    for strange in ("x", "-1", "9" * 40):
        assert stream.get(f"?offset=-1&live=long-poll&cursor={strange}").status_code == 200


def test_sse(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """should return text/event-stream content-type for SSE requests; should have correct SSE headers (no
    Content-Length, proper Cache-Control); should stream data events via SSE; JSON SSE catch-up pairs every data event
    with a control event; should send upToDate flag in SSE control events when caught up; should generate streamCursor
    in SSE control events; should handle cursor collision with jitter in SSE mode; should handle SSE for empty stream
    with correct offset; should support offset=now with SSE mode; should support reconnection with last known offset;
    should handle JSON payloads with embedded newlines safely; should generate unique, monotonically increasing offsets
    in SSE mode."""
    ((name, control),) = stream.events("?offset=-1&live=sse")
    assert (name, control["upToDate"]) == ("control", True)
    assert control["streamNextOffset"] == stream.offset()
    attack = 'line1\nline2\r\n\r\nevent: control\r\ndata: {"bad":true}'
    stream.append(attack)
    later = threading.Thread(target=lambda: (stream.until_waited_for(), stream.append("later")))
    monkeypatch.setattr(durable_streams, "FOLLOW_SECONDS", 3.0)
    later.start()
    answer = stream.get("?offset=-1&live=sse")
    later.join()
    monkeypatch.setattr(durable_streams, "FOLLOW_SECONDS", 0.3)
    assert "no-cache" in answer.headers["Cache-Control"]
    assert "Content-Length" not in answer.headers
    events = [(each.name, json.loads(each.data)) for each in EventReader().read(answer.content)]
    assert [name for name, _ in events] == ["data", "control", "data", "control"]
    assert [stream.said(row) for _, rows in events[::2] for row in rows] == [attack, "later"]
    controls = [row for _, row in events[1::2]]
    assert controls[0]["streamNextOffset"] < controls[1]["streamNextOffset"]
    assert int(controls[0]["streamCursor"]) < int(controls[1]["streamCursor"])
    offset, seen = controls[0]["streamNextOffset"], controls[1]["streamCursor"]
    again = stream.events(f"?offset={offset}&live=sse&cursor={seen}")
    assert [stream.said(row) for row in again[0][1]] == ["later"]
    assert int(again[1][1]["streamCursor"]) > int(seen)
    ((_, control),) = stream.events("?offset=now&live=sse")
    assert (control["streamNextOffset"], control["upToDate"]) == (stream.offset(), True)


def test_pages_follow_each_other(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    """should handle chunk-size pagination correctly; concurrent readers see consistent data during writes."""
    monkeypatch.setattr("triplecast.service.logs.MOST_ROWS", 3)
    writer = threading.Thread(target=lambda: [stream.append(str(number)) for number in range(20)])
    writer.start()
    read: list[str] = []
    offset = "-1"
    while len(read) < 20:
        page = stream.get(f"?offset={offset}")
        assert page.headers[NEXT] >= offset
        assert len(page.json()) <= 3
        assert (LAST in page.headers) == (page.headers["Cache-Control"] == "no-store")
        read += [stream.said(each) for each in page.json()]
        offset = page.headers[NEXT]
    writer.join()
    assert read == [str(number) for number in range(20)]
    monkeypatch.setattr(durable_streams, "FOLLOW_SECONDS", 3.0)
    assert [name for name, _ in stream.events("?offset=-1&live=sse")] == ["data", "control"] * 7


def test_what_is_gone_is_said(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine, service_of(engine) as client:
        engine.subscribe(TITLES, id="a", notify="every")
        for number in range(4):
            graph = f"https://example.org/{number}"
            engine.publish(
                f'<{graph}> dct:title "x" .'.replace("dct:title", "<http://purl.org/dc/terms/title>"),
                "text/turtle",
                graph,
            )
        known = client.get("/subscriptions/a/stream?offset=0000000000000001_1")
        assert [each["sequence"] for each in known.json()] == [2, 3, 4]
        engine.prune(2)
        for offset in ("0000000000000001_1", "0000000000000003_9", "0000000000000099_1"):
            gone = client.get(f"/subscriptions/a/stream?offset={offset}")
            assert gone.status_code == 410, offset
            assert client.get(f"/subscriptions/a/stream?offset={offset}&live=sse").status_code == 410, offset
            assert client.get(f"/subscriptions/a/stream?offset={gone.json()['offset']}").status_code == 200
        assert [each["sequence"] for each in client.get("/subscriptions/a/stream").json()] == [3, 4]
        for offset in ("0000000000000002_1", "0000000000000099_1"):
            for way in ("", "&live=long-poll", "&live=sse"):
                assert client.get(f"/documents/stream?offset={offset}{way}").status_code == 410


@pytest.mark.parametrize("live", ["long-poll", "sse"])
def test_nothing_comes_after_an_acknowledged_cancel(tmp_path: Path, live: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of whoever takes the id next."""
    monkeypatch.setattr(durable_streams, "POLL_SECONDS", 60.0)
    answers: list[Response] = []
    with Engine.open(tmp_path) as engine, service_of(engine) as client:
        made = engine.subscribe(TITLES, id="a", notify="every")

        def follow() -> None:
            answers.append(client.get(f"/subscriptions/a/stream?offset=now&live={live}"))

        reader = threading.Thread(target=follow)
        reader.start()
        Stream(client, "", lambda _: None, str).until_waited_for()
        assert client.delete("/subscriptions/a", headers={"Triplecast-Ticket": made.ticket}).status_code == 200
        engine.subscribe(TITLES, id="a", notify="every")
        graph = "https://example.org/1"
        engine.publish(f'<{graph}> <http://purl.org/dc/terms/title> "x" .', "text/turtle", graph)
        reader.join(20)
    (answer,) = answers
    assert "sequence" not in answer.text
    assert (answer.status_code == 404) == (live == "long-poll")


def test_who_may_read(tmp_path: Path) -> None:
    tokens = {
        hash_token("ada"): Access("ada", frozenset({"read", "subscribe"})),
        hash_token("pub"): Access("bob", frozenset({"publish"})),
    }
    with Engine.open(tmp_path) as engine, service_of(engine, tokens=tokens) as client:
        made = {name: engine.subscribe(TITLES, id=name, owner=name) for name in ("ada", "bob")}
        bearer = {name: {"Authorization": f"Bearer {name}"} for name in ("ada", "pub")}
        ticket = {name: {"Triplecast-Ticket": made[name].ticket} for name in made}
        feed = client.get("/subscriptions/ada/feed", headers=bearer["ada"] | ticket["ada"]).json()
        for part in ("stream", "ldes"):
            expected: tuple[tuple[str, dict[str, str], int], ...] = (
                (f"/documents/{part}", {}, 401),
                (f"/documents/{part}", bearer["pub"], 403),
                (f"/documents/{part}", bearer["ada"], 200),
                (f"/subscriptions/ada/{part}", {}, 401),
                (f"/subscriptions/ada/{part}", bearer["ada"], 200),
                (f"/subscriptions/bob/{part}", bearer["ada"], 404),
                (f"/subscriptions/bob/{part}", ticket["bob"], 200),
                (f"/subscriptions/bob/{part}", ticket["ada"], 404),
                (f"/subscriptions/ada/{part}?key=x", bearer["ada"], 404),
                (feed[part], {}, 200),
                (feed[part].replace("/ada/", "/bob/"), {}, 404),
            )
            for address, headers, status in expected:
                assert client.get(address, headers=headers).status_code == status, (address, headers)
        engine.unsubscribe("ada")
        engine.subscribe(TITLES, id="ada", owner="bob")
        assert client.get(feed["stream"]).status_code == 404
