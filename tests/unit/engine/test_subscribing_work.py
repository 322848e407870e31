"""What subscribing costs, counted: texts read, statements asked, records held; and who waits for whom."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from engine_samples import ANY_TITLE, PREFIX, TITLES, UNTITLED, turtle

from triplecast import Engine, Subscription
from triplecast.compile import compiled
from triplecast.compile.compiled import CompiledSubscription, SubscriptionCompiler
from triplecast.index import IndexWriter, merge
from triplecast.model.operators import OperatorSet
from triplecast.outbox import outbox
from triplecast.registry import admission, upkeep
from triplecast.sqlite import SqliteFile

NASTY = PREFIX + "SELECT * { VALUES ?a { 1 2 3 } ?item ex:title ?a }"


def _many(count: int, prefix: str = "s") -> list[Subscription]:
    return [
        Subscription(f"{prefix}{n}", PREFIX + f'SELECT * {{ ?item ex:topic ex:rail ; ex:title "{n}" }}')
        for n in range(count)
    ]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Texts that were parsed, by text."""
    counted, parse = Counter[str](), compiled.parse_template

    def counting(text: str, *given: object, **named: object) -> object:
        counted[text] += 1
        return parse(text, *given, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(compiled, "parse_template", counting)
    return counted


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Statements that read, by text."""
    counted, ask = Counter[str](), SqliteFile.ask

    def counting(database: SqliteFile, statement: str, values: object = ()) -> object:
        counted[statement] += 1
        return ask(database, statement, values)  # type: ignore[arg-type]

    monkeypatch.setattr(SqliteFile, "ask", counting)
    return counted


def test_a_text_is_read_once(read: Counter[str], tmp_path: Path) -> None:
    wanted = [*_many(20), Subscription("any", ANY_TITLE), Subscription("untitled", UNTITLED)]
    with Engine.open(tmp_path) as engine:
        engine.subscribe_many(wanted)
        engine.subscribe(TITLES, id="rail")
        receipt = engine.publish(turtle("7"), "text/turtle")
        assert [match.subscription for match in receipt.matches] == ["s7", "any", "rail"]
        assert read == Counter([*(each.text for each in wanted), TITLES])
    with Engine.open(tmp_path):
        assert set(read.values()) == {1}, "the index is on disk"


def test_a_bulk_asks_as_often_as_few_do(asked: Counter[str], tmp_path: Path) -> None:
    """Names and leases are looked up together."""
    with Engine.open(tmp_path) as engine:
        counts = []
        for count in (3, 2, 400):
            asked.clear()
            engine.subscribe_many(_many(count, f"{count}-"))
            counts.append(asked.total())
    assert counts[1] == counts[2] < 25, asked


def test_many_keys_are_asked_in_parts(asked: Counter[str]) -> None:
    with Engine() as engine:
        names = [each.id for each in engine.subscribe_many(_many(1_200)) if not isinstance(each, Exception)]
        assert len(names) == 1_200
        live = engine._journal.live_ids([*names, "nobody"])
        assert sorted(live.values()) == [*range(1, 1_201)]
        assert len(engine._journal.lease_ends([*live.values()])) == 1_200
        counts = []
        for ids in (range(1, 3), range(3, 403)):
            asked.clear()
            engine._journal.cancel([*ids])
            counts.append(asked.total())
        assert counts[0] == counts[1] < 15, asked


def test_no_more_wait_for_the_index_than_stated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(upkeep, "UNINDEXED", 10)
    with Engine.open(tmp_path) as engine:
        for part in range(4):
            engine.subscribe_many(_many(6, f"{part}-"))
            assert len(engine._upkeep._compiled) <= 10
        assert engine._upkeep._index.covers == 18
        assert len(engine.publish(turtle("3"), "text/turtle").matches) == 4
        assert engine._upkeep._compiled == {}


def test_the_registry_is_applied_in_slices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of 53 registrations some are cancelled in their own slice, some in a later one, before and after what matched."""
    with Engine.open(tmp_path) as engine:
        for each in _many(30):
            engine.subscribe_many([each])
        for n in (0, 3, 29):
            engine.unsubscribe(f"s{n}")
        engine.publish(turtle("3"), "text/turtle", "urn:a")
        for each in _many(23, "later"):
            engine.subscribe_many([each])
        engine.unsubscribe("s7")
        engine.unsubscribe("later7")
    for path in (tmp_path / "index").iterdir():
        path.unlink()
    applied: list[tuple[int, int]] = []
    apply = IndexWriter.apply

    def counting(index: IndexWriter, added: list[object], removed: list[object], *rest: object) -> object:
        applied.append((len(added), len(removed)))
        return apply(index, added, removed, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(upkeep, "AT_ONCE", 10)
    monkeypatch.setattr(IndexWriter, "apply", counting)
    with Engine.open(tmp_path) as engine:
        assert all(added + removed <= 10 for added, removed in applied)
        assert sum(added for added, _ in applied) == 48, "five are never to be asked again"
        for n, matched in ((3, ["later3"]), (5, ["s5", "later5"]), (7, []), (29, [])):
            receipt = engine.publish(turtle(str(n)), "text/turtle", f"urn:{n}")
            assert [match.subscription for match in receipt.matches] == matched
        assert len(engine._upkeep.snapshot) == 48


def _meanwhile(engine: Engine, slow: Callable[[], object], monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Publishes while another thread is still reading what it wants to subscribe to."""
    begun, go_on, compile_subscription = threading.Event(), threading.Event(), admission.compile_subscription

    def wait(subscription: Subscription, operators: OperatorSet) -> CompiledSubscription:
        if "VALUES" in subscription.text:
            begun.set()
            assert go_on.wait(30)
        return compile_subscription(subscription, operators)

    monkeypatch.setattr(admission, "compile_subscription", wait)
    thread = threading.Thread(target=slow)
    thread.start()
    try:
        assert begun.wait(30)
        assert len(engine.publish(turtle(what), "text/turtle").matches) == 1
    finally:
        go_on.set()
        thread.join()


def test_who_publishes_does_not_wait_for_a_text_to_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine() as engine:
        engine.subscribe(TITLES)
        told: list[object] = []
        _meanwhile(engine, lambda: told.append(engine.subscribe(NASTY)), monkeypatch, "A")
        _meanwhile(engine, lambda: told.append(engine.subscribe_many([Subscription("n", NASTY)])), monkeypatch, "B")
        assert [each.id for each in engine.subscriptions()] == ["subscription-1", "subscription-3", "n"]


def test_worn_segments_are_made_again_beside_the_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(merge, "DUE_LEAST", 8)
    monkeypatch.setattr(outbox, "UNSYNCED", 0)
    with Engine.open(tmp_path) as engine:
        engine.subscribe_many(_many(40))
        engine.publish(turtle("0"), "text/turtle")
        for n in range(30):
            engine.unsubscribe(f"s{n}")
        found: dict[str, int] = {}
        for title in ("A", "B", "C"):
            engine.publish(turtle(title), "text/turtle")
            engine._upkeep._compactor.wait()
            found[title] = sum(map(len, engine._upkeep.snapshot.segments))
        assert found == {"A": 40, "B": 10, "C": 10}, "nobody waited for it"
        engine.subscribe(ANY_TITLE, id="any")
        receipt = engine.publish(turtle("33"), "text/turtle")
        assert [match.subscription for match in receipt.matches] == ["s33", "any"]
        assert sum(map(len, engine._upkeep.snapshot.segments)) == 11
        assert len(engine._upkeep.snapshot.removals.registration) == 0
        assert engine._upkeep._compactor._rebuild is None
    with Engine.open(tmp_path) as engine:
        assert sum(map(len, engine._upkeep.snapshot.segments)) == 11


def test_one_that_cannot_be_made_again_is_let_be(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(merge, "DUE_LEAST", 8)
    monkeypatch.setattr(outbox, "UNSYNCED", 0)
    tried: list[int] = []

    with Engine.open(tmp_path) as engine:
        engine.subscribe_many(_many(40))
        engine.publish(turtle("0"), "text/turtle")
        for n in range(30):
            engine.unsubscribe(f"s{n}")
        monkeypatch.setattr(IndexWriter, "rebuild", _refusing(tried))
        for n in range(3):
            engine.subscribe(ANY_TITLE, id=f"any{n}")
            assert len(engine.publish(turtle("33"), "text/turtle", f"urn:{n}").matches) == 2 + n
            engine._upkeep._compactor.wait()
        assert tried == [1]


def _refusing(tried: list[int]) -> Callable[[IndexWriter, object], object]:
    from triplecast import StorageFull

    def remake(index: IndexWriter, found: object) -> object:
        tried.append(1)
        raise StorageFull("segment", "there is no space to write", "free some")

    return remake


def test_known_meanings_are_taken_for_what_they_are_the_meanings_of() -> None:
    """The index reads a text only where nobody has."""
    wrong: Mapping[int, CompiledSubscription] = {1: compiled.compile_subscription(Subscription("x", ANY_TITLE))}
    from triplecast.index import IndexWriter
    from triplecast.model.subscription import Registration, RegistrationId

    registration = Registration(RegistrationId(1), Subscription("x", TITLES))
    snapshot = IndexWriter().apply([registration], (), 1, compiler=SubscriptionCompiler(compiled=wrong))
    taken = snapshot.segments[0].tables.dictionary.text.tobytes()
    assert b"title" in taken
    assert b"rail" not in taken
