"""Operators in repository scope: what an engine tells, how often it calls, and what it owes while they fail."""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from triplecast import FOREVER, Engine
from triplecast.engine import Receipt
from triplecast.errors import InputError
from triplecast.incremental import OperatorAnswers, operator_answers
from triplecast.local import LocalRepository, Replica

E = "https://example.org/"
O = "https://example.org/standing-operators#"  # noqa: E741
P = f"PREFIX : <{E}> PREFIX o: <{O}> "
LONG = P + "SELECT ?x { ?x :title ?t FILTER(o:length(?t) > 3) }"
MODULE = """
import os
from triplecast.operators import Unanswerable, operator

def called(name, term):
    folder = os.path.dirname(__file__)
    if os.path.exists(os.path.join(folder, "fails")):
        raise Unanswerable("it is told to fail")
    with open(os.path.join(folder, "calls"), "a") as calls:
        calls.write(f"{name} {term.value}\\n")

@operator("{iri}length", version="{version}", arguments={arguments})
def length(event, text):
    called("length", text)
    return len(text.value) + {more}

@operator("{iri}letters", version="1", arguments=("bound", "free"))
def letters(event, text):
    called("letters", text)
    return list(text.value)

@operator("{iri}picture", version="1", arguments=("bound", "free"))
def picture(event, iri):
    return len(event.attachment(iri))
"""


class Module:
    """A module of operators that may be declared otherwise."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.loaded: ModuleType | None = None

    def declare(self, version: str = "1", more: int = 0, arguments: str = '("bound", "free")') -> Sequence[Any]:
        text = MODULE.replace("{iri}", O).replace("{version}", version).replace("{more}", str(more))
        text = text.replace("{arguments}", arguments)
        name = f"standing_operators_{version}"
        (self.folder / f"{name}.py").write_text(text)
        self.loaded = importlib.import_module(name)
        return [self.loaded.length, self.loaded.letters, self.loaded.picture]

    def fail(self, fails: bool) -> None:
        (self.folder / "fails").touch() if fails else (self.folder / "fails").unlink()

    def calls(self) -> Counter[str]:
        path = self.folder / "calls"
        return Counter(path.read_text().splitlines() if path.exists() else ())


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Module]:
    folder = tmp_path / "module"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    yield Module(folder)
    for name in [name for name in sys.modules if name.startswith("standing_operators_")]:
        del sys.modules[name]


def publish(engine: Engine, name: str, turtle: str) -> Receipt:
    return engine.publish(f"@prefix : <{E}> .\n{turtle}", "text/turtle", E + name)


def told(receipt: Any) -> list[tuple[str, list[str], list[str]]]:
    return [(each.subscription, values(each.added), values(each.removed)) for each in receipt.matches]


def values(rows: Sequence[Any]) -> list[str]:
    return sorted(term.value.removeprefix(E) for row in rows for term in row.values())


def test_each_construct_and_language_asks(module: Module) -> None:
    queries = {
        "filter": LONG,
        "pattern": P + "SELECT ?x ?l { ?x :title ?t . ?t o:letters ?l }",
        "count": P + "SELECT (COUNT(?l) AS ?n) { ?x :title ?t . ?t o:letters ?l }",
        "optional": P + "SELECT ?x ?l { ?x :title ?t OPTIONAL { ?x :title ?t . ?t o:letters ?l FILTER(?l = 'a') } }",
        "ask": P + "ASK { ?x :title ?t FILTER(o:length(?t) > 3) }",
        "limit": P + "SELECT ?l { ?x :title ?t . ?t o:letters ?l } ORDER BY DESC(?l) LIMIT 1",
    }
    with Engine(operators=module.declare()) as engine:
        for name, text in queries.items():
            engine.subscribe(text, name, scope="repository")
        rdql = f"SELECT ?x WHERE (?x, <{E}title>, ?t) AND <{O}length>(?t) > 3"
        engine.subscribe(rdql, "rdql", scope="repository", language="rdql")
        assert told(publish(engine, "one", ':a :title "ab" .')) == [
            ("pattern", ["a", "a", "a", "b"], []),
            ("count", ["2"], ["0"]),
            ("optional", ["a", "a"], []),
            ("limit", ["b"], []),
        ]
        assert told(publish(engine, "two", ':b :title "abcd" ; :note 1 .')) == [
            ("filter", ["b"], []),
            ("pattern", ["a", "b", "b", "b", "b", "b", "c", "d"], []),
            ("count", ["6"], ["2"]),
            ("optional", ["a", "b"], []),
            ("ask", [], []),
            ("limit", ["d"], ["b"]),
            ("rdql", ["b"], []),
        ]
        assert told(publish(engine, "two", ':b :title "abcd" ; :note 2 .')) == []
        removed = engine.remove(E + "two")
        assert [each.subscription for each in removed.matches] == [*queries, "rdql"]  # type: ignore[union-attr]
        assert not engine.undecided()


def test_a_call_is_made_once_whoever_needs_it_whenever(module: Module, tmp_path: Path) -> None:
    operators = module.declare()
    for _ in range(2):
        with Engine.open(tmp_path / "engine", operators=operators) as engine:
            for more in range(10, 13):
                text = LONG.replace("> 3", f"> {more}")
                engine.subscribe(text, scope="repository", lease=FOREVER)
            for name in ("one", "two", "three"):
                publish(engine, name, f':{name} :title "abc", "d" .')
            engine.remove(E + "two")
        (tmp_path / "engine" / "repository.cache").unlink(missing_ok=True)
    assert module.calls() == {"length abc": 1, "length d": 1}


def test_what_fails_is_owed_and_asked_for_again(module: Module, tmp_path: Path) -> None:
    operators = module.declare()
    with Engine.open(tmp_path / "engine", operators=operators) as engine:
        engine.subscribe(LONG, "long", scope="repository", lease=FOREVER)
        publish(engine, "one", ':a :title "first one" .')
        module.fail(True)
        receipt = publish(engine, "two", ':b :title "second" .')
        assert told(receipt) == []
        (unsure,) = receipt.undecided
        assert unsure.reason.endswith("it is told to fail")
        assert not engine.resync("long")
        assert [each.subscription for each in engine.undecided()] == ["long", "long"]
    with Engine.open(tmp_path / "engine", operators=operators) as engine:
        engine.remove(E + "one")
        module.fail(False)
        assert told(publish(engine, "else", ":c :note 1 .")) == [], "no concern of it"
        assert told(publish(engine, "three", ':c :title "abc" .')) == [("long", ["b"], ["a"])]
        module.fail(True)
        publish(engine, "three", ':c :title "abcd" .')
        module.fail(False)
        (present,) = engine.resync("long")
        assert (present.change, values(present.added)) == ("present", ["b", "c"])
        assert told(publish(engine, "three", ":c :note 1 .")) == [("long", [], ["c"])]


def test_an_operator_that_is_not_there_leaves_answers_owed(module: Module, tmp_path: Path) -> None:
    operators = module.declare()
    with Engine.open(tmp_path / "engine", operators=operators) as engine:
        engine.subscribe(LONG, "long", scope="repository", lease=FOREVER)
    name = "standing_operators_1"
    (tmp_path / "module" / f"{name}.py").rename(tmp_path / "gone.py")
    del sys.modules[name]
    with pytest.warns(match=name):
        engine = Engine.open(tmp_path / "engine", operators=[])
    with engine:
        assert [each.subscription for each in publish(engine, "one", ':a :title "abcd" .').undecided] == ["long"]
        assert told(publish(engine, "one", ":a :note 1 .")) == [], "known without it"
        assert [each.subscription for each in publish(engine, "one", ':a :title "abcde" .').undecided] == ["long"]
    (tmp_path / "gone.py").rename(tmp_path / "module" / f"{name}.py")
    with Engine.open(tmp_path / "engine", operators=module.declare()) as engine:
        assert told(publish(engine, "two", ':b :title "abcde" .')) == [("long", ["a", "b"], [])]


def test_another_version_changes_no_answer_by_itself(module: Module, tmp_path: Path) -> None:
    with Engine.open(tmp_path / "engine", operators=module.declare()) as engine:
        engine.subscribe(LONG, "long", scope="repository", lease=FOREVER)
        publish(engine, "one", ':a :title "ab" .')
    with Engine.open(tmp_path / "engine", operators=module.declare("2", more=2)) as engine:
        assert told(publish(engine, "two", ':b :title "ab" .')) == [("long", ["b"], [])]
        (present,) = engine.resync("long")
        assert values(present.added) == ["a", "b"]
        assert told(publish(engine, "one", ":a :note 1 .")) == [("long", [], ["a"])]
    assert module.calls() == {"length ab": 2}


def test_a_query_that_cannot_be_read_any_more_is_owed_its_answer(module: Module, tmp_path: Path) -> None:
    with Engine.open(tmp_path / "engine", operators=module.declare()) as engine:
        engine.subscribe(LONG, "long", scope="repository", lease=FOREVER)
        publish(engine, "one", ':a :title "abcd" .')
    others = module.declare("2", arguments='("bound", "free", "free")')
    for name in ("two", "three"):
        with Engine.open(tmp_path / "engine", operators=others) as engine:
            undecided = publish(engine, name, f':{name} :title "{name}-" .').undecided
            assert [each.reason[:6] for each in undecided] == (["query:"] if name == "two" else [])
    with Engine.open(tmp_path / "engine", operators=module.declare()) as engine:
        assert told(publish(engine, "one", ':b :title "efgh" .')) == [("long", ["b", "three", "two"], ["a"])]


def test_an_event_makes_a_bounded_number_of_calls(module: Module, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operator_answers, "MOST_CALLS", 3)
    with Engine(operators=module.declare()) as engine:
        titles = ", ".join(f'"{"a" * size}"' for size in range(1, 9))
        publish(engine, "one", f":a :title {titles} .")
        engine.subscribe(LONG, "long", scope="repository")
        (unsure,) = engine.undecided()
        assert unsure.reason == operator_answers.TOO_MANY_CALLS
        assert module.calls().total() == 3
        assert publish(engine, "two", ':b :title "a" .').undecided
        assert told(publish(engine, "three", ':c :title "a" .')) == [("long", ["a"] * 5, [])]
        assert module.calls().total() == 8


def test_it_sees_its_arguments_alone(module: Module) -> None:
    with Engine(operators=module.declare()) as engine:
        text = P + "SELECT ?n { ?x :picture ?p BIND(o:picture(?p) AS ?n) }"
        engine.subscribe(text, "pictures", scope="repository")
        (unsure,) = publish(engine, "one", ":a :picture :b .").undecided
        assert "in repository scope an operator sees its arguments alone" in unsure.reason
        with pytest.raises(InputError, match="resync"):
            engine.explain(":a :picture :b .", "pictures", "text/turtle")


def test_a_local_repository_holds_what_operators_select(module: Module, tmp_path: Path) -> None:
    operators = module.declare()
    with (
        Engine.open(tmp_path / "provider", operators=operators) as engine,
        LocalRepository.open(tmp_path / "local", engine, operators=operators) as local,
    ):
        local.subscribe(LONG)
        publish(engine, "one", ':a :title "abcd" . :b :title "ab" .')
        local.sync()
        titles = local.query(P + "SELECT ?t { ?x :title ?t }")
        assert values(titles) == ["abcd"]  # type: ignore[arg-type]
        local.engine.subscribe(LONG, "here", scope="repository")
        publish(engine, "one", ':a :title "abcde" . :b :title "abc" .')
        local.sync()
        assert [each.subscription for each in local.engine.notifications()] == ["here"]


def test_a_replica_asks_its_own_operators(module: Module, tmp_path: Path) -> None:
    operators = module.declare()
    with (
        Engine.open(tmp_path / "provider", operators=operators) as engine,
        Replica.open(tmp_path / "replica", engine, operators=operators) as replica,
    ):
        engine.subscribe(LONG, "long", scope="repository", lease=FOREVER)
        for number, title in enumerate(("abcd", "ab", "abcde")):
            publish(engine, "one", f':a{number} :title "{title}" .')
        replica.sync()
        expected = [(each.position, each.id, each.json) for each in engine.notifications()]
        assert [(each.position, each.id, each.json) for each in replica.engine.notifications()] == expected
        assert len(expected) == 3
    assert module.calls() == {"length abcd": 2, "length ab": 2, "length abcde": 2}


@pytest.mark.parametrize("late", [False, True])
def test_an_interrupt_while_operators_are_asked_loses_nothing(
    module: Module, monkeypatch: pytest.MonkeyPatch, late: bool
) -> None:
    ask = OperatorAnswers.ask

    def interrupted(*given: Any) -> Any:
        if late:
            ask(*given)
        raise KeyboardInterrupt

    with Engine(operators=module.declare()) as engine:
        engine.subscribe(LONG, "long", scope="repository")
        with monkeypatch.context() as patched:
            patched.setattr(OperatorAnswers, "ask", interrupted)
            with pytest.raises(KeyboardInterrupt):
                publish(engine, "one", ':a :title "abcd" .')
        publish(engine, "two", ':b :title "abcde" .')
        assert [values(each.added) for each in engine.notifications()] == [["a"], ["b"]]
        assert not engine.undecided()
    assert module.calls() == {"length abcd": 1, "length abcde": 1}


def test_threads_that_publish_together_share_calls(module: Module) -> None:
    with Engine(operators=module.declare()) as engine:
        engine.subscribe(LONG, "long", scope="repository")

        def work(number: int) -> None:
            for round in range(4):
                publish(engine, f"d{number}", f':s{number} :title "title {round}" ; :round {round} .')

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(work, range(4)))
        assert sorted(values(row)[0] for row in [each.added for each in engine.notifications()]) == [
            f"s{number}" for number in range(4)
        ]
        (present,) = engine.resync("long")
        assert values(present.added) == [f"s{number}" for number in range(4)]
    assert set(module.calls().values()) == {1}
