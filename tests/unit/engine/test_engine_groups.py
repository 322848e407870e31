"""Documents are taken and matched in groups: bounded by bytes too, and nothing is lost where one fails."""

from __future__ import annotations

from pathlib import Path
from typing import NoReturn

import pytest
from engine_samples import ANY_TITLE, TITLES, turtle

from triplecast import Document, Engine, InputError, StorageFull, Subscription
from triplecast.engine import matching, publishing
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.publication import Draft

GRAPH = "https://example.org/doc/1"


def documents(count: int) -> list[Document]:
    return [Document(f"d{number}", turtle("x" * 1_000).encode(), "text/turtle") for number in range(count)]


def test_groups_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    taken, matched = [], []
    commit_documents, match = Journal.commit_documents, Matcher.match_pieces
    monkeypatch.setattr(Journal, "commit_documents", lambda *a: taken.append(len(a[1])) or commit_documents(*a))
    monkeypatch.setattr(Matcher, "match_pieces", lambda *a: matched.append(len(a[2])) or match(*a))
    with Engine() as engine:
        monkeypatch.setattr(matching, "BYTES_AT_ONCE", 2_500)
        monkeypatch.setattr(publishing, "BYTES_AT_ONCE", 2_500)
        assert len(engine.publish_many(documents(7))) == 7
        assert taken == [3, 3, 1]
        assert matched == [3, 3, 1]


def test_a_backlog_is_matched_by_bytes_and_makes_no_objects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Journal.open(tmp_path) as journal:
        journal.subscribe([Subscription("any", ANY_TITLE)])
        lines = [f'<urn:{n}> <https://example.org/title> "{"x" * 1_000}" .\n'.encode() for n in range(7)]
        journal.accept([Draft(f"urn:{n}", line, line[:32], "none") for n, line in enumerate(lines)])
    matched = []
    match = Matcher.match_pieces
    monkeypatch.setattr(Matcher, "match_pieces", lambda *a: matched.append(len(a[2])) or match(*a))
    monkeypatch.setattr(matching, "BYTES_AT_ONCE", 2_500)
    monkeypatch.setattr("triplecast.engine.findings.Match", None)
    with Engine.open(tmp_path) as engine:
        assert [n.publication for n in engine.notifications()] == [f"urn:{n}" for n in range(7)]
        assert matched == [3, 3, 1]


def test_the_receipts_of_the_groups_before_stand_on_the_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publishing, "DOCUMENTS_AT_ONCE", 2)
    with Engine() as engine:
        engine.subscribe(ANY_TITLE, id="any")
        database = engine._outbox._database
        size = len("".join(str(document.data) for document in documents(4)))
        ((pages,),) = database.ask("PRAGMA page_count")
        database.ask(f"PRAGMA max_page_count={pages + size // 4096}")
        big = Document("big", turtle("x" * 100_000).encode(), "text/turtle")
        with pytest.raises(StorageFull) as full:
            engine.publish_many([*documents(3), big, *documents(5)[3:]])
        receipts = full.value.receipts
        assert [[match.subscription for match in receipt.matches] for receipt in receipts] == [["any"], ["any"]]
        database.ask("PRAGMA max_page_count=1073741823")
        again = engine.publish_many([*documents(3)[2:], big, *documents(5)[3:]])
        assert [r.publications[0].outcome for r in again] == ["unchanged", "unchanged", "accepted", "accepted"]
        assert len(list(engine.notifications())) == 6
        assert StorageFull("", "", "").receipts == ()


@pytest.mark.parametrize(
    ("last", "kind"),
    [(Document("bad", b"", "text/turtle", attachments={"no iri": b""}), InputError), ("no document", TypeError)],
)
def test_an_unusable_document_leaves_the_receipts_of_the_groups_before(
    last: Document, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publishing, "DOCUMENTS_AT_ONCE", 2)
    with Engine() as engine:
        with pytest.raises(kind) as refused:
            engine.publish_many([*documents(3), last])
        assert [receipt.publications[0].outcome for receipt in refused.value.receipts] == ["accepted", "accepted"]
        assert engine.statistics().work.publications == 2


def interrupted(*_: object, **__: object) -> NoReturn:
    raise KeyboardInterrupt


@pytest.mark.parametrize("durable", [True, False])
def test_an_interrupt_after_a_commit_leaves_the_engine_as_its_journal(
    tmp_path: Path, durable: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C arrives when the journal has what was asked for and the caller has no answer."""
    with Engine.open(tmp_path) if durable else Engine() as engine:
        for name in ("stays", "gone"):
            engine.subscribe(TITLES, id=name)
        engine.publish(turtle("A"), "text/turtle", GRAPH)
        for method, call in (
            ("cancel", lambda: engine.unsubscribe("gone")),
            ("subscribe", lambda: engine.subscribe(TITLES, id="new")),
        ):
            with monkeypatch.context() as patch:
                real = getattr(Journal, method)
                patch.setattr(Journal, method, lambda *a, real=real: (real(*a), interrupted()))
                with pytest.raises(KeyboardInterrupt):
                    call()
        receipt = engine.publish(turtle("B"), "text/turtle", GRAPH)
        assert [match.subscription for match in receipt.matches] == ["stays", "new"]


def test_an_interrupt_after_the_index_was_written_adds_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Engine.open(tmp_path) as engine:
        engine.subscribe(TITLES, id="rail")
        with monkeypatch.context() as patch:
            patch.setattr(engine._upkeep._index._store, "sweep", interrupted)
            with pytest.raises(KeyboardInterrupt):
                engine.publish(turtle("A"), "text/turtle", GRAPH)
        receipt = engine.publish(turtle("B"), "text/turtle", GRAPH)
        assert [match.subscription for match in receipt.matches] == ["rail"]
        assert [(n.subscription, n.version) for n in engine.notifications()] == [("rail", 1), ("rail", 2)]


def test_matches_of_a_call_that_met_a_full_disk_are_in_the_receipt_of_the_next(tmp_path: Path) -> None:
    """Whoever reads receipts alone publishes again what raised; no test compared these receipts with the outbox."""
    with Engine.open(tmp_path) as engine:
        engine.subscribe(ANY_TITLE, id="any")
        outbox = engine._outbox._database
        for number, between in enumerate((lambda: None, lambda: engine.subscribe(TITLES, id="rail"))):
            big = Document(f"big-{number}", turtle(f"{number}" * 50_000).encode(), "text/turtle", f"urn:{number}")
            ((pages,),) = outbox.ask("PRAGMA page_count")
            outbox.ask(f"PRAGMA max_page_count={pages}")
            with pytest.raises(StorageFull):
                engine.publish_many([big])
            outbox.ask("PRAGMA max_page_count=1073741823")
            between()
            first, second, third = engine.publish_many([big, big, *documents(1)])
            assert [publication.outcome for publication in first.publications] == ["unchanged"]
            assert [match.subscription for match in first.matches] == ["any"]
            assert second.matches == () == engine.publish_many([big])[0].matches
            assert len(third.matches) == (number == 0)
        assert len(list(engine.notifications())) == 3
