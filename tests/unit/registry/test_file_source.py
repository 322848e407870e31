"""What stands in the subscription files is what is registered."""

from __future__ import annotations

import errno
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from triplecast.errors import InputError
from triplecast.index import IndexWriter, SegmentFolder, Snapshot, open_snapshot
from triplecast.journal import Journal
from triplecast.model.subscription import BROAD_PER_OWNER, FILES
from triplecast.pipeline.horizon import MovingHorizon
from triplecast.pipeline.looks import LOOK_SECONDS
from triplecast.registry.admission import WARNINGS_SHOWN, admit_all
from triplecast.registry.file_source import QUIET, FileSource
from triplecast.registry.files import load_subscriptions
from triplecast.registry.lines import SubscriptionFault
from triplecast.registry.registry import Registry
from triplecast.registry.upkeep import IndexUpkeep


def query(name: str) -> str:
    return f"SELECT ?a {{ ?a <http://e/{name}> ?b }}"


class Desk:
    """A registrar over a folder ``subscriptions``, its journal, and a clock that tests step."""

    def __init__(self, folder: Path, broad_per_owner: int = BROAD_PER_OWNER) -> None:
        self.broad_per_owner = broad_per_owner
        self.output = folder / "output"
        self.files = folder / "subscriptions"
        self.files.mkdir(exist_ok=True)
        self.told: list[SubscriptionFault] = []
        self.notes: list[str] = []
        self.now = 0.0
        self.open()

    def open(self) -> None:
        self.journal = Journal.open(self.output)
        self.horizon = MovingHorizon()
        index = IndexWriter(SegmentFolder(self.output / "index"))
        upkeep = IndexUpkeep(
            index, self.journal, lambda: 0, lambda each: self.horizon.cover(each.manifest, each.covers)
        )
        self.registry = Registry(self.journal, upkeep, self.broad_per_owner)
        self.source = FileSource([self.files], self.registry, self.journal, self.tell)

    def tell(self, notice: SubscriptionFault | str) -> None:
        if isinstance(notice, str):
            self.notes.append(notice)
        else:
            self.told.append(notice)

    def start(self) -> None:
        self.registry.index.open()
        self.source.start(self.now)

    def restart(self) -> None:
        self.journal.close()
        self.open()
        self.start()

    def look(self) -> bool:
        """A look that sees the change, and one a quiet moment later that takes it."""
        self.source.look(self.now)
        self.now += 1.0
        return self.source.look(self.now)

    def write(self, name: str, text: str) -> None:
        (self.files / name).write_text(text)

    def live(self) -> dict[str, int]:
        return {found.subscription.name: int(found.id) for found in self.journal.live_registrations()}

    def snapshot(self) -> Snapshot:
        horizon = self.horizon.now
        assert horizon is not None
        snapshot = open_snapshot(SegmentFolder(self.output / "index"), horizon.manifest)
        assert snapshot.covers == horizon.covers == self.journal.head()
        return snapshot


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path)
    yield desk
    desk.journal.close()


def test_a_start_registers_what_is_there_and_a_restart_changes_nothing(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.write("b.rq", query("b"))
    desk.start()
    before = desk.live()
    assert sorted(before) == ["a.rq", "b.rq"]
    assert len(desk.snapshot()) == 2
    head = desk.journal.head()
    desk.restart()
    assert (desk.live(), desk.journal.head()) == (before, head)
    assert len(desk.snapshot()) == 2
    assert not desk.look()


def test_an_edited_text_is_a_cancel_and_a_new_registration_and_its_neighbour_stays(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.write("b.rq", query("b"))
    desk.start()
    before = desk.live()
    desk.write("b.rq", query("other"))
    assert desk.look()
    after = desk.live()
    assert after["a.rq"] == before["a.rq"]
    assert after["b.rq"] > before["b.rq"]
    old = desk.journal.registration(before["b.rq"])
    assert old is not None
    assert old.removed is not None
    assert old.removed < after["b.rq"]
    assert len(desk.snapshot()) == 2


def test_a_file_that_is_still_written_is_not_read(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.start()
    desk.write("b.jsonl", '{"id": "b", "te')
    assert not desk.source.look(1.0)
    desk.write("b.jsonl", json.dumps({"id": "b", "text": query("b")}) + "\n")
    assert not desk.source.look(1.0 + QUIET)
    assert desk.source.look(1.0 + 2 * QUIET)
    assert sorted(desk.live()) == ["a.rq", "b"]
    assert desk.told == []


def test_a_refused_one_among_good_ones_is_told_and_stops_nobody(desk: Desk) -> None:
    desk.write("bad.rq", "SELECT ?a WHERE { ?a <http://e/p> }")
    desk.write("good.rq", query("a"))
    desk.write("refused.rq", "DESCRIBE <http://e/x>")
    desk.write("later.rule", "search Item i register i")
    desk.start()
    assert sorted(desk.live()) == ["good.rq"]
    told = {Path(fault.place).name.partition(":")[0]: fault for fault in desk.told}
    assert sorted(told) == ["bad.rq", "later.rule", "refused.rq"]
    assert ":1:" in told["bad.rq"].place
    assert "^" in told["bad.rq"].reason
    assert "DESCRIBE is refused" in told["refused.rq"].reason
    desk.write("bad.rq", query("b"))
    assert desk.look()
    assert sorted(desk.live()) == ["bad.rq", "good.rq"]
    assert len(desk.source.faults) == 2
    assert len(desk.told) == 3, "what was told is not told again"


def test_a_run_says_of_a_bad_subscription_what_a_match_says(desk: Desk) -> None:
    desk.write("bad.rq", "SELECT ?a WHERE {\n  ?a <http://e/p> }")
    desk.write("lines.jsonl", '{"id": "a", "text": "DESCRIBE <http://e/x>"}\n{"id": "a"}\n')
    desk.start()
    matched = admit_all(load_subscriptions([desk.files])).faults
    assert sorted(map(str, desk.told)) == sorted(map(str, matched))
    assert len(matched) == 3


def test_an_edit_that_breaks_a_query_leaves_the_text_before_in_force_until_it_is_mended_or_removed(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.write("b.rq", query("b"))
    desk.start()
    before = desk.live()
    for broken in ("SELECT", "DESCRIBE <http://e/x>"):
        desk.write("b.rq", broken)
        assert desk.look()
        assert desk.live() == before
        assert len(desk.snapshot()) == 2
        assert desk.told[-1].hint.endswith("what was registered before stays in force")
    desk.restart()
    assert desk.live() == before, "also a run that finds the broken text at its start"
    assert len(desk.source.faults) == 1
    desk.write("b.rq", query("fixed"))
    assert desk.look()
    assert desk.live()["a.rq"] == before["a.rq"]
    assert desk.live()["b.rq"] > before["b.rq"]
    desk.write("b.rq", "SELECT")
    assert desk.look()
    (desk.files / "b.rq").unlink()
    assert desk.look()
    assert sorted(desk.live()) == ["a.rq"]
    assert desk.source.faults == ()


def test_a_file_that_is_no_text_any_more_leaves_its_subscription_in_force(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.write("b.rq", query("b"))
    desk.start()
    before = desk.live()
    (desk.files / "b.rq").write_bytes(b"SELECT \xff")
    assert desk.look()
    assert desk.live() == before
    assert "stays in force" in desk.told[-1].hint


@pytest.mark.parametrize("restart", [False, True])
def test_lines_that_cannot_be_read_cancel_nobody_until_they_are_mended(desk: Desk, restart: bool) -> None:
    lines = [json.dumps({"id": name, "text": query(name)}) for name in "abc"]
    desk.write("s.jsonl", "\n".join(lines))
    desk.write("other.jsonl", json.dumps({"id": "d", "text": query("d")}) + "\n")
    desk.start()
    before = desk.live()
    desk.write("s.jsonl", "\n".join([lines[0], lines[1][:20]]))
    if restart:
        desk.restart()
    else:
        assert desk.look()
    assert desk.live() == before
    assert "stays in force" in desk.told[-1].hint
    (desk.files / "other.jsonl").unlink()
    assert desk.look()
    assert sorted(desk.live()) == ["a", "b", "c"], "a neighbour is cancelled all the same"
    desk.write("s.jsonl", "\n".join(lines[:2]))
    assert desk.look()
    assert sorted(desk.live()) == ["a", "b"]


def test_files_that_go_missing_altogether_leave_the_registry_as_it_is(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.start()
    (desk.files / "a.rq").unlink()
    for _ in range(3):
        assert not desk.look()
    assert sorted(desk.live()) == ["a.rq"]
    assert len(desk.told) == 1
    assert "what is registered stays" in desk.told[0].reason


def test_a_start_without_any_file_says_so(desk: Desk) -> None:
    with pytest.raises(InputError, match="holds no subscription"):
        desk.start()


def test_a_registry_in_which_all_is_refused_has_an_index_all_the_same(desk: Desk) -> None:
    desk.write("a.rq", "SELECT")
    desk.start()
    assert len(desk.snapshot()) == 0


def test_a_lost_index_is_made_again(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.start()
    for file in (desk.output / "index").iterdir():
        file.write_bytes(b"x")
    desk.restart()
    assert len(desk.snapshot()) == 1


@pytest.mark.slow
def test_one_changed_line_of_a_hundred_thousand_takes_effect_within_two_seconds(desk: Desk) -> None:
    lines = [
        json.dumps({"id": f"s{n}", "text": f"SELECT ?a {{ ?a <http://e/p{n % 50}> {n} }}"}) for n in range(100_000)
    ]
    desk.write("s.jsonl", "\n".join(lines))
    desk.start()
    before = desk.live()
    lines[77_777] = json.dumps({"id": "s77777", "text": query("changed")})
    desk.write("s.jsonl", "\n".join(lines))
    began = time.process_time()
    assert desk.look()
    took = time.process_time() - began
    after = desk.live()
    assert {name for name in after if after[name] != before[name]} == {"s77777"}
    assert len(desk.snapshot()) == 100_000
    assert QUIET + LOOK_SECONDS + took < 2, took


def test_what_is_registered_but_cannot_be_asked_is_told(desk: Desk) -> None:
    """As after another version of Triplecast, which answered more."""
    desk.write("old.rq", "SELECT ?a { ?a ?b ?c } LIMIT 0")
    desk.journal.subscribe(load_subscriptions([desk.files]).subscriptions, source=FILES)
    desk.restart()
    (fault,) = desk.told
    assert fault.place == "old.rq"
    assert "cannot evaluate it" in fault.reason
    assert "LIMIT 0" in fault.reason
    assert desk.source.faults == (fault,)
    desk.write("old.rq", query("new"))
    assert desk.look()
    assert desk.source.faults == ()


def test_files_that_are_not_read_are_named_once(desk: Desk) -> None:
    desk.write("good.rq", query("a"))
    desk.write("q.sql", query("b"))
    desk.start()
    desk.write("README.md", "none")
    desk.look()
    desk.look()
    assert [note.rpartition(": ")[2] for note in desk.notes] == ["q.sql", "README.md"]
    assert desk.source.ignored == ("README.md", "q.sql")
    assert sorted(desk.live()) == ["good.rq"]


def test_what_a_subscription_hardly_means_is_told_when_it_is_registered_and_its_cost_is_not(desk: Desk) -> None:
    desk.write("odd.rq", "SELECT ?titel { ?x dc:title ?title }")
    desk.write("plain.rq", query("a"))
    desk.start()
    desk.restart()
    (note,) = desk.notes
    assert note.startswith(f"{desk.files}/odd.rq: note: ?titel in SELECT is bound by nothing")
    for number in range(30):
        desk.write(f"odd{number}.rq", f"SELECT ?b{number} {{ ?x dc:title ?title }}")
    desk.look()
    assert len(desk.notes) == 1 + WARNINGS_SHOWN + 1
    assert desk.notes[-1].startswith("10 more notes on subscriptions")
    assert desk.source.warnings == 30


def test_a_folder_that_cannot_be_listed_any_more_cancels_nobody(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.files / "team").mkdir()
    desk.write("team/a.rq", query("a"))
    desk.write("team/b.jsonl", json.dumps({"id": "b", "text": query("b")}))
    desk.write("c.rq", query("c"))
    desk.start()
    before = desk.live()
    scandir = os.scandir

    def refusing(path: str | Path) -> object:
        if Path(path).name == "team":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refusing)
    desk.write("c.rq", query("other"))
    desk.look()
    live = desk.live()
    assert (live["team/a.rq"], live["b"]) == (before["team/a.rq"], before["b"])
    assert live["c.rq"] > before["c.rq"], "its neighbour is changed"
    (fault,) = desk.source.faults
    assert str(fault).startswith(f"{desk.files}/team: cannot be read: Permission denied; make it readable")
    assert str(fault).endswith("what was registered before stays in force")
    desk.restart()
    assert desk.live() == live
    monkeypatch.undo()
    desk.look()
    assert desk.live() == live
    assert desk.source.faults == ()
