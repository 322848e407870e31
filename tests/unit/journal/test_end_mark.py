"""A journal whose write-ahead log lost its end, which SQLite does not miss, is told by the mark beside it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from journal_samples import draft

from triplecast.end_mark import EndMark
from triplecast.errors import StorageFault
from triplecast.journal import Journal
from triplecast.journal.check import check_end
from triplecast.journal.records import END, acknowledged


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A folder as kill -9 leaves it: one record in the database, two more in its write-ahead log."""
    folder = tmp_path / "killed"
    with Journal.open(tmp_path / "life") as journal:
        journal.accept([draft("a", "A")])
    with Journal.open(tmp_path / "life") as journal:
        journal.accept([draft("b", "B")])
        journal.accept([draft("c", "C")])
        shutil.copytree(tmp_path / "life", folder, ignore=shutil.ignore_patterns("*-shm", "*.lock"))
    return folder


def test_what_a_kill_leaves_opens(killed: Path) -> None:
    with Journal.open(killed) as journal:
        assert journal.head() == acknowledged(killed).position == 3
        journal.check()


@pytest.mark.parametrize("damage", ["gone", "cut", "flipped", "first half"])
def test_a_lost_end_is_told_and_nothing_is_written_over_it(killed: Path, damage: str) -> None:
    log = killed / "journal.sqlite-wal"
    content = log.read_bytes()
    if damage == "gone":
        log.unlink()
    elif damage == "cut":
        log.write_bytes(content[:-100])
    elif damage == "flipped":
        log.write_bytes(content[:5000] + bytes([content[5000] ^ 4]) + content[5001:])
    else:
        log.write_bytes(content[: len(content) // 2])
    left = log.read_bytes() if log.exists() else None
    for _ in range(2):
        with pytest.raises(StorageFault, match=r"but 3 was acknowledged: .*delete journal\.end"):
            Journal.open(killed)
    assert left is None or log.read_bytes() == left
    with Journal.read_only(killed) as follower, pytest.raises(StorageFault, match="but 3 was acknowledged"):
        follower.check()
    (killed / END).unlink()
    with Journal.open(killed) as journal:
        assert journal.head() < 3


def test_a_journal_that_is_not_there_is_told(killed: Path) -> None:
    (killed / "journal.sqlite").unlink()
    with pytest.raises(StorageFault, match="it is missing, and held 3 records"):
        Journal.open(killed)
    assert (killed / "journal.sqlite-wal").stat().st_size > 0


@pytest.mark.parametrize("content", [b"", b"3", b"00000000000000000009 00000000\n", b"\xff" * 30])
def test_a_damaged_mark_says_nothing(killed: Path, content: bytes) -> None:
    (killed / END).write_bytes(content)
    assert acknowledged(killed).position == 0
    with Journal.open(killed) as journal:
        journal.accept([draft("d", "D")])
    assert acknowledged(killed).position == 4


def test_a_mark_behind_the_journal_is_sound(tmp_path: Path) -> None:
    """As a power failure may leave it: it is not synced."""
    mark = EndMark(tmp_path / END, 2, 1)
    check_end(tmp_path / "journal.sqlite", 7, acknowledged(tmp_path).position)
    later = EndMark(tmp_path / END, 7, 2)
    mark.set(3, 1)
    assert acknowledged(tmp_path) == (7, 2, ()), "an earlier writer's file is nobody's"
    later.close()
    mark.close()


def test_a_mark_that_cannot_be_written_costs_nothing(tmp_path: Path) -> None:
    mark = EndMark(tmp_path / "nowhere" / END, 2)
    mark.set(3)
    mark.close()
    assert list(tmp_path.iterdir()) == []
