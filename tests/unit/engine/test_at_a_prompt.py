"""What people see who use an engine from a prompt or a notebook."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterator

import pytest
from engine_samples import ANY_TITLE, turtle

from triplecast import Document, Engine
from triplecast.engine import engine as engine_module


def test_an_interrupt_has_the_receipts_of_the_groups_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "DOCUMENTS_AT_ONCE", 2)

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


def test_an_explanation_controls_no_terminal() -> None:
    with Engine() as engine:
        engine.subscribe(ANY_TITLE, id="any")
        (found,) = engine.explain(turtle("\u202eevil \\u001B[2J"), "any", "text/turtle")
    assert "\\u202Eevil" in str(found)
    assert "\\u001B[2J" in str(found)
    assert not {"\u202e", "\x1b"} & {*str(found)}
