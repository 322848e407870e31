"""A machine that fails loses the outbox's commits since the last sync: who opens the folder makes the same again."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from engine_samples import ANY_TITLE, PREFIX, UNTITLED, turtle

from triplecast import FOREVER, Engine, StorageFault, Subscription
from triplecast.index import IndexWriter, merge
from triplecast.outbox import outbox as outbox_module
from triplecast.outbox.outbox import UNSYNCED
from triplecast.sqlite import SqliteFile

LOG = "outbox.sqlite-wal"
reset = IndexWriter.reset


def fail(folder: Path, copy: Path, synced: int) -> Path:
    """Copy a folder as a failure of the machine leaves it at worst: of the outbox's log what was synced."""
    shutil.copytree(folder, copy)
    with open(copy / LOG, "r+b") as log:
        log.truncate(synced)
    return copy


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, bool, int]]:
    """Of each transaction its file, whether it was synced, and the length of the file's log then."""
    seen: list[tuple[str, bool, int]] = []
    write = SqliteFile.write

    @contextmanager
    def noted(self: SqliteFile, synced: bool = True) -> Iterator[None]:
        with write(self, synced):
            yield
        log = Path(f"{self.where}-wal")
        seen.append((Path(self.where).name, synced, log.stat().st_size if log.exists() else 0))

    monkeypatch.setattr(SqliteFile, "write", noted)
    return seen


def _length_synced(syncs: list[tuple[str, bool, int]]) -> int:
    return next(size for name, synced, size in reversed(syncs) if name == "outbox.sqlite" and synced)


def _numbered(count: int) -> list[Subscription]:
    query = PREFIX + 'SELECT * {{ ?item ex:topic ex:rail ; ex:title "{}" }}'
    return [Subscription(f"s{n}", query.format(n)) for n in range(count)]


def _rows(engine: Engine) -> list[tuple[str, str, str]]:
    return [(str(each.cursor), each.id, each.json) for each in engine.notifications()]


@pytest.mark.parametrize("count", [1, UNSYNCED, UNSYNCED + 1, 2 * UNSYNCED + 7])
def test_what_is_lost_is_told_again_as_it_was(tmp_path: Path, count: int, syncs: list[tuple[str, bool, int]]) -> None:
    seed = random.randrange(1 << 32)
    rng = random.Random(seed)
    with Engine.open(tmp_path / "one") as engine:
        engine.subscribe_many(_numbered(10), lease=FOREVER)
        engine.subscribe(ANY_TITLE, id="any", lease=FOREVER)
        for _ in range(count):
            title = rng.choice([None, *map(str, range(20))])
            engine.publish(turtle(title), "text/turtle", f"urn:{rng.randrange(3)}")
            if rng.random() < 0.05:
                engine.unsubscribe(id := rng.choice([each.id for each in engine.subscriptions()]))
                engine.subscribe(UNTITLED, id=id, lease=FOREVER)
        before = _rows(engine)
        again = fail(tmp_path / "one", tmp_path / "two", _length_synced(syncs))
        with Engine.open(again) as other:
            assert _rows(other) == before, f"seed {seed}"
            assert [*other.notifications(before[-1][0] if before else 0)] == [], f"seed {seed}: a cursor stays one"
            assert engine._outbox.state._replace(progress=0) == other._outbox.state._replace(progress=0)


def test_commits_wait_for_few_others(tmp_path: Path, syncs: list[tuple[str, bool, int]]) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(ANY_TITLE)
        syncs.clear()
        for number in range(3 * UNSYNCED):
            engine.publish(turtle(str(number) if number % 2 else None), "text/turtle", f"urn:{number}")
            durable, state = engine._outbox.durable, engine._outbox.state
            assert state.told - durable.told <= UNSYNCED + 1, "the subscription has a position too"
        assert all(synced for name, synced, _ in syncs if name == "journal.sqlite")
        assert sum(synced for name, synced, _ in syncs if name == "outbox.sqlite") == 2
    with Engine.open(tmp_path) as engine:
        assert engine._outbox.durable == engine._outbox.state, "closed, all is synced"


def test_what_replays_need_stays_in_the_index(
    tmp_path: Path, syncs: list[tuple[str, bool, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Segments without the subscriptions that were cancelled are for publications that nobody matches again."""
    monkeypatch.setattr(merge, "DUE_LEAST", 8)
    made: list[object] = []
    monkeypatch.setattr(IndexWriter, "reset", lambda self: made.append(self) or reset(self))
    with Engine.open(tmp_path / "one") as engine:
        engine.subscribe_many(_numbered(40), lease=FOREVER)
        engine.publish(turtle("5"), "text/turtle", "urn:before")
        for number in range(30):
            engine.unsubscribe(f"s{number}")
        for number in range(5):
            engine.publish(turtle(str(number)), "text/turtle", f"urn:{number}")
            engine._upkeep._compactor.wait()
        before = _rows(engine)
        assert len(before) == 1
        again = fail(tmp_path / "one", tmp_path / "two", _length_synced(syncs))
        made.clear()
        with Engine.open(again) as other:
            assert _rows(other) == before
        assert not made, "the index was of use"


def test_a_disk_that_fails_at_the_shared_sync_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What waited for it is committed, and matched again by the next start at the latest."""
    monkeypatch.setattr(outbox_module, "UNSYNCED", 3)
    with Engine.open(tmp_path) as engine:
        engine.subscribe(ANY_TITLE, lease=FOREVER)
        for number in range(3):
            engine.publish(turtle(str(number)), "text/turtle", f"urn:{number}")
        run = SqliteFile.run

        def refuse(self: SqliteFile, statement: str, rows: Iterable[Sequence[object]] = ((),)) -> None:
            run(self, statement, rows)
            if self.where.endswith("outbox.sqlite") and statement.startswith("UPDATE state"):
                raise StorageFault(self.where, "the disk refused", "check it")

        monkeypatch.setattr(SqliteFile, "run", refuse)
        with pytest.raises(StorageFault, match="the disk refused"):
            engine.publish(turtle("3"), "text/turtle", "urn:3")
        monkeypatch.setattr(SqliteFile, "run", run)
        assert len(engine.publish(turtle("4"), "text/turtle", "urn:4").matches) == 1
        before = _rows(engine)
        assert len(before) == 5
    with Engine.open(tmp_path) as engine:
        assert _rows(engine) == before
