"""Beyond its limits a service says so, and goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import MutableMapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi.testclient import TestClient

from tests.unit.service.conftest import service_of
from triplecast import Engine, StorageFault, errors
from triplecast.ingest import Document
from triplecast.service import publishing
from triplecast.service.app import create_app
from triplecast.service.call_threads import CallThreads
from triplecast.service.problems import Problem, problem_of
from triplecast.service.publishing import Publications
from triplecast.service.settings import ServiceSettings
from triplecast.service.tokens import add_token, read_tokens

TURTLE = {"Content-Type": "text/turtle"}


def test_more_than_may_wait_are_told_to_come_again(engine: Engine) -> None:
    """A document whose parser takes long waits for a thread; `test_documents_…` is about those that do not."""
    with service_of(engine, threads=1, waiting=1) as client:
        held, began = threading.Event(), threading.Event()
        published = engine.serving.publish_when

        def publish(*arguments: object) -> object:
            began.set()
            assert held.wait(30)
            return published(*arguments)  # type: ignore[arg-type]

        engine.serving.publish_when = publish  # type: ignore[method-assign, assignment]
        with ThreadPoolExecutor(4) as threads:

            def put(number: int) -> object:
                headers = TURTLE | {"If-None-Match": "*"}
                return client.put(f"/documents?graph=a:{number}", content="<a:b> <a:c> <a:d> .", headers=headers)

            first = threads.submit(put, 1)
            assert began.wait(30)
            second = threads.submit(put, 2)
            while client.app.state.service.writing.calls < 2:  # type: ignore[attr-defined]
                pass
            refused = put(3)
            held.set()
            assert [each.result().status_code for each in (first, second)] == [201, 201]
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert put(4).status_code == 201
        assert "triplecast_refused_total 1.0" in client.get("/metrics").text


def test_documents_that_come_at_once_are_committed_together_and_no_more_wait_than_may(engine: Engine) -> None:
    with service_of(engine, documents_waiting=3) as client:
        held, began, groups = threading.Event(), threading.Event(), list[int]()
        published = engine.serving.publish_together

        def publish(documents: Sequence[Document]) -> object:
            groups.append(len(documents))
            began.set()
            assert held.wait(30)
            return published(documents)

        engine.serving.publish_together = publish  # type: ignore[method-assign, assignment]
        with ThreadPoolExecutor(8) as threads:

            def put(number: int) -> httpx.Response:
                content = "<a:b> <a:c> ." if number == 3 else "<a:b> <a:c> <a:d> ."
                return client.put(f"/documents?graph=a:{number}", content=content, headers=TURTLE)

            first = threads.submit(put, 1)
            assert began.wait(30)
            others = [threads.submit(put, number) for number in (2, 3, 4)]
            while len(client.app.state.service.publications._waiting) < 3:  # type: ignore[attr-defined]
                pass
            refused = put(5)
            held.set()
            assert first.result().status_code == 201
            assert [each.result().status_code for each in others] == [201, 422, 201]
        assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
        assert groups == [1, 3]
        assert put(5).status_code == 201


def test_once_too_many_came_few_wait_until_those_who_come_are_taken(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or until nothing is published for a while."""
    monkeypatch.setattr(publishing, "_IDLE_SECONDS", 60.0)
    gate = threading.Event()
    published = engine.serving.publish_together

    def publish(documents: Sequence[Document]) -> object:
        assert gate.wait(30)
        return published(documents)

    engine.serving.publish_together = publish  # type: ignore[method-assign, assignment]

    async def scene() -> list[int]:
        threads = CallThreads("alone", 1, 0)
        publications = Publications(engine, threads, 40)
        numbers = count()

        async def put() -> object:
            graph = f"a:{next(numbers)}"
            return await publications.publish(Document(graph, b"<a:b> <a:c> <a:d> .", "text/turtle", graph))

        async def most() -> int:
            """How many wait beside the one that is published, as one more is refused."""
            gate.clear()
            taken = [asyncio.create_task(put())]
            await asyncio.sleep(0.05)
            with suppress(Problem):
                while len(taken) < 100:
                    publications.check()
                    taken.append(asyncio.create_task(put()))
                    await asyncio.sleep(0)
            gate.set()
            await asyncio.gather(*taken)
            return len(taken) - 1

        found = [await most(), await most()]
        for _ in range(40):
            await put()
        found += [await most(), await most()]
        monkeypatch.setattr(publishing, "_IDLE_SECONDS", 0.0)
        found.append(await most())
        publications.close()
        threads.close()
        return found

    assert asyncio.run(scene()) == [40, 8, 40, 8, 40]


def test_who_sends_no_token_neither_prolongs_an_overload_nor_learns_of_it(engine: Engine, tmp_path: Path) -> None:
    """It was looked whether too many wait before who asks, which counted as one refused."""
    headers = {"Authorization": f"Bearer {add_token(tmp_path / 'tokens', 'ada', ['publish'])}"} | TURTLE
    tokens = read_tokens(tmp_path / "tokens")
    with service_of(engine, documents_waiting=0, tokens=tokens, hosts=frozenset()) as client:
        publications = client.app.state.service.publications  # type: ignore[attr-defined]
        put = partial(client.put, "/documents?graph=a:1", content="<a:b> <a:c> <a:d> .")
        assert put(headers=TURTLE).status_code == 401
        assert publications._overload == 0
        assert put(headers=headers).status_code == 429
        assert publications._overload > 0


def test_what_ends_a_group_is_told_to_each_of_it(engine: Engine) -> None:
    fault = StorageFault("journal.sqlite", "it is damaged", "restore it")

    def fail(_: object) -> None:
        raise fault

    with service_of(engine) as client:
        engine.serving.publish_together = fail  # type: ignore[method-assign, assignment]
        with ThreadPoolExecutor(8) as threads:
            put = partial(client.put, content="<a:b> <a:c> <a:d> .", headers=TURTLE)
            answers = threads.map(put, [f"/documents?graph=a:{number}" for number in range(8)])
            assert {each.status_code for each in answers} == {503}


def test_a_panic_of_a_group_leaves_nobody_without_an_answer(engine: Engine) -> None:
    """What pyo3 raises for one is no Exception."""

    class Panic(BaseException):
        pass

    published = engine.serving.publish_together
    groups = iter([Panic("a"), None])

    def panic(documents: Sequence[Document]) -> object:
        if fault := next(groups):
            raise fault
        return published(documents)

    with service_of(engine) as client, ThreadPoolExecutor(1) as threads:
        engine.serving.publish_together = panic  # type: ignore[method-assign, assignment]
        put = partial(client.put, "/documents?graph=a:1", content="<a:b> <a:c> <a:d> .", headers=TURTLE)
        answer = threads.submit(put).result(30)
        assert (answer.status_code, "publish it again" in answer.text) == (503, True)
        assert put().status_code == 201


def test_bodies_are_bounded_each_and_together(engine: Engine) -> None:
    with service_of(engine, document_bytes=1000, waiting_bytes=1500, bulk_bytes=5000, bulk_lines=1450) as client:
        assert client.put("/documents?graph=a:1", content=b"#" * 1001, headers=TURTLE).status_code == 413
        bulk = {"Content-Type": "application/x-ndjson"}
        assert client.post("/documents", content=b"\n" * 1600, headers=bulk).status_code == 429
        assert client.post("/documents", content=b"\n" * 1451, headers=bulk).status_code == 413
        assert client.post("/documents", content=b"\n" * 1400, headers=bulk).status_code == 200
        assert client.app.state.service._held == 0  # type: ignore[attr-defined]


def test_a_body_that_does_not_come_is_not_waited_for(engine: Engine) -> None:
    app = create_app(engine, ServiceSettings(body_seconds=0.05))
    sent: list[MutableMapping[str, Any]] = []

    async def trickle() -> dict[str, object]:
        await asyncio.sleep(0.03)
        return {"type": "http.request", "body": b"#", "more_body": True}

    async def take(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"text/turtle")]
    scope = {"type": "http", "method": "PUT", "path": "/documents", "query_string": b"graph=a:b", "headers": headers}

    async def scene() -> None:
        async with app.router.lifespan_context(app):
            await app(scope, trickle, take)

    asyncio.run(scene())
    assert sent[0]["status"] == 408
    assert app.state.service._held == 0


def test_a_body_that_breaks_off_is_no_failure_of_the_service(engine: Engine) -> None:
    app = create_app(engine)
    sent: list[MutableMapping[str, Any]] = []

    async def leave() -> dict[str, object]:
        return {"type": "http.disconnect"}

    async def take(message: MutableMapping[str, Any]) -> None:
        sent.append(message)

    headers = [(b"host", b"localhost"), (b"content-type", b"text/turtle")]
    scope = {"type": "http", "method": "PUT", "path": "/documents", "query_string": b"graph=a:b", "headers": headers}

    async def scene() -> None:
        async with app.router.lifespan_context(app):
            await app(scope, leave, take)

    asyncio.run(scene())
    assert sent[0]["status"] == 400


def test_every_error_has_a_status_and_no_path(tmp_path: object) -> None:
    fault = StorageFault(f"{tmp_path}/journal.sqlite", "it is damaged", "restore it")
    problem = problem_of(fault)
    assert (problem.status, problem.detail, problem.mend) == (503, "it is damaged", "restore it")
    assert str(tmp_path) not in problem.response().body.decode()
    full = problem_of(errors.StorageFull(f"{tmp_path}/journal.sqlite", "no space", "make some"))
    assert full.status == 507


@pytest.mark.parametrize("address", ["/nothing", "/documents/x", "/subscriptions/"])
def test_what_is_not_there_is_a_problem(client: TestClient, address: str) -> None:
    found = client.get(address)
    assert found.status_code in (400, 404)
    assert found.headers["Content-Type"] == "application/problem+json"


def test_a_method_that_is_none_is_a_problem(client: TestClient) -> None:
    found = client.request("PATCH", "/documents")
    assert (found.status_code, found.headers["Content-Type"]) == (405, "application/problem+json")
    assert found.headers["Allow"]


def test_what_is_unforeseen_tells_nothing_but_its_kind(engine: Engine) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a secret")

    engine.serving.publish_together = fail  # type: ignore[method-assign, assignment]
    client = TestClient(service_of(engine).app, base_url="http://localhost", raise_server_exceptions=False)
    with client:
        found = client.put("/documents?graph=a:1", content="<a:b> <a:c> <a:d> .", headers=TURTLE)
    assert (found.status_code, "secret" in found.text) == (500, False)
