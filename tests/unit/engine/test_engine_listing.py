"""What an engine tells of itself: who is registered, what was rejected, what stayed undecided."""

from __future__ import annotations

from pathlib import Path

from engine_samples import ANY_TITLE, PREFIX, TITLES, StepClock, turtle

from triplecast import Engine, LiveSubscription, Reject, Subscription
from triplecast.journal import Journal

CARTESIAN = PREFIX + "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l FILTER(?c = ?l && ?f = ?i) }"


def test_subscriptions_are_listed_until_they_are_cancelled(tmp_path: Path) -> None:
    with Engine.open(tmp_path, StepClock()) as engine:
        first = engine.subscribe(TITLES, id="rail", owner="ada")
        engine.subscribe(ANY_TITLE, owner="bo")
        engine.subscribe(ANY_TITLE, id="gone", owner="ada")
        engine.unsubscribe("gone")
    with Engine.open(tmp_path, StepClock()) as engine:
        listed = list(engine.subscriptions())
        said = ("rail", first.registration, "sparql", TITLES, "ada", "publication", None, "changed", "all", ())
        assert listed[0] == LiveSubscription(*said, "narrow", (), first.expires, "api")
        assert [(s.id, s.registration, s.cost, s.text) for s in listed[1:]] == [
            ("subscription-2", 2, "predicate", ANY_TITLE)
        ]
        assert "predicate" in listed[1].warnings[0]
        assert [s.id for s in engine.subscriptions(owner="ada")] == ["rail"]
        assert list(engine.subscriptions(owner="nobody")) == []


def test_a_subscription_that_is_answered_no_more_is_listed_with_its_reason(tmp_path: Path) -> None:
    with Journal.open(tmp_path) as journal:
        journal.subscribe([Subscription("old", "SELECT * { ?s ?p ?o } LIMIT 0"), Subscription("good", ANY_TITLE)])
    with Engine.open(tmp_path) as engine:
        old, good = engine.subscriptions()
        assert (old.cost, good.cost) == ("refused", "predicate")
        assert "LIMIT 0 is refused" in old.warnings[0]


def test_a_record_that_no_subscribe_would_take_now_stops_nothing_else(tmp_path: Path) -> None:
    large = "ASK { " + "?item <https://example.org/title> ?title . " * 1001 + "}"
    with Journal.open(tmp_path) as journal:
        journal.subscribe([Subscription("large", large), Subscription("good", ANY_TITLE)])
    for version in (1, 2):
        with Engine.open(tmp_path) as engine:
            receipt = engine.publish(turtle(f"A{version}"), "text/turtle", "https://example.org/1")
            assert [match.subscription for match in receipt.matches] == ["good"]
            listed = {found.id: (found.owner, found.cost, found.warnings[0]) for found in engine.subscriptions()}
            told = [(found.subscription, found.owner) for found in engine.notifications()]
        assert told == [("good", None)] * version
        assert listed["large"][1] == "refused"
        assert "1,001 patterns is refused" in listed["large"][2]


def test_rejects_and_undecided_pairs_are_there_after_a_restart(tmp_path: Path) -> None:
    with Engine.open(tmp_path, StepClock()) as engine:
        engine.subscribe(CARTESIAN, id="wide")
        (reject,) = engine.publish("<a:a> <a:b> .", "text/turtle").rejects
        wide = "".join(turtle(str(number), item=f"i{number}") + "\n" for number in range(200))
        (pair,) = engine.publish(wide, "text/turtle", "https://example.org/wide").undecided
        assert pair.subscription == "wide"
    with Engine.open(tmp_path, StepClock()) as engine:
        (rejected,) = engine.rejects()
        assert isinstance(rejected.reject, Reject)
        assert rejected.reject == reject
        assert (rejected.position, rejected.rejected_at[:4]) == (2, "2027")
        assert engine.rejects(after=2) == []
        (undecided,) = engine.undecided()
        assert (undecided.position, undecided.subscription, undecided.reason) == (3, "wide", pair.reason)
        assert undecided.publication == "https://example.org/wide"
