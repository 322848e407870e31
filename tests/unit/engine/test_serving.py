"""What a service asks of an engine: conditions hold until what they allow is committed."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from triplecast import Engine
from triplecast.engine.serving import DocumentState
from triplecast.ingest.document import document_of

GRAPH = "https://example.org/1"
ONE, TWO, THREE = (f"<a:s> <a:p> {number} ." for number in (1, 2, 3))


@pytest.mark.parametrize("change", ["publish", "remove"])
def test_nothing_comes_between_a_condition_and_what_it_allows(change: str) -> None:
    with Engine() as engine:
        engine.publish(ONE, "text/turtle", GRAPH)
        others: list[threading.Thread] = []

        def condition(state: DocumentState | None) -> None:
            assert state is not None
            assert state.version == 1
            other = threading.Thread(target=engine.publish, args=(THREE, "text/turtle", GRAPH))
            others.append(other)
            other.start()
            other.join(0.2)
            assert other.is_alive()

        if change == "publish":
            receipt = engine.serving.publish_when(document_of(TWO, "text/turtle", GRAPH, False), GRAPH, condition)
            assert [each.version for each in receipt.publications] == [2]
        else:
            assert engine.serving.remove_when(GRAPH, condition, engine.remove) is not None
        others[0].join()
        found = engine.serving.document(GRAPH)
        assert found is not None
        assert b'"3"' in found[1].quads


def test_a_condition_that_raises_changes_nothing() -> None:
    with Engine() as engine:
        engine.publish(ONE, "text/turtle", GRAPH)

        def refuse(_: DocumentState | None) -> None:
            raise ValueError

        document = document_of(TWO, "text/turtle", GRAPH, False)
        calls: list[Callable[[], object]] = [
            lambda: engine.serving.publish_when(document, GRAPH, refuse),
            lambda: engine.serving.remove_when(GRAPH, refuse, engine.remove),
        ]
        for call in calls:
            with pytest.raises(ValueError):  # noqa: PT011
                call()
        state = engine.serving.state(GRAPH)
        assert state is not None
        assert (state.version, engine.serving.progress().position) == (1, 1)
