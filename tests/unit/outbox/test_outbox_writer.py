"""An outbox whose folder another process has taken over is not written to."""

from __future__ import annotations

from pathlib import Path

import pytest
from outbox_samples import batch, names

from triplecast import sqlite
from triplecast.errors import FolderLocked
from triplecast.outbox import Outbox


class Followed:
    """Whether another writer has come."""

    def __init__(self) -> None:
        self.since = False

    def __call__(self) -> None:
        if self.since:
            raise FolderLocked("here", "a later writer")


def test_every_write_asks_whether_another_has_followed(tmp_path: Path) -> None:
    followed = Followed()
    with Outbox.open(tmp_path, followed) as outbox:
        outbox.commit(batch([(1, 1, "[]"), (2, 1, "[]")]), 2, names)
        before = outbox.state, list(outbox.notifications())
        followed.since = True
        for write in (
            lambda: outbox.commit(batch([(3, 1, "[]")]), 3, names),
            lambda: outbox.prune(1),
            lambda: outbox.prune_undecided(2),
        ):
            with pytest.raises(FolderLocked):
                write()
        with pytest.raises(FolderLocked):
            list(outbox.notifications())
        with pytest.raises(FolderLocked):
            outbox.undecided()
        with Outbox.read_only(tmp_path) as reader:
            assert (reader.state, list(reader.notifications())) == before
    with pytest.raises(FolderLocked):
        Outbox.open(tmp_path, followed)


def test_a_commit_that_has_begun_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE", 50)
    with Outbox.open(tmp_path) as old:
        with old._database.write(), pytest.raises(FolderLocked, match=r"process 7; it is in the middle of a write"):
            Outbox.open(tmp_path, former="process 7")
        Outbox.open(tmp_path, former="process 7").close()
