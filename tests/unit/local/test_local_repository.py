"""A local repository by example: what it holds, why, and what it does when something is missing or ends."""

from __future__ import annotations

import gzip
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.desk import Desk
from tests.lives import ParserHere
from tests.properties.replicas import run
from triplecast import (
    DocumentRejected,
    Engine,
    FolderLocked,
    InputError,
    LocalRepository,
    QuerySyntaxError,
    Subscription,
)
from triplecast.local import FolderProvider, collect_garbage, promote, read_held
from triplecast.local.descriptions import HELD, draft_of
from triplecast.local.receiver import OutOfStep, Receiver
from triplecast.patch import read_patches

E = "https://example.org/"
PREFIXES = f"@prefix : <{E}> . @prefix dcat: <http://www.w3.org/ns/dcat#> . @prefix dct: <http://purl.org/dc/terms/> ."
STRONG = "<http://purl.org/dc/terms/publisher> <urn:triplecast:mdv:strong> true ."
DATASETS = "SELECT ?d { ?d a dcat:Dataset }"


@pytest.fixture(autouse=True)
def parser_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecast.engine.engine.Parser", ParserHere)


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "provider") as engine:
        publish(engine, "city", ':city dct:title "City" ; :seat :seat .')
        publish(engine, "trees", ':trees a dcat:Dataset ; dct:title "Trees" ; dct:publisher :city .')
        yield engine


@pytest.fixture
def local(tmp_path: Path, provider: Engine) -> Iterator[LocalRepository]:
    with LocalRepository.open(tmp_path / "local", provider) as repository:
        yield repository


def publish(engine: Engine, name: str, turtle: str) -> None:
    receipt = engine.publish(f"{PREFIXES} {turtle}", "text/turtle", E + name)
    assert not receipt.rejects


def titles(repository: LocalRepository) -> list[str]:
    rows = repository.query("SELECT ?title { ?s dct:title ?title } ORDER BY ?title")
    return [row["title"].value for row in rows]


def held(repository: LocalRepository) -> set[str]:
    graphs = repository.query(f"SELECT DISTINCT ?g {{ GRAPH ?g {{ ?s ?p ?o }} FILTER STRSTARTS(STR(?g), '{HELD}') }}")
    return {row["g"].value.removeprefix(HELD).removeprefix(E) for row in graphs}


def test_it_holds_what_rows_name_and_strong_references_reach(provider: Engine, local: LocalRepository) -> None:
    assert local.position == 0
    assert local.subscribe(DATASETS, "datasets").id == f"{local.owner}/datasets"
    assert local.behind > 0
    local.sync()
    assert (titles(local), local.behind) == (["Trees"], 0)
    provider.load_schema(STRONG, "text/turtle")
    local.sync()
    assert titles(local) == ["City", "Trees"]
    assert [(each.subscription, each.path) for each in local.holders(f"{E}city")] == [
        ("datasets", (f"<{E}trees>", f"<{E}city>"))
    ]
    provider.load_schema("", "text/turtle")
    local.sync()
    assert titles(local) == ["Trees"]
    assert local.holders(f"{E}city") == []


def test_a_cycle_of_strong_references_goes_with_its_last_holder(provider: Engine, local: LocalRepository) -> None:
    provider.load_schema(STRONG, "text/turtle")
    local.subscribe(DATASETS, "datasets")
    publish(provider, "trees", ":trees a dcat:Dataset ; dct:publisher :one .")
    publish(provider, "cycle", ':one dct:title "1" ; dct:publisher :two . :two dct:title "2" ; dct:publisher :one .')
    local.sync()
    assert held(local) == {"trees", "one", "two"}
    publish(provider, "trees", ":trees a dcat:Dataset .")
    local.sync()
    assert held(local) == {"trees"}


def test_local_documents_and_subscriptions_are_its_own(provider: Engine, local: LocalRepository) -> None:
    local.subscribe(DATASETS, "datasets")
    local.sync()
    watch = "SELECT ?title ?note { ?d dct:title ?title ; <urn:note> ?note }"
    local.engine.subscribe(watch, "noted", scope="repository")
    receipt = local.publish_local(f'<{E}trees> <urn:note> "mine" .', "text/turtle", "urn:mine")
    assert [match.subscription for match in receipt.matches] == ["noted"]
    publish(provider, "trees", ':trees a dcat:Dataset ; dct:title "All trees" .')
    local.sync()
    *_, last = local.engine.notifications()
    assert (last.subscription, last.change, last.added[0]["title"].value) == ("noted", "changed", "All trees")
    provider.remove(f"{E}trees")
    local.sync()
    assert local.query("SELECT * { ?s ?p ?o }") == notes(local)
    assert not provider.query("ASK { ?s <urn:note> ?o }")
    with pytest.raises(InputError, match="a local document names a graph"):
        local.publish_local("<a:a> <a:b> 1 .", "text/turtle", f"{HELD}x")
    inside = f"GRAPH <{HELD}{E}x> {{ <a:a> <a:b> 1 }}"
    hidden = inside.replace("urn:triplecast", "urn:tripl\\u0065cast")
    for data in (inside.encode(), hidden.encode(), gzip.compress(inside.encode())):
        (reject,) = local.publish_local(data, "application/trig", "urn:x").rejects
        assert "cannot be a publication's identity" in reject.reason
    with pytest.raises(InputError, match="is of the provider"):
        local.remove_local(f"{HELD}{E}trees")


def notes(repository: LocalRepository) -> list[dict[str, object]]:
    rows = repository.query("SELECT * { GRAPH <urn:mine> { ?s ?p ?o } }")
    assert isinstance(rows, list)
    assert len(rows) == 1
    return rows


def test_blank_nodes_belong_to_what_refers_to_them(provider: Engine, local: LocalRepository) -> None:
    publish(provider, "trees", ':trees a dcat:Dataset ; :contact [ :name "Ada" ; :at [ :name "desk" ] ] .')
    local.subscribe(DATASETS, "datasets")
    local.sync()
    ask = "SELECT ?n { ?d <https://example.org/contact>/<https://example.org/at>/<https://example.org/name> ?n }"
    assert [row["n"].value for row in local.query(ask)] == ["desk"]
    publish(provider, "trees", ':trees a dcat:Dataset ; :contact [ :name "Ada" ; :at [ :name "door" ] ] .')
    local.sync()
    assert [row["n"].value for row in local.query(ask)] == ["door"]


def test_it_goes_on_after_a_restart_and_names_its_provider_once(tmp_path: Path, provider: Engine) -> None:
    with LocalRepository.open(tmp_path / "local", provider) as first:
        first.subscribe(DATASETS, "datasets")
        position, owner = first.sync(), first.owner
    publish(provider, "more", ":more a dcat:Dataset .")
    with LocalRepository.open(tmp_path / "local") as second:
        assert (second.position, second.owner, second.behind) == (position, owner, 1)
        assert second.sync() == position + 1
        assert held(second) == {"trees", "more"}
        with pytest.raises(FolderLocked):
            second.subscribe(DATASETS, "others")
    for folder, named, problem in (
        ("new", None, "is no local repository yet"),
        ("local", tmp_path / "local", "cannot follow itself"),
        ("new", tmp_path / "nothing", "no journal in"),
    ):
        with pytest.raises(InputError, match=problem):
            LocalRepository.open(tmp_path / folder, named)
    with Engine() as engine, pytest.raises(InputError, match="in memory"):
        LocalRepository.open(tmp_path / "new", engine)


def test_subscriptions_are_replaced_as_files_change(provider: Engine, local: LocalRepository) -> None:
    wanted = {"a": Subscription("a", DATASETS), "b": Subscription("b", "SELECT ?s { ?s :seat ?o")}
    outcomes = local.replace_subscriptions(wanted)
    assert isinstance(outcomes["b"], QuerySyntaxError)
    assert {*local.subscriptions()} == {"a"}
    assert local.replace_subscriptions({"a": wanted["a"]}) == {}
    local.sync()
    edited = f"SELECT ?s {{ ?s <{E}seat> ?o }}"
    assert {*local.replace_subscriptions({"a": Subscription("a", edited)})} == {"a"}
    local.sync()
    assert held(local) == {"city"}
    refused = local.replace_subscriptions({"a": Subscription("a", "SELECT ?s {")})
    assert isinstance(refused["a"], QuerySyntaxError)
    assert local.subscriptions()["a"].text == edited
    local.unsubscribe("a")
    local.sync()
    assert held(local) == set()
    with pytest.raises(InputError, match="no live subscription"):
        local.unsubscribe("a")


def test_rules_of_its_own_search_each_other_by_their_ids(provider: Engine, local: LocalRepository) -> None:
    rule = "prefix : <http://www.w3.org/ns/dcat#> prefix dct: <http://purl.org/dc/terms/> "
    named = {
        "titled": Subscription("titled", f"{rule} search datasets d register d where d.dct:title = 'Trees'", "rule"),
        "datasets": Subscription("datasets", f"{rule} search Dataset d register d", "rule"),
    }
    outcomes = local.replace_subscriptions(named)
    assert {id: type(each).__name__ for id, each in outcomes.items()} == dict.fromkeys(named, "Subscribed")
    assert local.replace_subscriptions(named) == {}
    publish(provider, "parks", ':parks a dcat:Dataset ; dct:title "Parks" .')
    local.sync()
    assert held(local) == {"trees", "parks"}
    assert [each.subscription for each in local.holders(f"{E}trees")] == ["datasets", "titled"]
    local.subscribe(f"{rule} search titled d register d", id="again", language="rule")
    local.sync()
    assert [each.subscription for each in local.holders(f"{E}trees")] == ["again", "datasets", "titled"]


def test_a_live_run_takes_subscriptions_for_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("triplecast.local.provider.TOLD_SECONDS", 0.1)
    with Engine.open(tmp_path / "provider") as engine:
        publish(engine, "trees", ":trees a dcat:Dataset .")
    desk = Desk(tmp_path / "provider")
    with LocalRepository.open(tmp_path / "local", tmp_path / "provider") as local:
        subscribed = local.subscribe(DATASETS, id="datasets")
        assert (subscribed.id, subscribed.expires) == (f"{local.owner}/datasets", None)
        outcomes = local.replace_subscriptions({"wrong": Subscription("wrong", "SELECT")})
        assert isinstance(outcomes["wrong"], InputError)
        assert local.subscriptions() == {}
        local.subscribe(DATASETS, id="again")
        with pytest.raises(InputError, match="in use"):
            local.subscribe(DATASETS, id="again")
        desk.close()
        with Engine.open(tmp_path / "provider"):  # tells what was taken, as a run does
            pass
        local.sync()
        assert held(local) == {"trees"}


def test_what_is_no_provider_leaves_no_folder(tmp_path: Path, provider: Engine, local: LocalRepository) -> None:
    for given, error in ((3, TypeError), (tmp_path / "missing", InputError), (None, InputError)):
        with pytest.raises(error):
            LocalRepository.open(tmp_path / "new", given)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="no journal"):
        promote(tmp_path / "new")
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "missing").exists()
    with pytest.raises(TypeError, match="iri is text"):
        local.holders(3)  # type: ignore[arg-type]
    local.subscribe(DATASETS)
    local.sync()
    with pytest.raises(InputError, match="is of the provider"):
        local.engine.remove(f"{HELD}{E}trees")
    assert held(local) == {"trees"}


def test_what_is_browsed_becomes_a_subscription(provider: Engine, local: LocalRepository) -> None:
    browse = local.browse()
    assert browse.classes() == [("http://www.w3.org/ns/dcat#Dataset", 1)]
    assert browse.instances("http://www.w3.org/ns/dcat#Dataset") == [f"{E}trees"]
    assert f'<{E}city> <http://purl.org/dc/terms/title> "City" .' in browse.describe(f"{E}city").splitlines()
    local.subscribe(browse.selection(["http://www.w3.org/ns/dcat#Dataset"], [f"{E}city"]), "chosen")
    local.sync()
    assert held(local) == {"trees", "city"}
    for wrong in ("no iri", "a> ; <b"):
        with pytest.raises(InputError, match="is no absolute IRI"):
            browse.selection([wrong])
    with pytest.raises(InputError, match="nothing is selected"):
        browse.selection()


def test_a_pruned_outbox_is_told_again(provider: Engine, local: LocalRepository) -> None:
    local.subscribe(DATASETS, "datasets")
    local.sync()
    publish(provider, "more", ":more a dcat:Dataset .")
    provider.prune(max(each.sequence for each in provider.notifications()))
    local.sync()
    assert (held(local), local.behind) == ({"trees", "more"}, 0)


def test_a_log_that_is_damaged_or_has_a_gap_is_not_taken(provider: Engine, local: LocalRepository) -> None:
    local.subscribe(DATASETS, "datasets")
    local.sync()
    for name in ("one", "two", "three"):
        publish(provider, name, f":{name} a dcat:Dataset .")
    receiver = Receiver(local.engine, local._journal)
    source = FolderProvider(provider)
    texts = list(source.changes(local.owner, receiver.position, receiver.id))
    assert len(texts) == 3
    receiver.take([texts[0], texts[0]])
    with pytest.raises(OutOfStep, match="does not follow"):
        receiver.take([texts[2]])
    wrong = texts[1].replace(b"example.org/two>", b"example.org/owt>")
    assert list(read_patches(wrong))
    with pytest.raises(OutOfStep, match="another digest"):
        receiver.take([wrong])
    with pytest.raises(OutOfStep, match="another digest"):
        receiver.take([texts[1].replace(b'H position "', b'H position "9')])
    with pytest.raises(OutOfStep, match="cannot be read"):
        receiver.take([texts[1][:-5]])
    receiver.take(texts)
    assert held(local) == {"trees", "one", "two", "three"}
    source.close()


ONE_LINE = b'<https://example.org/x> <urn:p> "1" .\n'
"""As only somebody who changes the folder by other means brings it there."""


def test_garbage_is_named_and_dropped(tmp_path: Path, provider: Engine) -> None:
    with LocalRepository.open(tmp_path / "local", provider) as repository:
        repository.subscribe(DATASETS, "datasets")
        repository.sync()
        repository.engine.taking.changes([draft_of(f"{HELD}{E}x", [ONE_LINE])], {})
        found = read_held(repository._journal)
    assert {node for node in found.nodes if node not in found.first_holders()} == {f"<{E}x>"}
    assert collect_garbage(tmp_path / "local") == [f"<{E}x>"]
    assert collect_garbage(tmp_path / "local") == []


def test_what_differs_is_fetched_again(provider: Engine, local: LocalRepository) -> None:
    local.subscribe(DATASETS, "datasets")
    local.sync()
    local.engine.taking.changes([draft_of(f"{HELD}{E}trees", [ONE_LINE])], {})
    local._receiver = None
    local.sync()
    assert titles(local) == ["Trees"]


@pytest.mark.parametrize("point", ["local.taken", "journal.appended", "journal.committed", "outbox.committed"])
def test_a_killed_sync_goes_on(tmp_path: Path, provider: Engine, point: str) -> None:
    with LocalRepository.open(tmp_path / "local", provider) as repository:
        repository.subscribe(DATASETS, "datasets")
        repository.sync()
        repository.engine.subscribe("SELECT ?t { ?d dct:title ?t }", "titles", scope="repository")
    publish(provider, "trees", ':trees a dcat:Dataset ; dct:title "Trees 2" .')
    provider.close()
    child = os.fork()
    if child == 0:
        from triplecast import crash_points

        crash_points._armed, crash_points._last, crash_points._signal = point, 1, signal.SIGKILL
        try:
            with LocalRepository.open(tmp_path / "local") as repository:
                repository.sync()
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    assert os.WTERMSIG(status) == signal.SIGKILL
    with LocalRepository.open(tmp_path / "local") as repository:
        repository.sync()
        assert titles(repository) == ["Trees 2"]
        told = [[row["t"].value for row in each.added] for each in repository.engine.notifications()]
        assert told == [["Trees"], ["Trees 2"]]


def test_runs_of_provider_replica_and_local_repositories(seed: int) -> None:
    for number in range(2):
        run(seed, number, steps=30)


def test_a_patch_of_another_kind_is_no_part_of_the_log(local: LocalRepository) -> None:
    receiver = Receiver(local.engine, local._journal)
    for text in (b"TX .\nTC .\n", b"nonsense\n", b'H id <a:b> .\nH snapshot "true" .\nTX .\nTC .\n'):
        with pytest.raises(OutOfStep):
            receiver.take([text])
        with pytest.raises(OutOfStep):
            receiver.take_snapshot(text)
    with pytest.raises(DocumentRejected):
        list(read_patches(b"nonsense\n"))
