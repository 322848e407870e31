"""`Engine.follow`: nothing between history and what comes is lost, and nothing comes twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

import triplecast
from triplecast.outbox import Cursor, Notification
from triplecast.outbox.following import follow, read_place

TITLES = "SELECT ?title { ?s dct:title ?title }"


def publish(engine: triplecast.Engine, number: int) -> None:
    graph = f"https://example.org/{number}"
    engine.publish(f'<{graph}> <http://purl.org/dc/terms/title> "{number}" .', "application/n-triples", graph)


@pytest.fixture
def engine() -> Iterator[triplecast.Engine]:
    with triplecast.Engine() as engine:
        engine.subscribe(TITLES, id="titles")
        yield engine


def titles(told: Iterator[Notification], count: int) -> list[str]:
    return [next(told).bindings[0]["title"].value for _ in range(count)]


def test_it_gives_what_there_is_and_then_what_comes(engine: triplecast.Engine) -> None:
    publish(engine, 1)
    told = engine.follow()
    assert titles(told, 1) == ["1"]
    publisher = threading.Thread(target=publish, args=(engine, 2))
    publisher.start()
    assert titles(told, 1) == ["2"]
    publisher.join()


@pytest.mark.parametrize("moment", ["before the page", "after the page", "before waiting"])
def test_what_is_recorded_between_history_and_waiting_comes_once(engine: triplecast.Engine, moment: str) -> None:
    """The race, step by step: something is recorded at each moment at which a follower is not looking."""
    publish(engine, 1)
    numbers = iter(range(2, 100))
    outbox = engine._outbox
    left = 3

    def at(now: str) -> None:
        if now == moment:
            publish(engine, next(numbers))

    def page(place: Cursor | int) -> Iterator[tuple[Cursor, Notification]]:
        at("before the page")
        yield from [(each.cursor, each) for each in engine.notifications(place)]
        at("after the page")

    def wait(sequence: int) -> bool:
        nonlocal left
        at("before waiting")
        left -= 1
        return left > 0 and outbox.commits.wait(lambda: outbox.state.sequence > sequence, 10)

    sequences = [each.sequence for each in follow(outbox, 0, page, wait)]
    assert sequences == [*range(1, len(sequences) + 1)]
    assert len(sequences) >= 3


def test_many_threads_follow_while_many_publish() -> None:
    with triplecast.Engine() as engine:
        for name in "ab":
            engine.subscribe(TITLES, id=name, notify="every")
        seen: dict[str | None, list[tuple[int, str]]] = {}

        def read(wanted: str | None) -> None:
            told = engine.follow(subscription=wanted, timeout=30)
            seen[wanted] = []
            while not seen[wanted] or "/999" not in publications[seen[wanted][-1][0]]:
                each = next(told)
                publications[each.sequence] = each.publication
                seen[wanted].append((each.sequence, each.id))

        def write(number: int) -> None:
            for each in range(20):
                publish(engine, 100 * number + each)

        publications: dict[int, str] = {}
        readers = [threading.Thread(target=read, args=(wanted,)) for wanted in ("a", "b", None)]
        writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
        for thread in (*readers, *writers):
            thread.start()
        for thread in writers:
            thread.join()
        publish(engine, 999)
        for thread in readers:
            thread.join(60)
        recorded = [(each.sequence, each.subscription, each.id) for each in engine.notifications()]
        assert len(recorded) == 122
        for name in "ab":
            assert seen[name] == [(sequence, id) for sequence, by, id in recorded if by == name]
        assert seen[None] == [(sequence, id) for sequence, _, id in recorded][: len(seen[None])]
        assert len(seen[None]) >= 121  # it ends with the first of the last two


def test_it_ends_as_the_engine_closes_and_by_its_timeout(tmp_path: Path) -> None:
    engine = triplecast.Engine.open(tmp_path)
    engine.subscribe(TITLES, id="titles")
    publish(engine, 1)
    assert [each.sequence for each in engine.follow(timeout=0.01)] == [1]
    closing = threading.Timer(0.1, engine.close)
    told = engine.follow()
    assert next(told).sequence == 1
    closing.start()
    assert list(told) == []
    closing.join()
    with pytest.raises(triplecast.InputError, match="closed"):
        engine.follow()


def test_it_takes_no_place_that_is_none(engine: triplecast.Engine) -> None:
    with pytest.raises(triplecast.InputError, match="no cursor"):
        engine.follow("x")
    with pytest.raises(TypeError):
        engine.follow(subscription=3)  # type: ignore[arg-type]


def test_places_are_sequences_cursors_times_and_now(engine: triplecast.Engine) -> None:
    for number in range(4):
        publish(engine, number)
    outbox = engine._outbox
    told = [*engine.notifications()]
    assert read_place(outbox, "3") == 3
    assert read_place(outbox, str(told[1].cursor)) == told[1].cursor
    assert read_place(outbox, "now") == told[3].cursor
    assert read_place(outbox, told[1].accepted_at) == 2
    assert read_place(outbox, told[1].accepted_at.replace("Z", "+00:00")) == 2
    assert read_place(outbox, "1970-01-01T00:00:00+14:00") == 0
    assert read_place(outbox, "9999-01-01T00:00:00Z") == 4
    for wrong in (
        "2026-11-24T09:00:00",
        "2026-13-01T00:00:00Z",
        "0001-01-01T00:00:00+14:00",
        "-1",
        "yesterday-",
        "yesterday",
        "1:x",
    ):
        with pytest.raises(triplecast.InputError, match="no place among notifications"):
            read_place(outbox, wrong)
