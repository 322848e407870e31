"""How many broad subscriptions an owner may hold, and who stands (`Engine.statistics`)."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.unit.engine.engine_samples import ANY_TITLE, PREFIX, TITLES, UNTITLED, StepClock, turtle
from triplecast import Engine, InputError, QueryRefused, QuotaReached, Subscription
from triplecast.compile import compiled
from triplecast.model.subscription import BROAD_PER_OWNER, SubscriptionCounts
from triplecast.registry import quota

BROAD = PREFIX + "SELECT ?a ?b { ?a ?b ?c }"


def test_the_next_broad_one_is_refused_and_told_why_and_how_to_mend_it() -> None:
    with Engine(broad_per_owner=2) as engine:
        engine.subscribe(BROAD, owner="ada")
        engine.subscribe(BROAD, owner="ada")
        with pytest.raises(QuotaReached) as refused:
            engine.subscribe(BROAD, id="third", owner="ada")
        error = refused.value
        assert (error.owner, error.held, error.quota, error.name) == ("ada", 2, 2, "third")
        assert str(error) == (
            "third: another broad subscription is refused: 'ada' holds 2 places of 2 for broad ones, and this one is "
            "broad: it has triple patterns of variables only; put a constant into a triple pattern that every match "
            "needs, cancel a broad one, or raise the quota (broad_per_owner of Engine, --broad-per-owner of "
            "`triplecast run`)"
        )
        engine.subscribe(TITLES, owner="ada")
        engine.subscribe(ANY_TITLE, owner="ada")
        engine.subscribe(BROAD, owner="bob")
        engine.subscribe(BROAD)
        assert engine.subscribe(BROAD).cost == "broad", "those without an owner have one quota of their own"
        with pytest.raises(QuotaReached, match="subscriptions without an owner hold 2 places of 2"):
            engine.subscribe(BROAD)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT (COUNT(*) AS ?n) { ?a ex:p 1 }", r"nothing of what it asks for \(HAVING \(COUNT\(\*\) > 0\)"),
        ("ASK { { ?a ex:p 1 } UNION { ?a ?b ?c } }", "one of its alternatives has triple patterns of variables only"),
        ("ASK { ?a ex:p* ?b }", "no triple has to be there"),
    ],
)
def test_what_makes_it_broad(query: str, why: str) -> None:
    with Engine(broad_per_owner=0) as engine, pytest.raises(QuotaReached, match=why):
        engine.subscribe(PREFIX + query)


def test_cancelled_and_expired_ones_free_their_place() -> None:
    clock = StepClock()
    with Engine(clock, broad_per_owner=1) as engine:
        first = engine.subscribe(BROAD, lease=60)
        with pytest.raises(QuotaReached):
            engine.subscribe(BROAD)
        engine.unsubscribe(first.id)
        engine.subscribe(BROAD, lease=60)
        with pytest.raises(QuotaReached):
            engine.subscribe(BROAD)
        clock.now += 61_000_000
        assert engine.subscribe(BROAD, id="later").id == "later"


def test_a_batch_takes_the_places_in_its_order_and_what_is_refused_takes_none() -> None:
    with Engine(broad_per_owner=2) as engine:
        engine.subscribe(BROAD, id="a")
        asked = [
            Subscription("a", BROAD),
            Subscription("n", TITLES),
            Subscription("b", BROAD),
            Subscription("c", BROAD),
        ]
        taken, narrow, second, third = engine.subscribe_many(asked)
        assert isinstance(taken, InputError)
        assert [getattr(each, "id", None) for each in (narrow, second)] == ["n", "b"]
        assert isinstance(third, QuotaReached)
        assert isinstance(third, QueryRefused)
        assert [standing.id for standing in engine.subscriptions()] == ["a", "n", "b"]


@pytest.mark.parametrize("lose_index", [False, True])
@pytest.mark.parametrize("publish", [False, True])
def test_a_restart_counts_the_same(tmp_path: Path, lose_index: bool, publish: bool) -> None:
    with Engine.open(tmp_path, broad_per_owner=3) as engine:
        engine.subscribe_many([Subscription(name, BROAD, owner="ada") for name in "ab"])
        engine.subscribe(UNTITLED, owner="ada")
        engine.unsubscribe("b")
        if publish:
            engine.publish(turtle("T"), graph="http://x/1")
    if lose_index:
        shutil.rmtree(tmp_path / "index", ignore_errors=True)
    with Engine.open(tmp_path, broad_per_owner=3) as engine:
        engine.subscribe(BROAD, id="c", owner="ada")
        engine.subscribe(BROAD, id="d", owner="ada")
        with pytest.raises(QuotaReached) as refused:
            engine.subscribe(BROAD, owner="ada")
        assert refused.value.held == 3
        engine.unsubscribe("a")
        engine.subscribe(BROAD, id="e", owner="ada")
    with Engine.open(tmp_path, broad_per_owner=1) as engine:
        with pytest.raises(QuotaReached) as refused:
            engine.subscribe(BROAD, owner="ada")
        assert (refused.value.held, refused.value.quota) == (3, 1), "a lower quota takes nothing away"
        assert len(list(engine.subscriptions())) == 4


def test_narrow_ones_cost_no_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    counted = []
    monkeypatch.setattr(quota, "broad_registrations", lambda snapshot: counted.append(snapshot) or [])
    with Engine.open(tmp_path) as engine:
        engine.subscribe(TITLES)
        engine.subscribe_many([Subscription("a", TITLES), Subscription("b", ANY_TITLE)])
        assert counted == []
        engine.subscribe(BROAD)
        engine.subscribe(BROAD)
        assert len(counted) == 1, "counted once, then noted"


@pytest.mark.parametrize("quota", [-1, 1.5, True, "many", None])
def test_a_quota_is_a_whole_number(tmp_path: Path, quota: int) -> None:
    with pytest.raises(InputError, match="broad_per_owner is"):
        Engine(broad_per_owner=quota)
    with pytest.raises(InputError, match="broad_per_owner is"):
        Engine.open(tmp_path, broad_per_owner=quota)


def test_statistics_say_who_stands_and_who_decided(tmp_path: Path) -> None:
    combined = PREFIX + "SELECT * { ?i ex:topic ex:rail OPTIONAL { ?i ex:title ?t } }"
    calculated = PREFIX + "SELECT * { ?i ex:topic ex:rail ; ex:title ?t FILTER(STRLEN(?t) > 2) }"
    with Engine.open(tmp_path) as engine:
        assert engine.statistics().live == SubscriptionCounts()
        for text in (TITLES, ANY_TITLE, BROAD, UNTITLED, combined, calculated, TITLES):
            engine.subscribe(text)
        engine.unsubscribe("subscription-7")
        assert engine.statistics().live == SubscriptionCounts(
            narrow=3, predicate=2, broad=1, index=3, combined=2, evaluator=1
        )
        engine.publish(turtle("Train"), graph="http://x/1")
        engine.publish(turtle(None), graph="http://x/2")
        work = engine.statistics().work
        assert (work.publications, work.matches, work.undecided) == (2, 8, 0)
        assert (work.combined, work.calculated, work.candidates, work.verified) == (3, 1, 2, 1)
        assert work.matches - work.combined - work.verified == 4
    with Engine.open(tmp_path) as engine:
        again = engine.statistics()
        assert (again.live.narrow, again.live.combined, again.work.publications) == (3, 2, 0)


def test_what_this_version_does_not_ask_is_counted_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "refuse_scope", lambda subscription: None)
    with Engine.open(tmp_path, broad_per_owner=1) as engine:
        engine.subscribe(BROAD, scope="a scope to come")
        engine.subscribe(TITLES)
    monkeypatch.undo()
    with Engine.open(tmp_path, broad_per_owner=1) as engine:
        assert engine.statistics().live == SubscriptionCounts(narrow=1, index=1, refused=1)
        assert engine.subscribe(BROAD).cost == "broad", "it costs no publication anything"


def test_the_default() -> None:
    with Engine() as engine:
        answers = engine.subscribe_many([Subscription(f"s{n}", BROAD) for n in range(BROAD_PER_OWNER + 1)])
        assert [isinstance(each, QuotaReached) for each in answers].index(True) == BROAD_PER_OWNER
