"""An Idempotency-Key: a request is done once, also over a restart and a crash in between."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import httpx
import pytest
from fastapi.testclient import TestClient

from tests.unit.service.conftest import BASE
from triplecast import Engine
from triplecast.service.app import create_app
from triplecast.service.idempotency import KeptAnswer, KeptAnswers, Unfinished
from triplecast.service.problems import Problem

IRI = "https://example.org/1"
ONE, TWO = (f'<a:s> <a:p> "{number}" .' for number in (1, 2))


def put(client: TestClient, data: str, key: str | None = None) -> object:
    headers = {"Content-Type": "text/turtle"} | ({} if key is None else {"Idempotency-Key": key})
    return client.put("/documents", params={"graph": IRI}, content=data, headers=headers)


def test_a_key_is_answered_alike_over_a_restart_whatever_came_in_between(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine, TestClient(create_app(engine), base_url=BASE) as client:
        first = put(client, ONE, "k")
        put(client, TWO)
    with Engine.open(tmp_path) as engine, TestClient(create_app(engine), base_url=BASE) as client:
        again = put(client, ONE, "k")
        assert (again.status_code, again.content) == (first.status_code, first.content)
        assert again.headers["ETag"] == first.headers["ETag"]
        assert client.get("/documents", params={"graph": IRI}).text == TWO + "\n"
        assert put(client, TWO, "k").status_code == 422
        bulk = {"Content-Type": "application/x-ndjson", "Idempotency-Key": "k"}
        assert client.post("/documents", content=b"{}", headers=bulk).status_code == 400


@pytest.mark.parametrize("done", [False, True])
@pytest.mark.parametrize("changed", [False, True])
def test_an_interrupted_request_makes_no_second_version(tmp_path: Path, done: bool, changed: bool) -> None:
    with Engine.open(tmp_path) as engine, TestClient(create_app(engine), base_url=BASE) as client:
        put(client, TWO)
        kept = client.app.state.service.kept  # type: ignore[attr-defined]
        ended = kept.end
        kept.end = lambda *_: None  # what a crash leaves
        if done:
            put(client, ONE, "k")
        else:
            kept.begin("", "k", _digest(client), engine.serving.progress().position)
        if changed:
            put(client, '<a:s> <a:p> "3" .')
        kept.end = ended
        kept._running.clear()
        again = put(client, ONE, "k")
        versions = engine.serving.state(IRI)
        assert versions is not None
        if changed:
            assert again.status_code == 409
        else:
            assert (again.status_code, versions.version) == (200, 2)


def test_what_an_interrupted_request_has_added_already_is_added_again_for_nothing(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine, TestClient(create_app(engine), base_url=BASE) as client:

        def post(data: str) -> httpx.Response:
            headers = {"Content-Type": "text/turtle", "Idempotency-Key": data}
            return client.post("/documents", params={"graph": IRI}, content=data, headers=headers)

        put(client, TWO)
        kept = client.app.state.service.kept  # type: ignore[attr-defined]
        ended = kept.end
        kept.end = lambda *_: None  # what a crash leaves
        done, third = post(ONE), '<a:s> <a:p> "3" .'
        kept.begin("", third, _digest(client, "POST", third), engine.serving.progress().position)
        kept.end = ended
        kept._running.clear()
        assert (done.status_code, post(ONE).status_code) == (200, 200)
        assert post(third).status_code == 200
        state = engine.serving.state(IRI)
        assert state is not None
        assert state.version == 3
        assert client.get("/documents", params={"graph": IRI}).text == '<a:s> <a:p> "1" , "2" , "3" .\n'
        kept.begin("", "4", _digest(client, "POST", "4"), 1)
        kept._running.clear()
        assert post("4").status_code == 422


def _digest(client: TestClient, method: str = "PUT", data: str = ONE) -> bytes:
    return hashlib.sha256("\0".join((method, IRI, "text/turtle")).encode() + data.encode()).digest()


def test_keys_end_are_of_an_owner_and_one_at_a_time(tmp_path: Path) -> None:
    now = [1000.0]
    kept = KeptAnswers(tmp_path, 60.0, lambda: now[0])
    assert kept.begin("ada", "k", b"r", 7) is None
    with pytest.raises(Problem):
        kept.begin("ada", "k", b"r", 8)
    assert kept.begin("bob", "k", b"other", 8) is None
    kept.end("ada", "k", KeptAnswer(200, "{}", b"body"))
    kept.end("bob", "k", None)
    assert kept.begin("ada", "k", b"r", 9) == KeptAnswer(200, "{}", b"body")
    assert kept.begin("bob", "k", b"new", 9) is None
    kept.close()
    kept = KeptAnswers(tmp_path, 60.0, lambda: now[0])
    assert kept.begin("bob", "k", b"new", 11) == Unfinished(9)
    now[0] += 61
    assert kept.begin("ada", "k", b"another", 12) is None
    kept.close()


def test_threads_with_one_key_do_it_once(client: TestClient, engine: Engine) -> None:
    statuses: list[int] = []
    threads = [threading.Thread(target=lambda: statuses.append(put(client, ONE, "k").status_code)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert set(statuses) <= {201, 409}
    assert 201 in statuses


def test_the_bytes_of_kept_answers_are_bounded() -> None:
    kept = KeptAnswers(None, 3600.0, most_bytes=1 << 20)
    answer = KeptAnswer(200, "{}", b"x" * 10_000)
    for number in range(1_000):
        assert kept.begin("ada", str(number), b"r", number) is None
        kept.end("ada", str(number), answer)
        assert kept._used() < 5 << 18
    assert kept.begin("ada", "999", b"r", 1_000) == answer
    assert kept.begin("ada", "940", b"r", 1_000) == answer
    assert kept.begin("ada", "0", b"r", 1_000) is None
    kept.close()
