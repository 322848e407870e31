"""The W3C tests of the SPARQL 1.1 Graph Store HTTP Protocol and the SPARQL 1.1 Protocol, against the service.

The suites are not part of this repository (../shared/data/conformance): without them these tests are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("fastapi", reason="the extra `service` is not installed")

from fastapi.testclient import TestClient
from pyoxigraph import CanonicalizationAlgorithm, Dataset, RdfFormat, parse
from rdflib import Graph, Namespace
from rdflib.collection import Collection

from triplecast import Engine
from triplecast.service.app import create_app

SUITE = Path(__file__).resolve().parents[2] / ".." / "shared" / "data" / "conformance" / "rdf-tests"
SPARQL11 = SUITE / "sparql" / "sparql11"
ABSENT = "the W3C suites are not at ../shared/data/conformance"
MF = Namespace("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#")
HT = Namespace("http://www.w3.org/2011/http#")
CNT = Namespace("http://www.w3.org/2011/content#")

EMPTY = re.compile("[?&]default-graph-uri=[^&]*data0.rdf")
"""A graph that no test publishes: these ask what does not depend on it."""
DATASET = "a dataset is not chosen by the protocol: refused by name"
UPDATE = "there are no updates: refused by name"
EXCLUDED = {
    "post_get_post_get_indirect": "multipart/form-data is refused by name",
    "post_get_new_graph": "Location is the address where the document is read, not its IRI",
    "put_get_default": "the default graph is the merge of all documents, and cannot be written",
    # DESCRIBE is refused by name (semantics 1.5)
    "query_content_type_describe": "DESCRIBE is refused by name",
    "query_content_type_construct": "relative IRIs are refused without a BASE (semantics 2.7)",
    **dict.fromkeys(
        (
            "query_dataset_default_graphs_get",
            "query_dataset_default_graphs_post",
            "query_dataset_named_graphs_post",
            "query_dataset_named_graphs_get",
            "query_dataset_full",
            "query_multiple_dataset",
        ),
        DATASET,
    ),
    **dict.fromkeys(
        (
            "update_dataset_default_graph",
            "update_dataset_default_graphs",
            "update_dataset_named_graphs",
            "update_dataset_full",
            "update_post_form",
            "update_post_direct",
            "update_base_uri",
        ),
        UPDATE,
    ),
}


@dataclass(frozen=True)
class Exchange:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes | None
    statuses: list[str]
    boolean: bool | None
    wanted: bytes | None
    location: str | None


def cases(manifest: Path) -> Iterator[tuple[str, list[Exchange]]]:
    graph = Graph().parse(manifest, format="turtle", publicID=manifest.as_uri())
    (entries,) = graph.objects(None, MF.entries)
    for test in Collection(graph, entries):
        requests = Collection(graph, graph.value(graph.value(test, MF.action), HT.requests))
        yield str(test).rpartition("#")[2], [exchange_of(graph, each) for each in requests]


def exchange_of(graph: Graph, request: Any) -> Exchange:
    response = graph.value(request, HT.resp)
    boolean = graph.value(response, MF.expectedBoolean)
    return Exchange(
        str(graph.value(request, HT.methodName)),
        str(graph.value(request, HT.absolutePath)),
        headers_of(graph, request),
        body_of(graph, request),
        [str(each).rpartition("#")[2] for each in graph.objects(response, MF.expectedStatus)],
        None if boolean is None else bool(boolean.toPython()),
        body_of(graph, response),
        str(found) if (found := graph.value(response, MF.expectedLocation)) else None,
    )


def headers_of(graph: Graph, node: Any) -> dict[str, str]:
    listed = graph.value(node, HT.headers)
    rows = [] if listed is None else Collection(graph, listed)
    return {str(graph.value(each, HT.fieldName)).lower(): str(graph.value(each, HT.fieldValue)) for each in rows}


def body_of(graph: Graph, node: Any) -> bytes | None:
    body = graph.value(node, HT.body)
    if body is None or (chars := graph.value(body, CNT.chars)) is None:
        return None
    return str(chars).encode(str(graph.value(body, CNT.characterEncoding) or "utf-8"))


def is_status(expected: str, status: int) -> bool:
    names = {
        "OK": 200,
        "Created": 201,
        "NoContent": 204,
        "NotFound": 404,
        "BadRequest": 400,
        "UnsupportedMediaType": 415,
    }
    if expected in names:
        return names[expected] == status or (expected == "NoContent" and status == 200)
    return expected.removeprefix("StatusCode").startswith(str(status)[0])


def canonical(data: bytes, form: RdfFormat, base: str) -> Dataset:
    found = Dataset(parse(data, format=form, base_iri=base))
    found.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return found


def suite(*manifests: str) -> list[Any]:
    if not SPARQL11.is_dir():
        return [pytest.param("absent", [], marks=pytest.mark.skip(reason=ABSENT))]
    return [
        pytest.param(
            name, exchanges, id=name, marks=[pytest.mark.skip(reason=EXCLUDED[name])] if name in EXCLUDED else []
        )
        for manifest in manifests
        for name, exchanges in cases(SPARQL11 / manifest)
    ]


@pytest.mark.parametrize(
    ("name", "exchanges"), suite("graph-store-protocol/manifest-indirect.ttl", "protocol/manifest.ttl")
)
def test_w3c(name: str, exchanges: list[Exchange]) -> None:
    places: dict[str, str] = {}
    with Engine() as engine, TestClient(create_app(engine), base_url="http://localhost") as client:
        for each in exchanges:
            path, body = each.path, each.body
            for variable, place in places.items():
                path = path.replace(variable, place)
                body = body and body.replace(variable.encode(), place.encode())
            path = path.replace("/gsp", "/documents", 1).replace("/sparql/", "/sparql", 1)
            path = EMPTY.sub("", path)
            found = client.request(each.method, path, content=body, headers=each.headers)
            assert any(is_status(expected, found.status_code) for expected in each.statuses), (path, found.text)
            if each.boolean is not None:
                assert found.json()["boolean"] == each.boolean
            if each.location is not None:
                places[each.location] = found.headers["Location"]
            if each.wanted and each.method == "GET":
                (graph,) = parse_qs(urlsplit(path).query).get("graph", [""])
                form = RdfFormat.from_media_type(found.headers["content-type"].partition(";")[0])
                assert form is not None
                assert canonical(found.content, form, graph) == canonical(each.wanted, RdfFormat.TURTLE, graph)
