"""Folders that are made on the way: each is synced in the one above it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triplecast import Engine, StorageFault, database
from triplecast.delivery import Outbox
from triplecast.journal import Journal


@pytest.mark.parametrize("opening", [Engine.open, Outbox.open, Journal.open])
def test_every_folder_in_which_a_name_was_made_is_synced(
    tmp_path: Path, opening: type[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    sync = database.sync_folder
    monkeypatch.setattr(database, "sync_folder", lambda folder: (synced.append(folder), sync(folder)))
    deep = tmp_path / "deep" / "er" / "est"
    opening(deep).close()
    assert synced[:3] == [tmp_path, tmp_path / "deep", tmp_path / "deep" / "er"]
    assert set(synced[3:]) == {deep}
    synced.clear()
    opening(deep).close()
    assert synced == []


def test_a_relative_folder_is_made_where_the_process_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    database.make_folder(Path("a") / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFault, match=f"file{os.sep}folder"):
        Engine.open(tmp_path / "file" / "folder")
