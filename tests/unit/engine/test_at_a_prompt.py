"""What people see who use an engine from a prompt or a notebook."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_samples import ANY_TITLE, turtle

from triplecast import Document, Engine, FolderLocked, InputError
from triplecast.engine import publishing


def test_an_interrupt_has_the_receipts_of_the_groups_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "DOCUMENTS_AT_ONCE", 2)

    def interrupted() -> Iterator[Document]:
        for number in range(5):
            if number == 4:
                raise KeyboardInterrupt
            yield Document(str(number), turtle(f"title {number}").encode(), "text/turtle")

    with Engine() as engine, pytest.raises(KeyboardInterrupt) as interrupt:
        engine.publish_many(interrupted())
    assert len(vars(interrupt.value)["receipts"]) in (2, 4)


def test_a_ticket_is_not_shown() -> None:
    with Engine() as engine:
        subscribed = engine.subscribe(ANY_TITLE, id="any")
        assert subscribed.ticket
        assert subscribed.ticket not in repr(subscribed)
        assert "id='any'" in repr(subscribed)


def test_publishing_leaves_no_file_open() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Engine() as engine:
            engine.subscribe(ANY_TITLE)
            for number in range(3):
                receipt = engine.publish(turtle(f"title {number}"), "text/turtle")
        matches = receipt.matches
        del receipt
        assert len(matches) == 1
        assert matches[0].bindings
        del matches
        gc.collect()
    assert [str(each.message) for each in caught if issubclass(each.category, ResourceWarning)] == []


def test_a_closed_engine_maps_no_file_of_its_folder(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(ANY_TITLE)
        assert engine.publish(turtle("title"), "text/turtle").matches
        assert str(tmp_path) in Path("/proc/self/maps").read_text()
    assert str(tmp_path) not in Path("/proc/self/maps").read_text()


def test_an_explanation_controls_no_terminal() -> None:
    with Engine() as engine:
        engine.subscribe(ANY_TITLE, id="any")
        (found,) = engine.explain(turtle("\u202eevil \\u001B[2J"), "any", "text/turtle")
    assert "\\u202Eevil" in str(found)
    assert "\\u001B[2J" in str(found)
    assert not {"\u202e", "\x1b"} & {*str(found)}


CALLS: dict[str, Callable[[Engine], object]] = {
    "subscribe": lambda engine: engine.subscribe(ANY_TITLE),
    "subscribe_many": lambda engine: engine.subscribe_many([]),
    "unsubscribe": lambda engine: engine.unsubscribe("any"),
    "renew": lambda engine: engine.renew("any"),
    "load_taxonomy": lambda engine: engine.load_taxonomy(b"", "text/turtle"),
    "publish": lambda engine: engine.publish(turtle("B"), "text/turtle"),
    "publish_many": lambda engine: engine.publish_many([]),
    "remove": lambda engine: engine.remove("urn:a"),
    "explain": lambda engine: engine.explain(turtle("A"), "any", "text/turtle"),
    "preview": lambda engine: engine.preview(ANY_TITLE),
    "notifications": lambda engine: list(engine.notifications()),
    "subscriptions": lambda engine: list(engine.subscriptions()),
    "statistics": lambda engine: engine.statistics(),
    "rejects": lambda engine: engine.rejects(),
    "undecided": lambda engine: engine.undecided(),
    "prune": lambda engine: engine.prune(0),
    "prune_undecided": lambda engine: engine.prune_undecided(0),
    "with": lambda engine: engine.__enter__(),
}


def test_every_call_says_that_the_engine_is_closed(tmp_path: Path) -> None:
    for engine in (Engine(), Engine.open(tmp_path)):
        engine.subscribe(ANY_TITLE, id="any")
        engine.close()
        engine.close()
        for call in CALLS.values():
            with pytest.raises(InputError, match=r"^the engine is closed; open its folder again"):
                call(engine)


def test_every_call_says_that_another_took_the_folder_over(tmp_path: Path) -> None:
    replaced = Engine.open(tmp_path)
    replaced.subscribe(ANY_TITLE, id="any")
    for number in range(2):
        replaced.publish(turtle(f"title {number}"), "text/turtle")
    before, begun = replaced.notifications(), replaced.notifications(limit=3)
    next(begun)
    with Engine.open(tmp_path, take_over=True) as successor:
        successor.publish(turtle("B"), "text/turtle")
    for call in (*CALLS.values(), lambda _: list(before)):
        with pytest.raises(FolderLocked, match="the other has the folder now"):
            call(replaced)
    assert next(begun).subscription == "any"
    replaced.close()
    with Engine.open(tmp_path) as engine:
        assert len(list(engine.notifications())) == 3


def test_an_engine_that_is_dropped_frees_its_folder_and_ends_its_children(tmp_path: Path) -> None:
    for number in range(2):
        engine = Engine.open(tmp_path)
        engine.subscribe(ANY_TITLE, id=f"any-{number}")
        engine.publish(turtle(f"title {number}"), "text/turtle")
        engine.publish('{"@id": "a:s", "a:p": 1}', "application/ld+json")
        child = engine._parser._sandboxes[0]._child
        assert child is not None
        assert child.alive
        del engine
        gc.collect()
        assert not child.alive
    found = Engine.open(tmp_path).notifications()
    gc.collect()
    assert [each.subscription for each in found] == ["any-0", "any-0", "any-1"]


WRONG: dict[str, tuple[Callable[[Engine, Any], object], str]] = {
    "unsubscribe": (lambda engine, given: engine.unsubscribe(given), "id"),
    "renew": (lambda engine, given: engine.renew(given), "id"),
    "explain": (lambda engine, given: engine.explain(turtle("A"), given), "id"),
    "notifications": (lambda engine, given: engine.notifications(subscription=given), "subscription"),
    "owner": (lambda engine, given: engine.notifications(owner=given), "owner"),
    "subscriptions": (lambda engine, given: engine.subscriptions(owner=given), "owner"),
    "remove": (lambda engine, given: engine.remove(given), "graph"),
}


@pytest.mark.parametrize("called", WRONG)
def test_what_is_no_text_is_no_name(called: str) -> None:
    call, name = WRONG[called]
    with Engine() as engine:
        subscribed = engine.subscribe(ANY_TITLE, id="any")
        for given in (["any"], 3, object(), b"any"):
            with pytest.raises(TypeError, match=f"^{name} is text, not {type(given).__name__}$"):
                call(engine, given)
        hint = "; give its `id`" if name in ("id", "subscription") else ""
        with pytest.raises(TypeError, match=f"^{name} is text, not Subscribed{hint}$"):
            call(engine, subscribed)
        (listed,) = engine.subscriptions(owner=None)
        assert listed.id == "any"
