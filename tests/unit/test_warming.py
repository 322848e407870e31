"""Kernels are compiled in a child, once, and who waits for it is told and may leave."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

import triplecast.kernels
from triplecast import warming

SLEEP = (sys.executable, "-c", "import time; time.sleep(600)")
ENDS = (sys.executable, "-c", "import time; time.sleep(0.3)")
FAILS = (sys.executable, "-c", "raise SystemExit(1)")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(triplecast.kernels, "CACHE_FOLDER", tmp_path)
    monkeypatch.setattr(warming, "_TOLD_AFTER", 0.1)
    return tmp_path


def test_a_compile_is_told_once_and_never_again(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_COMMAND", ENDS)
    told: list[str] = []
    for _ in range(2):
        warming.compile_kernels(told.append)
    assert told == ["compiling kernels (once; one or two minutes) ..."]
    assert (cache / warming.MARK).exists()


def test_who_is_stopped_leaves_at_once(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_COMMAND", SLEEP)
    began = time.monotonic()
    warming.compile_kernels(lambda text: None, lambda: time.monotonic() - began > 0.2)
    assert time.monotonic() - began < 60
    assert not (cache / warming.MARK).exists()


def test_a_failed_child_leaves_no_mark(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warming, "_COMMAND", FAILS)
    warming.compile_kernels(lambda text: None)
    assert not (cache / warming.MARK).exists()
