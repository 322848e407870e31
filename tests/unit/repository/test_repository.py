"""A repository follows its journal; its cache is opened where it is whole and of this journal, else built again."""

from __future__ import annotations

import shutil
from pathlib import Path
from random import Random

import pytest

from tests.unit.repository.histories import GRAPHS
from tests.unit.repository.test_store import named_graphs, one_graph
from triplecast.index import file
from triplecast.journal import Journal, JournalFile
from triplecast.kernels import checksum
from triplecast.model.publication import Draft
from triplecast.repository import Repository, Store, repository
from triplecast.repository.cache import CACHE, read_cache


def fill(folder: Path, random: Random, documents: int) -> None:
    with Journal.open(folder) as journal:
        for _ in range(documents):
            graph = random.choice(GRAPHS)
            if random.random() < 0.2:
                journal.remove(graph)
                continue
            number = random.randrange(100)
            lines = [f"<x:{number % 3}> <x:p> <x:{number % 7}> .\n", f'<x:s> <x:p> "{number}" .\n']
            quads = "".join(sorted(lines)).encode()
            journal.accept([Draft(graph, quads, str(number).encode().rjust(32, b"0"), "none")])


def opened(folder: Path, save: bool = False) -> tuple[Repository, Store]:
    with JournalFile.read_only(folder) as journal:
        found = Repository(journal, folder)
        store = found.follow()
        if save:
            found._unsaved = 1 << 40  # as if many documents had come
            found.save()
        return found, store


def content(store: Store) -> tuple[object, object, int]:
    return one_graph(store), named_graphs(store), store.position


def built(folder: Path) -> tuple[object, object, int]:
    """What the journal alone gives."""
    with JournalFile.read_only(folder) as journal:
        return content(Repository(journal).follow())


@pytest.mark.parametrize("at_once", [2, 10_000])
@pytest.mark.parametrize("seed", range(5))
def test_a_repository_opens_with_what_was_saved_and_what_came_since(
    seed: int, at_once: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repository, "EVENTS_AT_ONCE", at_once)
    random = Random(seed)
    fill(tmp_path, random, 20)
    assert content(opened(tmp_path, save=True)[1]) == built(tmp_path)
    cached = read_cache(tmp_path / CACHE)
    assert cached is not None
    fill(tmp_path, random, 7)
    again, store = opened(tmp_path)
    assert content(store) == built(tmp_path)
    assert again._store.position > cached.position
    kept = store.bank.text[: int(cached.assembled.bank.offsets[-1])].tobytes()
    assert kept == cached.assembled.bank.text[: len(kept)].tobytes()  # it was not built from the journal


@pytest.mark.parametrize("part", [checksum.PART, 1_000])
def test_every_flipped_byte_and_every_cut_is_found(part: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checksum, "PART", part)
    fill(tmp_path, Random(1), 8)
    opened(tmp_path, save=True)
    expected = built(tmp_path)
    path = tmp_path / CACHE
    whole = path.read_bytes()
    for at in range(0, len(whole), 13):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :])
        assert read_cache(path) is None
    for damaged in (whole[:10], whole[: len(whole) // 2], b"", whole + b"\0"):
        path.write_bytes(damaged)
        assert content(opened(tmp_path)[1]) == expected
    path.write_bytes(whole)
    assert read_cache(path) is not None


def test_the_cache_of_another_journal_is_not_opened(tmp_path: Path) -> None:
    one, other, earlier = tmp_path / "one", tmp_path / "other", tmp_path / "earlier"
    fill(one, Random(1), 6)
    shutil.copytree(one, earlier)
    fill(one, Random(2), 6)
    fill(other, Random(3), 20)
    opened(one, save=True)
    for folder in (other, earlier):
        shutil.copy(one / CACHE, folder / CACHE)
        assert content(opened(folder)[1]) == built(folder)


def test_a_cache_that_cannot_be_written_leaves_the_former_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(tmp_path, Random(1), 6)
    opened(tmp_path, save=True)
    former = (tmp_path / CACHE).read_bytes()
    (tmp_path / f"{CACHE}.0a1b2c3d.tmp").write_bytes(b"left by a kill")
    fill(tmp_path, Random(2), 6)

    def refuse(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(file.os, "fsync", refuse)
    assert content(opened(tmp_path, save=True)[1]) == built(tmp_path)
    assert (tmp_path / CACHE).read_bytes() == former
    assert [*tmp_path.glob("*.tmp")] == []


def test_an_empty_journal_is_an_empty_store(tmp_path: Path) -> None:
    found, store = opened(tmp_path)
    assert (store.size, store.position, [*store.graphs()]) == (0, 0, [])
    found.save()
    assert not (tmp_path / CACHE).exists()


def test_what_was_interrupted_is_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(tmp_path, Random(1), 5)
    with JournalFile.read_only(tmp_path) as journal:
        found = Repository(journal, tmp_path)
        with monkeypatch.context() as patched:
            patched.setattr(Store, "apply_all", _interrupted)
            with pytest.raises(KeyboardInterrupt):
                found.follow()
        found.save()
        assert not (tmp_path / CACHE).exists()
        assert content(found.follow()) == built(tmp_path)


def _interrupted(store: Store, event: object) -> None:
    store.position += 1
    raise KeyboardInterrupt
