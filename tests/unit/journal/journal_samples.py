"""Small drafts, a clock that a test steps, and a process to kill."""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from triplecast.model.publication import Draft


def draft(graph: str, content: str, labels: str = "none", dataset: bool = False) -> Draft:
    quads = f'<https://example.org/{graph}> <https://example.org/says> "{content}" .\n'.encode()
    return Draft(f"https://example.org/{graph}", quads, hashlib.sha256(quads).digest(), labels, dataset)


@dataclass
class StepClock:
    """Microseconds since 1970, moved by hand."""

    now: int = 1_800_000_000_000_000

    def __call__(self) -> int:
        return self.now


def run_and_crash(script: str, folder: Path, point: str, hit: int, log: Path) -> bool:
    """Runs `script` with `folder` as argument, armed to die at a hit of `point`; True when it died there."""
    before = log.read_text().count("\n") if log.exists() else 0
    armed = {"TRIPLECAST_CRASH": f"{point}:{hit}", "TRIPLECAST_CRASH_LOG": str(log)}
    ended = subprocess.run(
        [sys.executable, "-c", script, str(folder)],
        env={**os.environ, **armed},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr
    died = ended.returncode != 0
    assert died == (log.exists() and log.read_text().count("\n") == before + 1)
    return died
