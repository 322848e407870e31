"""Files that are renamed into an inbox are told of at once; all else is left to scans."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from triplecast.ingest.arrivals import Arrivals
from triplecast.ingest.inbox import list_arrived
from triplecast.model.publication import FileState

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="inotify is of Linux")


@pytest.fixture
def arrivals(tmp_path: Path) -> Iterator[Arrivals]:
    (tmp_path / "below").mkdir()
    with closing(Arrivals(tmp_path)) as arrivals:
        arrivals.refresh()
        yield arrivals


def drop(folder: Path, name: str, text: str = "") -> None:
    (folder / f".{name}").write_text(text)
    (folder / f".{name}").rename(folder / name)


def test_renamed_files_arrive_and_written_ones_do_not(tmp_path: Path, arrivals: Arrivals) -> None:
    (tmp_path / "written.ttl").write_text("x")
    drop(tmp_path, "a.ttl")
    drop(tmp_path / "below", "b.nt")
    (tmp_path / "a.ttl").rename(tmp_path / ".hidden.ttl")
    drop(tmp_path, "a.ttl")
    assert arrivals.wait(5.0) == {("a.ttl",), ("below", "b.nt")}
    assert arrivals.wait(0.0) == set()


def test_a_change_of_folders_stops_the_news_until_they_are_watched_again(tmp_path: Path, arrivals: Arrivals) -> None:
    (tmp_path / "below").rename(tmp_path / "moved")
    drop(tmp_path / "moved", "a.ttl")
    assert arrivals.wait(0.1) == set(), "it would be told under the folder's old name"
    arrivals.refresh()
    drop(tmp_path / "moved", "b.ttl")
    assert arrivals.wait(5.0) == {("moved", "b.ttl")}


def test_an_inbox_that_cannot_be_watched_brings_no_news(tmp_path: Path) -> None:
    with closing(Arrivals(tmp_path / "missing")) as arrivals:
        arrivals.refresh()
        assert arrivals.wait(0.01) == set()


def test_what_arrived_is_listed_if_it_is_read_and_new(tmp_path: Path) -> None:
    for name in ("b.ttl", "a.ttl", "known.ttl", "x.unknown", "y.ttl.tmp"):
        (tmp_path / name).write_text(name)
    os.symlink(tmp_path / "a.ttl", tmp_path / "link.ttl")
    (tmp_path / "folder.ttl").mkdir()
    state = (tmp_path / "known.ttl").stat()
    known = {"known.ttl": FileState(state.st_size, state.st_mtime_ns, b"", "accepted")}
    arrived = [(each.name,) for each in tmp_path.iterdir()] + [("gone.ttl",)]
    assert [file.source for file in list_arrived(tmp_path, arrived, known)] == ["a.ttl", "b.ttl"]
    known["known.ttl"] = known["known.ttl"]._replace(size=1)
    assert [file.source for file in list_arrived(tmp_path, arrived, known)] == ["a.ttl", "b.ttl", "known.ttl"]
