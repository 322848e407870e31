"""Local repositories and replicas follow a service: logs by parts, snapshots by ranges, owners apart."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event

import httpx
import pytest

from tests.properties.replicas import Parts, run
from tests.unit.service.conftest import BASE, service_of
from tests.unit.service.served import served
from tests.unit.service.test_access import bearer
from triplecast import EgressFailed, Engine, LocalRepository, Replica, ReplicaWritten, StorageFault
from triplecast.client.log_client import LogClient
from triplecast.errors import ServiceRefused
from triplecast.journal import JournalFile
from triplecast.local import FolderProvider, HttpProvider, promote
from triplecast.local.record_log import LogGap
from triplecast.service import patches
from triplecast.service.tokens import add_token, read_tokens

E = "https://example.org/"
TITLED = "SELECT ?s { ?s dct:title ?t }"


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "provider") as engine:
        publish(engine, "one")
        yield engine


def publish(engine: Engine, name: str, title: str = "A") -> None:
    engine.publish(f'<{E}{name}> <http://purl.org/dc/terms/title> "{title}", [] .', "text/turtle", f"{E}{name}")


def test_a_slow_follower_keeps_nobody_else_waiting(provider: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    began, ended = Event(), Event()
    changes = FolderProvider.changes

    def wait(log: FolderProvider, owner: str, after: int, id: str) -> Iterator[bytes]:
        if owner == "slow":
            began.set()
            assert ended.wait(60)
        return changes(log, owner, after, id)

    monkeypatch.setattr(FolderProvider, "changes", wait)
    with served(provider) as url, httpx.Client(base_url=url, timeout=30) as client, ThreadPoolExecutor(20) as threads:
        slow = [threads.submit(client.get, "/followers/slow/log?after=0&id=") for _ in range(20)]
        assert began.wait(30)
        answers = [client.get(path) for path in ("/log", "/followers/b/snapshot", "/log/records?after=9&id=")]
        ended.set()
        assert [each.status_code for each in answers] == [200, 200, 410]
        assert {each.result().status_code for each in slow} <= {200, 410}


def titles(repository: LocalRepository | Engine) -> list[str]:
    return sorted(row["t"].value for row in repository.query("SELECT ?t { ?s dct:title ?t FILTER isLiteral(?t) }"))


def test_a_local_repository_follows_a_service_also_after_restarts(tmp_path: Path, provider: Engine) -> None:
    with served(provider) as url:
        with LocalRepository.open(tmp_path / "local", url) as repository:
            assert repository.subscribe(TITLED, "titled").id == f"{repository.owner}/titled"
            with pytest.raises(Exception, match="is in use"):
                repository.subscribe(TITLED, "titled")
            assert [*repository.subscriptions()] == ["titled"]
            assert repository.sync() == provider.serving.progress().position
            assert (titles(repository), repository.behind, repository.undecided()) == (["A"], 0, [])
            publish(provider, "two", "B")
            provider.remove(f"{E}one")
            assert repository.behind == 2
            repository.sync()
            assert titles(repository) == ["B"]
            browse = repository.browse()
            assert browse.describe(f"{E}two").startswith(f"<{E}two> ")
            assert browse.instances(f"{E}C") == []
        port = httpx.URL(url).port
    with LocalRepository.open(tmp_path / "local") as repository:
        assert titles(repository) == ["B"]
        with pytest.raises(EgressFailed, match="see whether it runs"):
            repository.sync()
        publish(provider, "three", "C")
        with served(provider, port):
            repository.sync()
            assert titles(repository) == ["B", "C"]
            repository.unsubscribe("titled")
            repository.sync()
            assert titles(repository) == []


def test_a_replica_follows_a_service_refuses_writes_and_takes_over(
    tmp_path: Path, provider: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(patches, "PAGE_BYTES", 500)
    provider.subscribe(TITLED, "titled", scope="repository", lease=3600)
    for number in range(8):
        publish(provider, f"n{number % 3}", str(number))
    with served(provider) as url:
        with Replica.open(tmp_path / "replica", url) as replica:
            assert replica.sync() == provider.serving.progress().position
            assert [each.json for each in replica.engine.notifications()] == [
                each.json for each in provider.notifications()
            ]
            with pytest.raises(ReplicaWritten, match=url):
                publish(replica.engine, "x")
        with LocalRepository.open(tmp_path / "local", tmp_path / "replica") as repository:
            repository.subscribe(TITLED, "mine")  # at the service, which writes
            assert len([*provider.subscriptions(repository.owner)]) == 1
            with Replica.open(tmp_path / "replica", url) as replica:
                replica.sync()
            repository.sync()
            assert titles(repository) == ["5", "6", "7", "A"]
    promote(tmp_path / "replica")
    with Engine.open(tmp_path / "replica") as engine:
        publish(engine, "x")
    with JournalFile.read_only(tmp_path / "replica") as journal:
        journal.check()


def test_another_history_is_a_gap(tmp_path: Path, provider: Engine) -> None:
    with served(provider) as url:
        found = HttpProvider(url)
        with pytest.raises(LogGap):
            next(found.records(1, "another", 0, 0))
        with pytest.raises(LogGap):
            next(found.changes("local-1", 1, "another"))
        found.close()


def test_owners_are_apart_and_records_are_the_administrators(tmp_path: Path, provider: Engine) -> None:
    path = tmp_path / "tokens"
    ada, bob = (add_token(path, owner, ["subscribe", "read"]) for owner in ("ada", "bob"))
    root, reader = add_token(path, "root", ["admin"]), add_token(path, "ada", ["read"])
    provider.subscribe(TITLED, "ada/local-1/of bob", owner="bob", scope="repository")
    sent = {"subscriptions": [{"id": "titled", "text": TITLED}]}
    with service_of(provider, tokens=read_tokens(path), hosts=frozenset()) as client:

        def ask(token: str, path: str, method: str = "GET", **more: object) -> httpx.Response:
            return client.request(method, path, headers=bearer(token), **more)  # type: ignore[arg-type]

        place = "/followers/local-1/subscriptions"
        assert ask(reader, place, "POST", json=sent).status_code == 403
        (outcome,) = ask(ada, place, "POST", json=sent).json()["outcomes"]
        assert outcome["id"] == "titled"
        assert [each.id for each in provider.subscriptions("ada/local-1")] == ["ada/local-1/titled"]
        for id in ("..", "a/../b", "a/delivery"):  # which has no address of its own
            assert ask(ada, place, "POST", json={"subscriptions": [{"id": id, "text": TITLED}]}).status_code == 400
        assert ask(bob, place).json() == {"subscriptions": []}
        provider.subscribe(TITLED, "elsewhere", owner="ada/local-1", scope="repository")
        assert len(ask(ada, place).json()["subscriptions"]) == 1
        assert ask(ada, place).json()["subscriptions"][0]["text"] == TITLED
        for id in ("of bob", "nothing"):
            assert ask(ada, place, "POST", json={"ended": [id]}).status_code == 404
        assert b"example" in ask(ada, "/followers/local-1/snapshot").content
        assert b"example" not in ask(bob, "/followers/local-1/snapshot").content
        records = "/log/records?after=0&id=x"
        assert [ask(each, records).status_code for each in (ada, root)] == [403, 410]
        assert ask(ada, "/followers/a%2Fb/digests").status_code in (404, 422)
        assert client.get("/log").status_code == 401


def test_an_engine_in_memory_has_no_log(client: httpx.Client) -> None:
    for path in ("/log", "/log/records?after=0&id=x", "/log/description?resource=urn:a", "/followers/a/digests"):
        assert client.get(path).status_code == 404, path


class _Cutting(httpx.BaseTransport):
    """Breaks each answer off after some bytes."""

    def __init__(self, app: httpx.Client, most: int) -> None:
        self._app = app
        self.most = most
        self.requests: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.requests.append(request)
        found = self._app.request(
            request.method, str(request.url), headers=dict(request.headers), content=request.read()
        )

        stream = Parts([found.content[: self.most]], breaks=len(found.content) > self.most)
        return httpx.Response(found.status_code, headers=found.headers, stream=stream)


def test_what_breaks_off_goes_on(tmp_path: Path, provider: Engine) -> None:
    for number in range(30):
        publish(provider, f"n{number}", "x" * 50)
    with service_of(provider) as app:
        cutting = _Cutting(app, 3000)
        client = LogClient(BASE, transport=cutting, sleep=lambda _: None)
        with LocalRepository.open(tmp_path / "local", HttpProvider(BASE, client=client)) as repository:
            repository.subscribe(TITLED)
            repository.sync()
            assert len(titles(repository)) == 31
            assert any("range" in each.headers for each in cutting.requests)
            for number in range(30):
                publish(provider, f"n{number}", "y" * 50)
            cutting.requests = []
            repository.sync()
            assert titles(repository) == ["A", *["y" * 50] * 30]
            assert sum(each.url.path.endswith("/log") for each in cutting.requests) > 3
            cutting.most = 0
            with pytest.raises(EgressFailed):
                repository.sync()


def test_a_service_that_is_another_is_named(tmp_path: Path) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, json={"hello": 1})

    client = LogClient(BASE, transport=httpx.MockTransport(answer))
    with pytest.raises(StorageFault, match="see whether a Triplecast"):
        HttpProvider(BASE, client=client).position()
    deep = LogClient(BASE, transport=httpx.MockTransport(lambda _: httpx.Response(200, content=b"[" * 100_000)))
    with pytest.raises(StorageFault, match="see whether a Triplecast"):
        HttpProvider(BASE, client=deep).position()
    refusing = LogClient(BASE, transport=httpx.MockTransport(lambda _: httpx.Response(503)), sleep=lambda _: None)
    with pytest.raises(ServiceRefused):
        HttpProvider(BASE, client=refusing).position()


def test_runs_of_replica_and_local_repositories_over_connections_that_break(seed: int) -> None:
    for number in range(2):
        run(seed, number, steps=30, over_http=True)


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_transactions_are_whole_wherever_their_text_is_cut(size: int) -> None:
    first, second = b'H id <urn:1> .\nTX .\nA <a:s> <a:p> "TC ." <a:g> .\nTC .\n', b"TX .\nTC .\n"
    text = first + second + b"TX .\nA <a:s>"
    parts = [text[at : at + size] for at in range(0, len(text), size)]
    answer = httpx.MockTransport(lambda _: httpx.Response(200, stream=Parts(parts)))
    assert [*LogClient(BASE, transport=answer).log("log/records")] == [first, second]


def test_a_snapshot_that_is_another_one_is_taken_from_its_beginning() -> None:
    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        if len(sent) == 1:
            return httpx.Response(200, headers={"ETag": '"one"'}, stream=Parts([b"old "], breaks=True))
        return httpx.Response(200, headers={"ETag": '"two"'}, stream=Parts([b"new"]))

    assert LogClient(BASE, transport=httpx.MockTransport(answer)).snapshot("local-1", [1, 2]) == b"new"
    assert (sent[1].headers["Range"], sent[1].headers["If-Range"]) == ("bytes=4-", '"one"')
    assert sent[1].url.params.get_list("bucket") == ["1", "2"]
