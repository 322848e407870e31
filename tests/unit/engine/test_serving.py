"""What a service asks of an engine: conditions hold until what they allow is committed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from triplecast import Engine, Receipt, StorageFault
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


def test_documents_published_together_have_the_receipts_that_each_has_alone() -> None:
    texts = [
        (ONE, "text/turtle", GRAPH),
        ("<a:s> <a:p> .", "text/turtle", "https://example.org/2"),
        ("<rss/>", "application/rss+xml", None),
        (TWO, "text/turtle", "https://example.org/3"),
        (ONE, "text/turtle", GRAPH),
        (TWO, "text/turtle", GRAPH),
    ]
    documents = [document_of(text.encode(), kind, graph, False) for text, kind, graph in texts]
    with Engine() as engine, Engine() as alone:
        for each in (engine, alone):
            each.subscribe("SELECT ?o { <a:s> <a:p> ?o }", id="all", notify="every")
        found = engine.serving.publish_together(documents)
        assert found[2] is None  # it is parsed in a child
        for receipt, document in zip(found, documents, strict=True):
            if receipt is not None:
                assert isinstance(receipt, Receipt)
                expected = alone.publish(document.data, document.media_type, document.graph)
                assert [each.bindings for each in receipt.matches] == [each.bindings for each in expected.matches]
                assert [(each.graph, each.version, each.outcome) for each in receipt.publications] == [
                    (each.graph, each.version, each.outcome) for each in expected.publications
                ]
                assert receipt.rejects == expected.rejects
        assert [(each.publication, each.version) for each in engine.notifications()] == [
            (each.publication, each.version) for each in alone.notifications()
        ]


def test_groups_of_many_threads_and_single_documents_lose_nothing(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe("SELECT ?o { <a:s> <a:p> ?o }", id="all", notify="every")

        def write(writer: int) -> None:
            for turn in range(10):
                names = [f"https://example.org/{writer}/{turn}/{number}" for number in range(1 + 90 * (writer % 3))]
                documents = [document_of(ONE.encode(), "text/turtle", name, False) for name in names]
                if writer % 2:
                    for each in engine.serving.publish_together(documents):
                        assert isinstance(each, Receipt)
                        assert len(each.matches) == 1
                else:
                    assert len(engine.publish(ONE, "text/turtle", names[0]).matches) == 1

        threads = [threading.Thread(target=write, args=(number,)) for number in range(6)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        told = [each.publication for each in engine.notifications()]
        assert len(told) == len({*told}) == 30 + 10 * (91 + 1 + 181)


def test_a_disk_that_fails_is_told_to_each_of_a_group(monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine() as engine:

        def fail(*_: object) -> None:
            raise StorageFault("journal", "it broke", "mend it")

        monkeypatch.setattr("triplecast.journal.Journal.commit_documents", fail)
        documents = [document_of(ONE.encode(), "text/turtle", f"a:{number}", False) for number in range(3)]
        found = engine.serving.publish_together(documents)
        assert [type(each) for each in found] == [StorageFault] * 3
        monkeypatch.undo()
        assert all(isinstance(each, Receipt) for each in engine.serving.publish_together(documents))
