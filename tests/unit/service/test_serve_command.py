"""`triplecast serve` as a process: it starts, answers, ends in order, and loses nothing by kill -9."""

from __future__ import annotations

import re
import resource
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.properties import service_kills
from tests.properties.service_kills import Served, check_kills
from triplecast import Engine
from triplecast.cli import main
from triplecast.cli.serve import SCOPES as OFFERED
from triplecast.service.settings import SCOPES

TURTLE = {"Content-Type": "text/turtle"}


def put(client: httpx.Client, number: int, text: str) -> httpx.Response:
    content = f'<https://e.org/{number}> <https://e.org/p> "{text}" .'
    return client.put(f"/documents?graph=https://e.org/{number}", content=content, headers=TURTLE)


def test_all_scopes_are_offered() -> None:
    assert OFFERED == SCOPES


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_ends_in_order(tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "told"))
        systemd.settimeout(60)
        monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "told"))
        served = Served(tmp_path / "folder")
        assert systemd.recv(100) == b"READY=1"
    with httpx.Client(base_url=served.url, trust_env=False, timeout=120) as client:
        assert put(client, 1, "one").status_code == 201
        assert client.get("/readyz").json()["position"] == 1
    assert served.end(number) == 0
    with Engine.open(tmp_path / "folder") as engine:
        assert engine.serving.state("https://e.org/1") is not None


def test_connections_that_say_nothing_take_no_descriptor_that_is_needed(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2_000:
        pytest.skip("this machine grants too few descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        served = Served(tmp_path / "folder")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    with ExitStack() as opened, httpx.Client(base_url=served.url, trust_env=False, timeout=120) as client:
        for _ in range(300):
            opened.enter_context(socket.create_connection(("127.0.0.1", httpx.URL(served.url).port or 0)))
        assert put(client, 1, "one").status_code == 201
    assert served.end(signal.SIGTERM) == 0


def test_what_was_acknowledged_survives_kills(tmp_path: Path, seed: int) -> None:
    assert check_kills(1, tmp_path / "folder", seed).acknowledged > 5


def test_a_run_that_fails_ends_its_server_before_its_folder_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[Served] = []

    def fail(url: str) -> list[str]:
        raise AssertionError(url)

    class Noted(Served):
        def __init__(self, *arguments: Any, **options: Any) -> None:
            super().__init__(*arguments, **options)
            started.append(self)

    monkeypatch.setattr(service_kills, "_all_told", fail)
    monkeypatch.setattr(service_kills, "Served", Noted)
    with pytest.raises(AssertionError, match="http"):
        check_kills(0, tmp_path / "folder", 1)
    assert [each.code(0) for each in started] == [-signal.SIGKILL]


def test_a_server_that_does_not_start_says_how_it_ended(tmp_path: Path) -> None:
    (tmp_path / "folder").write_text("")
    with pytest.raises(AssertionError, match="ended with 2: triplecast serve: "):
        Served(tmp_path / "folder")


def test_other_machines_are_served_with_tokens_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, tokens = str(tmp_path / "folder"), str(tmp_path / "tokens")
    assert main(["serve", folder, "--host", "0.0.0.0"]) == 2
    assert "triplecast token" in capsys.readouterr().err
    monkeypatch.setenv("TRIPLECAST_HOST", "0.0.0.0")
    assert main(["serve", folder]) == 2
    assert not (tmp_path / "folder").exists()
    capsys.readouterr()
    assert main(["token", tokens, "--owner", "ada", "--scope", "read", "publish"]) == 0
    token = capsys.readouterr().out.strip()
    assert re.fullmatch(r"[\w.]{43}", token)
    served = Served(tmp_path / "folder", "--token-file", tokens)
    url = served.url.replace("0.0.0.0", "127.0.0.1")
    with httpx.Client(base_url=url, trust_env=False, timeout=120) as client:
        assert client.get("/metrics").status_code == 401
        assert client.get("/metrics", headers={"Authorization": f"Bearer {token}"}).status_code == 200
    assert served.end(signal.SIGTERM) == 0


def test_a_missing_extra_is_a_message(tmp_path: Path) -> None:
    code = (
        "import importlib.util as u, sys\n"
        "found = u.find_spec\n"
        "u.find_spec = lambda name, *rest: None if name == 'fastapi' else found(name, *rest)\n"
        "from triplecast.cli import main\n"
        f"sys.exit(main(['serve', {str(tmp_path / 'folder')!r}]))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ran.returncode, "pip install '.[service]'" in ran.stderr) == (2, True)


def test_importing_triplecast_loads_nothing_that_serves() -> None:
    names = ("fastapi", "uvicorn", "httpx", "prometheus_client")
    code = f"import sys, triplecast, triplecast.cli; print([m for m in {names} if m in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
