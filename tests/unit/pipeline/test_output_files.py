"""Notifications at an address are what the outbox has, each once, whoever was killed when."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from contextlib import closing
from io import BytesIO
from pathlib import Path
from typing import IO

import pytest

pytest.importorskip("pyarrow", reason="addresses need the extra [spark]")

from tests.bucket import Bucket
from tests.properties.output_kills import LARGE, SMALL, check_files, put_all, record, recorded, run, stored
from triplecast.engine import Engine
from triplecast.errors import InputError, StorageFault, StorageFull
from triplecast.journal import Journal
from triplecast.pipeline import object_store, output_files
from triplecast.pipeline.object_store import ObjectStore, Sealed
from triplecast.pipeline.output_files import OutputFiles, choose_folder


@pytest.mark.slow
def test_who_is_killed_leaves_whole_files_that_never_change(tmp_path: Path, bucket: Bucket, seed: int) -> None:
    deaths = run(tmp_path, bucket, seed, 3)
    assert deaths["output.planned"] + deaths["output.put"] == 2


def test_files_go_on_where_they_ended(tmp_path: Path, bucket: Bucket) -> None:
    """And nothing comes again that its reader has taken away."""
    record(tmp_path, 30)
    put_all(tmp_path, bucket.address("out"))
    files = stored(bucket, "out")
    check_files(files, recorded(tmp_path))
    assert len(files) > 2
    for name in files:
        bucket.bucket.Object(name).delete()
    put_all(tmp_path, bucket.address("out"))
    assert not stored(bucket, "out")
    record(tmp_path, 3, 100)
    put_all(tmp_path, bucket.address("out"))
    assert b"".join(stored(bucket, "out").values()).decode().splitlines() == recorded(tmp_path)[60:]


def test_a_folder_that_machines_share_has_the_same_files(tmp_path: Path, bucket: Bucket) -> None:
    record(tmp_path / "run", 10)
    for address in (bucket.address("out"), f"file://{tmp_path}/out"):
        put_all(tmp_path / "run", address)
    found = [each.read_bytes() for each in sorted((tmp_path / "out").glob("n*"))]
    assert found == list(stored(bucket, "out").values())


def test_what_was_planned_is_put_though_more_is_recorded(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the store has it, and where it has not; also when the store failed in between."""
    record(tmp_path, 20)
    write, arrives = ObjectStore.write, iter([False, True, True])

    def fail(store: ObjectStore, name: str, source: bytes) -> None:
        if (is_mark := name.startswith("_")) or next(arrives):
            write(store, name, source)
        if not is_mark:
            raise StorageFault(name, "no answer", "start again")

    monkeypatch.setattr(ObjectStore, "write", fail)
    seen: list[dict[str, bytes]] = []
    for turn in range(3):
        with pytest.raises(StorageFault, match="no answer"):
            put_all(tmp_path, bucket.address("out"), LARGE)
        seen.append(stored(bucket, "out"))
        record(tmp_path, 5, 100 * (turn + 1))
    assert [len(each) for each in seen] == [0, 1, 2]
    assert seen[1].items() < seen[2].items()
    monkeypatch.undo()
    put_all(tmp_path, bucket.address("out"), LARGE)
    check_files(stored(bucket, "out"), recorded(tmp_path))


def test_what_was_pruned_is_left_out(tmp_path: Path, bucket: Bucket) -> None:
    record(tmp_path, 20)
    with Engine.open(tmp_path) as engine:
        engine.prune(7)
    lines = recorded(tmp_path)
    assert len(lines) < 40
    put_all(tmp_path, bucket.address("out"))
    assert b"".join(stored(bucket, "out").values()).decode().splitlines() == lines
    with Engine.open(tmp_path) as engine:
        engine.publish("<http://e/1> <http://e/number> 1 ; <http://e/text> 2 .", "text/turtle", "http://e/1")
        engine.prune(42)
    put_all(tmp_path, bucket.address("out"))
    assert b"".join(stored(bucket, "out").values()).decode().splitlines() == lines


def test_files_of_another_outbox_are_left_alone(tmp_path: Path, bucket: Bucket) -> None:
    address = bucket.address("out")
    for name in ("one", "other"):
        record(tmp_path / name, 5)
    put_all(tmp_path / "one", address)
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    with pytest.raises(InputError, match="s3://bucket/out has the notifications of another outbox"):
        put_all(tmp_path / "other", address)
    record(tmp_path / "one", 5, 100)
    put_all(tmp_path / "one", address)
    with pytest.raises(StorageFault, match="this is an older copy"):
        put_all(tmp_path / "copy", address)
    files = stored(bucket, "out")
    for each in (tmp_path / "one").glob("outbox*"):
        each.unlink()
    with pytest.raises(InputError, match="another outbox"):
        put_all(tmp_path / "one", address)
    assert stored(bucket, "out") == files


def test_an_older_copy_is_refused_also_where_readers_take_files_away(tmp_path: Path, bucket: Bucket) -> None:
    address = bucket.address("out")
    record(tmp_path / "one", 5)
    put_all(tmp_path / "one", address)
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    for each in tmp_path / "one", tmp_path / "copy":
        record(each, 5, 100)
    put_all(tmp_path / "one", address)
    for name in stored(bucket, "out"):
        bucket.bucket.Object(name).delete()
    with pytest.raises(StorageFault, match="end one and delete _notifications there, or name another address"):
        put_all(tmp_path / "copy", address)
    assert not stored(bucket, "out")
    put_all(tmp_path / "one", address)


def test_of_two_folders_that_start_at_an_empty_address_one_ends(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And of a folder and its copy that run. The mark may be taken away by a reader."""
    monkeypatch.setattr(output_files, "FILE_SECONDS", 0.0)
    monkeypatch.setattr(output_files, "FILE_BYTES", SMALL)
    address = bucket.address("out")
    for name in ("one", "other"):
        record(tmp_path / name, 30)
    with Journal.open(tmp_path / "one") as journal, closing(OutputFiles(address, journal)) as files:
        with pytest.raises(InputError, match="s3://bucket/out has the notifications of another outbox"):
            put_all(tmp_path / "other", address)
        bucket.bucket.Object("out/_notifications").delete()
        assert files.look()
        with pytest.raises(InputError, match="another outbox"):
            put_all(tmp_path / "other", address)
        shutil.copytree(tmp_path / "one", tmp_path / "copy")
        put_all(tmp_path / "copy", address)
        there = stored(bucket, "out")
        with pytest.raises(StorageFault, match="a copy of it runs"):
            files.look()
    assert stored(bucket, "out") == there


def test_where_a_copy_ran_and_is_gone_the_folder_goes_on_without_the_mark(tmp_path: Path, bucket: Bucket) -> None:
    address = bucket.address("out")
    record(tmp_path / "one", 5)
    put_all(tmp_path / "one", address)
    shutil.copytree(tmp_path / "one", tmp_path / "copy")
    put_all(tmp_path / "copy", address)
    before = stored(bucket, "out")
    record(tmp_path / "one", 5, 100)
    with pytest.raises(StorageFault, match="delete _notifications there"):
        put_all(tmp_path / "one", address)
    bucket.bucket.Object("out/_notifications").delete()
    put_all(tmp_path / "one", address)
    assert len(stored(bucket, "out")) > len(before)


@pytest.mark.parametrize("point", ["before", "after"])
def test_who_is_killed_at_its_mark_goes_on(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    record(tmp_path, 5)
    put_all(tmp_path, bucket.address("out"))
    write = ObjectStore.write

    def end(store: ObjectStore, name: str, source: bytes) -> None:
        if point == "after":
            write(store, name, source)
        raise KeyboardInterrupt

    record(tmp_path, 5, 100)
    monkeypatch.setattr(ObjectStore, "write", end)
    with pytest.raises(KeyboardInterrupt):
        put_all(tmp_path, bucket.address("out"))
    monkeypatch.undo()
    put_all(tmp_path, bucket.address("out"))
    check_files(stored(bucket, "out"), recorded(tmp_path))


def test_a_full_disk_says_so_and_all_is_put_when_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path / "run", 5)
    address, fill = f"file://{tmp_path}/out", object_store.seal

    def be_full(source: IO[bytes], target: IO[bytes] | None = None) -> Sealed:
        if isinstance(source, BytesIO) and len(source.getvalue()) > 100:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return fill(source, target)

    monkeypatch.setattr(object_store, "seal", be_full)
    with pytest.raises(StorageFull, match=r"/out/notif.*no space.*free disk space"):
        put_all(tmp_path / "run", address)
    monkeypatch.undo()
    put_all(tmp_path / "run", address)
    files = {each.name: each.read_bytes() for each in sorted((tmp_path / "out").glob("n*"))}
    check_files(files, recorded(tmp_path / "run"))
    assert files


def test_a_file_that_is_there_keeps_what_was_pruned_since(
    tmp_path: Path, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Put, but not noted, by who was killed."""
    record(tmp_path, 20)
    monkeypatch.setattr(output_files, "reach", end_at("output.put"))
    with pytest.raises(KeyboardInterrupt):
        put_all(tmp_path, bucket.address("out"), LARGE)
    monkeypatch.undo()
    there = stored(bucket, "out")
    with Engine.open(tmp_path) as engine:
        assert engine.prune(30)
    put_all(tmp_path, bucket.address("out"), LARGE)
    assert stored(bucket, "out") == there


def end_at(point: str) -> Callable[[str], None]:
    def reach(name: str) -> None:
        if name == point:
            raise KeyboardInterrupt

    return reach


def test_a_folder_is_needed_beside_an_address_only(tmp_path: Path) -> None:
    assert choose_folder("out", None, "s3://b/in") == Path("out")
    assert choose_folder("s3://b/out", "state", "s3://b/ou") == Path("state")
    for output, folder, inbox, found in (
        ("s3://b/out", None, None, "no journal and no index can be kept"),
        ("out", "state", None, "--folder names another"),
        ("s3://b/in/out", "state", "s3://b/in", "is in the inbox"),
        (str(tmp_path), None, str(tmp_path), "is in the inbox"),
        (f"file://{tmp_path}/in/out", "state", str(tmp_path / "in"), "another place with --output"),
        (f"file://{tmp_path}/./in", "state", f"file://{tmp_path}/in", "another place with --output"),
        (f"file://{tmp_path}/out", str(tmp_path / "in" / "state"), str(tmp_path / "in"), "another place with --folder"),
    ):
        with pytest.raises(InputError, match=found):
            choose_folder(output, folder, inbox)


def test_an_address_that_cannot_be_is_refused(tmp_path: Path, bucket: Bucket) -> None:
    with Journal.in_memory() as journal, pytest.raises(InputError, match="there is no nowhere"):
        OutputFiles(bucket.address("out").replace("bucket", "nowhere"), journal)
