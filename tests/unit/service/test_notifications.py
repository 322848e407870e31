"""Pages of notifications and feeds: who may read what, in which form, and how far a page goes."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from urllib.parse import urlsplit

import feedparser
import pytest
from fastapi.testclient import TestClient

from tests.unit.service.conftest import BASE
from triplecast import Engine
from triplecast.service.app import create_app
from triplecast.service.notifications import FORMS
from triplecast.service.settings import Access, ServiceSettings
from triplecast.service.tokens import hash_token

TITLES = "SELECT ?title { ?s dct:title ?title }"


def publish(engine: Engine, number: int) -> None:
    graph = f"https://example.org/{number}"
    engine.publish(f'<{graph}> <http://purl.org/dc/terms/title> "{number}" .', "application/n-triples", graph)


def sequences(client: TestClient, query: str, **headers: str) -> list[int]:
    answer = client.get(f"/notifications{query}", headers=headers)
    assert answer.status_code == 200, answer.text
    return [each["sequence"] for each in answer.json()["notifications"]]


def test_pages_follow_each_other_to_the_end(engine: Engine, client: TestClient) -> None:
    for name, owner in (("a", "ada"), ("b", "bob")):
        engine.subscribe(TITLES, id=name, owner=owner, notify="every")
    for number in range(5):
        publish(engine, number)
    read, query = [], "/notifications?limit=3&subscription=a"
    while query:
        answer = client.get(query, headers={"Accept": "application/x-ndjson"})
        read += [json.loads(line)["sequence"] for line in answer.text.splitlines()]
        query = answer.links.get("next", {}).get("url", "")
    assert read == [1, 3, 5, 7, 9]
    cursor = answer.headers["Triplecast-Cursor"]
    assert cursor == "1:10", "those of others are not looked at again"
    assert sequences(client, f"?since={cursor}") == []
    assert sequences(client, "?owner=bob&since=4") == [6, 8, 10]
    assert client.get("/notifications?owner=bob&subscription=a").status_code == 404
    assert sequences(client, "?since=now") == []
    assert sequences(client, "?since=2001-01-01T00:00:00Z&limit=2") == [1, 2]
    for form in FORMS[:-1]:
        answer = client.get("/notifications?since=8", headers={"Accept": form})
        assert answer.headers["Content-Type"].partition(";")[0] == form
        assert "https://example.org/4" in answer.text


def test_a_page_may_wait_for_the_first_one(engine: Engine, client: TestClient) -> None:
    engine.subscribe(TITLES, id="a", notify="every")
    publish(engine, 0)
    threading.Timer(0.2, publish, (engine, 1)).start()
    assert sequences(client, "?since=1&wait=20") == [2]
    assert sequences(client, "?since=2&wait=0.01") == []


def test_an_id_that_never_was_one_is_said(engine: Engine, client: TestClient) -> None:
    engine.subscribe(TITLES, id="titles", notify="every")
    engine.subscribe(TITLES, id="gone", notify="every")
    publish(engine, 0)
    engine.unsubscribe("gone")
    for accept in ("*/*", "text/event-stream"):
        unknown = client.get("/notifications?subscription=title", headers={"Accept": accept})
        assert (unknown.status_code, unknown.json()["title"]) == (404, "there is no subscription of this id")
        assert "GET /subscriptions" in unknown.json()["mend"]
    assert client.get("/undecided?subscription=title").json() == unknown.json()
    assert client.get("/undecided?subscription=titles").json()["undecided"] == []
    assert sequences(client, "?subscription=titles&since=now") == []
    assert sequences(client, "?subscription=gone") == [2], "what was recorded stays"
    assert sequences(client, "?subscription=gone&since=now") == []


def test_entries_of_feeds_are_in_plain_words(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine, TestClient(create_app(engine), base_url=BASE) as client:
        query = "SELECT ?name ?s { ?s dct:title ?name }"
        for text, title in ((TITLES, "Straße “a” & <b>"), (query.replace("?name", "?n"), None)):
            made = engine.subscribe(text, notify="every")
            graph = "https://example.org/1"
            data = f'<{graph}> <http://purl.org/dc/terms/title> "Straße “a” & <b>"@de .'
            engine.publish(data, "text/turtle", graph)
            ticket = {"Triplecast-Ticket": made.ticket}
            addresses = client.get(f"/subscriptions/{made.id}/feed", headers=ticket).json()
            (item,) = client.get(addresses["json_feed"]).json()["items"]
            assert item["title"] == (title or f"Straße “a” & <b> · {graph}")
            assert "Straße “a” &amp; &lt;b&gt;</td>" in item["content_html"]
            (entry,) = feedparser.parse(client.get(addresses["atom"]).content).entries
            assert "Straße “a” &amp; &lt;b&gt;</td>" in entry.content[0].value
            engine.remove(graph)


def test_what_is_no_place_is_refused_and_what_is_gone_is_said(engine: Engine, client: TestClient) -> None:
    engine.subscribe(TITLES, id="a", notify="every")
    for number in range(4):
        publish(engine, number)
    engine.prune(2)
    for since in ("x", "-1", "1:2:3", "2026-11-24", "9" * 30):
        assert client.get("/notifications", params={"since": since}).status_code == 400
    for since in ("1", "1:1", "9:1", "1:99", "99"):
        gone = client.get("/notifications", params={"since": since})
        assert gone.status_code == 410, since
        assert sequences(client, f"?since={gone.json()['cursor']}") in ([3, 4], [])
    assert sequences(client, "") == [3, 4]
    assert client.get("/notifications", headers={"Accept": "image/png"}).status_code == 406


def test_a_ticket_and_a_token_open_what_is_theirs() -> None:
    tokens = {
        hash_token("ada"): Access("ada", frozenset({"read", "subscribe"})),
        hash_token("pub"): Access("bob", frozenset({"publish"})),
        hash_token("root"): Access("root", frozenset({"admin"})),
    }
    with Engine() as engine:
        made = {name: engine.subscribe(TITLES, id=name, owner=name, notify="every") for name in ("ada", "bob")}
        publish(engine, 0)
        app = create_app(engine, ServiceSettings(tokens=tokens, hosts=frozenset()))
        with TestClient(app, base_url=BASE) as client:
            bearer = {name: {"Authorization": f"Bearer {name}"} for name in ("ada", "pub", "root", "none")}
            ticket = {name: {"Triplecast-Ticket": made[name].ticket} for name in made}
            assert sequences(client, "", **bearer["ada"]) == [1]
            assert sequences(client, "", **bearer["root"]) == [1, 2]
            assert sequences(client, "?subscription=bob", **ticket["bob"]) == [2]
            expected = (
                ("", {}, 401),
                ("", bearer["none"], 401),
                ("", bearer["pub"], 403),
                ("?owner=bob", bearer["ada"], 403),
                ("?subscription=bob", bearer["ada"], 404),
                ("", ticket["bob"], 400),
                ("?subscription=ada", ticket["bob"], 404),
                ("?subscription=nobody", ticket["bob"], 404),
            )
            for query, headers, status in expected:
                for accept in ("*/*", "text/event-stream"):
                    answer = client.get(f"/notifications{query}", headers={**headers, "Accept": accept})
                    assert answer.status_code == status, (query, headers, accept)
            made["bob"] = engine.subscribe(TITLES, id="ada2", owner="bob")
            engine.unsubscribe("ada")
            engine.subscribe(TITLES, id="ada", owner="bob", notify="every")
            publish(engine, 1)
            assert client.get("/notifications?subscription=ada", headers=ticket["ada"]).status_code == 404


def test_a_feed_has_an_entry_for_each_event_at_an_address_that_can_be_revoked(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine, TestClient(create_app(engine), base_url=BASE) as client:
        made = engine.subscribe(TITLES, id="a/b c", notify="every")
        other = engine.subscribe(TITLES, id="other", notify="every")
        header = {"Triplecast-Ticket": made.ticket}
        addresses = client.get("/subscriptions/a%2Fb%20c/feed", headers=header).json()
        assert made.ticket not in json.dumps(addresses)
        empty = client.get(addresses["atom"])
        assert not feedparser.parse(empty.content).bozo
        for number in range(230):
            publish(engine, number)
        ids, page = [], addresses["atom"]
        while page:
            feed = feedparser.parse(client.get(page).content)
            ids += [each.id for each in feed.entries]
            page = next((each.href for each in feed.feed.links if each.rel == "next"), "")
        recorded = ["urn:triplecast:notification:" + each.id for each in engine.notifications(subscription="a/b c")]
        assert ids == recorded[::-1]
        assert [each["id"] for each in client.get(addresses["json_feed"]).json()["items"]] == ids[:100]
        tag = client.get(addresses["atom"]).headers["ETag"]
        assert client.get(addresses["atom"], headers={"If-None-Match": tag}).status_code == 304
        publish(engine, 230)
        assert client.get(addresses["atom"], headers={"If-None-Match": tag}).status_code == 200
        key = urlsplit(addresses["atom"]).query
        for wrong in ("", "key=", f"{key}x", key[:-1], f"key={made.ticket}", "key=%ff"):
            assert client.get(f"/subscriptions/a%2Fb%20c/feed.atom?{wrong}").status_code == 404, wrong
        assert client.get(f"/subscriptions/other/feed.atom?{key}").status_code == 404
        answer = client.request("DELETE", "/subscriptions/other/feed", headers=header)
        assert answer.status_code == 404
        new = client.request("DELETE", "/subscriptions/a%2Fb%20c/feed", headers=header).json()
        assert client.get(addresses["atom"]).status_code == 404
        assert client.get(new["atom"]).status_code == 200
        assert other.ticket
    with Engine.open(tmp_path) as engine, TestClient(create_app(engine), base_url=BASE) as client:
        assert client.get(new["atom"]).status_code == 200
        assert client.get(addresses["atom"]).status_code == 404
        engine.unsubscribe("a/b c")
        assert client.get(new["atom"]).status_code == 404


def test_a_subscription_without_a_ticket_has_no_feed_and_does_not_say_that_it_is_there(
    engine: Engine, client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.subscribe(TITLES, id="a")
    monkeypatch.setattr(type(engine._journal), "ticket_hash", lambda *_: b"")  # as that of a subscription file
    unknown = client.get("/subscriptions/b/feed.atom?key=x")
    found = client.get("/subscriptions/a/feed.atom?key=x")
    assert (found.status_code, found.json()) == (unknown.status_code, unknown.json())
    assert found.status_code == 404
