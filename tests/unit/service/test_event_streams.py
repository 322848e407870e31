"""The logs as Linked Data Event Streams: a client that knows the specifications alone gathers each member once, also
while others write, and has in the end what the service has."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest
import rdflib
from pyoxigraph import BlankNode, CanonicalizationAlgorithm, Dataset, Literal, NamedNode, Quad, parse
from pyoxigraph import RdfFormat as Form
from rdflib.compare import to_isomorphic

pytest.importorskip("fastapi", reason="the extra `service` is not installed")

from fastapi.testclient import TestClient

from tests.unit.service.conftest import BASE, service_of
from tests.unit.service.ldes_client import AS, LDES, EventStreamClient, Fetched, Member
from triplecast import Engine
from triplecast.service import logs

TITLE = "http://purl.org/dc/terms/title"
TITLES = "SELECT ?title { ?s dct:title ?title }"
OWN = "urn:triplecast:vocabulary:"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "MEMBERS", 7)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "folder") as engine:
        yield engine


def publish(engine: Engine, graph: str, text: str) -> None:
    data = f'<{graph}> <{TITLE}> "{text}" . _:b <{TITLE}> "{text}" .'
    assert not engine.publish(data, "text/turtle", graph).rejects


def follower(client: TestClient, path: str, accept: str = "*/*") -> EventStreamClient:
    def fetch(address: str) -> Fetched:
        answer = client.get(address, headers={"Accept": accept})
        assert answer.status_code == 200, answer.text
        return Fetched(answer.content, answer.headers["Content-Type"], answer.headers["Cache-Control"])

    return EventStreamClient(BASE + path, fetch)


def canonical(quads: list[Quad]) -> set[str]:
    found = Dataset(Quad(quad.subject, quad.predicate, quad.object) for quad in quads)
    found.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {*map(str, found)}


def materialized(members: dict[str, Member]) -> dict[str, set[str]]:
    """What the documents are after all versions, in their order."""
    current: dict[str, set[str]] = {}
    for member in members.values():
        (graph,) = member.values("object")
        assert isinstance(graph, NamedNode)
        if member.kind == "Delete":
            del current[graph.value]
        else:
            assert (member.kind == "Update") == (graph.value in current)
            current[graph.value] = canonical(member.content())
    return current


def current(engine: Engine, graphs: set[str]) -> dict[str, set[str]]:
    found = {graph: engine.serving.document(graph) for graph in graphs}
    return {
        graph: canonical([*parse(each[1].quads, format=Form.N_QUADS)])
        for graph, each in found.items()
        if each is not None
    }


def change(engine: Engine, dice: random.Random, count: int) -> None:
    """Versions, removals, and records of other kinds between them."""
    for number in range(count):
        graph = f"https://example.org/{dice.randrange(6)}"
        kind = dice.random()
        if kind < 0.2:
            engine.remove(graph)
        elif kind < 0.3:
            engine.unsubscribe(engine.subscribe(TITLES).id)
        else:
            publish(engine, graph, f"{number} {dice.random()}")


@pytest.mark.parametrize("most_bytes", [1 << 20, 100])
def test_documents_are_gathered_once_and_are_what_the_service_has(
    engine: Engine, seed: int, most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MOST_BYTES", most_bytes)
    dice = random.Random(seed)
    graphs = {f"https://example.org/{number}" for number in range(6)}
    with service_of(engine) as client:
        follows = follower(client, "/documents/ldes")
        assert follows.synchronize() == []
        for _ in range(6):
            change(engine, dice, dice.randrange(12))
            follows.synchronize()
            assert materialized(follows.members) == current(engine, graphs)
        fetched = follows.fetched
        assert follows.synchronize() == []
        assert follows.fetched - fetched <= 2, "the root node and the newest page"
        positions = [int(each.values("position", OWN)[0].value) for each in follows.members.values()]  # type: ignore[attr-defined]
        assert positions == sorted({*positions})
        blank = [
            {quad.subject for quad in each.content() if isinstance(quad.subject, BlankNode)}
            for each in follows.members.values()
        ]
        assert sum(map(len, blank)) == len(set[object]().union(*blank)), "those of a version are its own"
        times = [datetime.fromisoformat(each.values("published")[0].value) for each in follows.members.values()]  # type: ignore[attr-defined]
        assert times == sorted(times)
        assert len(follows.immutable) > 3
        for address, kept in follows.immutable.items():
            assert client.get(address).content == kept.body, "it never changes"
        stream = NamedNode(f"{BASE}/documents/ldes#stream")
        for name in ("timestampPath", "sequencePath", "versionOfPath", "versionDeleteObject"):
            (said,) = follows.context.quads_for_pattern(stream, NamedNode(LDES + name), None)
            if name == "versionDeleteObject":
                assert said.object == NamedNode(AS + "Delete")
            else:
                assert all(
                    each.said.quads_for_pattern(NamedNode(each.iri), said.object, None)
                    for each in follows.members.values()
                )  # type: ignore[arg-type]


@pytest.mark.parametrize("most_bytes", [1 << 20, 100])
def test_no_member_is_lost_or_comes_twice_while_writers_write(
    engine: Engine, most_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "MOST_BYTES", most_bytes)
    engine.subscribe(TITLES, id="titles", notify="every")
    engine.subscribe('SELECT ?s { ?s dct:title "0 7" }', id="rare", notify="every")

    def write(writer: int) -> None:
        for number in range(30):
            publish(engine, f"https://example.org/{writer}/{number % 9}", f"{writer} {number}")

    with service_of(engine) as client:
        follows = {path: follower(client, path) for path in ("/documents/ldes", "/subscriptions/titles/ldes")}
        rare = follower(client, "/subscriptions/rare/ldes")
        writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for each in writers:
            each.start()
        while any(each.is_alive() for each in writers):
            for each in (*follows.values(), rare):
                each.synchronize()
        for each in (*follows.values(), rare):
            each.synchronize()
        assert len(follows["/documents/ldes"].members) == 90
        told = [f"urn:triplecast:notification:{each.id}" for each in engine.notifications(subscription="titles")]
        assert [*follows["/subscriptions/titles/ldes"].members] == told
        assert len(told) == 90
        assert len(rare.members) == 1
        assert len(rare._following) == 2, "a root node and a page, whatever others hear"


def test_pages_stay_where_they_are_when_what_is_before_them_is_pruned(engine: Engine) -> None:
    engine.subscribe(TITLES, id="titles", notify="every")
    for number in range(60):
        publish(engine, f"https://example.org/{number}", "x")
    with service_of(engine) as client:
        follows, late = (follower(client, "/subscriptions/titles/ldes") for _ in range(2))
        follows.synchronize()
        assert len(follows.members) == 60
        engine.prune(30)
        publish(engine, "https://example.org/60", "x")
        assert len(follows.synchronize()) == 1
        late.synchronize()
        assert [*late.members] == [*follows.members][30:]
        policy = late.context.quads_for_pattern(None, NamedNode(LDES + "startingFrom"), None)
        first = next(iter(late.members.values()))
        assert [quad.object for quad in policy] == first.values("published")
        old = client.get(next(iter(follows.immutable)))
        assert old.status_code == 200, "who stands there is led on"
        assert "tree:relation" in old.text


def test_every_form_says_the_same(engine: Engine) -> None:
    engine.subscribe("CONSTRUCT { ?s dct:alternative ?title } { ?s dct:title ?title }", id="c", notify="every")
    for number in range(5):
        publish(engine, f"https://example.org/{number}", "“x”\\n")
    with service_of(engine) as client:
        for path, offered in (
            ("/documents/ldes", ("application/trig", "application/n-quads", "application/ld+json")),
            ("/subscriptions/c/ldes", ("application/trig", "application/n-quads", "application/ld+json")),
        ):
            said = []
            for form in offered:
                follows = follower(client, path, form)
                follows.synchronize()
                assert len(follows.members) == 5
                (page,) = {id(each.said): each.said for each in follows.members.values()}.values()
                copy = Dataset(page)
                copy.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
                said.append({*map(str, copy)})
            assert said[0] == said[1] == said[2]
        page = _newest(client, "/subscriptions/c/ldes")
        graphs = []
        for form, name in (("text/turtle", "turtle"), ("application/n-triples", "nt")):
            answer = client.get(page, headers={"Accept": form})
            graphs.append(to_isomorphic(rdflib.Graph().parse(data=answer.content, format=name)))
        assert graphs[0] == graphs[1]
        assert len([*graphs[0].triples((None, rdflib.DCTERMS.alternative, None))]) == 10
        assert client.get("/documents/ldes", headers={"Accept": "text/turtle"}).status_code == 406


def _newest(client: TestClient, path: str) -> str:
    follows = follower(client, path)
    follows.synchronize()
    return next(reversed(follows._following))


def test_pages_are_cached(engine: Engine, tmp_path: Path) -> None:
    for number in range(20):
        publish(engine, f"https://example.org/{number}", "x")
    with service_of(engine) as client:
        follows = follower(client, "/documents/ldes")
        follows.synchronize()
        for address in (*follows.immutable, "/documents/ldes", _newest(client, "/documents/ldes")):
            answer = client.get(address)
            known = {"If-None-Match": answer.headers["ETag"]}
            assert client.get(address, headers=known).status_code == 304
            assert answer.headers["Vary"] == "Accept"
            assert (answer.headers["Cache-Control"] == "private, max-age=31536000, immutable") == (
                address in follows.immutable
            )
        for after, status in (("x", 400), ("0000000000000003_1", 410), ("9" * 16 + "_0", 410)):
            assert client.get(f"/documents/ldes?after={after}").status_code == status
        assert client.get("/subscriptions/nobody/ldes").status_code == 404
    kept = {address: each.body for address, each in follows.immutable.items()}
    engine.close()
    with Engine.open(tmp_path / "folder") as again, service_of(again) as client:
        for address, body in kept.items():
            assert client.get(address).content == body


def test_a_dataset_keeps_its_graphs(engine: Engine) -> None:
    data = f'<urn:a> <{TITLE}> "0" . <urn:g> {{ <urn:a> <{TITLE}> "1" }} _:g {{ <urn:a> <{TITLE}> "2", _:g }}'
    assert not engine.publish(data, "application/trig", "https://example.org/d", dataset=True).rejects
    with service_of(engine) as client:
        follows = follower(client, "/documents/ldes")
        follows.synchronize()
    kept: set[Quad] = set()
    for member in follows.members.values():
        kept |= {Quad(quad.subject, quad.predicate, quad.object) for quad in member.content()}
        for part in member.values("part", OWN):
            assert isinstance(part, NamedNode)
            (name,) = member.said.quads_for_pattern(part, NamedNode(OWN + "graph"), None)
            for quad in member.said.quads_for_pattern(None, None, None, part):
                kept.add(Quad(quad.subject, quad.predicate, quad.object, name.object))  # type: ignore[arg-type]
    found, expected = Dataset(kept), Dataset(parse(data, format=Form.TRIG))
    for each in (found, expected):
        each.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    assert {*found} == {*expected}
    assert Literal("0") in {quad.object for quad in kept}
