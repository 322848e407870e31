"""Several sources in one registry: each cancels only its own, and an id is in use for all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.unit.journal.journal_samples import run_and_crash
from tests.unit.registry.test_file_source import Desk, query
from triplecast import Engine
from triplecast.errors import InputError, QuotaReached
from triplecast.index import IndexWriter
from triplecast.journal import Journal
from triplecast.model.subscription import API, FILES, Subscription
from triplecast.registry.registry import Registry, Subscribed, settle_documents
from triplecast.registry.upkeep import IndexUpkeep

BROAD = "SELECT ?a { ?a ?b ?c }"


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path, broad_per_owner=2)
    yield desk
    desk.journal.close()


def subscribe(registry: Registry, name: str, text: str, source: str = API) -> Subscribed:
    (outcome,) = registry.change(source, [registry.examine(Subscription(name, text))])
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def sources(desk: Desk) -> dict[str, str]:
    return {each.subscription.name: each.source for each in desk.journal.live_registrations()}


def test_files_cancel_their_own_only_also_after_a_restart(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.write("b.rq", query("b"))
    desk.start()
    subscribe(desk.registry, "mine", query("mine"))
    subscribe(desk.registry, "theirs", query("theirs"), "http:ada")
    (desk.files / "b.rq").unlink()
    desk.look()
    assert sources(desk) == {"a.rq": FILES, "mine": API, "theirs": "http:ada"}
    assert len(desk.snapshot()) == 3
    before = desk.live()
    desk.restart()
    assert desk.live() == before
    assert sources(desk) == {"a.rq": FILES, "mine": API, "theirs": "http:ada"}


def test_an_id_is_in_use_for_every_source_and_the_error_says_by_whom(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.start()
    with pytest.raises(
        InputError, match=r"id 'a\.rq' is in use by a subscription of the subscription files"
    ) as refused:
        subscribe(desk.registry, "a.rq", query("b"))
    assert refused.value.hint == "change that file or choose another id", "it cannot be unsubscribed"
    subscribe(desk.registry, "x", query("x"), "http:ada")
    with pytest.raises(InputError, match="id 'x' is in use by a subscription of http:ada"):
        subscribe(desk.registry, "x", query("x"))
    with pytest.raises(InputError, match="'x' belongs to http:ada; cancel it there"):
        desk.registry.unsubscribe(API, "x")
    with pytest.raises(InputError, match=r"'a\.rq' belongs to the subscription files of a run; change those files"):
        desk.registry.unsubscribe(API, "a.rq")
    found = desk.registry.live("x")
    with pytest.raises(InputError, match="'x' belongs to http:ada"):
        desk.registry.change(FILES, [], [found])
    assert sorted(desk.live()) == ["a.rq", "x"]


def test_a_file_whose_id_another_source_has_is_a_fault_until_that_one_ends(desk: Desk) -> None:
    desk.write("a.rq", query("a"))
    desk.start()
    subscribe(desk.registry, "b.rq", query("mine"))
    desk.write("b.rq", query("b"))
    desk.look()
    (fault,) = desk.source.faults
    assert fault.place == str(desk.files / "b.rq")
    assert "is in use by a subscription of the Python API" in fault.reason
    assert sources(desk) == {"a.rq": FILES, "b.rq": API}
    assert not desk.look(), "nothing has changed"
    desk.registry.unsubscribe(API, "b.rq")
    desk.look()
    assert sources(desk) == {"a.rq": FILES, "b.rq": FILES}, "the id is free, though no file has changed"
    assert desk.source.faults == ()


def test_the_quota_of_an_owner_counts_all_sources_and_a_place_that_is_freed_is_taken(desk: Desk) -> None:
    desk.write("a.rq", BROAD)
    desk.start()
    subscribe(desk.registry, "mine", BROAD)
    with pytest.raises(QuotaReached):
        subscribe(desk.registry, "more", BROAD)
    desk.write("b.rq", BROAD)
    desk.look()
    assert sorted(desk.live()) == ["a.rq", "mine"]
    desk.registry.unsubscribe(API, "mine")
    desk.look()
    assert sorted(desk.live()) == ["a.rq", "b.rq"]


def test_whether_documents_are_graphs_or_datasets_is_settled_once(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        settle_documents(journal, False)
        settle_documents(journal, False)
        with pytest.raises(InputError, match=r"documents of this folder are graphs: each graph .* leave --dataset out"):
            settle_documents(journal, True)
        two = "SELECT * { GRAPH <urn:a> { ?s ?p ?o } GRAPH <urn:b> { ?s ?p ?o } }"
        registry = Registry(journal, IndexUpkeep(IndexWriter(), journal, lambda: 0))
        assert isinstance(registry.examine(Subscription("x", two)), Exception)
    with Journal.open(tmp_path / "other") as journal:
        settle_documents(journal, True)
        with pytest.raises(InputError, match=r"documents of this folder are datasets: a dataset .* add --dataset"):
            settle_documents(journal, False)
        journal.check()


def test_documents_are_published_as_the_runs_of_the_folder_do(tmp_path: Path) -> None:
    turtle = "<urn:s> <urn:p> 1 ."
    for name, dataset, fix in (("a", False, "pass dataset=False"), ("b", True, "pass dataset=True")):
        with Engine.open(tmp_path / name) as engine:
            engine.publish(turtle, "text/turtle", graph="urn:before", dataset=not dataset)
        with Journal.open(tmp_path / name) as journal:
            settle_documents(journal, dataset)
        with Engine.open(tmp_path / name) as engine:
            with pytest.raises(InputError, match=f"the documents of this folder are .*{fix}") as refused:
                engine.publish(turtle, "text/turtle", graph="urn:g", dataset=not dataset)
            assert refused.value.receipts == ()
            (published,) = engine.publish(turtle, "text/turtle", graph="urn:g", dataset=dataset).publications
            assert published.version == 1


def test_random_changes_of_three_sources_end_as_each_source_says(desk: Desk, seed: int) -> None:
    dice = Random(seed)
    desk.write("n.rq", query("n"))
    desk.start()
    model: dict[str, tuple[str, str]] = {}
    wanted: dict[str, str] = {}
    for _ in range(30):
        name, source = dice.choice("abcdef"), dice.choice([API, "http:x"])
        if dice.random() < 0.4:
            wanted = {each: query(dice.choice("pq")) for each in dice.sample("abcdef", dice.randrange(4))}
            lines = [json.dumps({"id": each, "text": text}) for each, text in wanted.items()]
            desk.write("s.jsonl", "\n".join(lines))
        elif dice.random() < 0.5:
            try:
                subscribe(desk.registry, name, query("p"), source)
                assert name not in model
                model[name] = (source, query("p"))
            except InputError:
                assert name in model
        else:
            try:
                desk.registry.unsubscribe(source, name)
                assert model.pop(name)[0] == source
            except InputError:
                assert model.get(name, ("", ""))[0] != source
        desk.look()
        desk.registry.follow()
        model = {each: of for each, of in model.items() if of[0] != FILES}
        model |= {each: (FILES, text) for each, text in wanted.items() if each not in model}
        if dice.random() < 0.1:
            desk.restart()
        found = {e.subscription.name: (e.source, e.subscription.text) for e in desk.journal.live_registrations()}
        assert found == model | {"n.rq": (FILES, query("n"))}
        assert len(desk.snapshot()) == len(found)


CHANGE = """
import sys
from pathlib import Path
from tests.unit.registry.test_file_source import Desk
desk = Desk(Path(sys.argv[1]))
desk.start()
desk.look()
desk.journal.close()
"""


@pytest.mark.parametrize("point", ["journal.before-append", "journal.appended", "journal.committed"])
def test_whoever_is_killed_in_a_change_has_made_all_of_it_or_nothing(tmp_path: Path, point: str) -> None:
    desk = Desk(tmp_path)
    desk.write("a.rq", query("a"))
    desk.write("b.rq", query("b"))
    desk.start()
    subscribe(desk.registry, "mine", query("mine"))
    before = desk.live()
    desk.journal.close()
    desk.write("a.rq", query("edited"))
    desk.write("b.rq", query("edited"))
    assert run_and_crash(CHANGE, tmp_path, point, 1, tmp_path / "log")
    with Journal.open(desk.output) as journal:
        after = {each.subscription.name: int(each.id) for each in journal.live_registrations()}
        changed = {name for name in before if after.get(name) != before[name]}
        assert changed == ({"a.rq", "b.rq"} if point == "journal.committed" else set())
        assert sorted(after) == ["a.rq", "b.rq", "mine"], "nobody is cancelled without its successor"
    desk.open()
    desk.start()
    assert {each.subscription.text for each in desk.journal.live_registrations()} == {query("edited"), query("mine")}
    assert len(desk.snapshot()) == 3
    desk.journal.close()
