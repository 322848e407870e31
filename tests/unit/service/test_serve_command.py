"""`triplecast serve` as a process: it starts, answers, ends in order, and loses nothing by kill -9."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO

import httpx
import pytest

from triplecast import Engine

TURTLE = {"Content-Type": "text/turtle"}


class Served:
    """A server in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        command = [sys.executable, "-m", "triplecast", "serve", str(folder), "--port", "0", *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        assert self.process.stderr is not None
        self.lines: list[str] = []
        self.url = self._address(self.process.stderr)
        threading.Thread(target=self._drain, args=(self.process.stderr,), daemon=True).start()

    def _address(self, stream: IO[str]) -> str:
        for line in stream:
            self.lines.append(line)
            if found := re.search(r"http://\S+", line):
                return found[0]
        raise AssertionError("".join(self.lines))

    def _drain(self, stream: IO[str]) -> None:
        self.lines.extend(stream)

    def end(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(30)


def put(client: httpx.Client, number: int, text: str) -> httpx.Response:
    content = f'<https://e.org/{number}> <https://e.org/p> "{text}" .'
    return client.put(f"/documents?graph=https://e.org/{number}", content=content, headers=TURTLE)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_serves_and_ends_in_order(tmp_path: Path, number: int) -> None:
    served = Served(tmp_path / "folder")
    with httpx.Client(base_url=served.url, trust_env=False) as client:
        assert put(client, 1, "one").status_code == 201
        assert client.get("/readyz").json()["position"] == 1
    assert served.end(number) == 0
    with Engine.open(tmp_path / "folder") as engine:
        assert engine.serving.state("https://e.org/1") is not None


def test_what_was_acknowledged_survives_kills(tmp_path: Path) -> None:
    acknowledged: dict[int, str] = {}
    matched: set[str] = set()
    for life in range(3):
        served = Served(tmp_path / "folder")
        with httpx.Client(base_url=served.url, trust_env=False) as client:
            if life == 0:
                client.post(
                    "/subscriptions", json={"text": "SELECT ?o { ?s <https://e.org/p> ?o }", "lease": "forever"}
                )
            for number, text in acknowledged.items():
                read = client.get(f"/documents?graph=https://e.org/{number}")
                assert text in read.text
        writers = [threading.Thread(target=write, args=(served.url, life, each, acknowledged)) for each in range(4)]
        for each in writers:
            each.start()
        while len(acknowledged) < 40 * (life + 1):
            served.process.poll()
            assert served.process.returncode is None
        served.end(signal.SIGKILL)
        for each in writers:
            each.join()
    with Engine.open(tmp_path / "folder") as engine:
        for number in acknowledged:
            assert engine.serving.state(f"https://e.org/{number}") is not None
        told = [each.publication for each in engine.notifications()]
    matched = {*told}
    assert len(told) == len(matched)
    assert {f"https://e.org/{number}" for number in acknowledged} <= matched


def write(url: str, life: int, writer: int, acknowledged: dict[int, str]) -> None:
    with httpx.Client(base_url=url, trust_env=False) as client:
        for number in range(10_000):
            key = (life * 10 + writer) * 10_000 + number
            try:
                answer = put(client, key, f"text {key}")
            except httpx.HTTPError:
                return
            assert answer.status_code == 201
            acknowledged[key] = f"text {key}"


def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "triplecast", *arguments]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120, env={**os.environ, **variables}
    )


def test_other_machines_are_served_with_tokens_alone(tmp_path: Path) -> None:
    refused = run("serve", str(tmp_path / "folder"), "--host", "0.0.0.0")
    assert (refused.returncode, "triplecast token" in refused.stderr) == (2, True)
    assert not (tmp_path / "folder").exists()
    by_variable = run("serve", str(tmp_path / "folder"), TRIPLECAST_HOST="0.0.0.0")
    assert by_variable.returncode == 2
    tokens = str(tmp_path / "tokens")
    made = run("token", tokens, "--owner", "ada", "--scope", "read", "publish")
    assert re.fullmatch(r"[\w-]{43}\n", made.stdout)
    served = Served(tmp_path / "folder", "--host", "0.0.0.0", "--token-file", tokens)
    url = served.url.replace("0.0.0.0", "127.0.0.1")
    try:
        assert httpx.get(f"{url}/metrics", trust_env=False).status_code == 401
        headers = {"Authorization": f"Bearer {made.stdout.strip()}"}
        assert httpx.get(f"{url}/metrics", headers=headers, trust_env=False).status_code == 200
    finally:
        served.end(signal.SIGTERM)


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
