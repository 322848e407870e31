"""The hub: nobody is subscribed who did not say so, and what is sent is signed.

After the tests of websub.rocks for a hub, whose numbers are in the names; 106, JSON, is in
`tests/unit/service/test_delivery.py`, with that for a publisher. Left out: 105, plain text, which no feed is. Of a feed
a hub may send the new entries alone (WebSub, section 7); websub.rocks allows that of a topic that is not its own.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.unit.delivery.folders import SECOND, Folder
from triplecast.delivery.attempt import Attempt
from triplecast.delivery.hub import FeedContent, Hub, distribute
from triplecast.egress import Egress, HttpAnswer
from triplecast.errors import EgressFailed
from triplecast.outbox import Notification

TOPIC = "https://feeds.example/subscriptions/q/feed.atom?key=secret"
CALLBACK = "https://reader.example/callback/7?a=b"


class Subscriber(Egress):
    """Stands for the network, and a subscriber in it."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[tuple[str, dict[str, list[str]]]] = []
        self.got: list[tuple[str, dict[str, str], bytes]] = []
        self.echo = True
        self.status = 200

    def send(self, method, url, headers=(), body=None, *, seconds=15.0, most_bytes=65536) -> HttpAnswer:
        if method == "POST":
            self.got.append((url, dict(headers), body))
            return HttpAnswer(self.status, (), b"", False)
        query = parse_qs(urlsplit(url).query)
        self.asked.append((url, query))
        if self.status == 0:
            raise EgressFailed(url, "nobody")
        return HttpAnswer(self.status, (), query["hub.challenge"][0].encode() if self.echo else b"no", False)


class HubFolder(Folder):
    def __init__(self, path: Path) -> None:
        self.network = Subscriber()
        super().__init__(path)

    def start(self) -> None:
        super().start()
        self.hub = Hub(self.network, self.requests, self.find)
        sender = self.deliver

        def deliver(attempt: Attempt):
            way = partial(distribute, self.network, "https://feeds.example/hub", render)
            return way(attempt) if self.deliveries.are_live(attempt) else sender(attempt)

        self.deliver = deliver

    def find(self, topic: str):
        return self.journal.live_registration("q") if topic == TOPIC else None

    def request(self, **fields: str) -> int:
        form = {"hub.mode": "subscribe", "hub.topic": TOPIC, "hub.callback": CALLBACK}
        answer = self.hub.request(form | {f"hub.{name}": value for name, value in fields.items()})
        self.hub.close()  # what is under way ends
        self.hub = Hub(self.network, self.requests, self.find)
        return answer.status


def render(topic: str, notifications: Sequence[Notification]) -> FeedContent:
    assert topic == TOPIC
    return FeedContent("application/atom+xml", " ".join(each.id for each in notifications).encode())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[HubFolder]:
    opened = HubFolder(tmp_path / "folder")
    opened.deliveries.read()
    yield opened
    opened.close()


def test_100_without_a_secret_nothing_is_signed(folder: HubFolder) -> None:
    assert folder.request() == 202
    ((_, query),) = folder.network.asked
    assert int(query["hub.lease_seconds"][0]) > 0
    folder.publish("one")
    folder.go()
    ((to, headers, _),) = folder.network.got
    assert to == CALLBACK
    assert "X-Hub-Signature" not in headers


def test_101_a_callback_that_echoes_gets_what_is_new_signed(folder: HubFolder) -> None:
    folder.publish("before")
    assert folder.request(secret="öffentlich", lease_seconds="1000") == 202
    ((url, query),) = folder.network.asked
    assert url.startswith(f"{CALLBACK}&hub.mode=subscribe&")
    assert query["hub.lease_seconds"] == ["1000"]
    assert query["hub.topic"] == [TOPIC]
    folder.publish("one")
    folder.publish("two")
    folder.go()
    ((to, headers, body),) = folder.network.got
    ids = [each.id for each in folder.engine.notifications(0)]
    assert (to, body.decode().split(), headers["Content-Type"]) == (CALLBACK, ids[1:], "application/atom+xml")
    assert headers["X-Hub-Signature"] == "sha256=" + hmac.new("öffentlich".encode(), body, hashlib.sha256).hexdigest()
    assert headers["Link"] == f'<https://feeds.example/hub>; rel="hub", <{TOPIC}>; rel="self"'


def test_102_what_a_hub_does_not_know_is_passed_over(folder: HubFolder) -> None:
    assert folder.request(foo="bar", verify="async") == 202
    assert len(folder.ask("list")["targets"]) == 1


@pytest.mark.parametrize(("echo", "status"), [(False, 200), (True, 404), (True, 302), (True, 0)])
def test_whoever_does_not_echo_is_not_subscribed(folder: HubFolder, echo: bool, status: int) -> None:
    folder.network.echo, folder.network.status = echo, status
    assert folder.request() == 202
    assert folder.ask("list") == {"targets": []}


def test_104_unsubscribing_is_verified_too(folder: HubFolder) -> None:
    folder.request()
    folder.network.echo = False
    folder.request(mode="unsubscribe")
    assert len(folder.ask("list")["targets"]) == 1
    folder.network.echo = True
    folder.request(mode="unsubscribe")
    assert folder.ask("list") == {"targets": []}
    assert "hub.lease_seconds" not in folder.network.asked[-1][1]
    assert folder.request(mode="unsubscribe") == 202


def test_103_subscribing_again_renews_and_a_lease_ends(folder: HubFolder) -> None:
    folder.request(lease_seconds="600")
    folder.now += 500 * SECOND
    folder.publish("one")
    folder.request(lease_seconds="600")
    assert len(folder.ask("list")["targets"]) == 1
    folder.go(1)
    folder.publish("two")
    folder.go(500)
    assert len(folder.network.got) == 2
    folder.publish("three")
    folder.go(100)
    assert len(folder.network.got) == 2
    assert folder.ask("list") == {"targets": []}


def test_gone_ends_a_subscription(folder: HubFolder) -> None:
    folder.request()
    folder.network.status = 410
    folder.publish("one")
    folder.go()
    assert folder.ask("list") == {"targets": []}


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"mode": "publish"}, 400), ({"callback": "http://127.0.0.1/"}, 400), ({"callback": "nonsense"}, 400),
        ({"callback": "http://a@reader.example/"}, 400), ({"topic": "https://other.example/"}, 404),
        ({"secret": "x" * 200}, 400), ({"lease_seconds": "-1"}, 400), ({"lease_seconds": "9" * 500}, 202),
        ({"lease_seconds": "0"}, 202),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_at_once(folder: HubFolder, fields: dict[str, str], status: int) -> None:
    assert folder.request(**fields) == status
    assert len(folder.network.asked) == (status == 202)


def test_one_host_is_asked_ten_times_a_minute(folder: HubFolder) -> None:
    callbacks = [f"https://victim.example/{number}" for number in range(1_000)]
    form = {"hub.mode": "subscribe", "hub.topic": TOPIC}
    statuses = [folder.hub.request(form | {"hub.callback": each}).status for each in callbacks]
    folder.hub.close()
    assert statuses.count(202) == len(folder.network.asked) == 10
