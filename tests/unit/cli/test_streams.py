"""Exit codes and messages when a stream is closed, full or broken, and after an interrupt."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

MATCH = [sys.executable, "-m", "triplecast.cli", "match", "--subscriptions", "a.rq", "--publications", "p"]
LINES = 600
ONE_MATCH = 32
"""Fewer bytes than any line of a match has."""


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """More matches than a pipe or a buffer holds."""
    desk = tmp_path_factory.mktemp("desk")
    (desk / "a.rq").write_text("SELECT ?s WHERE { ?s <a:b> ?o }")
    (desk / "p").mkdir()
    lines = (
        f'{{"id":"http://e/{i:0300}","media_type":"text/turtle","data":"<a:s> <a:b> {i}."}}\n' for i in range(LINES)
    )
    (desk / "p" / "a.jsonl").write_text("".join(lines))
    (desk / "p" / "b.ttl").write_text("wrong")
    return desk


def test_a_reader_that_goes_away_is_141_without_a_word(desk: Path) -> None:
    with subprocess.Popen(MATCH, cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(ONE_MATCH)
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141


def heed_interrupts() -> None:
    """Background jobs of a shell ignore them, and their children do."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_is_130_and_one_line(desk: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(MATCH, cwd=desk, stdout=pipe, stderr=pipe, preexec_fn=heed_interrupts) as process:
        assert process.stdout
        assert process.stderr
        assert process.stdout.read(ONE_MATCH)
        process.send_signal(signal.SIGINT)
        process.stdout.read()
        assert process.stderr.read() == b"triplecast match: interrupted\n"
    assert process.returncode == 130


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_a_full_disk_under_stdout_is_2_and_one_line(desk: Path) -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(MATCH, cwd=desk, stdout=full, stderr=subprocess.PIPE, timeout=300, check=False)
    assert done.returncode == 2
    assert done.stderr.startswith(b"triplecast match: [Errno 28]")
    assert done.stderr.count(b"\n") == 1


def in_shell(redirected: str, *command: str) -> list[str]:
    return ["sh", "-c", f'exec "$@" {redirected}', "sh", *command]


def test_a_closed_stderr_drops_what_would_go_there_and_nothing_else(desk: Path) -> None:
    done = subprocess.run(in_shell("2>&-", *MATCH, "--json"), cwd=desk, capture_output=True, timeout=300, check=False)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert len(lines) == LINES
    assert lines[0].startswith(b'{"publication"')


def test_matches_that_a_closed_stdout_cannot_take_are_2(desk: Path) -> None:
    done = subprocess.run(in_shell(">&-", *MATCH, "--json"), cwd=desk, capture_output=True, timeout=300, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith(b"triplecast match: stdout is closed; redirect it")


@pytest.mark.parametrize("locale", [{"PYTHONIOENCODING": "ascii"}, {"LC_ALL": "POSIX", "PYTHONUTF8": "0"}])
def test_names_that_no_encoding_or_terminal_takes_are_escaped(tmp_path: Path, locale: dict[str, str]) -> None:
    for folder, name, text in (
        ("subscriptions", b"d\xff\x1b]0;x\x07\xe2\x80\xae\n.rq", "SELECT ?o WHERE { ?s <a:b> ?o }"),
        ("publications", b"\xff\x1b[2J\n.ttl", "wrong"),
        ("publications", "é.ttl".encode(), "<a:s> <a:b> 'é\x9b'."),
        ("publications", b"\x1b.csv", ""),
    ):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / os.fsdecode(name)).write_text(text, "utf-8")
    asked = [*MATCH[:4], "--subscriptions", "subscriptions", "--publications", "publications"]
    environment = {**os.environ, "PYTHONCOERCECLOCALE": "0", **locale}
    for more in ([], ["--json"]):
        done = subprocess.run([*asked, *more], cwd=tmp_path, capture_output=True, env=environment, timeout=300)
        assert done.returncode == 1, done.stderr
        assert not any(byte < 32 for byte in (done.stdout + done.stderr).replace(b"\n", b""))
        assert not any(c in done.stdout.decode() for c in "\x9b\u202e")
        assert "é" in done.stdout.decode("utf-8")
        if more:
            (row,) = map(json.loads, done.stdout.splitlines())
            assert row["subscription"] == "d\\xff\x1b]0;x\x07\u202e\n.rq"
            assert row["answer"]["results"]["bindings"] == [{"o": {"type": "literal", "value": "é\x9b"}}]
        else:
            assert b"  d\\xff\\u001B]0;x\\u0007\\u202E\\u000A.rq  " in done.stdout
            told = done.stderr.decode()
            assert "skipped a file (an unknown extension, a link or a pipe): \\u001B.csv\n" in told
            assert "rejected \\xff\\u001B[2J\\u000A.ttl:1:" in told
