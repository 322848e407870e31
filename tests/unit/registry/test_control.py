"""The control socket: what it answers, and what it stands from clients that send garbage, too much or nothing."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.desk import Desk
from triplecast import Engine, FolderLocked, InputError
from triplecast.model.subscription import FILES, Subscription
from triplecast.registry import control
from triplecast.registry.control import ControlServer
from triplecast.registry.control_client import open_reading, open_requests

QUERY = "SELECT ?a { ?a <http://e/p> 1 }"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "folder")
    yield desk
    desk.close()


def test_a_subscription_comes_is_renewed_listed_and_goes(desk: Desk) -> None:
    wanted = [{"id": "a", "text": QUERY, "owner": "ada"}, {"text": QUERY}, {"text": "SELECT"}, {"id": "b"}, 7]
    outcomes = desk.ask(request="subscribe", subscriptions=wanted, lease=3600)["outcomes"]
    assert [each.get("id") for each in outcomes] == ["a", "subscription-1", None, None, None]
    assert outcomes[2]["line"] == 1
    assert outcomes[3]["error"] == "subscriptions[3] b: has no field 'text'"
    assert len(outcomes[0]["ticket"]) == 43
    listed = desk.ask(request="list")
    assert [(each["id"], each["source"], each["owner"]) for each in listed["subscriptions"]] == [
        ("a", "api", "ada"),
        ("subscription-1", "api", None),
    ]
    assert listed["after"] is None
    assert [each["id"] for each in desk.ask(request="list", owner="ada")["subscriptions"]] == ["a"]
    assert desk.ask(request="renew", id="a", lease="forever") == {"expires": None}
    assert "does not belong" in desk.ask(request="unsubscribe", id="a", ticket="x")["error"]
    position = desk.ask(request="unsubscribe", id="a", ticket=outcomes[0]["ticket"])["position"]
    status = desk.ask(request="status")
    assert (status["subscriptions"], status["position"], status["sequence"]) == (1, position, 0)
    assert desk.ask(request="prune", sequence=0) == {"pruned": 0}


def test_what_belongs_to_the_files_stays_and_an_owner_has_one_quota(desk: Desk) -> None:
    desk.journal.subscribe([Subscription("a.rq", QUERY)], source=FILES)
    assert "belongs to the subscription files" in desk.ask(request="unsubscribe", id="a.rq")["error"]
    (outcome,) = desk.ask(request="subscribe", subscriptions=[{"id": "a.rq", "text": QUERY}])["outcomes"]
    assert "in use by a subscription of the subscription files" in outcome["error"]
    broad = [{"id": f"b{n}", "text": "ASK { ?s ?p ?o }"} for n in range(3)]
    outcomes = desk.ask(request="subscribe", subscriptions=broad)["outcomes"]
    assert ["error" in each for each in outcomes] == [False, False, True]


def test_a_list_comes_in_pages(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecast.registry.requests.PAGE", 3)
    desk.journal.subscribe([Subscription(f"s{n}", QUERY) for n in range(10)])
    desk.journal.cancel([4])
    found: list[str] = []
    after: int | None = 0
    while after is not None:
        page = desk.ask(request="list", after=after)
        found += [each["id"] for each in page["subscriptions"]]
        after = page["after"]
    assert found == [f"s{n}" for n in range(10) if n != 3]


@pytest.mark.parametrize(
    "line",
    [
        b"\n",
        b"hello\n",
        b"\xff\xfe\x00\n",
        b"[1]\n",
        b"[" * 100_000 + b"\n",
        b'{"request": "fly"}\n',
        b'{"request": ["list"]}\n',
        b'{"request": "unsubscribe"}\n',
        b'{"request": "unsubscribe", "id": "\\ud800"}\n',
        b'{"request": "subscribe", "subscriptions": 1}\n',
        b'{"request": "subscribe", "subscriptions": [], "lease": [1]}\n',
        b'{"request": "subscribe", "subscriptions": [], "lease": -1}\n',
        b'{"request": "renew", "id": "x", "lease": 1e308}\n',
        b'{"request": "list", "after": -1}\n',
        b'{"request": "list", "after": 1e30}\n',
        b'{"request": "prune"}\n',
        b'{"request": "prune", "sequence": true}\n',
    ],
)
def test_garbage_is_answered_with_an_error_and_changes_nothing(desk: Desk, line: bytes) -> None:
    head = desk.journal.head()
    answer = desk.send(line)
    assert answer.get("error") or answer == {"outcomes": []}
    assert desk.ask(request="status")["position"] == head


def test_a_line_without_end_is_refused_and_others_are_served(desk: Desk) -> None:
    with closing(desk.connect()) as client, client.makefile("rb") as answers:
        try:
            for _ in range(40):
                client.sendall(b"x" * (1 << 20))
        except OSError:
            pass
        else:
            assert b"more than" in answers.readline()
    assert desk.ask(request="status")["subscriptions"] == 0


def test_clients_that_stall_harm_nobody(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "STALL_SECONDS", 0.2)
    desk.journal.subscribe([Subscription(f"s{n}", QUERY + " # " + "x" * 5000) for n in range(500)])
    silent = [desk.connect() for _ in range(control.CLIENTS + 5)]
    half = desk.connect()
    half.sendall(b'{"request": "sta')
    deaf = desk.connect()
    deaf.sendall(b'{"request": "list"}\n' * 20)
    for _ in range(50):
        assert desk.ask(request="status")["subscriptions"] == 500
    half.sendall(b'tus"}\n')
    for client in (*silent, half, deaf):
        client.close()


def test_the_socket_is_this_users_alone_and_goes_with_its_server(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    assert stat.S_IMODE(os.stat(tmp_path / "control.sock").st_mode) == 0o600
    desk.close()
    assert not (tmp_path / "control.sock").exists()


def test_a_folder_with_a_long_path_has_its_socket_elsewhere(tmp_path: Path) -> None:
    desk = Desk(tmp_path / ("long" * 30))
    assert len(os.fsencode(desk.server.address)) <= control.PATH_BYTES
    assert stat.S_IMODE(desk.server.address.parent.stat().st_mode) == 0o700
    with open_requests(desk.folder) as ask:
        assert ask({"request": "status"})["subscriptions"] == 0
    desk.close()


def test_a_request_finds_the_run_the_folder_or_who_else_has_it(tmp_path: Path) -> None:
    wanted = {"request": "subscribe", "subscriptions": [{"id": "a", "text": QUERY}]}
    with open_requests(tmp_path) as ask:
        ask(wanted)
    desk = Desk(tmp_path)
    with open_requests(tmp_path) as ask:
        assert ask({"request": "status"})["subscriptions"] == 1
        with pytest.raises(InputError, match="no live subscription 'b'"):
            ask({"request": "unsubscribe", "id": "b"})
    with pytest.raises(FolderLocked) as locked:
        Engine.open(tmp_path)
    assert "control" not in str(locked.value)
    desk.close()
    with Engine.open(tmp_path) as engine:
        with pytest.raises(FolderLocked), open_requests(tmp_path):
            pass
        engine.unsubscribe("a")


KILLED = """
import os, signal, sys
from pathlib import Path
from tests.unit.registry.test_control import Desk
desk = Desk(Path(sys.argv[1]))
print("up", flush=True)
sys.stdin.readline()
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_socket_of_a_killed_process_is_stale(tmp_path: Path) -> None:
    root = Path(__file__).resolve().parents[3]
    run = [sys.executable, "-c", KILLED, str(tmp_path)]
    with subprocess.Popen(run, cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        with open_requests(tmp_path) as ask:  # another process than this one has the folder
            ask({"request": "subscribe", "subscriptions": [{"id": "a", "text": QUERY}]})
        process.stdin.write("\n")
        process.stdin.flush()
        process.wait(60)
    assert (tmp_path / "control.sock").exists()
    with open_requests(tmp_path) as ask:
        request: Mapping[str, object] = {"request": "unsubscribe", "id": "a"}
        assert "position" in ask(request)
    desk = Desk(tmp_path)
    assert desk.ask(request="status")["subscriptions"] == 0
    desk.close()


def test_many_that_come_at_once_are_answered_in_turn(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before, a connection lost its place to a later one before its request was read, or while it was answered."""
    monkeypatch.setattr(control, "CLIENTS", 4)
    start = threading.Barrier(150)

    def ask(_: int) -> object:
        start.wait()
        with open_reading(desk.folder) as ask:
            return ask({"request": "status"})["position"]

    with ThreadPoolExecutor(150) as threads:
        assert [*threads.map(ask, range(150))] == [desk.journal.head()] * 150


def test_a_connection_that_is_being_answered_keeps_its_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "CLIENTS", 1)
    monkeypatch.setattr(control, "SILENT_SECONDS", 0.05)
    asked, may_answer = threading.Event(), threading.Event()

    def answer(line: bytes) -> bytes:
        asked.set()
        assert may_answer.wait(30)
        return line

    server = ControlServer(tmp_path, answer)
    with closing(server), closing(connect(server)) as first:
        first.sendall(b"first\n")
        assert asked.wait(30)
        with closing(connect(server)) as second:
            second.sendall(b"second\n")
            second.settimeout(1)
            with pytest.raises(TimeoutError):
                second.recv(99)
            may_answer.set()
            assert first.recv(99) == b"first\n"
            second.settimeout(30)
            assert second.recv(99) == b"second\n"


def connect(server: ControlServer) -> socket.socket:
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(30)
    client.connect(str(server.address))
    return client


def test_reading_takes_no_lock(tmp_path: Path) -> None:
    """`status` in a cron job made `run` fail: no test read a folder and opened it at the same time."""
    with Engine.open(tmp_path) as engine:
        engine.subscribe(QUERY, id="a")
        with open_reading(tmp_path) as ask:
            assert ask({"request": "status"})["subscriptions"] == 1
            with pytest.raises(InputError, match="known are list, status"):
                ask({"request": "prune", "sequence": 1})
    with open_reading(tmp_path) as ask, Engine.open(tmp_path) as engine:
        engine.unsubscribe("a")
        assert ask({"request": "list"})["subscriptions"] == []
