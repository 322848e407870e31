"""A process that is killed while it saves the store leaves a folder that opens with the right documents."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from triplecast import Engine
from triplecast.repository.cache import CACHE, read_cache

SAVE = """
import os, signal, sys
from triplecast import Engine
from triplecast.repository import repository

repository.SAVED_AFTER = 0
engine = Engine.open(sys.argv[1])
for number in range(40):
    lines = "".join(f"<x:{each}> <x:{sys.argv[3]}> <x:{number}> .\\n" for each in range(20))
    engine.publish(lines, media_type="application/n-triples", graph=f"https://example.org/{number}")
assert len(engine.query("SELECT * { ?s ?p ?o }")) == 800
engine._querying._repository._unsaved = 1 << 40
if sys.argv[2]:
    setattr(os, sys.argv[2], lambda *_: os.kill(os.getpid(), signal.SIGKILL))
engine._querying.close()
"""


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_kill_while_saving_leaves_the_former_file_or_none(call: str, tmp_path: Path) -> None:
    def save(killed_in: str, predicate: str) -> int:
        """The exit code of a process that publishes other documents, and saves or is killed."""
        command = [sys.executable, "-c", SAVE, str(tmp_path), killed_in, predicate]
        return subprocess.run(command, check=False).returncode

    assert save(call, "p") == -signal.SIGKILL
    assert read_cache(tmp_path / CACHE) is None
    assert len([*tmp_path.glob(f"{CACHE}.*.tmp")]) == 1
    assert save("", "q") == 0
    assert [*tmp_path.glob(f"{CACHE}.*.tmp")] == []
    saved = (tmp_path / CACHE).read_bytes()
    assert save(call, "r") == -signal.SIGKILL
    assert (tmp_path / CACHE).read_bytes() == saved
    with Engine.open(tmp_path) as engine:
        assert len(engine.query("SELECT * { ?s <x:r> ?o }")) == 800  # type: ignore[arg-type]
