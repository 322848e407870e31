"""Targets over HTTP, delivered to while the service serves."""

from __future__ import annotations

import hmac
import json
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest

pytest.importorskip("fastapi", reason="the extra `service` is not installed")

from fastapi.testclient import TestClient

from tests.unit.egress.receivers import Receiver, answering, receiver
from tests.unit.service.conftest import BASE
from triplecast import Engine
from triplecast.delivery.opening import open_runner
from triplecast.delivery.sending import ways_of
from triplecast.delivery.target import WEBSUB
from triplecast.egress import Egress, EgressRules
from triplecast.service.app import create_app
from triplecast.service.settings import Access, ServiceSettings
from triplecast.service.tokens import hash_token
from triplecast.service.websub import open_hub, websub_way

QUERY = "SELECT ?t { ?i dc:title ?t }"
EGRESS = Egress(EgressRules(private=True, ports=frozenset()))


@pytest.fixture
def there() -> Iterator[Receiver]:
    with receiver(answering(b"HTTP/1.1 204 No Content\r\n\r\n")) as listening:
        yield listening


@pytest.fixture
def client(tmp_path: Path) -> Iterator[TestClient]:
    with Engine.open(tmp_path) as engine:
        ways = ways_of(EGRESS.send, None, False) | {WEBSUB: websub_way(engine, EGRESS)}
        with (
            open_runner(tmp_path, EGRESS, ways) as (runner, targets),
            closing(open_hub(engine, EGRESS, targets)) as hub,
        ):
            runner.start()
            with TestClient(create_app(engine, None, targets, hub), base_url=BASE) as client:
                yield client
            runner.stop()


def publish(client: TestClient, title: str) -> None:
    text = f'<urn:a> <http://purl.org/dc/elements/1.1/title> "{title}" .'
    put = client.put("/documents", params={"graph": "urn:g"}, content=text, headers={"Content-Type": "text/turtle"})
    assert put.is_success, put.text


def wait_until(holds: Callable[[], bool]) -> None:
    ends = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < ends, "it takes too long"
        time.sleep(0.02)


def subscribe(client: TestClient, **fields: object) -> tuple[str, dict[str, str], dict[str, Any]]:
    made = client.post("/subscriptions", json={"text": QUERY, **fields})
    assert made.status_code == 201, made.text
    row = made.json()
    return f"/subscriptions/{row['id']}/delivery", {"Triplecast-Ticket": row["ticket"]}, row


def test_metrics_say_how_far_delivery_is_behind(client: TestClient, there: Receiver) -> None:
    subscribe(client, delivery={"webhook": there.url})
    publish(client, "x")
    wait_until(lambda: bool(there.requests))
    wait_until(lambda: "triplecast_delivery_lag_notifications 0.0" in client.get("/metrics").text)
    shown = client.get("/metrics").text
    assert 'triplecast_targets{state="enabled"} 1.0' in shown
    assert "triplecast_delivery_lag_seconds 0.0" in shown


def test_a_subscription_is_delivered_from_the_beginning(client: TestClient, there: Receiver) -> None:
    path, ticket, row = subscribe(client, delivery={"webhook": there.url})
    assert row["delivery"]["secret"].startswith("whsec_")
    publish(client, "x")
    wait_until(lambda: len(there.requests) == 1)
    wait_until(lambda: client.get(path, headers=ticket).json()["targets"][0]["delivered"] == 1)
    (target,) = client.get(path, headers=ticket).json()["targets"]
    assert (target["to"], target["secret"], target["disabled"]) == (there.url, None, None)


def test_targets_are_added_disabled_enabled_and_removed(client: TestClient, there: Receiver) -> None:
    path, ticket, _ = subscribe(client)
    added = client.post(path, json={"webhook": there.url}, headers=ticket)
    assert added.status_code == 201
    change = {"target": added.json()["target"]}
    disabled = client.patch(path, json=change | {"action": "disable"}, headers=ticket)
    assert disabled.json()["targets"][0]["disabled"] == "by hand"
    publish(client, "x")
    assert client.patch(path, json=change | {"action": "replay"}, headers=ticket).status_code == 400
    assert client.patch(path, json=change | {"action": "enable"}, headers=ticket).is_success
    wait_until(lambda: len(there.requests) == 1)
    assert client.patch(path, json=change | {"action": "remove"}, headers=ticket).json() == {"targets": [], "dead": []}
    assert client.patch(path, json=change | {"action": "enable"}, headers=ticket).status_code == 404


def test_nothing_is_delivered_after_a_cancel(client: TestClient, there: Receiver) -> None:
    _, ticket, row = subscribe(client, delivery={"webhook": there.url})
    assert client.delete(f"/subscriptions/{row['id']}", headers=ticket).is_success
    publish(client, "x")
    time.sleep(1)
    assert there.requests == []


@pytest.mark.parametrize(
    ("delivery", "status"),
    [
        ({"command": ["sh"]}, 422), ({"webhook": "http://a@b.example/"}, 400), ({}, 400),
        ({"webhook": "http://169.254.169.254/"}, 400), ({"email": "ada@example.org"}, 400), ({"email": "ada"}, 400),
        ({"webhook": "https://a.example/", "every": 100}, 400), ({"every": 1.0, "email": "a@b.example"}, 422),
        ({"webhook": "https://a.example/", "secret": "x"}, 400), ("https://a.example/", 422),
    ],
)  # fmt: skip
def test_what_cannot_be_delivered_to_is_refused_and_nothing_is_subscribed(
    client: TestClient, delivery: object, status: int
) -> None:
    refused = client.post("/subscriptions", json={"text": QUERY, "delivery": delivery})
    assert refused.status_code == status, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    assert client.get("/subscriptions").json()["subscriptions"] == []


def test_a_wrong_ticket_and_another_owner_learn_nothing(tmp_path: Path, there: Receiver) -> None:
    tokens = {hash_token(name): Access(name, frozenset({"subscribe"})) for name in ("ada", "bo")}
    with (
        Engine.open(tmp_path) as engine,
        open_runner(tmp_path, EGRESS, ways_of(EGRESS.send, None, False)) as (
            _,
            targets,
        ),
    ):
        app = create_app(engine, ServiceSettings(tokens=tokens, hosts=frozenset()), targets)
        with TestClient(app, base_url=BASE) as client:
            client.headers["Authorization"] = "Bearer ada"
            path, ticket, row = subscribe(client, delivery={"webhook": there.url})
            other = {"Authorization": "Bearer bo", **ticket}
            change = {"target": row["delivery"]["target"], "action": "remove"}
            for headers in ({"Triplecast-Ticket": "wrong"}, other):
                assert client.get(path, headers=headers).status_code == 404
                assert client.post(path, json={"webhook": there.url}, headers=headers).status_code == 404
                assert client.patch(path, json=change, headers=headers).status_code == 404
            mine, own, _ = subscribe(client)
            assert client.patch(mine, json=change, headers=own).status_code == 404
            assert len(client.get(path, headers=ticket).json()["targets"]) == 1


def test_a_service_in_memory_delivers_nothing_and_says_so() -> None:
    with Engine() as engine, TestClient(create_app(engine), base_url=BASE) as client:
        refused = client.post("/subscriptions", json={"text": QUERY, "delivery": {"webhook": "https://a.example/"}})
        assert refused.status_code == 409
        path, ticket, _ = subscribe(client)
        assert client.get(path, headers=ticket).status_code == 409


def test_a_service_whose_delivery_has_ended_is_not_ready(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise TypeError("a row that nobody foresaw")

    with Engine.open(tmp_path) as engine, open_runner(tmp_path, EGRESS, {}) as (runner, targets):
        with TestClient(create_app(engine, None, targets), base_url=BASE) as client:
            assert client.get("/readyz").status_code == 200
            monkeypatch.setattr(runner.deliveries, "due", fail)
            runner.start()
            runner._thread.join()
            answer = client.get("/readyz")
            assert (answer.status_code, answer.json()["detail"]) == (503, "TypeError")
        with pytest.raises(TypeError):
            runner.stop()


@pytest.mark.parametrize("form", ["atom", "json_feed"])
def test_a_publisher_names_one_hub_and_one_self_in_the_header(client: TestClient, form: str) -> None:
    """websub.rocks' test of a publisher; what is neither HTML nor XML can name them there alone."""
    _, ticket, row = subscribe(client)
    feed = client.get(f"/subscriptions/{row['id']}/feed", headers=ticket).json()[form]
    answer = client.get(feed)
    again = client.get(feed, headers={"If-None-Match": answer.headers["ETag"]})
    for each in (answer, again):
        assert each.headers["Link"] == f'<http://localhost/hub>; rel="hub", <{feed}>; rel="self"'
    assert (answer.status_code, again.status_code) == (200, 304)


def test_106_a_feed_in_json_is_delivered_as_json(client: TestClient) -> None:
    """The number is that of websub.rocks' test of a hub."""

    def behave(connection: socket.socket, request: bytes) -> None:
        echo = parse_qs(urlsplit(request.split()[1].decode()).query).get("hub.challenge", [""])[0].encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(echo), echo))

    path, ticket, row = subscribe(client)
    feed = client.get(f"/subscriptions/{row['id']}/feed", headers=ticket).json()["json_feed"]
    with receiver(behave) as reader:
        form = {"hub.mode": "subscribe", "hub.topic": feed, "hub.callback": reader.url}
        assert client.post("/hub", data=form).status_code == 202
        wait_until(lambda: client.get(path, headers=ticket).json()["targets"] != [])
        publish(client, "x")
        wait_until(lambda: len(reader.requests) == 2)
    head, _, body = reader.requests[1].partition(b"\r\n\r\n")
    assert b"Content-Type: application/feed+json" in head
    assert [each["title"] for each in json.loads(body)["items"]] == ["x"]


def test_a_reader_subscribes_to_a_feed_at_its_hub(client: TestClient) -> None:
    def behave(connection: socket.socket, request: bytes) -> None:
        query = parse_qs(urlsplit(request.split()[1].decode()).query)
        echo = query.get("hub.challenge", [""])[0].encode()
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(echo), echo))

    path, ticket, row = subscribe(client)
    feed = client.get(f"/subscriptions/{row['id']}/feed", headers=ticket).json()["atom"]
    assert 'rel="hub" href="http://localhost/hub"' in client.get(feed).text
    with receiver(behave) as reader:
        form = {"hub.mode": "subscribe", "hub.topic": feed, "hub.callback": reader.url, "hub.secret": "s"}
        for other in (feed[:-1], "http://[/subscriptions/q/feed.atom", "http://\u2100/subscriptions/q/feed.atom"):
            assert client.post("/hub", data=form | {"hub.topic": other}).status_code == 404
        assert client.post("/hub", data=form).status_code == 202
        wait_until(lambda: client.get(path, headers=ticket).json()["targets"] != [])
        publish(client, "x")
        wait_until(lambda: len(reader.requests) == 2)
        head, _, body = reader.requests[1].partition(b"\r\n\r\n")
        assert b"X-Hub-Signature: sha256=" + hmac.new(b"s", body, "sha256").hexdigest().encode() in head
        assert f'Link: <http://localhost/hub>; rel="hub", <{feed}>; rel="self"'.encode() in head
        assert ElementTree.fromstring(body).findtext("{*}entry/{*}title") == "x"
        wait_until(lambda: client.get(path, headers=ticket).json()["targets"][0]["delivered"] == 1)
        assert client.delete(f"/subscriptions/{row['id']}/feed", headers=ticket).is_success
        publish(client, "y")  # the feed has another address now
        wait_until(lambda: client.get(path, headers=ticket).json()["targets"] == [])
        assert len(reader.requests) == 2
