"""Who may do what: tokens, scopes, owners; the name of the server; pages of other sites; the log."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from tests.unit.service.conftest import service_of
from triplecast import Engine, InputError
from triplecast.service.guard import LOG
from triplecast.service.settings import is_loopback
from triplecast.service.tokens import access_of, add_token, hash_token, read_tokens

ASK = "/sparql?query=ASK%20%7B%7D"
TEXT = "SELECT ?x { ?x <a:p> ?y }"


OWNERS = {"ada": ["read"], "bob": ["read"], "root": ["admin"]}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_a_file_of_tokens_holds_hashes_alone(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    token = add_token(path, "ada", ["publish", "read"])
    other = add_token(path, "bob", ["admin"])
    assert path.stat().st_mode & 0o077 == 0
    assert token not in path.read_text()
    tokens = read_tokens(path)
    found = access_of(tokens, token)
    assert found is not None
    assert (found.owner, found.scopes) == ("ada", {"publish", "read"})
    assert access_of(tokens, other) is not None
    assert access_of(tokens, token[:-1]) is None
    assert access_of(tokens, None) is None
    assert hash_token(token) in tokens


@pytest.mark.parametrize(
    "line",
    ["{", "{}", '{"owner": "a", "scopes": ["all"], "sha256": "00"}', '{"owner": 1, "scopes": [], "sha256": ""}', ""],
)
def test_a_line_that_is_no_token_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "tokens"
    path.write_text(line + "\n")
    with pytest.raises(InputError):
        read_tokens(path)


def test_no_owner_is_below_another(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    for owner in ("ada/x/y", "bob", "ada/"):
        add_token(path, owner, ["read"])
    assert len(read_tokens(path)) == 3
    add_token(path, "ada", ["read"])
    with pytest.raises(InputError, match="ada/ is an owner below ada, who"):
        read_tokens(path)


def test_scopes_open_what_they_say_and_nothing_else(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    tokens = {scope: add_token(path, f"of {scope}", [scope]) for scope in ("publish", "subscribe", "read", "admin")}
    doors = {
        "publish": ("PUT", "/documents?graph=a:g"),
        "subscribe": ("POST", "/subscriptions"),
        "read": ("GET", ASK),
    }
    with service_of(engine, tokens=read_tokens(path), hosts=frozenset()) as client:
        for scope, (method, address) in doors.items():
            content = TEXT if scope == "subscribe" else "<a:b> <a:c> <a:d> ."
            media_type = "text/plain" if scope == "subscribe" else "text/turtle"
            for holder, token in tokens.items():
                headers = {**bearer(token), "Content-Type": media_type}
                status = client.request(method, address, content=content, headers=headers).status_code
                assert (status < 400) == (holder in (scope, "admin")), (scope, holder, status)
                assert status < 400 or status == 403
            for headers in ({}, bearer("guess"), {"Authorization": "Basic YTpi"}):
                refused = client.request(method, address, content=content, headers=headers)
                assert (refused.status_code, "Bearer" in refused.headers["WWW-Authenticate"]) == (401, True)
                mend = "check it; add it with" if headers == bearer("guess") else "send Authorization: Bearer TOKEN"
                assert refused.json()["mend"].startswith(mend)
        assert client.get("/healthz").status_code == client.get("/readyz").status_code == 200
        assert client.get("/metrics").status_code == 401


def test_an_owner_is_that_of_the_token(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    ada, bob = (add_token(path, owner, ["subscribe"]) for owner in ("ada", "bob"))
    root = add_token(path, "root", ["admin"])
    with service_of(engine, tokens=read_tokens(path), hosts=frozenset()) as client:
        made = client.post("/subscriptions", json={"text": TEXT, "id": "one"}, headers=bearer(ada)).json()
        assert [(each.id, each.owner) for each in engine.subscriptions()] == [("ada/one", "ada")]
        taken = client.post("/subscriptions", json={"text": TEXT, "id": "one"}, headers=bearer(bob))
        assert (taken.status_code, taken.json()["id"]) == (201, "bob/one")
        ended = {**bearer(bob), "Triplecast-Ticket": taken.json()["ticket"]}
        assert client.delete("/subscriptions/bob/one", headers=ended).status_code == 200
        for id, status in (("ada/two", 201), ("feed", 400)):
            sent = client.post("/subscriptions", json={"text": TEXT, "id": id, "lease": 9}, headers=bearer(bob))
            assert (sent.status_code, sent.json().get("id")) == (status, f"bob/{id}" if status == 201 else None)
            ended = {**bearer(bob), "Triplecast-Ticket": sent.json().get("ticket", "")}
            assert client.delete(f"/subscriptions/bob/{id}", headers=ended).status_code in (200, 404, 405)
        named = client.post("/subscriptions", json={"text": TEXT, "owner": "ada"}, headers=bearer(bob))
        assert named.status_code == 403
        assert client.get("/subscriptions?owner=ada", headers=bearer(bob)).status_code == 403
        assert client.get("/subscriptions", headers=bearer(bob)).json()["subscriptions"] == []
        assert len(client.get("/subscriptions", headers=bearer(ada)).json()["subscriptions"]) == 1
        assert len(client.get("/subscriptions?owner=ada", headers=bearer(root)).json()["subscriptions"]) == 1
        assert client.get("/subscriptions/ada/one", headers=bearer(ada)).status_code == 400
        stolen = {**bearer(bob), "Triplecast-Ticket": made["ticket"]}
        assert client.get("/subscriptions/ada/one", headers=stolen).status_code == 404
        assert client.delete("/subscriptions/ada/one", headers=bearer(root)).status_code == 200


def test_undecided_pairs_are_read_by_whoever_reads_the_notifications(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    ada, bob, root = (add_token(path, owner, scopes) for owner, scopes in OWNERS.items())
    many = "".join(f"<urn:s{n}> <urn:p{n}> <urn:o{n}> .\n" for n in range(200))
    product = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    with service_of(engine, tokens=read_tokens(path), hosts=frozenset()) as client:
        ticket = engine.subscribe(product, id="hers", owner="ada").ticket
        engine.subscribe(product, id="his", owner="bob")
        engine.publish(many, "text/turtle", "urn:g")
        engine.publish("<wrong", "text/turtle", "urn:bad")

        def told(headers: dict[str, str], query: str = "") -> list[str]:
            return [
                each["subscription"] for each in client.get(f"/undecided{query}", headers=headers).json()["undecided"]
            ]

        assert (told(bearer(ada)), told(bearer(bob)), told(bearer(root))) == (["hers"], ["his"], ["hers", "his"])
        assert told({"Triplecast-Ticket": ticket}, "?subscription=hers") == ["hers"]
        assert client.get("/undecided?owner=ada", headers=bearer(bob)).status_code == 403
        assert client.get("/undecided").status_code == client.get("/rejects").status_code == 401
        (reject,) = client.get("/rejects", headers=bearer(bob)).json()["rejects"]
        assert (reject["source"], reject["stage"]) == ("urn:bad", "parse")
        page = client.get(f"/undecided?after={engine.undecided()[-1].position}", headers=bearer(root)).json()
        assert (page["undecided"], page["more"]) == ([], False)


def test_another_name_and_another_sites_page_are_refused(client: TestClient) -> None:
    assert client.get("/healthz", headers={"Host": "evil.example"}).status_code == 421
    assert client.get("/healthz", headers={"Host": "localhost.evil.example:8000"}).status_code == 421
    for host in ("localhost:8000", "127.0.0.1", "127.0.0.1:8000", "[::1]:8000", "[::1]", "LOCALHOST"):
        assert client.get("/healthz", headers={"Host": host}).status_code == 200, host
    sent = {"Origin": "https://evil.example", "Content-Type": "text/plain"}
    assert client.post("/subscriptions", content=TEXT, headers=sent).status_code == 403
    assert client.post("/subscriptions", content=TEXT, headers={**sent, "Origin": "null"}).status_code == 403
    own = {**sent, "Origin": "http://localhost:8000"}
    assert client.post("/subscriptions", content=TEXT, headers=own).status_code == 201


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("127.8.8.8", True), ("0.0.0.0", False), ("::", False),
     ("192.168.0.1", False), ("example.org", False), ("", False)],
)  # fmt: skip
def test_loopback_is_what_only_this_machine_reaches(host: str, here: bool) -> None:
    assert is_loopback(host) == here


def test_the_log_has_no_secret(engine: Engine, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "tokens"
    token = add_token(path, "ada", ["subscribe", "read"])
    LOG.propagate = True
    with (
        caplog.at_level(logging.INFO, LOG.name),
        service_of(engine, tokens=read_tokens(path), hosts=frozenset()) as client,
    ):
        made = client.post("/subscriptions", json={"text": TEXT, "id": "one"}, headers=bearer(token)).json()
        headers = {**bearer(token), "Triplecast-Ticket": made["ticket"]}
        client.get(f"/subscriptions/ada/one?ticket={made['ticket']}", headers=headers)
        client.get(f"/{made['ticket']}", headers=headers)
        client.get(f"{ASK}&secret={token}", headers=headers)
        client.put(f"/documents?graph=urn:{token}", headers=bearer(token))
    lines = [json.loads(record.message) for record in caplog.records if record.name == LOG.name]
    assert [(line["route"], line["status"]) for line in lines] == [
        ("/subscriptions", 201), ("/subscriptions/{id:path}", 422), ("none", 404), ("/sparql", 200),
        ("/documents", 403),
    ]  # fmt: skip
    assert {line["owner"] for line in lines} == {"ada", None}
    assert made["ticket"] not in caplog.text
    assert token not in caplog.text
