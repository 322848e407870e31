"""SEPA's door: what a client is told, added and removed in turn, is the answer of the query at every moment."""

from __future__ import annotations

import json
import random
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("fastapi", reason="the extra `service` is not installed")
pytest.importorskip("websockets", reason="the extra `service` is not installed")

from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse, WebSocketTestSession
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.unit.service.conftest import service_of
from tests.unit.service.served import served
from triplecast import Engine
from triplecast.errors import StorageFault
from triplecast.registry.listing import LiveSubscription
from triplecast.results import term_json
from triplecast.service import sepa
from triplecast.service.settings import Access
from triplecast.service.tokens import hash_token

TITLE = "http://purl.org/dc/terms/title"
TITLES = "SELECT ?s ?title { ?s dct:title ?title }"
DOOR = "ws://localhost/subscribe"

Rows = Counter[str]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "folder") as engine:
        yield engine


@pytest.fixture
def client(engine: Engine) -> Iterator[TestClient]:
    with service_of(engine) as client:
        yield client


def publish(engine: Engine, graph: str, *titles: str) -> None:
    engine.publish("".join(f'<{graph}> <{TITLE}> "{each}" .\n' for each in titles), "text/turtle", graph)


def ask(socket: WebSocketTestSession, request: object) -> dict[str, Any]:
    socket.send_text(request if isinstance(request, str) else json.dumps(request))
    return told(socket)


def told(socket: WebSocketTestSession) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(socket.receive_text())
    return found


def subscribe(socket: WebSocketTestSession, sparql: str = TITLES, **more: object) -> dict[str, Any]:
    answer = ask(socket, {"subscribe": {"sparql": sparql, **more}})
    found: dict[str, Any] = answer["notification"]
    return found


def live(engine: Engine) -> Sequence[LiveSubscription]:
    return engine.serving.page(0, 100, None).subscriptions


def answer(engine: Engine, query: str) -> Rows:
    found = engine.query(query)
    assert isinstance(found, list)
    return rows({"results": {"bindings": [{name: term_json(term) for name, term in row.items()} for row in found]}})


def rows(results: dict[str, Any]) -> Rows:
    return Counter(json.dumps(each, sort_keys=True) for each in results.get("results", {}).get("bindings", ()))


def test_the_first_message_is_the_answer_and_later_ones_what_changes_in_it(engine: Engine, client: TestClient) -> None:
    publish(engine, "urn:a", "one")
    with client.websocket_connect(DOOR) as socket:
        subscribe(socket, "SELECT ?s { ?s dct:creator ?who }")  # which nothing matches
        first = subscribe(socket, alias="all")
        assert (first["sequence"], first["alias"], first["removedResults"]) == (0, "all", {})
        assert first["addedResults"]["head"]["vars"] == ["s", "title"]
        assert first["addedResults"]["results"]["bindings"][0]["title"] == {"type": "literal", "value": "one"}
        publish(engine, "urn:a", "two")
        second = told(socket)["notification"]
        assert (second["sequence"], second["spuid"]) == (1, first["spuid"])
        assert rows(second["removedResults"]) == rows(first["addedResults"])
        assert "two" in str(second["addedResults"])
        gone = ask(socket, {"unsubscribe": {"spuid": first["spuid"]}})
        assert gone == {"unsubscribed": {"spuid": first["spuid"]}}
        publish(engine, "urn:b", "three")
        again = subscribe(socket)
        assert again["sequence"] == 0, "nothing comes after it is unsubscribed"
        assert sum(rows(again["addedResults"]).values()) == 2
    until = time.monotonic() + 20
    while live(engine):
        assert time.monotonic() < until, "a connection takes its subscriptions with it"


def test_an_empty_answer_has_its_variables(client: TestClient) -> None:
    with client.websocket_connect(DOOR) as socket:
        first = subscribe(socket)
        assert first["addedResults"] == {"head": {"vars": ["s", "title"]}, "results": {"bindings": []}}
        assert "alias" not in first


QUERIES = (
    TITLES,
    "SELECT ?title { ?s dct:title ?title OPTIONAL { ?s dct:title ?other FILTER(?other < ?title) } }",
    "SELECT * { ?a dct:title ?t . ?b dct:title ?t FILTER(?a != ?b) }",
)


class Reader:
    """A client that adds and takes away what it is told."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self.held: dict[str, Rows] = {}
        self._query: dict[str, str] = {}
        self._last: dict[str, int] = {}
        for query in (*QUERIES, *QUERIES):
            socket.send(json.dumps({"subscribe": {"sparql": query, "alias": query}}))

    def read(self) -> None:
        said = _receive(self._socket)["notification"]
        uri, removed = said["spuid"], rows(said["removedResults"])
        assert said["sequence"] == self._last.get(uri, -1) + 1
        self._last[uri] = said["sequence"]
        self._query.setdefault(uri, said.get("alias"))
        held = self.held.setdefault(uri, Counter())
        assert removed <= held, "what is removed was there"
        held -= removed
        held += rows(said["addedResults"])

    def has(self, answers: dict[str, Rows]) -> bool:
        return len(self.held) == 2 * len(QUERIES) and all(
            held == answers[self._query[uri]] for uri, held in self.held.items()
        )


def test_many_subscriptions_of_many_clients_add_up_to_the_answers(engine: Engine, seed: int) -> None:
    """While another one publishes and removes."""
    dice = random.Random(seed)
    publish(engine, "urn:0", "x", "y")

    def write() -> None:
        for _ in range(60):
            graph = f"urn:{dice.randrange(4)}"
            if dice.random() < 0.25:
                engine.remove(graph)
            else:
                publish(engine, graph, *(dice.choice("wxyz") for _ in range(dice.randrange(1, 4))))

    writer = threading.Thread(target=write)
    with served(engine) as address:
        door = address.replace("http", "ws") + "/subscribe"
        with connect(door) as one, connect(door) as other:
            writer.start()
            readers = [Reader(one), Reader(other)]
            writer.join()
            answers = {query: answer(engine, query) for query in QUERIES}
            for reader in readers:
                while not reader.has(answers):
                    reader.read()


REFUSED: tuple[tuple[object, int, str], ...] = (
    ("no json", 400, "no JSON"),
    ("[]", 400, "not as described"),
    ("[" * 100_000, 400, "no JSON"),
    ({"subscribe": "SELECT"}, 400, "not as described"),
    ({"subscribe": {}}, 400, "the query is missing"),
    ({"subscribe": {"sparql": "SELEC"}}, 400, "SELECT"),
    ({"subscribe": {"sparql": "SELECT * { SERVICE <urn:x> { ?s ?p ?o } }"}}, 422, "SERVICE"),
    ({"subscribe": {"sparql": TITLES, "default-graph-uri": ["urn:g"]}}, 422, "dataset"),
    ({"subscribe": {"sparql": TITLES, "alias": "\ud800"}}, 400, "half a character"),
    ({"subscribe": {"sparql": "SELECT * { ?s dct:title '\ud800' }"}}, 400, "half a character"),
    ({"unsubscribe": {"spuid": "urn:x"}}, 404, "no such subscription"),
    ({"unsubscribe": {"spuid": ["x"]}}, 404, "no such subscription"),
    ({"query": {}}, 400, "unknown"),
)


def test_what_cannot_be_done_is_said_and_harms_nothing(engine: Engine, client: TestClient) -> None:
    with client.websocket_connect(DOOR) as socket:
        for request, code, said in REFUSED:
            error = ask(socket, request)["error"]
            assert (error["code"], error["status_code"]) == (code, code), request
            assert said in error["body"], request
        socket.send_bytes(json.dumps({"subscribe": {"sparql": TITLES}}).encode())
        assert told(socket)["notification"]["sequence"] == 0
        assert len(live(engine)) == 1


def test_bounds_of_a_connection_and_of_all(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sepa, "MOST", 2)
    with service_of(engine, streams=1) as client, client.websocket_connect(DOOR) as socket:
        for _ in range(2):
            subscribe(socket)
        assert ask(socket, {"subscribe": {"sparql": TITLES}})["error"]["code"] == 429
        with client.websocket_connect(DOOR) as other:
            assert told(other)["error"]["code"] == 429
            assert other.receive()["type"] == "websocket.close"
        assert client.get("/notifications", headers={"Accept": "text/event-stream"}).status_code == 429


def test_a_token_is_needed_where_the_service_has_tokens(engine: Engine) -> None:
    tokens = {
        hash_token("ada"): Access("ada", frozenset({"subscribe"})),
        hash_token("pub"): Access("bob", frozenset({"publish"})),
    }
    with service_of(engine, tokens=tokens) as client, client.websocket_connect(DOOR) as socket:
        for authorization, code in ((None, 401), ("Bearer none", 401), ("Bearer pub", 403), (7, 401)):
            asked = {"subscribe": {"sparql": TITLES, "authorization": authorization}}
            assert ask(socket, asked)["error"]["code"] == code
        assert subscribe(socket, authorization="Bearer ada")["sequence"] == 0
        (made,) = live(engine)
        assert (made.owner, made.scope) == ("ada", "repository")
        assert made.expires is not None
        older = ask(socket, {"subscribe": {"sparql": TITLES}, "authorization": "ada"})
        assert older["notification"]["sequence"] == 0, "as sepy sends it"


def test_who_shows_no_token_keeps_no_connection(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each is one of the streams that there may be."""
    monkeypatch.setattr(sepa, "UNKNOWN_SECONDS", 0.5)
    tokens = {hash_token("ada"): Access("ada", frozenset({"subscribe"}))}
    with served(engine, tokens=tokens) as address:
        door = address.replace("http", "ws") + "/subscribe"
        with connect(door) as stranger, connect(door, additional_headers={"Authorization": "Bearer ada"}) as known:
            for each in (stranger, known):
                each.send(json.dumps({"subscribe": {"sparql": "SELEC"}}))
                assert "error" in _receive(each)
            with suppress(ConnectionClosed):
                for _ in range(10_000):
                    stranger.send(json.dumps({"subscribe": {"sparql": TITLES}}))
                    assert _receive(stranger)["error"]["code"] == 401
                    time.sleep(0.01)
            with pytest.raises(ConnectionClosed):
                stranger.recv()
            known.send(json.dumps({"subscribe": {"sparql": TITLES}}))
            assert _receive(known)["notification"]["sequence"] == 0


def test_a_client_is_answered_beside_another_reader_of_its_subscription(engine: Engine) -> None:
    tokens = {hash_token("ada"): Access(None, frozenset({"subscribe", "read", "admin"}))}
    ada = {"Authorization": "Bearer ada"}
    with (
        served(engine, tokens=tokens) as address,
        connect(address.replace("http", "ws") + "/subscribe", additional_headers=ada) as client,
    ):
        client.send(json.dumps({"subscribe": {"sparql": TITLES}}))
        assert _receive(client)["notification"]["sequence"] == 0
        (made,) = live(engine)
        stream = {**ada, "Accept": "text/event-stream"}
        with httpx.stream("GET", f"{address}/notifications?subscription={made.id}", headers=stream) as other:
            assert other.status_code == 200
            for number, title in enumerate(("first", "second"), 1):
                publish(engine, "urn:a", title)
                assert _receive(client)["notification"]["sequence"] == number
            client.send(json.dumps({"subscribe": {"sparql": "SELEC"}}))
            assert "error" in _receive(client)


def test_a_stranger_may_say_little_and_a_client_with_a_token_more(engine: Engine) -> None:
    """The bytes are refused as they come: none but those of a short message are held."""
    tokens = {hash_token("ada"): Access("ada", frozenset({"subscribe"}))}
    long = json.dumps({"subscribe": {"sparql": TITLES + 100_000 * " ", "authorization": "Bearer ada"}})
    with served(engine, tokens=tokens) as address:
        door = address.replace("http", "ws") + "/subscribe"
        with connect(door) as stranger:
            with suppress(ConnectionClosed):
                stranger.send(long)
            with pytest.raises(ConnectionClosed) as closed:
                stranger.recv(timeout=20)
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
        with connect(door, additional_headers={"Authorization": "Bearer ada"}) as known:
            known.send(long)
            assert _receive(known)["notification"]["sequence"] == 0
        with connect(door) as shown:
            shown.send(json.dumps({"subscribe": {"sparql": TITLES, "authorization": "Bearer ada"}}))
            assert _receive(shown)["notification"]["sequence"] == 0
            shown.send(long)
            assert _receive(shown)["notification"]["sequence"] == 0


def test_text_that_is_no_utf_8_ends_the_connection_without_a_traceback(
    engine: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    with served(engine) as address, connect(address.replace("http", "ws") + "/subscribe") as client:
        client.send([b"\xc3", b"("], text=True)
        with pytest.raises(ConnectionClosed) as closed:
            client.recv(timeout=20)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1007
    assert capfd.readouterr().err == ""


def test_a_subscription_that_lost_rows_by_pruning_ends_and_says_so(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with service_of(engine) as client, client.websocket_connect(DOOR) as socket:
        first = subscribe(socket)
        publish(engine, "urn:a", "first")
        told(socket)
        read_rows = sepa.read_rows

        def prune_first(*arguments: Any) -> Any:
            time.sleep(0.5)
            engine.prune(3)
            return read_rows(*arguments)

        monkeypatch.setattr(sepa, "read_rows", prune_first)
        for title in "abc":
            publish(engine, "urn:a", title)
        error = told(socket)["error"]
        assert (error["code"], "have been pruned" in error["body"]) == (410, True)
        assert first["spuid"] in error["body"]
        assert not live(engine)


def test_a_renewal_that_fails_is_tried_again(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    renew, faults = engine.renew, [StorageFault("journal", "the disk is full", "make room")]

    def fail_first(*arguments: Any) -> Any:
        if faults:
            raise faults.pop()
        return renew(*arguments)

    monkeypatch.setattr(sepa, "LEASE_SECONDS", 4.0)
    monkeypatch.setattr(engine, "renew", fail_first)
    with service_of(engine) as client, client.websocket_connect(DOOR) as socket:
        subscribe(socket)
        (made,) = live(engine)
        until = time.monotonic() + 20
        while faults or live(engine)[0].expires == made.expires:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_another_sites_page_is_refused(client: TestClient) -> None:
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        with pytest.raises(WebSocketDenialResponse), client.websocket_connect(DOOR, headers=headers):
            pass


def test_a_lease_is_renewed_and_its_end_is_said(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sepa, "LEASE_SECONDS", 3.0)
    with service_of(engine) as client, client.websocket_connect(DOOR) as socket:
        first = subscribe(socket)
        (made,) = live(engine)
        ends = {made.expires}
        while len(ends) < 4:
            (now,) = live(engine)
            ends.add(now.expires)
        engine.unsubscribe(made.id)
        assert told(socket)["error"]["code"] == 410
        assert made.id in first["spuid"]
        assert ask(socket, {"unsubscribe": {"spuid": first["spuid"]}})["error"]["code"] == 404


def _receive(socket: ClientConnection) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(socket.recv(timeout=20))
    return found


def socket_of(address: str) -> socket.socket:
    """A connection that takes little at once."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(("127.0.0.1", int(address.rpartition(":")[2])))
    return made


def test_who_takes_nothing_is_disconnected_and_harms_nobody(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sepa, "STALL_SECONDS", 0.5)
    with served(engine) as address:
        door = address.replace("http", "ws") + "/subscribe"
        small = socket_of(address)
        with connect(door, sock=small, max_queue=1) as stalled, connect(door, max_size=None) as other:
            for each in (stalled, other):
                each.send(json.dumps({"subscribe": {"sparql": TITLES}}))
                assert _receive(each)["notification"]["sequence"] == 0
            count = 0
            until = time.monotonic() + 60
            while len(live(engine)) > 1:
                assert time.monotonic() < until
                publish(engine, "urn:a", f"{count} " + 1_000_000 * "x")
                count += 1
                assert _receive(other)["notification"]["sequence"] == count
            assert count > 1


def test_over_a_real_connection_the_service_ends_it_and_its_subscriptions(engine: Engine) -> None:
    with served(engine) as address:
        door = address.replace("http", "ws") + "/subscribe"
        with connect(door) as first:
            first.send(json.dumps({"subscribe": {"sparql": TITLES}}))
            assert _receive(first)["notification"]["sequence"] == 0
            publish(engine, "urn:a", "x")
            assert _receive(first)["notification"]["sequence"] == 1
            assert first.ping().wait(10)
        second = connect(door)
        second.send(json.dumps({"subscribe": {"sparql": TITLES}}))
        assert _receive(second)["notification"]["sequence"] == 0
    with pytest.raises(ConnectionClosed):
        second.recv(timeout=10)
    assert len(live(engine)) == 0
