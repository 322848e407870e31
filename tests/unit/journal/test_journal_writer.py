"""One writer, followers, and a fenced writer."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from journal_samples import draft

from triplecast.errors import FolderLocked, StorageFault
from triplecast.journal import Journal
from triplecast.journal.record import JOURNAL
from triplecast.sqlite import PAGE

HOLD = """
import sys, time
from triplecast.journal import Journal
journal = Journal.open(sys.argv[1])
print("held", flush=True)
time.sleep(60)
"""


def test_a_second_writer_is_refused_by_the_name_of_the_first(tmp_path: Path) -> None:
    with Journal.open(tmp_path), pytest.raises(FolderLocked, match=f"process {os.getpid()} on .*, started 20"):
        Journal.open(tmp_path)
    Journal.open(tmp_path).close()


def test_the_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(FolderLocked, match=f"process {holder.pid} "):
            Journal.open(tmp_path)
    finally:
        holder.send_signal(signal.SIGKILL)
        holder.communicate()
    Journal.open(tmp_path).close()


def test_a_writer_that_another_has_followed_is_fenced(tmp_path: Path) -> None:
    old = Journal.open(tmp_path)
    old.accept([draft("a", "A")])
    (tmp_path / "writer.lock").unlink()  # as on a network file system that lost the lock
    with Journal.open(tmp_path) as new:
        new.accept([draft("b", "B")])
        with pytest.raises(FolderLocked, match="a later writer"):
            old.accept([draft("c", "C")])
        assert new.head() == 2
    old.close()


def test_a_follower_may_come_first_and_sees_whole_commits(tmp_path: Path) -> None:
    follower = Journal.read_only(tmp_path / "later")
    assert follower.head() == 0
    assert follower.publications(0, 10) == []
    assert follower.next_registry_change(0) is None
    assert follower.sources() == {}
    with Journal.open(tmp_path / "later") as journal:
        assert follower.head() == 0
        journal.accept([draft("a", "A"), draft("b", "B")])
        assert follower.head() == 2
        assert follower.publications(0, 2) == journal.publications(0, 2)
        seen: list[int] = []
        writing = threading.Event()

        def look() -> None:
            writing.wait()
            while not seen or seen[-1] < 102:
                seen.append(follower.head())

        looker = threading.Thread(target=look)
        looker.start()
        writing.set()
        for i in range(10):
            journal.accept([draft(f"d{i}-{k}", "x") for k in range(10)])
        looker.join()
        assert {head % 10 for head in seen} == {2}
    assert follower.head() == 102
    follower.close()
    with Journal.read_only(tmp_path / "later") as late:
        assert late.head() == 102


def test_a_follower_cannot_write(tmp_path: Path) -> None:
    with Journal.open(tmp_path), Journal.read_only(tmp_path) as follower:
        follower.head()
        with pytest.raises(StorageFault, match="readonly"), follower._database.write():
            follower._database.run("UPDATE writer SET epoch = 0")


def test_a_closed_journal_says_so(tmp_path: Path) -> None:
    journal = Journal.open(tmp_path)
    journal.close()
    with pytest.raises(StorageFault, match="closed"):
        journal.accept([draft("a", "A")])
    with pytest.raises(StorageFault, match="closed"):
        journal.head()


def test_the_file_is_in_the_stated_mode_and_format(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        for pragma, value in (("journal_mode", "wal"), ("synchronous", 2), ("page_size", PAGE), ("user_version", 2)):
            assert journal._database.ask(f"PRAGMA {pragma}") == [(value,)], pragma


@pytest.mark.parametrize(
    ("pragma", "found"),
    [
        ("user_version=9", r"its format is 9, and this Triplecast reads 2; use the Triplecast that wrote it"),
        ("application_id=1", "another program"),
        (
            f"application_id={JOURNAL.former}",
            r"its format is older than 2, .*choose a new folder, subscribe and publish",
        ),
    ],
)
def test_another_format_is_refused(tmp_path: Path, pragma: str, found: str) -> None:
    Journal.open(tmp_path).close()
    with sqlite3.connect(tmp_path / "journal.sqlite") as raw:
        raw.execute(f"PRAGMA {pragma}")
    raw.close()
    for opening in (lambda: Journal.open(tmp_path), lambda: Journal.read_only(tmp_path).head()):
        with pytest.raises(StorageFault, match=found):
            opening()
