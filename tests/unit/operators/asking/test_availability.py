"""What could not be asked, and when it is tried again."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from triplecast.model.operators import Operator, OperatorSet
from triplecast.operators.asking.availability import REST, SHORTEST_REST, OperatorUnavailable, UnavailableOperators
from triplecast.operators.asking.workers import Performer

ONE = Operator("urn:o:one", "1", ("bound", "free"), 0.001, False, True, 10.0, 1 << 30, "nowhere_at_all", "one")
TWO = replace(ONE, iri="urn:o:two", name="two")
GONE = OperatorUnavailable("operator <urn:o:one> version 1 is gone", whole=True)
OLD = OperatorUnavailable("operator <urn:o:one> version 1 is old", whole=False)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_each_failed_start_is_followed_by_its_own_rest(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    performer = Performer(OperatorSet((ONE,)), clock)
    tried: list[float] = []

    def request(*_: object) -> None:
        tried.append(clock.now)
        clock.now += 3.0
        raise GONE

    monkeypatch.setattr(performer, "_request", request)
    performer._unavailable.note_unavailable(ONE, GONE, clock.now)
    while clock.now < 200:
        assert performer.revive() is False
        clock.now += 0.5
    rests = [after - before for before, after in itertools.pairwise(tried)]
    assert tried[0] == SHORTEST_REST
    assert rests == [3.0 + REST * 3.0] * 3


def test_what_was_there_in_passing_is_told_once(clock: Clock) -> None:
    unavailable = UnavailableOperators(clock)
    unavailable.note_unavailable(ONE, GONE, clock.now)
    assert unavailable.reason(TWO) == "operator <urn:o:two> version 1 is gone"
    clock.now = SHORTEST_REST
    assert unavailable.reason(ONE) is unavailable.reason(TWO) is None
    unavailable.note_available(TWO)
    assert [unavailable.take_recovered(), unavailable.take_recovered()] == [True, False]
    assert unavailable.reasons() == set()


def test_a_worker_that_starts_without_one_has_the_others(clock: Clock) -> None:
    unavailable = UnavailableOperators(clock)
    unavailable.note_unavailable(ONE, GONE, clock.now)
    unavailable.note_unavailable(ONE, OLD, clock.now)
    assert unavailable.reason(ONE) == OLD.reason
    assert unavailable.reason(TWO) is None
    assert unavailable.take_recovered() is True
    unavailable.note_unavailable(ONE, GONE, clock.now)
    clock.now = 2 * SHORTEST_REST
    assert unavailable.due({ONE.iri: ONE}.get) == [ONE], "it is tried once, not for each way in which it was absent"


def test_one_that_is_declared_elsewhere_now_is_taken_as_back(clock: Clock) -> None:
    unavailable = UnavailableOperators(clock)
    unavailable.note_unavailable(ONE, GONE, clock.now)
    unavailable.note_undeclared(TWO.iri, "not declared")
    assert unavailable.due({ONE.iri: ONE}.get) == []
    assert unavailable.take_recovered() is False
    assert unavailable.due({ONE.iri: replace(ONE, module="elsewhere")}.get) == []
    assert unavailable.take_recovered() is True
    assert unavailable.due({TWO.iri: TWO}.get) == []
    assert unavailable.take_recovered() is True
    assert unavailable.reasons() == set()
