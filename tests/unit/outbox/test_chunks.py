"""Chunks give what was committed, merged or not, and their filters overlook no registration."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest
from outbox_samples import batch, names

from triplecast.outbox import Outbox, chunk, chunks
from triplecast.outbox import outbox as outbox_module


class Failed(Exception):
    pass


def fail(point: str) -> None:
    """A transaction ends between its chunks and its commit."""
    raise Failed(point)


@pytest.mark.parametrize("number", range(6))
def test_merged_chunks_hold_what_was_committed(
    number: int, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    random = Random(seed + number)
    monkeypatch.setattr(chunks, "MERGED", random.randrange(2, 5))
    monkeypatch.setattr(chunks, "LEVELS", random.choice(((100, 1_000), (1 << 20,))))
    committed = []
    with Outbox.open(tmp_path) as outbox:
        for position in range(1, 40):
            rows = sorted({(position, random.randrange(1, 9)) for _ in range(random.randrange(5))})
            texts = [f'[{{"v":"{random.randrange(3)}"}}]' for _ in rows]
            committed += [(*row, text) for row, text in zip(rows, texts, strict=True)]
            new = batch(committed[len(committed) - len(rows) :])
            with monkeypatch.context() as broken:
                broken.setattr(outbox_module, "reach", fail)
                if random.random() < 0.3:
                    with pytest.raises(Failed):
                        outbox.commit(new, position, names)
            outbox.commit(new, position, names)
        assert [(each.position, each.registration, each.json) for each in outbox.notifications()] == committed
        outbox.check()
        replayed = batch([row for row in committed if row[0] > 5])
        assert outbox.commit(replayed, 39, names, after=5).differing == ()


@pytest.mark.parametrize("count", [1, 7, 500])
def test_a_filter_overlooks_no_registration(count: int, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunk, "FILTERED", 1)
    random = Random(seed)
    numbers = random.sample(range(1 << 40), 3 * count)
    filter = chunk.registration_filter(np.array(numbers[:count], np.int64))
    assert all(chunk.may_have(filter, np.array([each], np.int64)) for each in numbers[:count])
    assert sum(chunk.may_have(filter, np.array([each], np.int64)) for each in numbers[count:]) <= count // 3 + 1
    assert chunk.may_have(filter, np.array(numbers[count - 1 :], np.int64))
    assert not chunk.may_have(filter, np.zeros(0, np.int64))


def test_pruned_chunks_behind_a_pending_pair_are_forgotten(tmp_path: Path) -> None:
    """Their digests went with them, so a replay is not compared with nothing."""
    given = batch([(2, 2, "[{}]"), (3, 3, "[{}]")], [], [(1, 1)])
    with Outbox.open(tmp_path) as outbox:
        outbox.commit(given, 3, names)
        assert outbox.prune(2) == 2
        assert outbox.commit(given, 3, names, after=0).differing == ()


def test_merging_brings_nothing_back_that_was_pruned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MERGED", 4)
    with Outbox.in_memory() as outbox:
        for position in range(1, 10):
            outbox.commit(batch([(position, 1, "[{}]")]), position, names)
            if position == 3:
                assert outbox.prune(2) == 2
        assert outbox._database.ask("SELECT min(first) FROM chunk") == [(3,)]
        assert [(each.sequence, each.position) for each in outbox.notifications()] == [(n, n) for n in range(3, 10)]
        assert outbox.commit(batch([(n, 1, "[{}]") for n in range(1, 10)]), 9, names, after=0).differing == ()
        outbox.check()


def test_chunks_that_were_just_written_are_not_read_to_be_merged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chunks, "MERGED", 4)
    with Outbox.in_memory() as outbox:
        with monkeypatch.context() as unread:
            unread.setattr(chunks, "read_chunks", None)
            for position in range(1, 100):
                outbox.commit(batch([(position, 1, "[{}]")]), position, names)
        assert [each.position for each in outbox.notifications()] == [*range(1, 100)]
