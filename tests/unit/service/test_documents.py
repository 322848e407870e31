"""Documents over HTTP: the Graph Store Protocol, conditions, forms, bulk."""

from __future__ import annotations

import gzip
import json
import re
from concurrent.futures import ThreadPoolExecutor

import pytest
from fastapi.testclient import TestClient
from pyoxigraph import Dataset, RdfFormat, parse

from triplecast import Engine

IRI = "https://example.org/doc/1"
TURTLE = {"Content-Type": "text/turtle"}
ONE = '<https://example.org/a> <https://example.org/p> "one", [ <https://example.org/q> "x" ] .'
TWO = '<https://example.org/a> <https://example.org/p> "two" .'
FORMS = {
    "text/turtle": RdfFormat.TURTLE,
    "application/n-triples": RdfFormat.N_TRIPLES,
    "application/rdf+xml": RdfFormat.RDF_XML,
    "application/ld+json": RdfFormat.JSON_LD,
    "application/trig": RdfFormat.TRIG,
    "application/n-quads": RdfFormat.N_QUADS,
}


def put(client: TestClient, data: str, graph: str = IRI, **headers: str) -> object:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return client.put("/documents", params={"graph": graph}, content=data, headers={**TURTLE, **named})


def isomorphic(left: bytes, left_form: RdfFormat, right: bytes, right_form: RdfFormat) -> bool:
    graphs = []
    for data, form in ((left, left_form), (right, right_form)):
        graph = Dataset(parse(data, format=form, base_iri=IRI))
        graph.canonicalize(__import__("pyoxigraph").CanonicalizationAlgorithm.RDFC_1_0)
        graphs.append(graph)
    return graphs[0] == graphs[1]


def test_a_document_is_published_replaced_read_and_removed(client: TestClient) -> None:
    created = put(client, ONE)
    assert created.status_code == 201
    row = created.json()
    assert row["publications"][0] | {"accepted_at": ""} == {
        "graph": IRI, "version": 1, "position": 1, "accepted_at": "", "outcome": "accepted",
    }  # fmt: skip
    assert (row["position"], row["matches"], row["rejects"]) == (1, 0, [])
    assert client.get(created.headers["Location"]).status_code == 200
    assert put(client, ONE).json()["publications"][0]["outcome"] == "unchanged"
    replaced = put(client, TWO)
    assert (replaced.status_code, replaced.json()["publications"][0]["version"]) == (200, 2)
    assert client.get("/documents", params={"graph": IRI}).text == TWO + "\n"
    assert client.delete("/documents", params={"graph": IRI}).json()["removals"] == 1
    assert client.get("/documents", params={"graph": IRI}).status_code == 404
    assert client.head("/documents", params={"graph": IRI}).status_code == 404
    assert client.delete("/documents", params={"graph": IRI}).status_code == 404


@pytest.mark.parametrize("media_type", FORMS)
def test_every_form_goes_in_and_comes_out(client: TestClient, media_type: str) -> None:
    put(client, ONE)
    read = client.get("/documents", params={"graph": IRI}, headers={"Accept": media_type})
    assert read.headers["Content-Type"].partition(";")[0] == media_type
    assert isomorphic(read.content, FORMS[media_type], ONE.encode(), RdfFormat.TURTLE)
    again = client.put("/documents", params={"graph": IRI}, content=read.content, headers={"Content-Type": media_type})
    assert again.json()["publications"][0]["outcome"] == "unchanged"
    looked = client.head("/documents", params={"graph": IRI}, headers={"Accept": media_type})
    assert looked.content == b""
    assert looked.headers["ETag"] == read.headers["ETag"]
    assert looked.headers["Content-Length"] == read.headers["Content-Length"]


def test_accept_decides_by_quality_and_what_cannot_be_is_refused(client: TestClient) -> None:
    put(client, ONE)

    def ask(accept: str) -> object:
        return client.get("/documents", params={"graph": IRI}, headers={"Accept": accept})

    assert ask("text/html, application/n-triples;q=0.5, */*;q=0.1").headers["Content-Type"] == "application/n-triples"
    assert ask("text/*").headers["Content-Type"].startswith("text/turtle")
    assert ask("text/turtle;q=0, */*").headers["Content-Type"] == "application/n-triples"
    refused = ask("text/html")
    assert (refused.status_code, refused.headers["Content-Type"]) == (406, "application/problem+json")
    assert "text/turtle" in refused.json()["mend"]


def test_conditions_hold_or_nothing_is_done(client: TestClient) -> None:
    assert put(client, ONE, If_Match="*").status_code == 412
    first = put(client, ONE, If_None_Match="*")
    assert first.status_code == 201
    assert put(client, TWO, If_None_Match="*").status_code == 412
    tag = client.get("/documents", params={"graph": IRI}, headers={"Accept": "application/ld+json"}).headers["ETag"]
    assert put(client, TWO, If_Match='"1-000000000000"').status_code == 412
    assert put(client, TWO, If_Match=f"W/{tag}").status_code == 412
    assert put(client, TWO, If_Match="nonsense").status_code == 400
    second = put(client, TWO, If_Match=f'"other", {tag}')
    assert second.status_code == 200
    assert put(client, ONE, If_Match=first.headers["ETag"]).status_code == 412
    assert put(client, ONE, If_Match=second.headers["ETag"]).status_code == 200
    current = client.get("/documents", params={"graph": IRI})
    same = client.get("/documents", params={"graph": IRI}, headers={"If-None-Match": current.headers["ETag"]})
    assert (same.status_code, same.content) == (304, b"")
    other = {"If-None-Match": current.headers["ETag"], "Accept": "application/n-triples"}
    assert client.get("/documents", params={"graph": IRI}, headers=other).status_code == 200
    wrong = {"If-Match": '"1-000000000000"'}
    assert client.delete("/documents", params={"graph": IRI}, headers=wrong).status_code == 412
    right = {"If-Match": current.headers["ETag"]}
    assert client.delete("/documents", params={"graph": IRI}, headers=right).status_code == 200


def test_post_merges_and_keeps_blank_nodes_apart(client: TestClient) -> None:
    assert client.post("/documents", params={"graph": IRI}, content=ONE, headers=TURTLE).status_code == 201
    added = ONE.replace('"one"', r'"_:c14n0 \" _:c14n0"')
    assert client.post("/documents", params={"graph": IRI}, content=added, headers=TURTLE).status_code == 200
    merged = client.get("/documents", params={"graph": IRI}).content
    wanted = f"{ONE}\n{added}".encode()
    assert isomorphic(merged, RdfFormat.TURTLE, wanted, RdfFormat.TURTLE)
    assert client.post(
        "/documents", params={"graph": IRI}, content="<https://example.org/g> { <a:b> <a:c> <a:d> }",
        headers={"Content-Type": "application/trig"},
    ).status_code == 422  # fmt: skip


def test_without_a_graph_a_feed_names_its_items(client: TestClient) -> None:
    feed = """<rss version="2.0"><channel><title>t</title><link>https://e.org/</link><description>d</description>
    <item><guid>https://e.org/1</guid><title>One</title></item>
    <item><guid>https://e.org/2</guid><title>Two</title></item></channel></rss>"""
    found = client.post("/documents", content=feed, headers={"Content-Type": "application/rss+xml"})
    assert found.status_code == 201
    assert [each["graph"] for each in found.json()["publications"]] == ["https://e.org/1", "https://e.org/2"]
    assert client.get(found.headers["Location"]).status_code == 200


def test_a_document_that_nobody_named_says_how_to_name_it(client: TestClient) -> None:
    for content, graph, count in (
        (ONE, None, 1),
        (ONE, None, 1),
        (ONE, IRI, 0),
        ("<urn:g> { <a:b> <a:c> 1 }", None, 0),
    ):
        headers = TURTLE if count or graph else {"Content-Type": "application/trig"}
        found = client.post("/documents", params={"graph": graph} if graph else {}, content=content, headers=headers)
        assert len(found.json()["warnings"]) == count, content
        assert count == 0 or found.json()["warnings"][0].endswith("name it: PUT /documents?graph=IRI")


def test_lines_have_a_receipt_each(client: TestClient, engine: Engine) -> None:
    engine.subscribe("SELECT ?x { ?x <https://example.org/p> ?y }")
    lines = [
        {"id": IRI, "media_type": "text/turtle", "data": ONE},
        {"id": "https://example.org/doc/2", "media_type": "text/turtle", "data": "<a:b> <broken"},
        {"id": "https://example.org/doc/3", "media_type": "text/turtle", "data": TWO},
    ]
    body = "\n".join([json.dumps(lines[0]), "{broken", "", json.dumps(lines[1]), json.dumps(lines[2])])
    found = client.post("/documents", content=body, headers={"Content-Type": "application/x-ndjson"})
    rows = [json.loads(line) for line in found.text.splitlines()]
    assert [row["id"] for row in rows] == [IRI, None, "https://example.org/doc/2", "https://example.org/doc/3"]
    assert [row["line"] for row in rows] == [1, 2, 4, 5]
    assert [row["matches"] for row in rows] == [1, 0, 0, 1]
    assert [len(row["rejects"]) for row in rows] == [0, 1, 1, 0]
    assert rows[1]["rejects"][0]["line"] == 2


def test_what_cannot_be_published_says_where_and_how_to_mend_it(client: TestClient) -> None:
    broken = put(client, "<a:b> <a:c> .")
    assert (broken.status_code, broken.headers["Content-Type"]) == (422, "application/problem+json")
    assert broken.json()["line"] == 1
    assert broken.json()["rejects"]
    form = client.put(
        "/documents", params={"graph": IRI}, content=ONE, headers={"Content-Type": "application/x-www-form-urlencoded"}
    )
    assert form.status_code == 415
    assert {"text/turtle", "application/feed+json", "application/x-ndjson"} <= {
        *re.findall(r"[\w.+/-]+", form.json()["mend"])
    }
    assert put(client, ONE, graph="no iri").status_code == 422
    assert client.put("/documents", content=ONE, headers=TURTLE).status_code == 400
    assert client.get("/documents").status_code == 400
    default = client.put("/documents?default", content=ONE, headers=TURTLE)
    assert (default.status_code, default.headers["Allow"]) == (405, "GET, HEAD")
    coded = put(client, ONE, Content_Encoding="br")
    assert coded.status_code == 415


def test_the_default_graph_is_all_documents(client: TestClient) -> None:
    put(client, ONE)
    put(client, TWO, graph="https://example.org/doc/2")
    merged = client.get("/documents?default", headers={"Accept": "application/n-triples"})
    assert isomorphic(merged.content, RdfFormat.N_TRIPLES, f"{ONE}\n{TWO}".encode(), RdfFormat.TURTLE)


def test_a_compressed_body_is_read(client: TestClient) -> None:
    packed = gzip.compress(ONE.encode())
    headers = {**TURTLE, "Content-Encoding": "gzip"}
    assert client.put("/documents", params={"graph": IRI}, content=packed, headers=headers).status_code == 201


def test_a_dataset_comes_out_as_a_dataset(client: TestClient, engine: Engine) -> None:
    engine.publish("<a:g> { <a:s> <a:p> <a:o> }", "application/trig", IRI, dataset=True)
    found = client.get("/documents", params={"graph": IRI})
    assert found.headers["Content-Type"] == "application/trig" or found.headers["Content-Type"] == "application/ld+json"
    refused = client.get("/documents", params={"graph": IRI}, headers={"Accept": "text/turtle"})
    assert refused.status_code == 406


def number_in(data: bytes) -> int:
    (triple,) = parse(data, format=RdfFormat.TURTLE)
    return int(triple.object.value)


def test_conditions_and_merges_hold_while_others_write(client: TestClient) -> None:
    counted = "https://example.org/counter"
    put(client, "<a:s> <a:count> 0 .", graph=counted)

    def count(_: int) -> int:
        done = 0
        while done < 5:
            read = client.get("/documents", params={"graph": counted})
            content = f"<a:s> <a:count> {number_in(read.content) + 1} ."
            answer = put(client, content, graph=counted, If_Match=read.headers["ETag"])
            assert answer.status_code in (200, 412)
            done += answer.status_code == 200
        return done

    def merge(number: int) -> int:
        content = f"<a:s> <a:p> {number}, [ <a:q> {number} ] ."
        answer = client.post("/documents", params={"graph": IRI}, content=content, headers=TURTLE)
        assert answer.status_code in (200, 201, 429)
        return answer.status_code

    with ThreadPoolExecutor(8) as threads:
        counts = threads.map(count, range(4))
        statuses = list(threads.map(merge, range(8)))
        total = sum(counts)
    assert number_in(client.get("/documents", params={"graph": counted}).content) == total == 20
    merged = [*parse(client.get("/documents", params={"graph": IRI}).content, format=RdfFormat.TURTLE)]
    assert len(merged) == 3 * sum(status != 429 for status in statuses)
