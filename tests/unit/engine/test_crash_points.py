"""Crash points: every name is reached somewhere, and no other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import triplecast
from triplecast.crash_points import POINTS

REACH = """
from triplecast.crash_points import reach
for _ in range(5):
    reach('journal.appended')
    print('alive', flush=True)
"""


def run(armed: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", REACH], env={**os.environ, **armed}, capture_output=True, text=True, timeout=60
    )


def test_every_point_is_reached_in_the_sources_and_no_other() -> None:
    sources = Path(triplecast.__file__).parent.rglob("*.py")
    reached = {name for path in sources for name in re.findall(r'\breach\("([^"]+)"\)', path.read_text())}
    assert reached == set(POINTS)
    assert len(POINTS) == len(set(POINTS)) >= 12


def test_an_armed_point_kills_at_its_hit_and_logs_it(tmp_path: Path) -> None:
    log = tmp_path / "log"
    ended = run({"TRIPLECAST_CRASH": "journal.appended:3", "TRIPLECAST_CRASH_LOG": str(log)})
    assert (ended.returncode, ended.stdout) == (-signal.SIGKILL, "alive\n" * 2)
    assert log.read_text() == "journal.appended\n"
    assert run({"TRIPLECAST_CRASH": "journal.appended"}).stdout == ""


def test_a_point_may_stop_instead(tmp_path: Path) -> None:
    armed = {**os.environ, "TRIPLECAST_CRASH": "journal.appended:2:stop"}
    with subprocess.Popen([sys.executable, "-c", REACH], env=armed, stdout=subprocess.PIPE, text=True) as process:
        os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOWAIT)
        process.send_signal(signal.SIGCONT)
        assert process.stdout is not None
        assert process.stdout.read() == "alive\n" * 5


def test_other_points_and_none_do_nothing() -> None:
    assert run({"TRIPLECAST_CRASH": "journal.committed"}).stdout == "alive\n" * 5
    assert run({}).stdout == "alive\n" * 5


def test_an_unknown_point_is_an_error() -> None:
    ended = run({"TRIPLECAST_CRASH": "journal.apended"})
    assert "names no crash point: 'journal.apended'" in ended.stderr
