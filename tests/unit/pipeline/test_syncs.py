"""What the operating system is asked for in a run: a sync of the journal before anything that rests on it."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

RUN = """
import sys
from pathlib import Path
from tests.chaos import first_files, run_in_turn
from tests.spark.workplace import Workplace
from triplecast.outbox import Outbox
from triplecast.journal import Journal

def told(method, word):
    def call(self, *values, **named):
        result = method(self, *values, **named)
        print(word, flush=True)
        return result
    return call

Journal.commit_documents = told(Journal.commit_documents, "acknowledged: documents")
Journal.subscribe = told(Journal.subscribe, "acknowledged: subscriptions")
Outbox.commit = told(Outbox.commit, "visible: rows")
place = Workplace(Path(sys.argv[1]))
first_files(place)
run_in_turn(place)
"""
"""A run without a JVM (the threads of `triplecast run` called in turn) that says when each call has returned."""

CALLS = "write,pwrite64,fsync,fdatasync"
ROOT = Path(__file__).resolve().parents[3]


class Call(NamedTuple):
    name: str
    about: str
    """What it writes to or syncs, by path, or what it writes."""


def read_trace(trace: Path) -> Iterator[Call]:
    """The calls in the order in which they began: all that is looked at happens in one thread."""
    for line in trace.read_text(errors="replace").splitlines():
        found = re.search(r"\b(write|pwrite64|fsync|fdatasync)\((.*)", line)
        if found:
            yield Call(found[1], found[2])


def find_unsynced(calls: Iterator[Call]) -> tuple[list[str], list[str]]:
    """What was said, and what of it while bytes of a write-ahead log were written and not synced.

    The journal's must be synced before anything is said, and before a byte of the outbox is written: what is told must
    not outlive what it was made of.
    """
    unsynced = {"journal.sqlite-wal": False, "outbox.sqlite-wal": False}
    said, faults = [], []
    for call in calls:
        log = next((name for name in unsynced if f"{name}>" in call.about), None)
        if log is not None:
            unsynced[log] = call.name == "pwrite64"
        if log == "outbox.sqlite-wal" and call.name == "pwrite64" and unsynced["journal.sqlite-wal"]:
            faults.append("rows are written before the journal is synced")
        word = re.search(r'"(acknowledged: \w+|visible: \w+)', call.about)
        if word:
            said.append(word[1])
            faults += [f"{word[1]} before {name} is synced" for name, open in unsynced.items() if open]
    return said, faults


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace shows the system calls of this test")
def test_the_journal_is_synced_before_each_acknowledgement_and_the_outbox_before_a_row_is_visible(
    tmp_path: Path,
) -> None:
    trace = ["strace", "-f", "-y", "-s", "40", "-o", str(tmp_path / "trace"), "-e", f"trace={CALLS}"]
    run = [sys.executable, "-c", RUN, str(tmp_path / "place")]
    ended = subprocess.run([*trace, *run], cwd=ROOT, capture_output=True, text=True, timeout=300)
    if not ended.stdout and "ptrace" in ended.stderr:
        pytest.skip("this machine does not let strace trace")
    assert ended.returncode == 0, ended.stderr
    said, faults = find_unsynced(read_trace(tmp_path / "trace"))
    assert faults == []
    assert said == ended.stdout.splitlines()
    assert said.count("acknowledged: documents") >= 3
    assert said.count("acknowledged: subscriptions") == 1
    assert said.count("visible: rows") >= 2


def test_a_missing_sync_would_be_seen() -> None:
    wal, outbox = "5</x/journal.sqlite-wal>, ...", "6</x/outbox.sqlite-wal>, ..."
    said = Call("write", '1<pipe:[1]>, "acknowledged: documents\\n", 24) = 24')
    write, sync, rows = Call("pwrite64", wal), Call("fdatasync", wal), Call("pwrite64", outbox)
    assert find_unsynced(iter([write, sync, said])) == (["acknowledged: documents"], [])
    assert len(find_unsynced(iter([write, said, sync]))[1]) == 1
    assert len(find_unsynced(iter([write, rows]))[1]) == 1
