"""Queries over HTTP, in memory and in a folder."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest
from fastapi.testclient import TestClient
from pyoxigraph import QueryResultsFormat, RdfFormat, parse, parse_query_results

from triplecast import Engine
from triplecast.service.app import create_app
from triplecast.service.settings import ServiceSettings

DATA = """@prefix e: <https://e.org/> .
e:a e:p "one"@en, 2, "<&\\"\\t\\r\\n'>", [], e:b . e:b e:p "ü,;", true ."""
XML = "application/sparql-results+xml"
QUERY = "SELECT ?s ?o ?z { ?s <https://e.org/p> ?o } ORDER BY ?o"
FORMS = {
    "application/sparql-results+json": QueryResultsFormat.JSON,
    "application/sparql-results+xml": QueryResultsFormat.XML,
    "text/tab-separated-values": QueryResultsFormat.TSV,
}


@pytest.fixture(params=["memory", "folder"])
def served(request: pytest.FixtureRequest) -> TestClient:
    client: TestClient = request.getfixturevalue("client" if request.param == "memory" else "durable")
    client.put("/documents?graph=https://e.org/d", content=DATA, headers={"Content-Type": "text/turtle"})
    return client


def test_every_form_says_the_same(served: TestClient) -> None:
    answers = []
    for media_type, form in FORMS.items():
        read = served.get("/sparql", params={"query": QUERY}, headers={"Accept": media_type})
        assert read.headers["Content-Type"].partition(";")[0] == media_type
        found = parse_query_results(read.content, format=form)
        rows = sorted([str(each[name]) for name in ("s", "o")] for each in found)
        answers.append([[term for term in row if not term.startswith("_:")] for row in rows])
    assert len(answers[0]) == 7
    assert answers[0] == answers[1] == answers[2]
    xml = ElementTree.fromstring(served.get("/sparql", params={"query": QUERY}, headers={"Accept": XML}).content)
    assert "<&\"\t\r\n'>" in [each.text for each in xml.iter()]
    csv = served.get("/sparql", params={"query": QUERY}, headers={"Accept": "text/csv"}).text
    assert csv.startswith("s,o,z\r\n")
    assert '"<&""\t\r\n\'>"' in csv


def test_the_three_ways_to_ask_are_one(served: TestClient) -> None:
    ask = "ASK { ?s <https://e.org/p> 2 }"
    by_get = served.get("/sparql", params={"query": ask})
    by_form = served.post("/sparql", data={"query": ask})
    directly = served.post("/sparql", content=ask, headers={"Content-Type": "application/sparql-query"})
    assert by_get.json() == by_form.json() == directly.json() == {"head": {}, "boolean": True}
    xml = served.get("/sparql", params={"query": ask}, headers={"Accept": "application/xml"})
    assert ElementTree.fromstring(xml.content)[1].text == "true"


def test_construct_is_rdf(served: TestClient) -> None:
    text = "CONSTRUCT { ?o <https://e.org/of> ?s } { ?s <https://e.org/p> ?o FILTER(isIRI(?o)) }"
    for media_type in ("text/turtle", "application/ld+json", "application/rdf+xml"):
        read = served.get("/sparql", params={"query": text}, headers={"Accept": media_type})
        form = RdfFormat.from_media_type(media_type)
        assert form is not None
        (triple,) = parse(read.content, format=form)
        assert triple.object.value == "https://e.org/a"


def test_an_answer_has_what_was_acknowledged_before(served: TestClient) -> None:
    for number in range(3):
        document = f"<https://e.org/n> <https://e.org/number> {number} ."
        served.put("/documents?graph=https://e.org/n", content=document, headers={"Content-Type": "text/turtle"})
        found = served.get("/sparql", params={"query": "SELECT ?n { ?s <https://e.org/number> ?n }"}).json()
        assert [each["n"]["value"] for each in found["results"]["bindings"]] == [str(number)]


@pytest.mark.parametrize(
    ("request_of", "status"),
    [
        ({"params": {"query": "SELECT ?x {"}}, 400),
        ({"params": {"query": "SELECT * FROM <a:b> { ?s ?p ?o }"}}, 422),
        ({"params": {"query": "ASK {}", "default-graph-uri": "a:b"}}, 422),
        ({"params": {}}, 422),
        ({"params": {"query": QUERY}, "headers": {"Accept": "image/png"}}, 406),
        ({"params": {"query": "ASK {}"}, "headers": {"Accept": "text/csv"}}, 406),
    ],
)
def test_what_is_not_answered_is_a_problem(
    client: TestClient, request_of: dict[str, dict[str, str]], status: int
) -> None:
    found = client.get("/sparql", **request_of)  # type: ignore[arg-type]
    assert (found.status_code, found.headers["Content-Type"]) == (status, "application/problem+json")


def test_updates_and_other_bodies_are_refused(client: TestClient) -> None:
    assert client.post("/sparql", data={"update": "CLEAR ALL"}).status_code == 400
    headers = {"Content-Type": "application/sparql-update"}
    assert client.post("/sparql", content="CLEAR ALL", headers=headers).status_code == 415
    assert client.post("/sparql", data={"query": ["ASK {}", "ASK {}"]}).status_code == 400
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert client.post("/sparql", content=b"query=\xff", headers=form).status_code == 400


def test_rows_steps_and_time_are_bounded(tmp_path: object) -> None:
    with Engine.open(f"{tmp_path}/folder") as engine:
        settings = ServiceSettings(query_rows=5, query_seconds=1.0)
        with TestClient(create_app(engine, settings), base_url="http://localhost") as client:
            many = "".join(f"<a:{n}> <a:p> <a:{n + 1}> ." for n in range(300))
            client.put("/documents?graph=a:g", content=many, headers={"Content-Type": "text/turtle"})
            rows = client.get("/sparql", params={"query": "SELECT * { ?s ?p ?o }"})
            assert (rows.status_code, rows.json()["mend"]) == (422, "add LIMIT")
            large = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
            assert client.get("/sparql", params={"query": large}).status_code == 422
            assert client.get("/sparql", params={"query": "ASK { ?s ?p ?o }"}).json()["boolean"] is True
