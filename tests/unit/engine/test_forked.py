"""A child that was forked while its parent had a folder open neither keeps the lock nor harms what others write.

No earlier test saw this: each child ended at once, by `os._exit`, while its parent had the folder. Tests whose child
outlives its parent's engine, and ends as a program does, see it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from triplecast import Engine, FolderLocked
from triplecast.journal.writer_lock import WriterLock


@contextmanager
def idle_child() -> Iterator[None]:
    """A forked child that waits until the block ends."""
    waits, go = os.pipe()
    if (child := os.fork()) == 0:
        os.close(go)
        os.read(waits, 1)
        os._exit(0)
    os.close(waits)
    try:
        yield
    finally:
        os.close(go)
        assert os.waitpid(child, 0)[1] == 0


def test_an_idle_child_keeps_no_lock(tmp_path: Path) -> None:
    engine = Engine.open(tmp_path)
    with idle_child():
        with pytest.raises(FolderLocked, match="it is this very process"):
            Engine.open(tmp_path)
        engine.close()
        with Engine.open(tmp_path) as again, idle_child():
            again.publish("<urn:a> <urn:b> 1 .", "text/turtle")


def test_a_copy_of_the_lock_that_a_child_has_not_closed_yet_holds_nobody_up(tmp_path: Path) -> None:
    lock = WriterLock(tmp_path, "now")
    copy = os.dup(lock._descriptor)
    lock.close()
    WriterLock(tmp_path, "then").close()
    os.close(copy)


PROGRAM = """
import os, signal, sys
from triplecast import Engine

def publish(number):
    engine.publish(f"<urn:a> <urn:b> {number} .", "text/turtle", f"urn:{number}")

engine = Engine.open(sys.argv[1])
publish(1)
waits, go = os.pipe()
if (idle := os.fork()) == 0:
    os.close(go)
    os.read(waits, 1)
    sys.exit()
engine.close()
if (killed := os.fork()) == 0:
    engine = Engine.open(sys.argv[1])
    publish(2)
    os.kill(os.getpid(), signal.SIGKILL)
os.waitpid(killed, 0)
os.close(go)
os.waitpid(idle, 0)
"""


def test_a_child_that_ends_deletes_nobodys_log(tmp_path: Path) -> None:
    """SQLite deletes a write-ahead log by its name as the last connection closes: a killed successor's by then."""
    subprocess.run([sys.executable, "-c", PROGRAM, str(tmp_path)], check=True, timeout=120)
    with Engine.open(tmp_path) as engine:
        assert [each.graph for each in engine._journal.publications(0, 9)] == ["urn:1", "urn:2"]
        engine._journal.check()
