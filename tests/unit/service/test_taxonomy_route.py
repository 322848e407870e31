"""The taxonomy over HTTP: read by whoever reads, loaded by whoever may."""

from __future__ import annotations

from pathlib import Path

from fastapi.testclient import TestClient

from tests.unit.service.conftest import service_of
from tests.unit.service.test_access import bearer
from triplecast import Engine
from triplecast.service.tokens import add_token, read_tokens

TURTLE = {"Content-Type": "text/turtle"}
THEMES = "<urn:Train> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:Vehicle> ."
BROADER = "<urn:a> <http://www.w3.org/2004/02/skos/core#broader> <urn:b> ."


def test_it_is_loaded_read_and_taken_away(client: TestClient, engine: Engine) -> None:
    engine.publish("<urn:x> a <urn:Train> .", "text/turtle", "urn:g")
    engine.subscribe("SELECT ?s { ?s a <urn:Vehicle> }", id="v", scope="repository", entailment="rdfs")
    loaded = client.put("/taxonomy", content=THEMES, headers=TURTLE).json()
    assert (loaded["subclasses"], loaded["broader"], loaded["matches"], loaded["undecided"]) == (1, 0, 1, 0)
    assert [each.publication for each in engine.notifications()] == ["urn:triplecast:taxonomy"]
    found = client.get("/taxonomy", headers={"Accept": "application/n-triples"})
    assert (found.text, found.headers["Triplecast-Broader"]) == (f"{THEMES}\n", "false")
    assert (
        client.get("/taxonomy", headers={"If-None-Match": client.get("/taxonomy").headers["ETag"]}).status_code == 304
    )
    assert client.put("/taxonomy?broader=true", content=BROADER, headers=TURTLE).json()["broader"] == 1
    assert client.get("/taxonomy").headers["Triplecast-Broader"] == "true"
    refused = client.put("/taxonomy", content=b" ", headers=TURTLE)
    assert (refused.status_code, refused.json()["mend"]) == (422, "DELETE /taxonomy takes the taxonomy away")
    assert client.get("/taxonomy").headers["Triplecast-Broader"] == "true"
    assert client.delete("/taxonomy").json()["broader"] == 0
    assert client.get("/taxonomy", headers={"Accept": "application/n-triples"}).content == b""


def test_what_is_none_is_refused_and_changes_nothing(client: TestClient) -> None:
    client.put("/taxonomy", content=THEMES, headers=TURTLE)
    cycle = THEMES + THEMES.replace("Train", "X").replace("Vehicle", "Train").replace("X", "Vehicle")
    for content, status in (("<urn:x", 422), (cycle, 422)):
        answer = client.put("/taxonomy", content=content, headers=TURTLE)
        assert (answer.status_code, answer.headers["Content-Type"]) == (status, "application/problem+json")
    assert client.put("/taxonomy", content="x", headers={"Content-Type": "image/png"}).status_code == 415
    assert "Vehicle" in client.get("/taxonomy").text


def test_it_has_a_scope_of_its_own(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    scopes = ("publish", "subscribe", "read", "taxonomy", "admin")
    tokens = {scope: add_token(path, "ada", [scope]) for scope in scopes}
    with service_of(engine, tokens=read_tokens(path), hosts=frozenset()) as client:
        loads = {s: client.delete("/taxonomy", headers=bearer(t)) for s, t in tokens.items()}
        reads = {scope: client.get("/taxonomy", headers=bearer(token)) for scope, token in tokens.items()}
    assert {scope for scope, answer in loads.items() if answer.status_code == 200} == {"taxonomy", "admin"}
    assert {scope for scope, answer in reads.items() if answer.status_code == 200} == {"read", "admin"}
