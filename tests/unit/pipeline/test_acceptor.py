"""What becomes ready in the inbox is in the journal, each file once."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from triplecast.ingest import Parser, inbox_files
from triplecast.ingest.inbox import QUIET
from triplecast.ingest.inbox_files import TRIES
from triplecast.journal import Journal
from triplecast.model.publication import Reject
from triplecast.pipeline.acceptor import Acceptor, FolderInbox, Intake
from triplecast.sandbox import Limits


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser() as parser:
        yield parser


class Door:
    """An acceptor over a folder ``inbox`` and a clock that tests step."""

    def __init__(self, folder: Path, parser: Parser) -> None:
        self.inbox = folder / "inbox"
        self.inbox.mkdir(exist_ok=True)
        self.journal = Journal.open(folder / "output")
        self.told: list[Reject | str] = []
        self.parser = parser
        self.open()
        self.now = 0.0
        self.stop = threading.Event()

    def open(self, dataset: bool = False) -> None:
        """As a run does that starts on this journal."""
        self.acceptor = Acceptor(
            FolderInbox(self.inbox), Intake(self.journal, self.parser.parse, dataset, self.told.append)
        )

    def write(self, name: str, text: str) -> None:
        """Writes a file whose time differs from all earlier ones."""
        self.now += 10
        (self.inbox / name).write_text(text)
        os.utime(self.inbox / name, (self.now, self.now))

    def take(self) -> frozenset[str]:
        self.acceptor.look(self.now, self.stop)
        self.now += QUIET
        return self.acceptor.look(self.now, self.stop).left

    def versions(self) -> list[tuple[str, int]]:
        found = self.journal.publications(0, self.journal.head())
        return [(publication.graph.rpartition(":")[2], publication.version) for publication in found]


@pytest.fixture
def door(tmp_path: Path, parser: Parser) -> Iterator[Door]:
    door = Door(tmp_path, parser)
    yield door
    door.journal.close()


def test_a_changed_document_is_a_version_and_an_unchanged_one_is_not(door: Door) -> None:
    one, two = "<http://e/s> <http://e/p> 1 .", "<http://e/s> <http://e/p> 2 ."
    for text in (one, two, one):
        door.write("a.ttl", text)
        assert door.take() == frozenset()
    door.write("a.ttl", one)
    door.take()
    door.write("a.ttl", "# a comment\n" + one)
    door.take()
    assert door.versions() == [("a.ttl", 1), ("a.ttl", 2), ("a.ttl", 3)]
    assert (door.acceptor.taken.accepted, door.acceptor.taken.unchanged) == (3, 1)
    assert not door.acceptor.has_work()


def test_a_bad_document_is_a_reject_and_its_neighbours_are_taken(door: Door) -> None:
    door.write("a.ttl", "<http://e/s> <http://e/p> 1 .")
    door.write("b.ttl", "<http://e/s> <http://e/p> ")
    door.write("c.ttl", "<http://e/s> <http://e/p> 3 .")
    door.take()
    assert door.versions() == [("a.ttl", 1), ("c.ttl", 1)]
    assert [reject.source for reject in door.told] == ["b.ttl"]
    assert [kept.reject.source for kept in door.journal.rejects()] == ["b.ttl"]
    door.take()
    assert len(door.journal.rejects()) == 1, "it is not read again"


@pytest.fixture
def slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """While this file is there, documents that hold "slow" take their parser too long."""
    flag = tmp_path / "flag"
    (tmp_path / "sluggish.py").write_text(
        "import os\n"
        "from triplecast.ingest.worker import answer as parse\n"
        "def answer(request):\n"
        f"    while b'slow' in request and os.path.exists({str(flag)!r}): pass\n"
        "    return parse(request)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    flag.touch()
    return flag


@pytest.fixture
def sluggish(tmp_path: Path, slow: Path) -> Iterator[Door]:
    with Parser(1, Limits(0.1, 200 << 20, 1 << 20), "sluggish:answer") as parser:
        door = Door(tmp_path, parser)
        door.write("a.ttl", '<http://e/s> <http://e/p> "slow" .')
        door.write("b.ttl", "<http://e/s> <http://e/p> 2 .")
        yield door
        door.journal.close()


def test_a_file_that_took_too_long_is_tried_again_later(sluggish: Door, slow: Path) -> None:
    """A reject for time was final, since a run takes a file once. No test saw it: rejects were tested as one kind."""
    sluggish.take()
    assert sluggish.versions() == [("b.ttl", 1)]
    (kept,) = sluggish.journal.rejects()
    assert (kept.reject.source, kept.reject.stage) == ("a.ttl", "sandbox")
    assert "publish it again" in kept.reject.hint
    slow.unlink()
    sluggish.now += 50
    sluggish.take()
    assert sluggish.versions() == [("b.ttl", 1)]
    sluggish.now += 10
    sluggish.take()
    assert sluggish.versions() == [("b.ttl", 1), ("a.ttl", 1)]
    sluggish.now += 10_000
    sluggish.take()
    assert len(sluggish.versions()) == 2


def test_a_later_run_tries_a_slow_file_again_and_gives_up_after_some_tries(sluggish: Door) -> None:
    for run in range(TRIES):
        sluggish.open()
        assert sluggish.acceptor.has_work()
        sluggish.take()
        assert len(sluggish.journal.rejects()) == run + 1
    sluggish.open()
    assert not sluggish.acceptor.has_work()
    sluggish.now += 10_000
    sluggish.take()
    assert len(sluggish.journal.rejects()) == TRIES
    for change in ("changed", "changed again"):
        sluggish.write("a.ttl", f'<http://e/s> <http://e/p> "slow", "{change}" .')
        sluggish.take()
        assert sluggish.acceptor._known["a.ttl"].outcome == "overran 1"


def test_a_restart_takes_nothing_twice(door: Door, parser: Parser, tmp_path: Path) -> None:
    door.write("a.ttl", "<http://e/s> <http://e/p> 1 .")
    rows = [{"id": f"http://e/{n}", "media_type": "text/turtle", "data": f"<> <http://e/p> {n} ."} for n in (1, 2, 1)]
    rows[2]["data"] = "<> <http://e/p> 9 ."
    door.write("b.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
    door.take()
    before = door.versions()
    assert len(before) == 4
    door.journal.close()
    again = Door(tmp_path, parser)
    assert not again.acceptor.has_work()
    again.take()
    assert again.versions() == before
    again.journal.close()


def test_a_long_file_cut_short_goes_on_where_it_was(
    door: Door, parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inbox_files, "GROUP_DOCUMENTS", 2)
    lines = [
        json.dumps({"id": f"http://e/{n % 3}", "media_type": "text/turtle", "data": f"<> <http://e/p> {n} ."})
        for n in range(9)
    ]
    door.write("b.jsonl", "\n".join(lines))
    commit = door.journal.commit_documents

    def commit_and_stop(*arguments: object) -> object:
        door.stop.set()
        return commit(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(door.journal, "commit_documents", commit_and_stop)
    door.take()
    part = len(door.versions())
    assert 0 < part < 9
    door.journal.close()
    again = Door(tmp_path, parser)
    assert again.acceptor.has_work()
    again.take()
    assert [version for _, version in again.versions()] == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    again.journal.close()


def test_what_is_never_taken_is_named_once(door: Door) -> None:
    for number in range(6):
        door.write(f"{number}.csv", "a")
    door.write("a.ttl", "<http://e/s> <http://e/p> 1 .")
    door.take()
    (told,) = door.told
    assert str(told).startswith("skipped 6 files")
    assert str(told).endswith("0.csv, 1.csv, 2.csv, 3.csv, 4.csv and 1 more")
    door.write("late.pdf", "a")
    door.take()
    assert "skipped a file" in str(door.told[1])
    assert "late.pdf" in str(door.told[1])
    door.take()
    assert len(door.told) == 2
    assert door.versions() == [("a.ttl", 1)]
