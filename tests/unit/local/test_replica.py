"""A replica has what its provider has, serves readers, refuses writers, and takes over."""

from __future__ import annotations

import os
import signal
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import rdflib

from triplecast import FOREVER, Engine, InputError, LocalRepository, Receipt, Replica, ReplicaWritten, StorageFault
from triplecast.journal import JournalFile
from triplecast.local import promote
from triplecast.local.record_log import follow_records, id_at
from triplecast.patch import write_patch

E = "https://example.org/"
TABLES = (
    "record",
    "document",
    "live",
    "ended",
    "lease",
    "record_count",
    "attachment",
    "content",
    "answer",
    "part",
    "part_change",
)


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[Engine]:
    with Engine.open(tmp_path / "provider") as engine:
        engine.subscribe("SELECT ?t { ?s dct:title ?t }", "titles", lease=3600)
        engine.subscribe("SELECT ?t { ?s dct:title ?t }", "all titles", scope="repository", owner="ada", lease=FOREVER)
        engine.publish(f'<{E}a> <http://purl.org/dc/terms/title> "A" .', "text/turtle", f"{E}one")
        yield engine


def publish_cut(engine: Engine, graph: str, titles: str) -> Receipt:
    datasets = (f'<{E}{title}> a dcat:Dataset ; <http://purl.org/dc/terms/title> "{title}" .' for title in titles)
    prefix = "@prefix dcat: <http://www.w3.org/ns/dcat#> ."
    return engine.publish("\n".join((prefix, *datasets)), "text/turtle", graph, split="dcat:Dataset")


def fill(engine: Engine) -> None:
    """Records of every kind."""
    for number in (1, 2):
        engine.publish(f'<{E}b> <urn:x> [ <urn:y> {number} ] , [ <urn:y> "r\\r\\n" ] .', "text/turtle", f"{E}two")
    dataset = "<urn:s> <urn:p> _:x . GRAPH _:x { _:x <urn:p> 1 } GRAPH <urn:g> { _:x <urn:p> 1 }"
    engine.publish(dataset, "application/trig", f"{E}ds", dataset=True, attachments={"urn:s": b"\0picture"})
    engine.publish(dataset.replace("1", "2"), "application/trig", f"{E}ds", dataset=True)
    for graph, titles in ((f"{E}c1", "AB"), (f"{E}c2", "BC"), (f"{E}c2", "B"), (f"{E}c1", "C"), (f"{E}c3", "B")):
        publish_cut(engine, graph, titles)
    engine.load_schema("<urn:p> <urn:triplecast:mdv:strong> true .", "text/turtle")
    engine.load_taxonomy("<urn:A> <http://www.w3.org/2000/01/rdf-schema#subClassOf> <urn:B> .", "text/turtle")
    engine.publish("nonsense", "text/turtle")
    engine.resync("all titles")
    engine.renew("titles", until=7200)
    engine.remove(f"{E}one")
    engine.subscribe("ASK { ?s <urn:x> ?o }", "gone", lease=FOREVER)
    engine.unsubscribe("gone")
    engine.publish(f"<{E}c> <urn:x> 1 .", "text/turtle", f"{E}one")


def tables(folder: Path) -> dict[str, list[tuple[object, ...]]]:
    with sqlite3.connect(folder / "journal.sqlite") as database:
        return {name: database.execute(f"SELECT * FROM {name}").fetchall() for name in TABLES}


def told(engine: Engine) -> list[tuple[object, ...]]:
    return [(each.sequence, each.id, each.position, each.json) for each in engine.notifications()]


def test_it_has_the_same_records_and_notifications(tmp_path: Path, provider: Engine) -> None:
    with Replica.open(tmp_path / "replica", provider) as replica:
        replica.sync()
        fill(provider)
        assert replica.behind > 0
        assert replica.sync() == replica.position
        assert replica.behind == 0
        assert told(replica.engine) == told(provider)
        assert [each.id for each in replica.engine.subscriptions()] == [each.id for each in provider.subscriptions()]
        assert replica.sync() == replica.position
    assert tables(tmp_path / "replica") == tables(tmp_path / "provider")
    with JournalFile.read_only(tmp_path / "replica") as journal:
        journal.check()


def test_a_write_is_refused_and_names_the_writer(tmp_path: Path, provider: Engine) -> None:
    with Replica.open(tmp_path / "replica", provider) as replica:
        replica.sync()
        for write in (
            lambda: replica.engine.publish("<urn:a> <urn:b> 1 .", "text/turtle", "urn:g"),
            lambda: replica.engine.remove(f"{E}one"),
            lambda: replica.engine.subscribe("ASK { ?s ?p ?o }"),
            lambda: replica.engine.unsubscribe("titles"),
            lambda: replica.engine.renew("titles", until=FOREVER),
            lambda: replica.engine.load_taxonomy("", "text/turtle"),
        ):
            with pytest.raises(ReplicaWritten, match="is a replica of") as caught:
                write()
            assert caught.value.holder == str(tmp_path / "provider")
        assert replica.engine.query("ASK { ?s ?p ?o }")


def test_it_serves_local_repositories_and_takes_over(tmp_path: Path, provider: Engine) -> None:
    with Replica.open(tmp_path / "replica", provider) as replica:
        replica.sync()
    provider.close()
    with LocalRepository.open(tmp_path / "local", tmp_path / "replica") as repository:
        repository.subscribe("SELECT ?s { ?s dct:title ?t }", "titled")  # at the writer
        repository.sync()
        with Replica.open(tmp_path / "replica", tmp_path / "provider") as replica:
            replica.sync()
        repository.sync()
        assert len(repository.query("SELECT * { ?s ?p ?o }")) == 1
        promote(tmp_path / "replica")
        with Engine.open(tmp_path / "replica") as engine:
            engine.publish(f'<{E}n> <http://purl.org/dc/terms/title> "N" .', "text/turtle", f"{E}n")
        repository.sync()
        assert len(repository.query("SELECT * { ?s ?p ?o }")) == 2
    with pytest.raises(InputError, match="is no replica"):
        promote(tmp_path / "replica")


@pytest.mark.parametrize("is_late", [False, True])
def test_after_a_takeover_what_leaves_its_catalogue_is_removed(tmp_path: Path, provider: Engine, is_late: bool) -> None:
    with Replica.open(tmp_path / "replica", provider) as replica:
        publish_cut(provider, f"{E}catalogue", "AB")
        if is_late:
            replica.sync()
        publish_cut(provider, f"{E}other", "A")  # changes no record
        replica.sync()
    provider.close()
    promote(tmp_path / "replica")
    with Engine.open(tmp_path / "replica") as engine:
        receipt = publish_cut(engine, f"{E}catalogue", "")
        assert [each.graph for each in receipt.removals] == [f"{E}B"]
        receipt = publish_cut(engine, f"{E}other", "")
        assert [each.graph for each in receipt.removals] == [f"{E}A"]


@pytest.mark.parametrize("lost", [1, 2, 3])
def test_a_local_repository_that_was_ahead_follows_the_new_provider(
    tmp_path: Path, provider: Engine, lost: int
) -> None:
    """Also where both have the same position, and hold the same, of two histories."""
    with LocalRepository.open(tmp_path / "local", provider) as repository:
        repository.subscribe("SELECT ?s { ?s dct:title ?t }", "titled")
        with Replica.open(tmp_path / "replica", provider) as replica:
            replica.sync()
        for number in range(lost):
            provider.publish(f"<{E}x> <urn:p> {number} .", "text/turtle", f"{E}x")
        ahead = repository.sync()
    provider.close()
    promote(tmp_path / "replica")
    with (
        Engine.open(tmp_path / "replica") as engine,
        LocalRepository.open(tmp_path / "local", engine) as repository,
    ):
        assert repository.sync() == ahead - lost
        for number in range(2):
            engine.publish(f'<{E}{number}> <http://purl.org/dc/terms/title> "N" .', "text/turtle", f"{E}{number}")
            assert repository.sync() == repository.provider.position() == ahead - lost + number + 1
            assert len(repository.query("SELECT * { ?s ?p ?o }")) == number + 2


def test_another_history_is_not_mixed_in(tmp_path: Path, provider: Engine) -> None:
    with Engine.open(tmp_path / "other") as other:
        other.publish("<urn:a> <urn:b> 1 .", "text/turtle", "urn:g")
        with Replica.open(tmp_path / "replica", provider) as replica:
            replica.sync()
        with Replica.open(tmp_path / "replica", other) as replica, pytest.raises(StorageFault, match="is not the one"):
            replica.sync()
    with pytest.raises(InputError, match="records of its own"):
        Replica.open(tmp_path / "other", provider)


def test_what_operators_gave_is_taken_and_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "engine")
    from noting_operators import NOTES, NOTING, often

    notes = tmp_path / "notes"
    with Engine.open(tmp_path / "provider", operators=[often]) as provider:
        provider.subscribe(f"SELECT ?s {{ ?s <urn:t> ?t FILTER <{NOTING}often>(?s) }}", "often")
        attached = {NOTES: str(notes).encode()}
        receipt = provider.publish('<urn:a> <urn:t> "abcdef" .', "text/turtle", "urn:g", attachments=attached)
        assert len(receipt.matches) == 1, receipt
        with Replica.open(tmp_path / "replica", provider, operators=[often]) as replica:
            replica.sync()
            assert told(replica.engine) == told(provider)
    assert notes.read_text() == "often\n"
    assert tables(tmp_path / "replica")["answer"] == tables(tmp_path / "provider")["answer"] != []


@pytest.mark.parametrize("point", ["journal.appended", "journal.committed", "outbox.committed"])
def test_a_killed_replica_goes_on(tmp_path: Path, provider: Engine, point: str) -> None:
    fill(provider)
    expected = told(provider)
    provider.close()
    Replica.open(tmp_path / "replica", tmp_path / "provider").close()
    child = os.fork()
    if child == 0:
        from triplecast import crash_points

        crash_points._armed, crash_points._last, crash_points._signal = point, 1, signal.SIGKILL
        try:
            with Replica.open(tmp_path / "replica", tmp_path / "provider") as replica:
                replica.sync()
        finally:
            os._exit(3)
    _, status = os.waitpid(child, 0)
    assert os.WIFSIGNALED(status)
    with Replica.open(tmp_path / "replica", tmp_path / "provider") as replica:
        replica.sync()
        assert told(replica.engine) == expected
    assert tables(tmp_path / "replica") == tables(tmp_path / "provider")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_rdflib_reads_the_log_of_the_documents(tmp_path: Path, provider: Engine) -> None:
    for name, line in (("x", f'<{E}x> <urn:p> "1" .'), ("y", f'<{E}x> <urn:p> "1" .'), ("x", f'<{E}x> <urn:p> "2" .')):
        provider.publish(line, "text/turtle", E + name)
    provider.remove(f"{E}one")
    with JournalFile.read_only(tmp_path / "provider") as journal:
        log = b"".join(write_patch(each) for each in follow_records(journal, 0, id_at(journal, 0), 0, 0))
    dataset = rdflib.Dataset()
    dataset.parse(data=log.decode(), format="patch")
    found = {(str(graph), str(value)) for _, _, value, graph in dataset.quads()}
    assert found == {(f"{E}x", "2"), (f"{E}y", "1")}


def test_a_local_repository_gives_up_what_a_provider_without_records_does_not_have(
    tmp_path: Path, provider: Engine
) -> None:
    with LocalRepository.open(tmp_path / "local", provider) as repository:
        repository.subscribe("SELECT ?s { ?s dct:title ?t }", "titled")
        assert repository.sync() > 0
        assert repository.query("SELECT * { ?s ?p ?o }") != []
    Replica.open(tmp_path / "replica", provider).close()  # which took nothing
    provider.close()
    promote(tmp_path / "replica")
    with LocalRepository.open(tmp_path / "local", tmp_path / "replica") as repository:
        assert repository.sync() == repository.position == 0
        assert repository.query("SELECT * { ?s ?p ?o }") == []
        with Engine.open(tmp_path / "replica") as engine:
            engine.publish(f'<{E}n> <http://purl.org/dc/terms/title> "N" .', "text/turtle", f"{E}n")
            assert repository.sync() > 0


def test_a_sync_ends_beside_a_writer_that_does_not(
    tmp_path: Path, provider: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Replica.open(tmp_path / "replica", provider) as replica:
        take, passes = replica.provider.records, 0

        def records(*given: Any) -> Iterator[bytes]:
            nonlocal passes
            passes += 1
            assert passes < 20
            provider.publish(f"<{E}x> <urn:p> {passes} .", "text/turtle", f"{E}x")
            return take(*given)

        monkeypatch.setattr(replica.provider, "records", records)
        wanted = replica.provider.position()
        assert replica.sync() >= wanted
        assert replica.engine.notifications() != []
