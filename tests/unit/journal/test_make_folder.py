"""Folders that are made on the way: each is synced in the one above it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from triplecast import Engine, StorageFault, sqlite, storage_faults
from triplecast.journal import Journal
from triplecast.outbox import Outbox


@pytest.mark.parametrize("opening", [Engine.open, Outbox.open, Journal.open])
def test_every_folder_in_which_a_name_was_made_is_synced(
    tmp_path: Path, opening: type[Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    sync = storage_faults.sync_folder
    for module in (sqlite, storage_faults):
        monkeypatch.setattr(module, "sync_folder", lambda folder: (synced.append(folder), sync(folder)))
    deep = tmp_path / "deep" / "er" / "est"
    opening(deep).close()
    assert synced[:3] == [tmp_path, tmp_path / "deep", tmp_path / "deep" / "er"]
    assert set(synced[3:]) == {deep}
    synced.clear()
    opening(deep).close()
    assert synced == []


def test_a_relative_folder_is_made_where_the_process_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    storage_faults.make_folder(Path("a") / "b")
    assert (tmp_path / "a" / "b").is_dir()


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageFault, match=f"{os.sep}file: it is a file, and a folder is needed"):
        Engine.open(tmp_path / "file" / "folder")
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(StorageFault, match=f"{os.sep}link: it is a link that leads nowhere"):
        Engine.open(tmp_path / "link")
    with pytest.raises(StorageFault, match="File name too long"):
        Engine.open(tmp_path / ("x" * 300))


@pytest.mark.parametrize("name", ["file:x?mode=memory", ":memory:", "a%41 #?b", "\n", os.fsdecode(b"\xff")])
def test_any_name_of_a_folder_is_a_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with Engine.open(name) as engine:
        engine.subscribe("ASK { ?x dc:title ?title }", id="titles")
    with Journal.read_only(name) as journal, Outbox.read_only(name) as outbox:
        assert [found.subscription.name for found in journal.live_registrations()] == ["titles"]
        assert list(outbox.notifications()) == []
    assert os.listdir(tmp_path) == [name]


def test_a_process_may_go_elsewhere_while_an_engine_is_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path)
    with Engine.open("data") as engine:
        monkeypatch.chdir(tmp_path / "elsewhere")
        engine.subscribe("ASK { ?x dc:title ?title }")
        assert engine.publish('<x:1> <http://purl.org/dc/elements/1.1/title> "a" .', "text/turtle").matches
    assert os.listdir(tmp_path / "elsewhere") == []
