"""What is wrong with a request is said in words, with what to send."""

from __future__ import annotations

import pytest
from fastapi.testclient import TestClient

TEXT = "SELECT ?x { ?x <a:p> ?y }"
RAW = ("Input should", "Field required", "Extra inputs", "Value error", "pydantic", "constrained")


@pytest.mark.parametrize(
    ("body", "found", "mend"),
    [
        ({"text": 1}, "text is to be a string", "send text so"),
        ({"text": TEXT, "colour": 1}, "colour is unknown here", "leave colour out"),
        ({"text": TEXT, "language": "sql"}, "language is to be 'sparql', 'rdql' or 'rule'", "send language so"),
        ({"text": TEXT, "lease": -1}, "lease is to be more than 0", "send lease so"),
        ({"text": TEXT, "lease": []}, "lease is to be a number or 'forever'", "send lease so"),
        ({"text": TEXT, "id": "x" * 5000}, "id is to have at most 4096 characters", "send id so"),
        ({"text": TEXT, "key": "a"}, "key is to be a list", 'send {"key": ["a"]}; see'),
        ({"words": "rail", "in": "dc:title"}, "in is to be a list", 'send {"in": ["dc:title"]}; see'),
        ({"text": TEXT, "delivery": {"every": "often"}}, "delivery.every is to be a number", "send delivery.every so"),
        (
            {"text": "", "near": 1.5},
            "text is to have 1 or more characters; near is to be a whole number",
            "send text",
        ),
        ([], "the body is to be an object", "send the body so"),
        ("{", "it is no JSON", "send a JSON object"),
    ],
)
def test_a_body(client: TestClient, body: object, found: str, mend: str) -> None:
    sent = {"content": body, "headers": {"Content-Type": "application/json"}} if body == "{" else {"json": body}
    answer = client.post("/subscriptions", **sent)  # type: ignore[arg-type]
    problem = answer.json()
    assert (answer.status_code, problem["title"]) == (422, "the body is not as described")
    assert found in problem["detail"]
    assert problem["mend"].startswith(mend)
    assert not any(each in answer.text for each in RAW)


@pytest.mark.parametrize(
    ("address", "found"),
    [
        ("/notifications?limit=0", "limit is to be 1 or more"),
        ("/notifications?limit=many", "limit is to be a whole number"),
        ("/notifications?wait=900", "wait is to be at most 60"),
        ("/sparql", "query is missing"),
        ("/subscriptions?after=-1", "after is to be 0 or more"),
        ("/taxonomy?broader=perhaps", "broader is to be true or false"),
        ("/log/records?after=0", "id is missing"),
    ],
)
def test_a_parameter(client: TestClient, address: str, found: str) -> None:
    method = "PUT" if address.startswith("/taxonomy") else "GET"
    answer = client.request(method, address)
    problem = answer.json()
    assert (answer.status_code, problem["title"]) == (422, "the request is not as described")
    assert found in problem["detail"]
    assert problem["mend"]
    assert not any(each in answer.text for each in RAW)


@pytest.mark.parametrize(
    ("method", "address", "name", "mend"),
    [
        ("GET", "/notifications?sinse=now", "sinse", "did you mean since?"),
        ("GET", "/documents/ldes?aftr=1", "aftr", "did you mean after?"),
        ("PUT", "/documents?grap=urn:a", "grap", "did you mean graph?"),
        ("PUT", "/taxonomy?wider=true", "wider", "leave it out; it takes broader"),
        ("GET", "/subscriptions/a/b?key=1", "key", "leave it out; it takes none"),
        ("GET", "/healthz?x", "x", "leave it out; it takes none"),
    ],
)
def test_a_parameter_that_is_unknown(client: TestClient, method: str, address: str, name: str, mend: str) -> None:
    answer = client.request(method, address)
    assert (answer.status_code, answer.json()["detail"]) == (422, f"the parameter {name} is unknown here")
    assert answer.json()["mend"] == mend


@pytest.mark.parametrize(
    "address",
    [
        "/notifications?since=0&since=1",
        "/sparql?query=a&query=b",
        "/documents/stream?offset=0&offset=1",
        "/subscriptions?owner=a&limit=2&owner=b",
        "/documents?graph=urn:a&graph=urn:b",
    ],
)
def test_a_parameter_that_is_read_once_is_sent_once(client: TestClient, address: str) -> None:
    name = address.partition("?")[2].partition("=")[0]
    for method in ("GET", "PUT") if "documents?" in address else ("GET",):
        problem = client.request(method, address, content="").json()
        found = f"the parameter {name} is sent twice"
        assert (problem["status"], problem["detail"], problem["mend"]) == (400, found, "send it once")
    assert client.get("/followers/ada/snapshot?bucket=1&bucket=2").json()["title"] != "the request is not as described"


@pytest.mark.parametrize(
    ("text", "detail", "mend"),
    [
        ("SELECT * { ?s dx:foo ?o }", "the prefix dx: is not declared", "add PREFIX dx: <…>"),
        ("SELCT ?s { ?s a ?o }", "unknown word SELCT", "was SELECT meant?; expected: a keyword, a variable like"),
        ("ASK { ?s ?p ?o FILTER(?o == 1) }", "unexpected ==", "SPARQL compares with one ="),
        ('ASK { ?s ?p ?o "a; b" }', 'unexpected "a; b"', "expected: "),
    ],
)
def test_advice_about_a_query_is_its_mend(client: TestClient, text: str, detail: str, mend: str) -> None:
    problem = client.post("/subscriptions", json={"text": text}).json()
    assert problem["detail"] == detail
    assert problem["mend"].startswith(mend)


def test_clients_of_sparql_send_parameters_of_their_own(client: TestClient) -> None:
    assert client.get("/sparql?query=ASK{}&format=json&output=json").status_code == 200
