"""Subscriptions over HTTP."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from triplecast import Engine

RAIL = 'SELECT ?title { ?item dc:subject "rail" ; rss:title ?title }'
TRAIN = '<https://e.org/1> dc:subject "rail" ; rss:title "A night train" .'
PREFIXES = "@prefix dc: <http://purl.org/dc/elements/1.1/> . @prefix rss: <http://purl.org/rss/1.0/> .\n"
SPARQL = {"Content-Type": "application/sparql-query"}


def test_a_subscription_is_made_read_renewed_listed_and_cancelled(client: TestClient, engine: Engine) -> None:
    made = client.post("/subscriptions", json={"text": RAIL, "id": "rail", "lease": 3600, "owner": "ada"})
    assert made.status_code == 201
    row = made.json()
    assert (row["id"], row["warnings"], row["cost"], row["matches"]) == ("rail", [], "narrow", 0)
    ticket = {"Triplecast-Ticket": row["ticket"]}
    assert client.get(made.headers["Location"], headers=ticket).json()["text"] == RAIL
    client.put("/documents?graph=https://e.org/1", content=PREFIXES + TRAIN, headers={"Content-Type": "text/turtle"})
    assert [each.subscription for each in engine.notifications()] == ["rail"]
    renewed = client.patch("/subscriptions/rail", json={"lease": "forever"}, headers=ticket)
    assert renewed.json() == {"id": "rail", "expires": None}
    client.post("/subscriptions", content=RAIL, headers=SPARQL)
    page = client.get("/subscriptions", params={"owner": "ada"}).json()
    assert ([each["id"] for each in page["subscriptions"]], page["after"]) == (["rail"], None)
    first = client.get("/subscriptions", params={"limit": 1}).json()
    rest = client.get("/subscriptions", params={"limit": 1, "after": first["after"]}).json()
    assert len({each["id"] for each in first["subscriptions"] + rest["subscriptions"]}) == 2
    assert client.delete("/subscriptions/rail", headers=ticket).json()["position"] > row["registration"]
    assert client.get("/subscriptions/rail", headers=ticket).status_code == 404


def test_an_id_that_is_the_address_of_a_part_of_another_is_refused(client: TestClient) -> None:
    answer = client.post("/subscriptions", json={"text": RAIL, "id": "rail/feed"})
    assert (answer.status_code, answer.json()["detail"]) == (400, "/feed at its end is an address itself")
    assert client.post("/subscriptions", json={"text": RAIL, "id": "feed"}).status_code == 201


@pytest.mark.parametrize(
    ("id", "found"),
    [
        ("..", "resolve '.' and '..'"),
        ("a/../b", "resolve '.' and '..'"),
        ("./a", "resolve '.' and '..'"),
        ("a\nb", r"the id of a subscription holds a control character ('\n' at 1)"),
        ("\x00", r"holds a control character ('\x00' at 0)"),
        ("ä\x85", r"holds a control character ('\x85' at 1)"),
    ],
)
def test_an_id_without_an_address_of_its_own_is_refused(client: TestClient, id: str, found: str) -> None:
    problem = client.post("/subscriptions", json={"text": RAIL, "id": id}).json()
    assert problem["status"] == 400
    assert found in problem["detail"]
    assert problem["mend"]


def test_of_a_strangers_guess_no_query_is_read(
    client: TestClient, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or it would take longer where there is something."""
    made = client.post("/subscriptions", json={"text": RAIL, "id": "rail"}).json()
    read: list[object] = []
    monkeypatch.setattr("triplecast.registry.listing.admit", lambda *each, **_: read.append(each))
    for part in ("", "/feed", "/feed.atom?key=a", "/ldes?key=a"):
        assert client.get(f"/subscriptions/rail{part}", headers={"Triplecast-Ticket": "a"}).status_code == 404
    client.patch("/subscriptions/rail", json={}, headers={"Triplecast-Ticket": made["ticket"]})
    assert read == []


def test_an_unknown_id_and_a_wrong_ticket_are_answered_alike(client: TestClient) -> None:
    client.post("/subscriptions", json={"text": RAIL, "id": "rail"})
    for method in ("GET", "DELETE", "PATCH"):
        answers = [
            client.request(method, f"/subscriptions/{id}", headers={"Triplecast-Ticket": "guess"}, content=b"{}")
            for id in ("rail", "unknown")
        ]
        assert {answer.status_code for answer in answers} == {404}
        assert answers[0].json() == answers[1].json()
    missing = client.get("/subscriptions/rail")
    assert (missing.status_code, missing.json()["mend"]) == (400, "send the header Triplecast-Ticket")


def test_an_id_may_have_any_characters(client: TestClient) -> None:
    for id in ("news/rail & söhne?.rq", "a//b", "/", "a/...", "https://e.org/#rail", "\u05d0 b"):
        made = client.post("/subscriptions", json={"text": RAIL, "id": id}).json()
        ticket = {"Triplecast-Ticket": made["ticket"]}
        assert client.get(f"/subscriptions/{quote(id, safe='')}", headers=ticket).json()["id"] == id


@pytest.mark.parametrize(
    ("body", "status", "part"),
    [
        ({"text": "SELECT ?x { ?x"}, 400, "grammar"),
        ({"text": "SELECT ?x { SERVICE <https://e.org/> { ?x ?y ?z } }"}, 422, "not answered"),
        ({"text": RAIL, "lease": -1}, 422, "as described"),
        ({"text": RAIL, "lease": "soon"}, 422, "as described"),
        ({"text": RAIL, "colour": "red"}, 422, "as described"),
        ({"text": RAIL, "id": "taken"}, 409, "id is in use"),
        ([], 422, "as described"),
    ],
)
def test_what_cannot_be_registered_says_why(client: TestClient, body: object, status: int, part: str) -> None:
    client.post("/subscriptions", json={"text": RAIL, "id": "taken"})
    found = client.post("/subscriptions", json=body)
    assert (found.status_code, found.headers["Content-Type"]) == (status, "application/problem+json")
    assert part in found.json()["title"]
    if status == 400 and "grammar" in part:
        assert (found.json()["line"], found.json()["column"]) == (1, 15)


def test_repository_scope_tells_what_there_is(client: TestClient) -> None:
    client.put("/documents?graph=https://e.org/1", content=PREFIXES + TRAIN, headers={"Content-Type": "text/turtle"})
    made = client.post("/subscriptions", json={"text": RAIL, "scope": "repository", "notify": "changed"})
    assert made.json()["matches"] == 1


def test_a_preview_registers_nothing(client: TestClient) -> None:
    client.put("/documents?graph=https://e.org/1", content=PREFIXES + TRAIN, headers={"Content-Type": "text/turtle"})
    found = client.post("/preview", json={"text": RAIL}).json()
    assert (found["publications"], found["matches"]) == (1, 1)
    assert found["examples"][0]["answer"]["results"]["bindings"] == [
        {"title": {"type": "literal", "value": "A night train"}}
    ]
    assert client.get("/subscriptions").json()["subscriptions"] == []


def test_an_explanation_says_where_a_document_fails(client: TestClient) -> None:
    made = client.post("/subscriptions", json={"text": RAIL, "id": "rail"}).json()
    headers = {"Triplecast-Ticket": made["ticket"], "Content-Type": "text/turtle"}
    document = PREFIXES + TRAIN.replace("rail", "road")
    found = client.post("/subscriptions/rail/explain", content=document, headers=headers).json()
    assert [each["matched"] for each in found["explanations"]] == [False]
    assert found["explanations"][0]["failure"]
    matched = client.post("/subscriptions/rail/explain", content=PREFIXES + TRAIN, headers=headers).json()
    assert [each["matched"] for each in matched["explanations"]] == [True]
    items = "".join(f"<urn:{n}> {{ <urn:{n}> <urn:p> {n} }}" for n in range(20))
    headers["Content-Type"] = "application/trig"
    many = f"{PREFIXES}{items} <urn:z> {{ {TRAIN} }}"
    found = client.post("/subscriptions/rail/explain?graph=urn:doc", content=many, headers=headers).json()
    assert [each["publication"] for each in found["explanations"]] == ["urn:z"]


def test_words_make_the_query_that_is_shown(client: TestClient, engine: Engine) -> None:
    asked = {"words": "night train", "near": 2, "in": ["rss:title"], "class": "rss:item", "id": "words"}
    made = client.post("/subscriptions", json=asked)
    assert made.status_code == 201
    shown = client.get("/subscriptions/words", headers={"Triplecast-Ticket": made.json()["ticket"]}).json()["text"]
    assert """ft:contains(?text, '("night" ftand "train") distance at most 2 words')""" in shown
    for wrong, status in (({}, 422), ({"words": "a", "text": RAIL}, 422), ({"words": "-"}, 400)):
        assert client.post("/subscriptions", json=wrong).status_code == status


def test_the_present_answer_is_told_again(client: TestClient, engine: Engine) -> None:
    client.put("/documents?graph=https://e.org/1", content=PREFIXES + TRAIN, headers={"Content-Type": "text/turtle"})
    wanted = {"text": RAIL, "id": "rail", "scope": "repository", "initial": "none"}
    row = client.post("/subscriptions", json=wanted).json()
    assert [*engine.notifications()] == []
    assert client.post("/subscriptions/rail/resync", headers={"Triplecast-Ticket": "no"}).status_code == 404
    told = client.post("/subscriptions/rail/resync", headers={"Triplecast-Ticket": row["ticket"]})
    assert told.json() == {"id": "rail", "told": True}
    assert [each.change for each in engine.notifications()] == ["present"]
    each_alone = client.post("/subscriptions", json={"text": RAIL, "id": "alone"}).json()
    refused = client.post("/subscriptions/alone/resync", headers={"Triplecast-Ticket": each_alone["ticket"]})
    assert refused.status_code == 400
    assert "each publication alone" in refused.json()["detail"]
