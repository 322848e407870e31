"""Exit codes and messages when a stream is closed, full or broken, and after an interrupt."""

from __future__ import annotations

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


def test_an_interrupt_is_130_and_one_line(desk: Path) -> None:
    with subprocess.Popen(MATCH, cwd=desk, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
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


@pytest.mark.parametrize(("closed", "other"), [(">&-", "stderr"), ("2>&-", "stdout")])
def test_a_closed_stream_drops_what_would_go_there_and_nothing_else(desk: Path, closed: str, other: str) -> None:
    command = f'exec "$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", *MATCH, "--json"], cwd=desk, capture_output=True, timeout=300, check=False
    )
    assert done.returncode == 1
    lines = getattr(done, other).splitlines()
    assert len(lines) == (1 if other == "stderr" else LINES)
    assert lines[0].startswith(b"rejected b.ttl" if other == "stderr" else b'{"publication"')
