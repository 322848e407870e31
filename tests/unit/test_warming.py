"""Kernels are compiled in a child, once, and who waits for it is told and may leave."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

import triplecast.kernels
from triplecast import warming
from triplecast.cli import doctor

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
ENDS = (sys.executable, "-c", "import time; time.sleep(0.3)")
FAILS = (sys.executable, "-c", "raise SystemExit(1)")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triplecast.kernels, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(warming, "_TOLD_AFTER", 0.1)


def test_a_compile_is_told_once_and_never_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_COMMAND", ENDS)
    told: list[str] = []
    for _ in range(2):
        warming.compile_kernels(told.append)
    assert told == ["compiling kernels (once; one or two minutes) ..."]
    assert warming.find_mark().exists()


def test_who_is_stopped_leaves_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_COMMAND", SLEEP)
    began = time.monotonic()
    warming.compile_kernels(lambda text: None, lambda: time.monotonic() - began > 0.2)
    assert time.monotonic() - began < 60
    assert not warming.find_mark().exists()


def test_a_failed_child_leaves_no_mark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_COMMAND", FAILS)
    warming.compile_kernels(lambda text: None)
    assert not warming.find_mark().exists()


def test_what_another_installation_compiled_is_not_taken_for_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """numba would not find it: it goes by the path of the source."""
    monkeypatch.setattr(warming, "_COMMAND", ENDS)
    warming.compile_kernels(lambda text: None)
    (finding,) = doctor.check_kernels()
    assert (finding.state, finding.hint) == ("ok", "")
    monkeypatch.setattr(triplecast.kernels, "__file__", "/elsewhere/triplecast/kernels/__init__.py")
    (finding,) = doctor.check_kernels()
    assert finding.state == "limited"
    assert "python -m triplecast.warming" in finding.hint
