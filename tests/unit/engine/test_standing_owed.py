"""Answers of repository scope with a taxonomy, and those that are owed, by what an engine says of them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from triplecast import FOREVER, Engine
from triplecast.incremental import OwedAnswers, asked_graph, standing_answer
from triplecast.incremental.event_answers import LOST, TOO_LARGE
from triplecast.repository import held

E = "https://example.org/"
PREFIXES = f"@prefix : <{E}> . @prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
PETS = f"# triplecast: entailment=rdfs\nSELECT ?x {{ ?x a <{E}Pet> }}"
KIN = f"SELECT ?x {{ ?x <{E}says> ?t FILTER(tc:descendant(?x, <{E}Pet>)) }}"
PAIRS = f"SELECT (COUNT(*) AS ?n) {{ ?a <{E}p> ?b . ?c <{E}p> ?d }}"


def publish(engine: Engine, name: str, turtle: str) -> Any:
    return engine.publish(PREFIXES + turtle, "text/turtle", E + name)


def values(rows: Sequence[Any]) -> list[str]:
    return sorted(term.value.removeprefix(E) for row in rows for term in row.values())


def test_a_taxonomy_tells_what_it_changes() -> None:
    with Engine() as engine:
        publish(engine, "one", ':tom a :Cat ; :says "miaow" .')
        for name, text in (("pets", PETS), ("kin", KIN)):
            assert not engine.subscribe(text, name, scope="repository").matches
        loaded = engine.load_taxonomy(PREFIXES + ":Cat rdfs:subClassOf :Pet .", "text/turtle")
        assert [(each.subscription, values(each.added)) for each in loaded.matches] == [
            ("pets", ["tom"]),
            ("kin", ["tom"]),
        ]
        assert {(each.publication, each.version) for each in loaded.matches} == {
            ("urn:triplecast:taxonomy", loaded.position)
        }
        again = engine.load_taxonomy(PREFIXES + ":Cat rdfs:subClassOf :Pet .", "text/turtle")
        assert (again.position, again.matches) == (loaded.position, ())
        told = publish(engine, "two", ":rex a :Dog . :Dog rdfs:subClassOf :Pet .").matches
        assert [(each.subscription, values(each.added)) for each in told] == [("pets", ["rex"])]
        gone = engine.load_taxonomy("", "text/turtle")
        assert [(each.subscription, each.change, values(each.removed)) for each in gone.matches] == [
            ("pets", "removed", ["tom"]),
            ("kin", "removed", ["tom"]),
        ]
        assert len({each.id for each in engine.notifications()}) == 5


def test_an_undecided_answer_is_made_up_for_after_a_restart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine.open(tmp_path) as engine:
        publish(engine, "one", ":a :p 1, 2 .")
        engine.subscribe(PAIRS, "pairs", scope="repository", lease=FOREVER)
        monkeypatch.setattr(standing_answer, "STEPS", 5)
        assert len(publish(engine, "two", ":b :p 3 .").undecided) == 1
    with Engine.open(tmp_path) as engine:
        assert len(publish(engine, "three", ":c :p 4 .").undecided) == 1
        assert not publish(engine, "four", ":c :q 4 .").undecided, "no concern of it"
        engine.remove(E + "two")
        monkeypatch.setattr(standing_answer, "STEPS", 500_000)
        (match,) = publish(engine, "five", ":d :p 5 .").matches
        assert values(match.removed) == ["4"]
        assert values(match.added) == ["16"]
        assert not publish(engine, "six", ":e :q 6 .").matches


def test_what_was_owed_from_an_event_that_was_not_told_is_not() -> None:
    """A process was killed after it had noted that event 5 leaves an answer undecided, and before that was told."""
    owed = OwedAnswers("[[1,2,3],[1,5,null],[2,5,7]]", told=4)
    assert owed.is_changed
    assert owed.since == {}
    assert (owed.was_undecided(2, 6), owed.was_undecided(2, 7), owed.was_undecided(1, 5)) == (True, False, False)
    assert json.loads(owed.text()) == [[1, 2, 3], [2, 5, 7]]


def test_an_undecided_first_answer_is_told_when_it_is_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    with Engine() as engine:
        publish(engine, "one", ":a :p 1, 2 .")
        monkeypatch.setattr(standing_answer, "STEPS", 5)
        engine.subscribe(PAIRS, "pairs", scope="repository")
        assert [each.subscription for each in engine.undecided()] == ["pairs"]
        monkeypatch.setattr(standing_answer, "STEPS", 500_000)
        (match,) = publish(engine, "two", ":b :p 3 .").matches
        assert (values(match.added), match.removed) == (["9"], [])


@pytest.mark.parametrize(("place", "bound", "most"), [(held, "HELD_TRIPLES", 1), (asked_graph, "MOST_HELD", 0)])
def test_what_is_kept_for_the_undecided_has_a_bound(
    monkeypatch: pytest.MonkeyPatch, place: object, bound: str, most: int
) -> None:
    monkeypatch.setattr(place, bound, most)
    with Engine() as engine:
        publish(engine, "one", ":a :p 1, 2 .")
        engine.subscribe(PAIRS, "pairs", scope="repository")
        monkeypatch.setattr(standing_answer, "STEPS", 5)
        publish(engine, "two", ":b :p 3, 4 .")
        monkeypatch.setattr(standing_answer, "STEPS", 500_000)
        (undecided,) = publish(engine, "three", ":c :p 5 .").undecided
        assert undecided.reason == LOST


def test_more_than_may_follow_of_a_resource_leaves_answers_undecided_until_it_is_gone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.modules["triplecast.taxonomy.entail"], "TRIPLES_LIMIT", 6)
    with Engine() as engine:
        engine.load_taxonomy(PREFIXES + ":Cat rdfs:subClassOf :Pet .", "text/turtle")
        engine.subscribe(PETS, "pets", scope="repository")
        plain = engine.subscribe(f"SELECT ?x {{ ?x a <{E}Cat> }}", "plain", scope="repository")
        told = publish(engine, "large", ":tom a :Cat ; :p 1, 2, 3, 4 .")
        assert [each.registration for each in told.matches] == [plain.registration]
        assert [each.reason for each in told.undecided] == [TOO_LARGE]
        assert [each.subscription for each in publish(engine, "small", ":tim a :Cat .").undecided] == ["pets"]
        removed = engine.remove(E + "large")
        assert removed is not None
        assert {each.subscription: values(each.added) for each in removed.matches} == {"pets": ["tim"], "plain": []}
