"""A schedule that keeps an order follows the subscriptions as they come and go."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1]))

import wild_operators
from wild_operators import WILD

from triplecast.engine import Engine
from triplecast.operators.asking import Asker, sub_order
from triplecast.operators.asking.experience import Experience
from triplecast.operators.asking.schedules import SCHEDULES
from triplecast.operators.asking.sub_order import SubOrder
from triplecast.operators.operator_set import declared_operators

assert wild_operators


class Noted(SubOrder):
    """Notes what it is told."""

    def __init__(self) -> None:
        super().__init__(Experience())
        self.told: list[tuple[object, ...]] = []

    def insert(self, subscription: int, predicates: Sequence[int]) -> None:
        self.told.append(("insert", subscription, *predicates))
        super().insert(subscription, predicates)

    def insert_all(self, predicates: Mapping[int, Sequence[int]]) -> None:
        self.told.append(("all", *sorted(predicates)))
        super().insert_all(predicates)


def test_what_is_met_is_inserted_and_again_when_there_is_more_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    schedule = Noted()
    schedule.extend([(7, [2]), (3, [1, 0]), (7, [0])])
    schedule.extend([(7, [0, 2]), (3, [1])])
    schedule.extend([(3, [4])])
    assert schedule.told == [("insert", 3, 0, 1), ("insert", 7, 0, 2), ("insert", 3, 0, 1, 4)]
    monkeypatch.setattr(sub_order, "ONE_BY_ONE", 2)
    schedule.extend([(number, [0]) for number in (7, 9, 8, 10)])
    assert schedule.told[3:] == [("all", 8, 9, 10)]
    assert sorted(schedule.order()) == [3, 7, 8, 9, 10]


def test_an_engine_s_subscriptions_come_and_go() -> None:
    text = f"PREFIX : <https://example.org/> PREFIX w: <{WILD}> ASK {{ ?p :title ?t FILTER(w:lengths(?t) > %d) }}"
    other = f"PREFIX : <https://example.org/> PREFIX w: <{WILD}> SELECT ?n {{ ?p :title ?t . ?t w:lengths ?n }}"
    with Engine() as engine:
        operators = engine._asker = engine._matching.asking._asker = Asker(
            schedule="sub-order", operators=declared_operators()
        )
        schedule = operators.schedule
        assert isinstance(schedule, SubOrder)
        for name, query in (("one", text % 1), ("two", text % 2), ("three", other)):
            engine.subscribe(query, id=name)
        publish(engine, 1)
        standing = {each.subscription: int(each.registration) for each in engine.notifications()}
        assert sorted(schedule.order()) == sorted(standing.values())
        assert len(standing) == 3
        engine.unsubscribe("two")
        engine.subscribe(text % 3, id="four")
        publish(engine, 2)
        four = max(each.registration for each in engine.notifications())
        assert sorted(schedule.order()) == [standing["one"], standing["three"], four]


def publish(engine: Engine, number: int) -> None:
    receipt = engine.publish(f'<urn:p> <https://example.org/title> "title{number}" .', "text/turtle")
    assert len(receipt.matches) == 3


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_every_schedule_gives_the_same_in_the_engine(schedule: str) -> None:
    query = (
        f"PREFIX : <https://example.org/> PREFIX w: <{WILD}> "
        "SELECT ?n { ?p :title ?t BIND(w:lengths(?t) AS ?n) FILTER(w:long(?t) && ?n > %s) }"
    )
    with Engine() as engine:
        engine._asker = engine._matching.asking._asker = Asker(schedule=schedule, operators=declared_operators())
        for least in range(3, 9):
            engine.subscribe(query % least, id=f"s{least}")
        receipt = engine.publish('<urn:p> <https://example.org/title> "title", "abc", "titles" .', "text/turtle")
        assert [(match.subscription, len(match.bindings)) for match in receipt.matches] == [
            ("s3", 2),
            ("s4", 2),
            ("s5", 1),
        ]
