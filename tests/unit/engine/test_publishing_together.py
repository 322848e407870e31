"""Threads that publish at once share transactions; each gets its own receipt, and errors reach those they concern."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from engine_samples import ANY_TITLE, turtle

from triplecast import Engine, Receipt, StorageFault
from triplecast.engine.publishing import _Call
from triplecast.journal import Journal
from triplecast.model.publication import Draft

THREADS, EACH = 8, 25


def _publish(engine: Engine, thread: int) -> list[Receipt]:
    return [engine.publish(turtle(f"{thread} {n}"), "text/turtle", f"urn:{thread}:{n}") for n in range(EACH)]


class _Held:
    """Holds the first transaction of a journal until it may go on; counts the drafts of each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, raised: BaseException | None = None) -> None:
        self.began, self.may_go_on = threading.Event(), threading.Event()
        self.sizes: list[int] = []
        commit: Callable[..., Any] = Journal.commit_documents

        def held(journal: Journal, drafts: Sequence[Draft], *rest: object) -> object:
            self.sizes.append(len(drafts))
            if len(self.sizes) == 1:
                self.began.set()
                assert self.may_go_on.wait(30)
                if raised is not None:
                    raise raised
            return commit(journal, drafts, *rest)

        monkeypatch.setattr(Journal, "commit_documents", held)


def _wait_for(engine: Engine, waiting: int) -> None:
    done = threading.Event()
    while len(engine._publishing._waiting) < waiting:
        done.wait(0.001)


@pytest.mark.parametrize("durable", [True, False])
def test_each_thread_gets_its_own_receipts(tmp_path: Path, durable: bool) -> None:
    with Engine.open(tmp_path) if durable else Engine() as engine, ThreadPoolExecutor(THREADS) as threads:
        engine.subscribe(ANY_TITLE, id="any")
        receipts = list(threads.map(lambda thread: _publish(engine, thread), range(THREADS)))
        for thread, given in enumerate(receipts):
            assert [each.publications[0].graph for each in given] == [f"urn:{thread}:{n}" for n in range(EACH)]
            assert [[match.publication for match in each.matches] for each in given] == [
                [f"urn:{thread}:{n}"] for n in range(EACH)
            ]
            positions = [each.publications[0].position for each in given]
            assert positions == sorted(positions)
        told = [each.publication for each in engine.notifications()]
        assert sorted(told) == sorted(f"urn:{thread}:{n}" for thread in range(THREADS) for n in range(EACH))


def test_those_that_wait_share_a_transaction(monkeypatch: pytest.MonkeyPatch) -> None:
    held = _Held(monkeypatch)
    with Engine() as engine, ThreadPoolExecutor(THREADS) as threads:
        first = threads.submit(engine.publish, turtle("first"), "text/turtle")
        assert held.began.wait(30)
        others = [threads.submit(engine.publish, turtle(str(n)), "text/turtle") for n in range(THREADS - 1)]
        _wait_for(engine, THREADS - 1)
        held.may_go_on.set()
        assert [each.result(30).publications[0].outcome for each in (first, *others)] == ["accepted"] * THREADS
    assert held.sizes == [1, THREADS - 1]


def test_a_fault_is_raised_in_each_thread_of_its_group_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    held = _Held(monkeypatch, StorageFault("journal", "it broke", "mend it"))
    with Engine() as engine, ThreadPoolExecutor(2) as threads:
        first = threads.submit(engine.publish, turtle("first"), "text/turtle")
        assert held.began.wait(30)
        other = threads.submit(engine.publish, turtle("other"), "text/turtle")
        _wait_for(engine, 1)
        held.may_go_on.set()
        with pytest.raises(StorageFault, match="it broke"):
            first.result(30)
        assert other.result(30).publications[0].outcome == "accepted"


def test_an_interrupt_of_who_commits_is_a_fault_of_those_it_commits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    held = _Held(monkeypatch)
    commit: Callable[..., Any] = Journal.commit_documents

    def interrupt(journal: Journal, drafts: Sequence[Draft], *rest: object) -> object:
        if len(held.sizes) == 1 and held.may_go_on.is_set():
            held.sizes.append(0)
            raise KeyboardInterrupt
        return commit(journal, drafts, *rest)

    monkeypatch.setattr(Journal, "commit_documents", interrupt)
    with Engine() as engine, ThreadPoolExecutor(4) as threads:
        first = threads.submit(engine.publish, turtle("first"), "text/turtle")
        assert held.began.wait(30)
        others = [threads.submit(engine.publish, turtle(str(n)), "text/turtle") for n in range(3)]
        _wait_for(engine, 3)
        held.may_go_on.set()
        assert first.result(30).publications[0].outcome == "accepted"
        errors = [each.exception(30) for each in others]
        assert sorted(type(error).__name__ for error in errors) == ["KeyboardInterrupt", "StorageFault", "StorageFault"]
        assert all("publish it again" in str(error) for error in errors if isinstance(error, StorageFault))
        again = [engine.publish(turtle(str(n)), "text/turtle") for n in range(3)]
        assert [each.publications[0].outcome for each in again] == ["accepted"] * 3
        assert not engine._publishing._waiting


def test_an_interrupt_between_taking_and_noting_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that is nowhere is told, as if its thread had been the first to see that."""
    held = _Held(monkeypatch)
    with Engine() as engine, ThreadPoolExecutor(2) as threads:
        first = threads.submit(engine.publish, turtle("first"), "text/turtle")
        assert held.began.wait(30)
        other = threads.submit(engine.publish, turtle("other"), "text/turtle")
        _wait_for(engine, 1)
        engine._publishing._waiting.clear()
        held.may_go_on.set()
        assert first.result(30).publications[0].outcome == "accepted"
        with pytest.raises(StorageFault, match="publish it again"):
            other.result(30)


def test_what_belongs_in_a_child_is_parsed_there_and_waits_for_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    held = _Held(monkeypatch)
    nested = b"<urn:a> <urn:b> " + b"[ <urn:c> " * 101 + b"1" + b" ]" * 101 + b" ."
    with Engine() as engine, ThreadPoolExecutor(4) as threads:
        first = threads.submit(engine.publish, turtle("first"), "text/turtle")
        assert held.began.wait(30)
        harmful = threads.submit(engine.publish, nested, "text/turtle")
        told = threads.submit(engine.publish, b"<urn:a>", "text/turtle")
        sniffed = threads.submit(engine.publish, turtle("sniffed"))
        _wait_for(engine, 3)
        held.may_go_on.set()
        assert [each.result(30).publications[0].outcome for each in (first, harmful, sniffed)] == ["accepted"] * 3
        assert [reject.stage for reject in told.result(30).rejects] == ["parse"]
    assert sum(held.sizes) == 3


def test_an_interrupt_while_waiting_leaves_the_others_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    held = _Held(monkeypatch)
    wait: Callable[..., Any] = _Call.wait

    def interrupted(call: _Call) -> None:
        if call.document.graph == "urn:interrupted":
            raise KeyboardInterrupt
        wait(call)

    monkeypatch.setattr(_Call, "wait", interrupted)
    with Engine() as engine, ThreadPoolExecutor(4) as threads:
        first = threads.submit(engine.publish, turtle("first"), "text/turtle")
        assert held.began.wait(30)
        gone = threads.submit(engine.publish, turtle("gone"), "text/turtle", "urn:interrupted")
        assert isinstance(gone.exception(30), KeyboardInterrupt)
        others = [threads.submit(engine.publish, turtle(str(n)), "text/turtle") for n in range(2)]
        _wait_for(engine, 3)
        held.may_go_on.set()
        assert [each.result(30).publications[0].outcome for each in (first, *others)] == ["accepted"] * 3
        assert not engine._publishing._waiting
    assert held.sizes == [1, 2]
