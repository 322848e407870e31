"""Ctrl-C, at any moment of `triplecast run`: it ends in order, soon, and says what was done."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from tests.chaos import children, in_flight
from tests.spark.workplace import Workplace
from triplecast.errors import TriplecastError
from triplecast.outbox import Outbox

pytestmark = [pytest.mark.spark, pytest.mark.slow]

PATIENCE = 120.0
"""Seconds for something to happen on a busy machine."""

SOON = 60.0
"""Seconds that the end may take on a busy machine; on a quiet one it takes less than two."""


def interrupted(
    place: Workplace, moment: Callable[[int], bool], once: bool = True, number: signal.Signals = signal.SIGINT
) -> tuple[dict[str, object], int, float]:
    """A run that gets a signal at `moment`, which is asked with its process id: its summary, exit code, and the seconds
    it still took.
    """
    command = [sys.executable, "-m", "triplecast.cli", "run", *["--once"] * once, "--json"]
    paths = ["--subscriptions", place.subscriptions, "--inbox", place.inbox, "--output", place.output]
    process = subprocess.Popen([*command, *paths], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + PATIENCE
    while not moment(process.pid):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    started = children(process.pid, "java")
    process.send_signal(number)
    began = time.monotonic()
    out, err = process.communicate(timeout=PATIENCE)
    took = time.monotonic() - began
    assert err == b"" or (not once and err.startswith(b"watching "))
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()], "the JVM is left behind"
    return json.loads(out), process.returncode, took


def matched(place: Workplace) -> int:
    """How far the outbox has come."""
    with suppress(TriplecastError), Outbox.read_only(place.output) as outbox:
        return outbox.told
    return 0


def test_while_the_jvm_starts(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    place.fill(20)
    summary, code, took = interrupted(place, lambda pid: bool(children(pid, "java")))
    assert (summary["interrupted"], summary["publications"], code) == (True, 0, 130)
    assert took < SOON


def test_while_a_batch_is_in_flight(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    place.fill(40)
    summary, code, took = interrupted(place, lambda pid: in_flight(pid, place))
    assert summary["accepted"] == 40
    assert summary["publications"] in (0, 40)
    assert (summary["left"], code) == ((40, 130) if summary["publications"] == 0 else (0, 0))
    assert len(place.outbox()) == summary["matches"]
    assert took < SOON


def test_a_run_that_follows_ends_well_when_it_is_told_to(tmp_path: Path) -> None:
    place = Workplace(tmp_path, {"nothing.rq": "ASK { ?s <http://e/nothing> ?o }"})
    place.fill(5)
    summary, code, _ = interrupted(place, lambda pid: matched(place) >= 5, once=False, number=signal.SIGTERM)
    assert (summary["publications"], summary["matches"], code) == (5, 0, 0)
