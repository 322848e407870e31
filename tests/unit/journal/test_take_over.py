"""A writer that is stopped, or merely lives: a successor takes its folder over, and it writes nothing more."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from journal_samples import draft

from triplecast import sqlite
from triplecast.errors import FolderLocked
from triplecast.journal import Journal, JournalFile
from triplecast.journal.writer_lock import WriterLock

HOLD = """
import sys, time
from triplecast.journal import Journal, JournalFile
journal = Journal.open(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""


@pytest.fixture
def stopped(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that has the folder and is stopped."""
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, holder.pid, os.WSTOPPED | os.WNOWAIT)
        yield holder
    finally:
        holder.kill()
        holder.communicate()


def test_a_stopped_holder_is_told_as_such_and_can_be_followed(tmp_path: Path, stopped: subprocess.Popen[str]) -> None:
    with pytest.raises(FolderLocked, match=rf"process {stopped.pid} .*it is stopped \(SIGSTOP\)"):
        Journal.open(tmp_path)
    with Journal.open(tmp_path, take_over=True) as journal:
        journal.accept([draft("a", "A")])
        assert journal.former is not None
        assert journal.former.startswith(f"process {stopped.pid} ")
        with pytest.raises(FolderLocked, match=f"process {os.getpid()} "):
            Journal.open(tmp_path)


def test_the_one_before_is_refused_whatever_it_does(tmp_path: Path) -> None:
    old = Journal.open(tmp_path)
    old.accept([draft("a", "A")])
    with Journal.open(tmp_path, take_over=True) as new:
        assert new.former is not None
        new.accept([draft("b", "B")])
        for doing in (
            lambda: old.accept([draft("c", "C")]),
            old.check_writer,
            lambda: old.remove(draft("a", "").graph),
        ):
            with pytest.raises(FolderLocked, match=r"a later writer \(epoch 2, this one is 1\); close this one"):
                doing()
        with pytest.raises(FolderLocked), old.sole():
            raise AssertionError("inside")
        assert new.head() == old.head() == 2, "reading goes on"
        old.close()
        new.accept([draft("d", "D")])
    with Journal.open(tmp_path) as journal:
        assert journal.former is None
        assert journal.head() == 3


def test_a_folder_that_nobody_has_is_opened_as_ever(tmp_path: Path) -> None:
    with Journal.open(tmp_path, take_over=True) as journal:
        assert journal.former is None
        journal.accept([draft("a", "A")])


def test_a_write_that_has_begun_is_not_taken_from_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 50)
    with Journal.open(tmp_path) as old:
        old.accept([draft("a", "A")])
        with old.sole(), pytest.raises(FolderLocked, match="in the middle of a write") as locked:
            Journal.open(tmp_path, take_over=True)
        assert locked.value.holder.startswith(f"process {os.getpid()} ")
        old.accept([draft("b", "B")])
        with pytest.raises(FolderLocked, match="it is this very process"):
            Journal.open(tmp_path)


def test_one_that_was_making_the_file_is_told_as_such(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tests.kills` stopped a process in the first transaction of a folder; it was called another program."""
    monkeypatch.setattr(sqlite, "PATIENCE", 50)
    with closing(WriterLock(tmp_path, "2026-11-24T00:00:00.000000Z")):
        maker = sqlite3.connect(tmp_path / "journal.sqlite", isolation_level=None)
        maker.execute("PRAGMA journal_mode=wal")
        maker.execute("BEGIN IMMEDIATE")
        with pytest.raises(FolderLocked, match="in the middle of a write") as locked:
            Journal.open(tmp_path, take_over=True)
        assert locked.value.holder.startswith(f"process {os.getpid()} ")
        maker.execute("ROLLBACK")
        maker.close()
        Journal.open(tmp_path, take_over=True).close()


def test_a_checkpoint_that_has_begun_is_not_taken_from_its_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that checkpoint at once damage a file, in SQLite before 3.51.3."""
    monkeypatch.setattr(sqlite, "PATIENCE", 50)
    with Journal.open(tmp_path) as old:
        old.accept([draft("a", "A")])
        asked = sqlite.SqliteFile.ask_one

        def busy(self: sqlite.SqliteFile, statement: str, values: object = ()) -> object:
            return (1, -1, -1) if "wal_checkpoint" in statement else asked(self, statement, values)  # type: ignore[arg-type]

        with monkeypatch.context() as patched:
            patched.setattr(sqlite.SqliteFile, "ask_one", busy)
            began = time.monotonic()
            with pytest.raises(FolderLocked, match="in the middle of a write"):
                Journal.open(tmp_path, take_over=True)
            assert time.monotonic() - began >= 0.05
        old.accept([draft("b", "B")])


def test_one_that_was_only_opening_finds_its_lock_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped between lock and epoch, followed and continued, it must not become the later writer."""
    opened: list[Journal] = []

    def followed(*_: object) -> None:
        monkeypatch.undo()
        opened.append(Journal.open(tmp_path, take_over=True))

    Journal.open(tmp_path).close()
    monkeypatch.setattr(JournalFile, "check_last", followed)
    with pytest.raises(FolderLocked, match="that one took the folder over"):
        Journal.open(tmp_path)
    (new,) = opened
    new.accept([draft("a", "A")])
    new.close()


def test_a_lock_file_that_was_replaced_is_not_locked(tmp_path: Path) -> None:
    """A third process that had opened the file before the name changed hands asks for the one that has it now."""
    old = Journal.open(tmp_path)
    new = Journal.open(tmp_path, take_over=True)
    old.close()
    with pytest.raises(FolderLocked):
        Journal.open(tmp_path)
    assert [path.name for path in tmp_path.glob("writer.lock*")] == ["writer.lock"]
    new.close()
    Journal.open(tmp_path).close()


def test_the_epoch_is_raised_by_each_writer(tmp_path: Path) -> None:
    for _ in range(3):
        Journal.open(tmp_path, take_over=True).close()
    with sqlite3.connect(tmp_path / "journal.sqlite") as raw:
        assert raw.execute("SELECT epoch FROM writer").fetchall() == [(3,)]
    raw.close()
