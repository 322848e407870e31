"""Operators that cannot be asked as things are (their module is not there, their worker does not start): who asks them
waits, everybody else is told, and they are told once when the operator is back."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.journal.journal_samples import run_and_crash
from triplecast.engine import Engine
from triplecast.errors import OperatorWarning, StorageFault
from triplecast.operators.asking import availability, workers
from triplecast.outbox import OutboxReader

OP = "https://example.org/away#"
P = f"PREFIX : <https://example.org/> PREFIX o: <{OP}> "
QUERIES = {
    "asking": "SELECT ?n { ?p a :Picture ; :title ?t BIND(o:length(?t) AS ?n) }",
    "cheap": "SELECT ?t { ?p :title ?t }",
    "counting": "SELECT (SUM(?n) AS ?c) { ?p :title ?t . ?t o:length ?n } GROUP BY ?p",
    "sometimes": "ASK { ?p :ok ?ok ; :title ?t FILTER(?ok || o:length(?t) > 2) }",
}
MODULE = f"""
from triplecast.operators import operator

@operator("{OP}length", version="1", arguments=("bound", "free"))
def length(event, text):
    return len(text.value)
"""
CALL = """
import importlib.util, json, sys, warnings
folder, away, *numbers = sys.argv[1].split()
sys.path.insert(0, away)
if importlib.util.find_spec("away_operators"):
    import away_operators
from tests.unit.engine.test_unasked import P, QUERIES, document
from triplecast import Engine, Subscription
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    with Engine.open(folder) as engine:
        if not list(engine.subscriptions()):
            engine.subscribe_many([Subscription(name, P + text) for name, text in QUERIES.items()])
        receipts = [engine.publish(*document(int(number))) for number in numbers]
waiting = [[each.subscription, each.reason] for receipt in receipts for each in receipt.pending]
print(json.dumps([[str(each.message) for each in told], waiting]))
"""


def document(number: int) -> tuple[str, str, str]:
    """Of an odd one, `sometimes` is decided without an operator."""
    ok = "true" if number % 2 else "false"
    text = f'@prefix : <https://example.org/> . <urn:p> a :Picture ; :title "title{number}" ; :ok {ok} .'
    return text, "text/turtle", f"urn:d{number}"


def call(folder: Path, away: Path, *numbers: int) -> tuple[list[str], list[list[str]]]:
    """Publishes documents in a process that finds modules in `away`; its warnings, and what waits."""
    words = " ".join(map(str, (folder, away, *numbers)))
    ended = subprocess.run([sys.executable, "-c", CALL, words], capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    warned, waiting = json.loads(ended.stdout.splitlines()[-1])
    return warned, waiting


def told(folder: Path) -> list[tuple[str, str]]:
    """Subscription and publication of each notification, sorted."""
    with OutboxReader.read_only(folder) as outbox:
        outbox.check()
        assert outbox.undecided() == []
        return sorted((each.subscription, each.publication.removeprefix("urn:")) for each in outbox.notifications())


@pytest.mark.slow
def test_a_restart_without_the_module_settles_nothing(tmp_path: Path) -> None:
    there, nowhere, folder = tmp_path / "there", tmp_path / "nowhere", tmp_path / "folder"
    there.mkdir()
    (there / "away_operators.py").write_text(MODULE)
    killed = CALL.replace("sys.argv[1].split()", f'(sys.argv[1], {str(there)!r}, "0")')
    assert run_and_crash(killed, folder, "outbox.some-wait", 1, tmp_path / "log")
    cheap = [("cheap", "d0")]
    assert told(folder) == cheap

    (warned,), waiting = call(folder, nowhere)
    assert warned.startswith(f"away_operators cannot be found, which declares <{OP}length>: name it with --operators ")
    assert (waiting, told(folder)) == ([], cheap)

    _, waiting = call(folder, nowhere, 1, 2)
    others = [("cheap", "d0"), ("cheap", "d1"), ("cheap", "d2")]
    assert told(folder) == others, "`sometimes` is told of d1 only after d0"
    assert [name for name, _ in waiting] == ["asking", "counting", "asking", "counting", "sometimes"]
    told_why = f"operator <{OP}length> version 1 is unavailable: ModuleNotFoundError: No module named 'away_operators'"
    assert all(reason.startswith(f"{told_why}; its module away_operators has to be ") for _, reason in waiting)
    with OutboxReader.read_only(folder) as outbox:
        assert outbox.progress == outbox.pending(0, 9).positions[0] - 1 < outbox.told

    assert call(folder, there, 3) == ([], [])
    everything = sorted((name, f"d{number}") for name in QUERIES for number in range(4))
    assert told(folder) == everything
    with OutboxReader.read_only(folder) as outbox:
        assert (outbox.progress, outbox.pending(0, 9).positions) == (outbox.told, [])
        for name in QUERIES:
            assert [each.publication for each in outbox.notifications() if each.subscription == name] == [
                f"urn:d{number}" for number in range(4)
            ]
    assert call(folder, nowhere, 3)[1] == []
    assert told(folder) == everything


@pytest.mark.slow
def test_whoever_calls_an_operator_as_it_was_is_named_once_it_takes_other_arguments(tmp_path: Path) -> None:
    away, folder = tmp_path / "away", tmp_path / "folder"
    away.mkdir()
    module = away / "away_operators.py"
    module.write_text(MODULE)
    assert call(folder, away, 0)[0] == []
    module.write_text(
        MODULE.replace('("bound", "free")', '("bound", "bound", "free")').replace(", text)", ", text, more)")
    )
    warned, _ = call(folder, away, 2)
    named = sorted(each.split("'")[1] for each in warned)
    assert named == ["asking", "counting", "sometimes"]
    assert all("is no longer evaluated: line 1" in each and "o:length" in each for each in warned), warned
    module.write_text(MODULE)
    assert call(folder, away, 4)[0] == []
    assert ("asking", "d4") in told(folder)


@pytest.fixture
def away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A module that this process has imported."""
    (tmp_path / "away_operators.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    __import__("away_operators")
    yield tmp_path / "away_operators.py"
    del sys.modules["away_operators"]


def test_a_module_that_goes_and_comes_back_in_one_engine(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "SHORTEST_REST", 0.0)
    monkeypatch.setattr(availability, "REST", 0.0)
    away.write_text("import nowhere_at_all")
    with Engine() as engine:
        for name, text in QUERIES.items():
            engine.subscribe(P + text, id=name)
        receipt = engine.publish(*document(0))
        assert [match.subscription for match in receipt.matches] == ["cheap"]
        assert [pair.subscription for pair in receipt.pending] == ["asking", "counting", "sometimes"]
        assert "ModuleNotFoundError: No module named 'nowhere_at_all'" in receipt.pending[0].reason
        engine.unsubscribe("counting")
        away.write_text(MODULE)
        receipt = engine.publish(*document(1))
        assert [match.subscription for match in receipt.matches] == ["asking", "cheap", "sometimes"]
        assert receipt.pending == receipt.undecided == ()
        found = [(each.subscription, each.publication) for each in engine.notifications()]
        assert len(found) == len(set(found)) == 7
        assert ("counting", "urn:d0") in found, "it was cancelled after that one"


@pytest.mark.parametrize("queries", [("asking", "cheap"), ("asking",)])
def test_an_older_journal_is_noticed_though_a_pair_is_pending(
    away: Path, tmp_path: Path, queries: tuple[str, ...]
) -> None:
    """The first pending pair holds back what is settled, yet everything accepted was matched."""
    folder, copy = tmp_path / "folder", tmp_path / "copy"
    away.write_text("import nowhere_at_all")
    copy.mkdir()
    with Engine.open(folder) as engine:
        for name in queries:
            engine.subscribe(P + QUERIES[name], id=name)
        engine.publish(*document(0))
        head = engine._journal.head()
    for name in ("journal.sqlite", "journal.end"):
        shutil.copy(folder / name, copy)
    with Engine.open(folder) as engine:
        for number in range(1, 5):
            engine.publish(*document(number))
    for path in folder.glob("journal.sqlite-*"):
        path.unlink()
    shutil.copytree(copy, folder, dirs_exist_ok=True)
    with pytest.raises(StorageFault, match=f"ends at position {head}, but {head + 4} has been matched"):
        Engine.open(folder)


def test_a_pair_whose_query_cannot_be_read_any_more_is_undecided(
    away: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    away.write_text("import nowhere_at_all")
    with Engine.open(tmp_path / "folder") as engine:
        for name in ("asking", "cheap"):
            engine.subscribe(P + QUERIES[name], id=name)
        assert len(engine.publish(*document(0)).pending) == 1
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    away.write_text(
        MODULE.replace('("bound", "free")', '("bound", "bound", "free")').replace(", text)", ", text, more)")
    )
    importlib.invalidate_caches()
    importlib.reload(sys.modules["away_operators"])
    with pytest.warns(OperatorWarning, match="'asking' is no longer evaluated"):
        engine = Engine.open(tmp_path / "folder")
    with engine:
        (pair,) = engine.undecided()
        assert (pair.publication, pair.subscription) == ("urn:d0", "asking")
        assert pair.reason.startswith("query: line 1")
        assert engine._outbox.progress == engine._outbox.told
        assert engine.statistics().work.undecided == 1
        receipt = engine.publish(*document(1))
        assert [match.subscription for match in receipt.matches] == ["cheap"]
        assert receipt.undecided == receipt.pending == ()


def test_statistics_count_a_publication_once_however_often_it_is_looked_at(
    away: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "SHORTEST_REST", 0.0)
    monkeypatch.setattr(availability, "REST", 0.0)
    with Engine() as plain, Engine() as engine:
        for each in (plain, engine):
            for name, text in QUERIES.items():
                each.subscribe(P + text, id=name)
        for number in range(3):
            plain.publish(*document(number))
        expected = plain.statistics().work
        away.write_text("import nowhere_at_all")
        engine.publish(*document(0))
        before = engine.statistics().work
        assert (before.publications, before.matches, before.operator_calls) == (1, 1, 0)
        away.write_text(MODULE.replace('"1"', '"2"'))  # looked at again, and in vain
        engine.publish(*document(1))
        away.write_text(MODULE)
        engine.publish(*document(2))
        assert engine.statistics().work == expected


def test_operated_counts_what_needed_no_call_and_not_what_the_evaluator_decided(away: Path) -> None:
    evaluated = "SELECT ?p { ?p :title ?t . { SELECT ?p { ?p :title ?t FILTER(o:length(?t) > 2) } LIMIT 1 } }"
    with Engine() as engine:
        engine.subscribe(P + QUERIES["sometimes"], id="sometimes")
        assert len(engine.publish(*document(1)).matches) == 1
        work = engine.statistics().work
        assert (work.matches, work.operated, work.verified, work.operator_calls) == (1, 1, 0, 0)
        engine.unsubscribe("sometimes")
        engine.subscribe(P + evaluated, id="evaluated")
        assert len(engine.publish(*document(3)).matches) == 1
        work = engine.statistics().work
        assert (work.matches, work.operated, work.verified, work.operator_calls) == (2, 1, 1, 1)


def test_a_version_that_changed_under_way_is_asked_when_it_agrees(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "SHORTEST_REST", 0.0)
    monkeypatch.setattr(availability, "REST", 0.0)
    away.write_text(MODULE.replace('version="1"', 'version="2"'))
    with Engine() as engine:
        engine.subscribe(P + QUERIES["asking"], id="asking")
        (pair,) = engine.publish(*document(0)).pending
        assert "is unavailable: its module declares version 2 now, and 1 when the engine started" in pair.reason
        away.write_text("")
        (pair,) = engine.publish(*document(1)).pending
        assert "is unavailable: its module does not declare it" in pair.reason
        away.write_text(MODULE)
        assert len(engine.publish(*document(2)).matches) == 1
        assert [each.publication for each in engine.notifications()] == ["urn:d0", "urn:d1", "urn:d2"]


def test_a_replay_tells_what_the_version_tells_that_is_declared_then(
    away: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    folder = tmp_path / "folder"

    def opened(version: int, lost: bool) -> tuple[list[str], int]:
        """What stands in the outbox, lost before or not, and how many calls were made."""
        text = MODULE.replace('version="1"', f'version="{version}"')
        away.write_text(text.replace("len(text.value)", f"{version} * len(text.value)"))
        importlib.reload(sys.modules["away_operators"])
        for path in folder.glob("outbox*") if lost else ():
            path.unlink()
        with Engine.open(folder) as engine:
            found = [row["n"] for each in engine.notifications() for row in json.loads(each.json)]
            return [term.split('"')[1] for term in found], engine.statistics().work.operator_calls

    with Engine.open(folder) as engine:
        engine.subscribe(P + QUERIES["asking"], id="asking")
        engine.publish(*document(0))
    assert opened(2, lost=False) == (["6"], 0), "what was told stands"
    assert opened(2, lost=True) == (["12"], 1), "told anew, by the new version"
    assert opened(1, lost=True) == (["6"], 0), "what the old one said is kept under its name"
    assert opened(2, lost=True) == (["12"], 0)


def test_one_that_is_back_in_passing_is_asked_about_what_waits(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(availability, "SHORTEST_REST", 0.0)
    monkeypatch.setattr(availability, "REST", 0.0)
    away.write_text("import nowhere_at_all")
    with Engine() as engine:
        engine.subscribe(P + QUERIES["asking"], id="asking")
        assert len(engine.publish(*document(0)).pending) == 1
        away.write_text(MODULE)
        engine.preview(P + QUERIES["asking"])
        assert len(engine.publish(*document(1)).matches) == 1
        assert [each.publication for each in engine.notifications()] == ["urn:d0", "urn:d1"]


def test_a_module_that_was_renamed_is_declared_after_the_folder_was_opened(
    away: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(availability, "SHORTEST_REST", 0.0)
    monkeypatch.setattr(availability, "REST", 0.0)
    with Engine.open(tmp_path / "folder") as engine:
        engine.subscribe(P + QUERIES["asking"], id="asking")
    away.unlink()
    del sys.modules["away_operators"]
    with pytest.warns(OperatorWarning, match="cannot be found"):
        engine = Engine.open(tmp_path / "folder")
    with engine:
        assert len(engine.publish(*document(0)).pending) == 1
        (tmp_path / "moved_operators.py").write_text(MODULE)
        importlib.invalidate_caches()
        importlib.import_module("moved_operators")
        sys.modules["away_operators"] = sys.modules.pop("moved_operators")
        assert len(engine.publish(*document(1)).matches) == 1
        assert [each.publication for each in engine.notifications()] == ["urn:d0", "urn:d1"]


def test_an_import_that_hangs_holds_up_the_first_call_alone(away: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workers, "START_SECONDS", 0.5)
    away.write_text("import time\ntime.sleep(60)\n" + MODULE)
    with Engine() as engine:
        for name, text in QUERIES.items():
            engine.subscribe(P + text, id=name)
        for number in range(4):
            waiting = engine.publish(*document(number)).pending
            assert "importing away_operators took more than 0.5 s; import what is heavy when" in waiting[0].reason
        performer = engine._asker.performer
        assert performer.children == 1
        (reason,) = performer.unavailable
        assert reason == waiting[0].reason
        assert performer._health[OP + "length", "1"].calls == 0
