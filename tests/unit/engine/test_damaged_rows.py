"""Rows that damage changed or took away: what needs them says so by name. `tests.outbox_damage` generates such rows."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from engine_samples import ANY_TITLE, TITLES, turtle
from test_trouble_while_asked import small_disk

from triplecast import FOREVER, Engine, StorageFault
from triplecast.errors import InputError
from triplecast.journal import Journal, JournalFile
from triplecast.model.match import Learnt
from triplecast.outbox import Outbox

AT = 1_800_000_000_000_000


def change(folder: Path, statement: str) -> None:
    with closing(sqlite3.connect(folder / "journal.sqlite", isolation_level=None)) as raw:
        assert raw.execute(statement).rowcount > 0


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    with Engine.open(tmp_path, lambda: AT) as engine:
        engine.subscribe(ANY_TITLE, id="any", lease=FOREVER)
        engine.subscribe(TITLES, id="rail", lease=9)
        engine.publish(turtle("A"), "text/turtle", "urn:a")
        engine._journal.keep_learnt([Learnt("template", 1.0, 2.0, 3.0, 4.0, 5.0)])
    return tmp_path


@pytest.mark.parametrize(
    ("statement", "later", "found"),
    [
        ("DELETE FROM record WHERE position = 1", 0, "there is no subscription at position 1"),
        ("UPDATE record SET kind = 1 WHERE position = 1", 0, "there is no subscription at position 1"),
        ("DELETE FROM record WHERE position = 2", 10_000_000, "there is no subscription at position 2"),
    ],
)
def test_a_registration_that_is_gone_is_named(folder: Path, statement: str, later: int, found: str) -> None:
    change(folder, statement)
    with Engine.open(folder, lambda: AT + later) as engine, pytest.raises(StorageFault, match=found):
        [*engine.publish(turtle("B"), "text/turtle", "urn:b").matches]


def test_a_new_match_of_a_registration_that_is_gone_is_not_recorded(folder: Path) -> None:
    with Engine.open(folder, lambda: AT) as engine:
        engine.subscribe(TITLES, id="new")
        engine.publish(turtle(None), "text/turtle", "urn:untitled")
    change(folder, "DELETE FROM record WHERE name = 'new'")
    with Engine.open(folder, lambda: AT) as engine:
        with pytest.raises(StorageFault, match="there is no subscription at position 4"):
            engine.publish(turtle("B"), "text/turtle", "urn:b")
        assert {each.publication for each in engine.notifications()} == {"urn:a"}


@pytest.mark.parametrize("value", ["'x'", "x'00'", "NULL + 1", "-1", "1e999"])
def test_damaged_statistics_are_left_out(folder: Path, value: str) -> None:
    if value == "NULL + 1":
        change(folder, "UPDATE statistic SET template = x'ff'")
    else:
        change(folder, f"UPDATE statistic SET seconds = {value}")
    with Engine.open(folder, lambda: AT) as engine:
        assert engine._journal.learnt() == []
        assert len(engine.publish(turtle("B"), "text/turtle", "urn:b").matches) == 2


@pytest.mark.parametrize("value", ["epoch = 'x'", "epoch = 0", "written_at = 'x'", "written_at = written_at + 1 << 51"])
def test_a_damaged_row_of_the_writer_is_noticed_before_leases_end(folder: Path, value: str) -> None:
    Journal.open(folder, lambda: AT).close()
    change(folder, f"UPDATE writer SET {value}")
    with pytest.raises(StorageFault, match=r"its writer's epoch|not the one written last"):
        Engine.open(folder, lambda: AT)


def test_an_older_copy_of_the_outbox_and_its_end_mark_is_noticed(folder: Path, tmp_path: Path) -> None:
    """The mark goes with the copy; the journal's mark says how far the outbox had come."""
    older = shutil.copytree(folder, tmp_path / "older", ignore=shutil.ignore_patterns("older", "journal.*"))
    with Engine.open(folder, lambda: AT) as engine:
        engine.publish(turtle("B"), "text/turtle", "urn:b")
        *_, last = engine.notifications()
    for name in ("outbox.sqlite", "outbox.end"):
        shutil.copy(older / name, folder / name)
    with Engine.open(folder, lambda: AT) as engine:
        with pytest.raises(InputError, match="notifications were lost since"):
            list(engine.notifications(last.cursor))
        again = [each.id for each in engine.notifications()]
        assert (len(again), again[-1]) == (4, last.id)
    with Engine.open(folder, lambda: AT) as engine:
        assert {each.cursor.epoch for each in engine.notifications()} == {3}, "it rises once"


def test_a_place_beyond_the_end_is_refused(folder: Path) -> None:
    """As after an older copy of the whole folder, which no mark shows."""
    with Engine.open(folder, lambda: AT) as engine:
        assert list(engine.notifications("1:2")) == list(engine.notifications(2)) == []
        for beyond in ("1:3", 7):
            found = f"{beyond} is beyond the last notification, 2: the outbox is an older copy, or another"
            with pytest.raises(InputError, match=found):
                list(engine.notifications(beyond))


def test_a_folder_that_cannot_be_written_is_read(folder: Path, tmp_path: Path) -> None:
    """No test had a folder without the right to write: SQLite's shared memory could always be made."""
    with small_disk(tmp_path / "disk", "16m") as disk:
        copy = shutil.copytree(folder, disk / "closed", ignore=shutil.ignore_patterns("disk"))
        with Engine.open(folder, lambda: AT):
            shutil.copytree(folder, disk / "killed", ignore=shutil.ignore_patterns("disk", "*-shm"))
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        with Outbox.read_only(copy) as early, JournalFile.read_only(copy) as journal:
            early.check()
            journal.check()
            assert len(list(early.notifications())) == 2
            assert journal.count_live(AT) == 2
            with Outbox.read_only(disk / "killed") as outbox, pytest.raises(StorageFault, match="copy the folder to"):
                outbox.check()
            subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
            with Outbox.read_only(copy) as outbox:
                assert len(list(outbox.notifications())) == 2
                with Engine.open(copy, lambda: AT) as engine:
                    engine.publish(turtle("B"), "text/turtle", "urn:b")
                    assert [len(list(reader.notifications())) for reader in (outbox, early)] == [4, 4]
