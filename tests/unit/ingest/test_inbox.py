"""Which files of the inbox are ready, and what is never opened."""

from __future__ import annotations

import errno
import os
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from triplecast.errors import InputError
from triplecast.ingest.inbox import (
    QUIET,
    InboxFile,
    Look,
    describe_ignored,
    open_inbox_file,
    read_inbox_file,
    scan_inbox,
)


class Known(NamedTuple):
    size: int
    mtime_ns: int


def ready_names(folder: Path, looks: dict[str, Look] | None = None) -> list[str]:
    """The names that a second look finds ready, a quiet second after the first."""
    first = scan_inbox(folder, {}, looks or {}, 0.0)
    return [file.source for file in scan_inbox(folder, {}, first.looks, QUIET).ready]


def one_file(folder: Path) -> InboxFile:
    first = scan_inbox(folder, {}, {}, 0.0)
    (file,) = scan_inbox(folder, {}, first.looks, QUIET).ready
    return file


def test_a_file_is_ready_after_it_has_stood_still_for_a_second(tmp_path: Path) -> None:
    (tmp_path / "a.ttl").write_text("x")
    first = scan_inbox(tmp_path, {}, {}, 10.0)
    early = scan_inbox(tmp_path, {}, first.looks, 10.9)
    late = scan_inbox(tmp_path, {}, early.looks, 11.0)
    assert (first.ready, first.waiting) == ((), 1)
    assert (early.ready, early.waiting) == ((), 1)
    assert [file.source for file in late.ready] == ["a.ttl"]


def test_a_file_that_grows_waits_from_its_last_change(tmp_path: Path) -> None:
    file = tmp_path / "a.ttl"
    file.write_text("x")
    first = scan_inbox(tmp_path, {}, {}, 0.0)
    file.write_text("xy")
    second = scan_inbox(tmp_path, {}, first.looks, 1.5)
    assert second.ready == ()
    assert [found.source for found in scan_inbox(tmp_path, {}, second.looks, 2.5).ready] == ["a.ttl"]


def test_a_change_of_time_alone_is_a_change(tmp_path: Path) -> None:
    file = tmp_path / "a.ttl"
    file.write_text("x")
    state = file.stat()
    known = {"a.ttl": Known(state.st_size, state.st_mtime_ns)}
    assert scan_inbox(tmp_path, known, {}, 0.0).looks == {}
    os.utime(file, ns=(state.st_atime_ns, state.st_mtime_ns + 1))
    assert set(scan_inbox(tmp_path, known, {}, 0.0).looks) == {"a.ttl"}


def test_unfinished_and_foreign_files_are_left_alone(tmp_path: Path) -> None:
    for name in (".hidden.ttl", "b.ttl.tmp", "c.tmp", "notes.md", "d.nt", "e.JSONL"):
        (tmp_path / name).write_text("x")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "f.ttl").write_text("x")
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "deep" / "g.ttl").write_text("x")
    assert ready_names(tmp_path) == ["d.nt", "e.JSONL", "sub/deep/g.ttl"]
    assert scan_inbox(tmp_path, {}, {}, 0.0).ignored == ("notes.md",)


def test_links_and_pipes_are_never_taken(tmp_path: Path) -> None:
    inbox = tmp_path / "inbox"
    inbox.mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.ttl").write_text("secret")
    (inbox / "link.ttl").symlink_to(tmp_path / "outside" / "secret.ttl")
    (inbox / "folder").symlink_to(tmp_path / "outside")
    os.mkfifo(inbox / "pipe.ttl")
    assert ready_names(inbox) == []
    assert scan_inbox(inbox, {}, {}, 0.0).ignored == ("folder", "link.ttl", "pipe.ttl")


@pytest.mark.parametrize("swap", ["file", "folder", "pipe"])
def test_a_file_that_becomes_a_link_or_a_pipe_after_the_look_is_not_followed(tmp_path: Path, swap: str) -> None:
    inbox, outside = tmp_path / "inbox", tmp_path / "outside"
    (inbox / "sub").mkdir(parents=True)
    outside.mkdir()
    (inbox / "sub" / "a.ttl").write_text("public")
    (outside / "a.ttl").write_text("secret")
    file = one_file(inbox)
    (inbox / "sub" / "a.ttl").unlink()
    if swap == "file":
        (inbox / "sub" / "a.ttl").symlink_to(outside / "a.ttl")
    elif swap == "pipe":
        os.mkfifo(inbox / "sub" / "a.ttl")
    else:
        (inbox / "sub").rmdir()
        (inbox / "sub").symlink_to(outside)
    os.utime(outside / "a.ttl", ns=(file.mtime_ns, file.mtime_ns))
    assert read_inbox_file(inbox, file) is None


def test_a_file_that_grows_while_it_is_read_is_left_for_later(tmp_path: Path) -> None:
    path = tmp_path / "a.ttl"
    path.write_text("x" * 10)
    file = one_file(tmp_path)
    with open_inbox_file(tmp_path, file) as descriptor:
        assert descriptor is not None
        with path.open("a") as more:
            more.write("y")
    assert read_inbox_file(tmp_path, file) is None
    path.unlink()
    assert read_inbox_file(tmp_path, file) is None


def test_a_change_between_the_two_looks_of_a_reader_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.ttl"
    path.write_text("old")
    file = one_file(tmp_path)
    read = os.read

    def read_and_change(descriptor: int, count: int) -> bytes:
        piece = read(descriptor, count)
        path.write_text("newer")
        return piece

    monkeypatch.setattr(os, "read", read_and_change)
    assert read_inbox_file(tmp_path, file) is None


def test_names_that_are_no_utf8_are_escaped(tmp_path: Path) -> None:
    raw = os.fsencode(tmp_path) + b"/caf\xe9.ttl"
    with open(raw, "w") as file:
        file.write("x")
    found = one_file(tmp_path)
    assert found.source == "caf\\xe9.ttl"
    assert read_inbox_file(tmp_path, found) == b"x"


def test_a_missing_inbox_says_so(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no inbox folder"):
        scan_inbox(tmp_path / "nowhere", {}, {}, 0.0)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is no folder"):
        scan_inbox(tmp_path / "file", {}, {}, 0.0)


def test_folders_that_cannot_be_listed_are_told_and_nothing_else_suffers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "secret\x1b").mkdir()
    (tmp_path / "a.ttl").write_text("x")
    scandir = os.scandir

    def refusing(path: Path) -> object:
        if path.name == "secret\x1b":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    scan = scan_inbox(tmp_path, {}, {}, 0.0, quiet=0.0)
    assert [file.source for file in scan.ready] == ["a.ttl"]
    assert scan.ignored == ("secret\x1b/",)
    assert describe_ignored(["b.csv", *scan.ignored]) == (
        "skipped a file (an unknown extension, a link or a pipe): b.csv\n"
        "skipped a folder that cannot be listed: secret\\u001B/"
    )


def test_what_lies_deeper_than_paths_may_be_is_told(tmp_path: Path) -> None:
    descriptor = os.open(tmp_path, os.O_RDONLY)
    for _ in range(2100):
        os.mkdir("d", dir_fd=descriptor)
        deeper = os.open("d", os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = deeper
    os.close(descriptor)
    (tmp_path / "a.ttl").write_text("x")
    scan = scan_inbox(tmp_path, {}, {}, 0.0, quiet=0.0)
    assert [file.source for file in scan.ready] == ["a.ttl"]
    assert [set(source.split("/")) for source in scan.ignored] == [{"d", ""}]
    subprocess.run(["rm", "-r", tmp_path / "d"], check=True)
