"""What `Engine` says to a caller who took it for something else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_samples import ANY_TITLE, turtle

from triplecast import Document, Engine, FolderLocked, InputError, StorageFault, Subscription
from triplecast.journal import Journal
from triplecast.outbox import Outbox


def test_a_folder_is_opened_and_not_constructed(tmp_path: Path) -> None:
    taken: Any = tmp_path
    with pytest.raises(TypeError, match=r"the durable one is Engine\.open\(folder\)"):
        Engine(taken)
    (tmp_path / "a.ttl").write_text("")
    with pytest.raises(StorageFault, match=r"a\.ttl: it is a file, and a folder is needed"):
        Engine.open(tmp_path / "a.ttl")


@pytest.mark.parametrize("given", [["ASK { ?s ?p ?o }"], "ASK { ?s ?p ?o }", 7])
def test_texts_are_no_subscriptions(given: Any) -> None:
    with Engine() as engine:
        with pytest.raises(TypeError, match=r"takes a list of triplecast\.Subscription, not (str|int); `subscribe`"):
            engine.subscribe_many(given)
        assert engine.subscribe_many([]) == []


@pytest.mark.parametrize("path", ["rail.rq", "/data/rail.rdql"])
def test_the_name_of_a_file_is_no_query(path: str) -> None:
    with Engine() as engine, pytest.raises(InputError, match="is the name of a file, not a query; subscribe Path"):
        engine.subscribe(path)


@pytest.mark.parametrize("wrong", ["\ud800", 7, ["ada"]])
@pytest.mark.parametrize("field", ["text", "id", "language", "scope", "entailment", "owner"])
def test_no_field_is_acknowledged_that_cannot_be_stored_and_told(tmp_path: Path, field: str, wrong: Any) -> None:
    given = {"text": ANY_TITLE, "id": "bad", field: wrong}
    with Engine.open(tmp_path) as engine:
        with pytest.raises(InputError, match=f"the {field} of a subscription"):
            engine.subscribe(**given)
        given["name"] = given.pop("id")
        fault, _ = engine.subscribe_many([Subscription(**given), Subscription("good", ANY_TITLE)])
        assert isinstance(fault, InputError)
        assert [found.id for found in engine.subscriptions()] == ["good"]
    with Engine.open(tmp_path) as engine:
        assert [match.subscription for match in engine.publish(turtle("A"), "text/turtle").matches] == ["good"]


@pytest.mark.parametrize("field", ["source", "media_type", "graph"])
def test_a_document_with_half_a_character_is_a_reject_beside_its_neighbours(field: str) -> None:
    fields = {"source": "b", "media_type": "text/turtle", "graph": "https://example.org/b"}
    bad: dict[str, Any] = {**fields, field: f"{fields[field]}\ud800"}
    good = [Document(name, turtle(name).encode(), "text/turtle") for name in ("a", "c")]
    with Engine() as engine:
        engine.subscribe(ANY_TITLE, id="any")
        first, middle, last = engine.publish_many([good[0], Document(data=b"", **bad), good[1]])
    assert [len(receipt.matches) for receipt in (first, middle, last)] == [1, 0, 1]
    (reject,) = middle.rejects
    assert "holds half a character" in reject.reason
    reject.source.encode()


@pytest.mark.parametrize("field", ["source", "data", "media_type", "graph", "dataset"])
def test_a_document_field_of_another_type_is_named(field: str) -> None:
    fields: dict[str, Any] = {"source": "b", "data": b"", "media_type": None, "graph": None, "dataset": False}
    with Engine() as engine, pytest.raises(TypeError, match=f"the {field} of a document is .*, not float"):
        engine.publish_many([Document(**{**fields, field: 1.5})])


def test_a_graph_has_the_limit_of_a_term_and_its_reject_is_short() -> None:
    with Engine() as engine:
        (reject,) = engine.publish(turtle("A"), "text/turtle", "https://example.org/" + "x" * (1 << 20)).rejects
    assert "4096 are allowed" in reject.reason
    assert len(reject.source) < 20_000


ASKED: dict[str, Callable[[Engine, Any], object]] = {
    "ticket": lambda engine, wrong: engine.unsubscribe("any", ticket=wrong),
    "since": lambda engine, wrong: list(engine.notifications(wrong)),
    "limit": lambda engine, wrong: list(engine.notifications(0, wrong)),
    "undecided": lambda engine, wrong: engine.undecided(wrong),
    "rejects": lambda engine, wrong: engine.rejects(wrong),
    "last": lambda engine, wrong: engine.preview(ANY_TITLE, last=wrong),
    "preview": lambda engine, wrong: engine.preview(wrong),
    "prune": lambda engine, wrong: engine.prune(wrong),
    "prune_undecided": lambda engine, wrong: engine.prune_undecided(wrong),
}


@pytest.mark.parametrize("wrong", ["\ud800", "x", 1 << 70, -1, 1.5], ids=ascii)
@pytest.mark.parametrize("call", ASKED)
def test_what_cannot_be_asked_is_a_typed_error_and_changes_nothing(call: str, wrong: Any) -> None:
    with Engine() as engine:
        engine.subscribe(ANY_TITLE, id="any")
        engine.publish(turtle("A"), "text/turtle")
        if (call, wrong) == ("preview", "x"):
            wrong = 7
        with pytest.raises((InputError, TypeError)):
            ASKED[call](engine, wrong)
        assert [found.subscription for found in engine.notifications()] == ["any"]
        assert len(list(engine.subscriptions())) == 1


@pytest.mark.parametrize("time", [-1, 253_402_300_800_000_000, 1 << 70, 1.5, None])
def test_a_clock_beyond_the_years_of_four_digits_is_told(tmp_path: Path, time: Any) -> None:
    with pytest.raises(InputError, match="no time from 1970 to 9999"):
        Engine.open(tmp_path, clock=lambda: time)
    with Engine(clock=lambda: time) as engine, pytest.raises(InputError, match="no time from 1970 to 9999"):
        engine.publish(turtle("A"), "text/turtle")
    with Engine(clock=lambda: 253_402_300_799_999_999) as engine:
        (accepted,) = engine.publish(turtle("A"), "text/turtle").publications
        assert accepted.accepted_at == "9999-12-31T23:59:59.999999Z"


def test_a_forked_child_writes_nothing_through_what_it_inherited(tmp_path: Path) -> None:
    with Engine.open(tmp_path / "engine") as engine, Journal.open(tmp_path / "journal") as journal:
        engine.subscribe(ANY_TITLE, id="any")
        outbox = Outbox.open(tmp_path / "outbox")
        calls: list[Callable[[], object]] = [
            lambda: engine.publish(turtle("A"), "text/turtle"),
            lambda: engine.subscribe(ANY_TITLE),
            lambda: list(engine.notifications()),
            lambda: journal.remove("https://example.org/1"),
            lambda: outbox.prune(1),
        ]
        assert [in_a_child(call) for call in (*calls, engine.close, journal.close, outbox.close)] == [7] * 5 + [0] * 3
        assert len(engine.publish(turtle("A"), "text/turtle").matches) == 1
        assert len(list(engine.notifications())) == 1
        outbox.close()


def in_a_child(call: Callable[[], object]) -> int:
    """The status of a forked child that calls it: 0, 7 for FolderLocked that names the fork, 1 for anything else."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            call()
            status = 0
        except FolderLocked as locked:
            status = 7 if "from which this one was forked" in str(locked) else 1
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@pytest.mark.parametrize("field", ["id", "owner"])
def test_a_name_has_a_limit(field: str) -> None:
    with Engine() as engine:
        engine.subscribe("SELECT ?a { ?a <http://e/p> 1 }", **{"id": "short", "owner": "short", field: "x" * 4_096})
        with pytest.raises(InputError, match=f"the {field} of a subscription has 4,097 characters; 4,096 are allowed"):
            engine.subscribe("SELECT ?a { ?a <http://e/p> 1 }", **{"id": "long", field: "x" * 4_097})
        assert len(list(engine.subscriptions())) == 1


def test_a_closed_engine_holds_no_file(tmp_path: Path) -> None:
    """What is still open by then is counted: a segment stayed mapped, which no test asked about."""

    def held() -> set[str]:
        opened = [os.readlink(entry.path) for entry in os.scandir("/proc/self/fd") if os.path.lexists(entry.path)]
        return {name for name in (*opened, *Path("/proc/self/maps").read_text().split()) if str(tmp_path) in name}

    for number in range(2):
        engine = Engine.open(tmp_path)
        engine.subscribe(ANY_TITLE, id=f"any-{number}")
        engine.publish(turtle(f"title {number}"), "text/turtle")
        assert len(held()) > 4
        engine.close()
        assert held() == set()
