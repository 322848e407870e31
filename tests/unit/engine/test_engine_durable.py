"""The engine in a folder: restarts, crashes, a damaged index, a full disk, a second engine."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from engine_samples import ANY_TITLE, TITLES, UNTITLED, turtle

from tests.unit.journal.journal_samples import run_and_crash
from triplecast import Engine, FolderLocked, InputError, SandboxFailed, StorageFault, StorageFull
from triplecast.journal import Journal
from triplecast.model.publication import Draft
from triplecast.model.subscription import FILES, Subscription

GRAPH = "https://example.org/doc/1"


@pytest.mark.parametrize("entailment", [None, "rdfs"])
def test_an_index_deleted_under_an_engine_costs_no_subscription(entailment: str | None, tmp_path: Path) -> None:
    """Segments of two modes are not merged into one with a new name; what it opened counts as what it wrote."""
    with Engine.open(tmp_path) as engine:
        engine.subscribe(TITLES, "first")
        engine.publish(turtle(None), "text/turtle", "urn:none")
    with Engine.open(tmp_path) as engine:
        shutil.rmtree(tmp_path / "index")
        engine.subscribe(TITLES, "second", entailment=entailment)
        assert len(engine.publish(turtle("a"), "text/turtle", "urn:a").matches) == 2
    with Engine.open(tmp_path) as engine:
        assert len(engine.publish(turtle("b"), "text/turtle", "urn:b").matches) == 2


def test_a_copy_restored_twice_never_gives_a_cursor_twice(tmp_path: Path) -> None:
    folder, copy, cursors = tmp_path / "folder", tmp_path / "copy", []
    with Engine.open(folder) as engine:
        engine.subscribe(TITLES)
    copy.mkdir()
    for name in ("journal.sqlite", "outbox.sqlite"):
        shutil.copy(folder / name, copy / name)
    for life in ("b", "c"):
        shutil.rmtree(folder)
        shutil.copytree(copy, folder)
        with Engine.open(folder) as engine:
            engine.publish(turtle(life), "text/turtle", f"urn:{life}")
            for cursor in cursors:
                with pytest.raises(InputError, match="is a cursor of epoch"):
                    list(engine.notifications(cursor))
            cursors += [str(each.cursor) for each in engine.notifications()]
    assert len({*cursors}) == 2


def test_a_restart_remembers_everything_and_tells_nothing_twice(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "new" / "folder") as engine:
        rail = engine.subscribe(TITLES, id="rail")
        gone = engine.subscribe(TITLES, id="gone")
        engine.publish(turtle("A"), "text/turtle", GRAPH)
        engine.unsubscribe("gone")
        sent = list(engine.notifications())
    with Engine.open(tmp_path / "new" / "folder") as engine:
        assert list(engine.notifications()) == sent
        receipt = engine.publish(turtle("A"), "text/turtle", GRAPH)
        assert (receipt.publications[0].outcome, receipt.matches) == ("unchanged", ())
        (match,) = engine.publish(turtle("B"), "text/turtle", GRAPH).matches
        assert (match.subscription, match.version) == ("rail", 2)
        with pytest.raises(InputError):
            engine.unsubscribe("rail", ticket=gone.ticket)
        engine.unsubscribe("rail", ticket=rail.ticket)
        assert engine.publish(turtle("C"), "text/turtle", GRAPH).matches == ()
        assert [n.sequence for n in engine.notifications()] == [1, 2, 3]


def test_the_index_is_written_only_after_the_registry_changed(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        for name in ("one", "two", "three"):
            engine.subscribe(TITLES, id=name)
        engine.unsubscribe("two")
        seen = []
        for title in "ABC":
            engine.publish(turtle(title), "text/turtle", GRAPH)
            seen.append(sorted(path.name for path in (tmp_path / "index").iterdir()))
        assert seen[0] == seen[1] == seen[2]
        assert len(seen[0]) == 2, "a segment and a manifest"


def test_a_second_engine_on_one_folder_is_refused(tmp_path: Path) -> None:
    with Engine.open(tmp_path), pytest.raises(FolderLocked, match=f"process {os.getpid()}"):
        Engine.open(tmp_path)
    Engine.open(tmp_path).close()


@pytest.mark.parametrize("damaged", [False, True])
def test_the_registry_of_each_position_holds_for_what_was_not_matched(tmp_path: Path, damaged: bool) -> None:
    """Accepted, and not matched before the registry changed: asked is who was registered then."""
    title = '<https://example.org/{0}> <https://example.org/title> "{0}" .\n'
    with Journal.open(tmp_path) as journal:
        (early,) = journal.subscribe([Subscription("early", ANY_TITLE)])
        changes = (
            lambda: journal.cancel([early.id]),
            lambda: journal.subscribe([Subscription("late", ANY_TITLE)]),
            list,
        )
        for number, change in enumerate(changes):
            quads = title.format(number).encode()
            journal.accept([Draft(f"urn:{number}", quads, quads[-32:], "none")])
            change()
    if damaged:
        (tmp_path / "index").mkdir()
        (tmp_path / "index" / "manifest-0000000001.json").write_text("{}")
    with Engine.open(tmp_path) as engine:
        assert [(n.subscription, n.publication) for n in engine.notifications()] == [
            ("early", "urn:0"),
            ("late", "urn:2"),
        ]


def test_a_journal_restored_from_a_copy_forgets_what_the_index_still_knows(tmp_path: Path) -> None:
    folder, copy = tmp_path / "folder", tmp_path / "copy"
    with Engine.open(folder) as engine:
        engine.subscribe(TITLES, id="rail")
        engine.publish(turtle("A"), "text/turtle", GRAPH)
    shutil.copytree(folder, copy)
    with Engine.open(folder) as engine:
        engine.subscribe(TITLES, id="later")
        engine.publish(turtle("B"), "text/turtle", GRAPH)
    for name in ("journal.sqlite", "outbox.sqlite"):
        shutil.copy(copy / name, folder / name)
    with pytest.raises(StorageFault, match=r"but 4 was acknowledged.* delete journal\.end"):
        Engine.open(folder)
    shutil.copy(copy / "journal.end", folder / "journal.end")
    with pytest.raises(StorageFault, match=r"it ends at notification 1 .* delete outbox\.end"):
        Engine.open(folder)
    shutil.copy(copy / "outbox.end", folder / "outbox.end")
    with Engine.open(folder) as engine:
        for title in "CDE":
            (match,) = engine.publish(turtle(title), "text/turtle", GRAPH).matches
            assert match.subscription == "rail"


def test_an_outbox_restored_from_a_copy_is_told_again_what_the_index_has_dropped(tmp_path: Path) -> None:
    """The index is newer than the outbox: whom it merged away since was live for what is replayed."""
    with Engine.open(tmp_path) as engine:
        engine.subscribe(ANY_TITLE, id="gone")
        engine.publish(turtle("A"), "text/turtle", GRAPH)
    shutil.copy(tmp_path / "outbox.sqlite", tmp_path / "old.sqlite")
    with Engine.open(tmp_path) as engine:
        engine.publish(turtle("B"), "text/turtle", GRAPH)
        engine.unsubscribe("gone")
        for number in range(6):
            engine.subscribe(TITLES, id=f"stays-{number}")
            engine.publish(turtle(f"C{number}"), "text/turtle", GRAPH)
        told = list(engine.notifications())
    assert [n.version for n in told if n.subscription == "gone"] == [1, 2]
    shutil.copy(tmp_path / "old.sqlite", tmp_path / "outbox.sqlite")
    with pytest.raises(StorageFault, match=r"it ends at notification 1 .* delete outbox\.end"):
        Engine.open(tmp_path)
    (tmp_path / "outbox.end").unlink()
    with Engine.open(tmp_path) as engine:
        again = list(engine.notifications())
        assert {each.cursor.epoch for each in again} == {4}, "the fourth writer's; the third found the end lost"
        assert [replace(each, cursor=each.sequence) for each in again] == [
            replace(each, cursor=each.sequence) for each in told
        ]


@pytest.mark.parametrize("harm", ["removed", "emptied", "nested", "flipped"])
def test_a_damaged_index_is_made_again(tmp_path: Path, harm: str) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(TITLES, id="rail")
        engine.subscribe(ANY_TITLE, id="any")
        engine.unsubscribe("any")
        engine.publish(turtle("A"), "text/turtle", GRAPH)
    files = sorted(path for path in (tmp_path / "index").rglob("*") if path.is_file())
    assert files
    for path in files:
        content = path.read_bytes()
        if harm == "removed":
            path.unlink()
        elif harm == "emptied":
            path.write_bytes(b"")
        elif harm == "nested":
            path.write_bytes(b"[" * 100_000)
        else:
            middle = len(content) // 2
            path.write_bytes(content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :])
    with Engine.open(tmp_path) as engine:
        (match,) = engine.publish(turtle("B"), "text/turtle", GRAPH).matches
        assert match.subscription == "rail"
        assert len(list(engine.notifications())) == 2


def test_what_a_full_disk_left_unmatched_is_matched_by_the_next_call(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(TITLES, id="rail")
        outbox = engine._outbox._database
        ((pages,),) = outbox.ask("PRAGMA page_count")
        outbox.ask(f"PRAGMA max_page_count={pages}")
        with pytest.raises(StorageFull):
            engine.publish(turtle("A" * 30_000), "text/turtle", GRAPH)
        accepted = engine._journal.head()
        for call in (
            lambda: engine.subscribe(ANY_TITLE, id="any"),
            lambda: engine.publish(turtle("B"), "text/turtle", GRAPH),
            lambda: engine.unsubscribe("rail"),
            lambda: engine.remove(GRAPH),
        ):
            with pytest.raises(StorageFull):
                call()
        assert engine._journal.head() == accepted, "nothing more is taken before what was taken is matched"
        outbox.ask("PRAGMA max_page_count=1073741823")
        engine.subscribe(ANY_TITLE, id="any")
        (match,) = (n for n in engine.notifications())
        assert (match.subscription, match.version) == ("rail", 1)
        assert len(engine.publish(turtle("B"), "text/turtle", GRAPH).matches) == 2


def test_what_an_evaluator_that_cannot_start_left_is_matched_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ["https://example.org/1", "https://example.org/2"]
    with Engine.open(tmp_path) as engine:
        engine.subscribe(UNTITLED, id="untitled")
        engine.subscribe(ANY_TITLE, id="any")
    with Engine.open(tmp_path) as engine:
        assert engine.publish("", "text/turtle").matches == ()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "executable", shutil.which("false"))
            with pytest.raises(SandboxFailed):
                engine.publish(turtle(None), "text/turtle", names[0])
        assert list(engine.notifications()) == []
        assert engine.publish(turtle(None), "text/turtle", names[0]).publications[0].outcome == "unchanged"
        assert [(found.subscription, found.publication) for found in engine.notifications()] == [("untitled", names[0])]
    with Engine.open(tmp_path) as engine:
        assert engine.publish("", "text/turtle").matches == ()
        with monkeypatch.context() as patched:
            patched.setattr(sys, "executable", shutil.which("false"))
            with pytest.raises(SandboxFailed):
                engine.publish(turtle(None), "text/turtle", names[1])
    with Engine.open(tmp_path) as engine:
        assert [found.publication for found in engine.notifications()] == names


def test_a_journal_that_lost_its_end_is_told(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(TITLES, id="rail")
        engine.publish(turtle("A"), "text/turtle", GRAPH)
    with Journal.open(tmp_path) as journal, journal._database.write():
        journal._database.run("DELETE FROM record WHERE position = 2")
        journal._database.run("UPDATE writer SET written_at = (SELECT written_at FROM record)")
    with pytest.raises(StorageFault, match="ends at position 1, but 2 was acknowledged"):
        Engine.open(tmp_path)
    (tmp_path / "journal.end").unlink()
    with pytest.raises(StorageFault, match="ends at position 1, but 2 has been matched"):
        Engine.open(tmp_path)
    Journal.open(tmp_path).close()


WORK = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from engine_samples import ANY_TITLE, TITLES, UNTITLED, turtle
from triplecast import Engine, InputError
with Engine.open(sys.argv[1]) as engine:
    for name, text in (("rail", TITLES), ("any", ANY_TITLE)):
        try:
            engine.subscribe(text, id=name)
        except InputError:
            pass
    for number in range(6):
        engine.publish(turtle(str(number)), "text/turtle", f"urn:doc:{{number}}")
"""


@pytest.mark.parametrize(
    "points",
    [
        (
            ("index.segment-written", 1),
            ("journal.committed", 3),
            ("outbox.rows-written", 1),
            ("outbox.committed", 2),
        ),
        pytest.param(
            (
                ("index.manifest-temporary", 1),
                ("index.manifest-replaced", 1),
                ("journal.appended", 3),
                ("outbox.position-written", 2),
            ),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_kill_9_anywhere_loses_nothing_and_doubles_nothing(tmp_path: Path, points: tuple[tuple[str, int], ...]) -> None:
    folder = tmp_path / "engine"
    for point, hit in points:
        assert run_and_crash(WORK, folder, point, hit, tmp_path / "log"), point
    assert not run_and_crash(WORK, folder, "outbox.pruned", 1, tmp_path / "log")
    with Engine.open(folder) as engine:
        seen = [(n.sequence, n.publication, n.version, n.subscription) for n in engine.notifications()]
    pairs = [(f"urn:doc:{number}", 1, name) for number in range(6) for name in ("rail", "any")]
    assert sorted(pair for _, *pair in seen) == sorted(map(list, pairs))
    assert [sequence for sequence, *_ in seen] == list(range(1, 13))


def test_importing_triplecast_loads_neither_numba_nor_spark() -> None:
    script = (
        "import sys, triplecast; assert 'Engine' in dir(triplecast); triplecast.StorageFault;"
        "print([name for name in ('numba', 'numpy', 'pyspark', 'pyoxigraph') if name in sys.modules])"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert ended.stdout == "[]\n", ended.stderr


def test_everything_that_triplecast_offers_can_be_had() -> None:
    import triplecast

    for name in triplecast.__all__:
        assert getattr(getattr(triplecast, name), "__name__", name) == name
    with pytest.raises(AttributeError, match="Nothing"):
        triplecast.Nothing  # noqa: B018


def test_subscriptions_of_files_and_of_calls_stand_side_by_side_and_neither_cancels_the_other(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.subscribe([Subscription("rail", TITLES)], source=FILES)
    with Engine.open(tmp_path) as engine:
        with pytest.raises(InputError, match="'rail' is in use by a subscription of the subscription files"):
            engine.subscribe(TITLES, id="rail")
        with pytest.raises(InputError, match="belongs to the subscription files of a run; change those files"):
            engine.unsubscribe("rail")
        with pytest.raises(InputError, match="belongs to the subscription files"):
            engine.renew("rail")
        mine = engine.subscribe(TITLES, id="mine")
        assert [(each.id, each.source) for each in engine.subscriptions()] == [("rail", "files"), ("mine", "api")]
        assert len(engine.publish(turtle("A"), "text/turtle", GRAPH).matches) == 2
        engine.unsubscribe("mine", mine.ticket)
    with Engine.open(tmp_path) as engine:
        assert [each.id for each in engine.subscriptions()] == ["rail"]
