"""An outbox that lost its end is noticed, and its readers are told by the epoch that sequences were given again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from outbox_samples import batch, names

from triplecast import Engine
from triplecast.errors import InputError, StorageFault
from triplecast.outbox import Cursor, Outbox, OutboxReader

ROWS = [(1, 5, "[{}]"), (2, 5, "[]"), (3, 7, "[]")]


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A folder as kill -9 leaves it: one notification in the database, two more in its write-ahead log."""
    with Outbox.open(tmp_path / "life") as outbox:
        outbox.commit(batch(ROWS[:1]), 1, names)
    with Outbox.open(tmp_path / "life") as outbox:
        for row in ROWS[1:]:
            outbox.commit(batch([row]), row[0], names)
        shutil.copytree(tmp_path / "life", tmp_path / "killed", ignore=shutil.ignore_patterns("*-shm"))
    return tmp_path / "killed"


def cursors(folder: Path) -> list[Cursor]:
    with Outbox.read_only(folder) as follower:
        return [each.cursor for each in follower.notifications()]


def test_what_a_kill_leaves_opens_in_the_same_epoch(killed: Path) -> None:
    with Outbox.open(killed, epoch=9) as outbox:
        outbox.check()
    assert cursors(killed) == [(1, 1), (1, 2), (1, 3)]


@pytest.mark.parametrize("damage", ["no log", "cut", "no file", "emptied"])
def test_a_lost_end_is_noticed_by_writer_and_readers(killed: Path, damage: str) -> None:
    file, log = killed / "outbox.sqlite", killed / "outbox.sqlite-wal"
    if damage == "cut":
        log.write_bytes(log.read_bytes()[:-100])
    elif damage == "emptied":
        file.write_bytes(b"")
        log.unlink()
    else:
        (file if damage == "no file" else log).unlink()
    left = log.read_bytes() if log.exists() else None
    for _ in range(2):
        with pytest.raises(StorageFault, match=r"delete outbox\.end"):
            Outbox.open(killed, epoch=9)
        with Outbox.read_only(killed) as follower:
            with pytest.raises(StorageFault, match=r"3 up to 3 \(epoch 1\) were committed: its end is lost"):
                follower.check()
            with pytest.raises(StorageFault, match="its end is lost"):
                list(follower.notifications())
    assert left is None or log.read_bytes() == left, "nothing was written over it"
    (killed / "outbox.end").unlink()
    log.unlink(missing_ok=True)
    with Outbox.open(killed, epoch=9) as outbox:
        outbox.commit(batch(ROWS), 3, names, after=0)
        assert [each.sequence for each in outbox.notifications()] == [1, 2, 3]
    assert {cursor.epoch for cursor in cursors(killed)} == {9}
    with Outbox.open(killed, epoch=10) as outbox:
        assert list(outbox.notifications("9:3")) == []
        with pytest.raises(InputError, match="1:3 is a cursor of epoch 1, and the outbox is in epoch 9"):
            list(outbox.notifications("1:3"))
        with pytest.raises(InputError, match="epoch 8"):
            list(outbox.notifications(Cursor(8, 0)))


def test_the_first_notifications_cannot_be_missing_unseen(killed: Path) -> None:
    with Outbox.open(killed) as outbox:
        outbox._database.ask("DELETE FROM chunk WHERE first = 1")
        with pytest.raises(StorageFault, match="notification 1 is missing"):
            list(outbox.notifications())
        assert [each.sequence for each in outbox.notifications(1)] == [2, 3]
        outbox._database.ask("DELETE FROM chunk")
        with pytest.raises(StorageFault, match="notification 3 is missing"):
            list(outbox.notifications(2))


def test_what_was_pruned_is_no_loss(killed: Path) -> None:
    with Outbox.open(killed) as outbox:
        assert outbox.prune(2) == 2
    assert cursors(killed) == [(1, 3)]
    with Outbox.open(killed) as outbox:
        assert outbox.prune(9) == 1
        assert list(outbox.notifications("1:3")) == []
        outbox.check()


@pytest.mark.parametrize("wrong", ["", ":", "1:", ":3", "one", "1:2:3", "-1", "1:-1", "\u0663", "9" * 30])
def test_what_is_no_cursor_is_refused(killed: Path, wrong: str) -> None:
    with Outbox.read_only(killed) as follower, pytest.raises(InputError, match="is no cursor"):
        follower.notifications(wrong)


def test_a_cursor_spells_itself(killed: Path) -> None:
    with Outbox.read_only(killed) as follower:
        (last,) = follower.notifications(Cursor(1, 2))
        assert (str(last.cursor), last.sequence) == ("1:3", 3)
        assert list(follower.notifications(str(last.cursor))) == list(follower.notifications("3")) == []


@pytest.mark.parametrize("last", ["prune", "told"])
def test_a_lost_prune_or_position_is_noticed(tmp_path: Path, last: str) -> None:
    """Neither adds a notification; what was pruned would be given again, or matched again."""
    with Outbox.open(tmp_path / "life") as outbox:
        outbox.commit(batch(ROWS), 3, names)
        size = (tmp_path / "life" / "outbox.sqlite-wal").stat().st_size
        if last == "prune":
            outbox.prune(2)
        else:
            outbox.commit(batch([]), 5, names)
        shutil.copytree(tmp_path / "life", tmp_path / "killed", ignore=shutil.ignore_patterns("*-shm"))
    log = tmp_path / "killed" / "outbox.sqlite-wal"
    log.write_bytes(log.read_bytes()[:size])
    with pytest.raises(StorageFault, match="its end is lost"):
        Outbox.open(tmp_path / "killed")


def test_a_reader_knows_how_far_it_came_where_nothing_was_recorded(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine, OutboxReader.read_only(tmp_path) as outbox:
        engine.subscribe("SELECT ?s { ?s <urn:p> 1 }", "ones")
        for number, settled in ((0, 2), (1, 3), (2, 4), (1, 5)):
            engine.publish(f"<urn:s> <urn:p> {number} .", "text/turtle", "urn:g")
            assert outbox.settled_upto() == settled
        engine.prune(1)
        assert (outbox.settled_upto(), outbox.state.pruned) == (5, 1)
    with Engine.open(tmp_path), OutboxReader.read_only(tmp_path) as outbox:
        assert outbox.settled_upto() == 5
        outbox.check()
