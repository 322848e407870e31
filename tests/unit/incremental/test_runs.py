"""Events that are taken together change answers as they do one by one: nothing is netted, nothing reordered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from tests.conftest import DEFAULT_SEED
from tests.properties.standing import Step, make_history
from tests.properties.test_standing import is_taken, subscription
from triplecast import Document, Engine, Match
from triplecast.engine.answers import answers_batch
from triplecast.incremental import StandingQueries, filed, standing_answer
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.match import AnswerLimits
from triplecast.model.open_rows import PairReason
from triplecast.outbox.batch import OutboxRow
from triplecast.repository import Repository

PREFIXES = "@prefix e: <http://e/> . "
JOINED = "PREFIX e: <http://e/> SELECT ?x ?n { ?x e:by ?y . ?y e:name ?n }"


def take(journal: Journal, step: Step) -> None:
    if step.document is None:
        journal.remove(step.graph)
    else:
        journal.accept([step.draft()])


def answers(seed: int, number: int, limits: AnswerLimits, at_once: int) -> Sequence[OutboxRow | PairReason]:
    """What `number`'s history tells when so many of its events are followed together."""
    history = make_history(seed, number, 30, 24)
    journal = Journal.in_memory()
    journal.subscribe([subscription(each, f"s{n}") for n, each in enumerate(filter(is_taken, history.queries))])
    told: list[OutboxRow | PairReason] = []
    with Matcher(limits=limits) as matcher:
        standing = StandingQueries(journal, Repository(journal), matcher, 0)
        for first in range(0, len(history.steps), at_once):
            for step in history.steps[first : first + at_once]:
                take(journal, step)
            found = answers_batch([*standing.follow(journal.head())])
            told += [*found.rows(), *found.undecided]
    return sorted(told, key=lambda each: each[:2])


@pytest.mark.parametrize("number", range(400, 406))
def test_a_run_tells_what_its_events_tell_one_by_one(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    singly = answers(DEFAULT_SEED, number, AnswerLimits(), 1)
    assert len(singly) > 5
    assert answers(DEFAULT_SEED, number, AnswerLimits(), 24) == singly
    assert answers(DEFAULT_SEED, number, AnswerLimits(pairs=1), 7) == singly  # a piece for each state
    monkeypatch.setattr(filed, "ROWS_AT_ONCE", 40)
    monkeypatch.setattr(filed, "KEYS_AT_ONCE", 10)
    assert answers(DEFAULT_SEED, number, AnswerLimits(), 24) == singly


def publish(engine: Engine, documents: Sequence[tuple[str, str]]) -> list[Sequence[Match]]:
    """The matches of each of some documents that are published in one call."""
    given = [
        Document(
            f"https://example.org/{name}", (PREFIXES + turtle).encode(), "text/turtle", f"https://example.org/{name}"
        )
        for name, turtle in documents
    ]
    return [receipt.matches for receipt in engine.publish_many(given)]


def told(matches: Sequence[Match]) -> list[tuple[list[str], list[str]]]:
    return [
        (sorted(str(row["n"].value) for row in each.added), sorted(str(row["n"].value) for row in each.removed))
        for each in matches
    ]


@pytest.mark.parametrize("distinct", ["", "DISTINCT "])
def test_each_version_in_one_call_is_told(distinct: str) -> None:
    with Engine() as engine:
        engine.subscribe(JOINED.replace("SELECT ", f"SELECT {distinct}"), id="it", scope="repository")
        found = publish(
            engine,
            [
                ("x", "e:x e:by e:y ."),
                ("y", 'e:y e:name "one" .'),
                ("y", 'e:y e:name "two" .'),
                ("y", 'e:y e:name "one" .'),
                ("x", "e:x e:by e:z ."),
                ("z", 'e:z e:name "one", "two" .'),
            ],
        )
        assert [*map(told, found)] == [
            [],
            [(["one"], [])],
            [(["two"], ["one"])],
            [(["one"], ["two"])],
            [([], ["one"])],
            [(["one", "two"], [])],
        ]


def test_what_leaves_and_comes_back_in_one_call_is_told_twice() -> None:
    with Engine() as engine:
        engine.subscribe("PREFIX e: <http://e/> SELECT (COUNT(*) AS ?n) { ?x e:by ?y }", id="all", scope="repository")
        engine.subscribe(JOINED, id="it", scope="repository")
        whole = "e:x e:by e:y . e:y e:name 1 ."
        found = publish(engine, [("a", whole), ("a", "e:y e:name 1 ."), ("b", whole), ("a", "e:o e:by e:y .")])
        assert [{each.subscription: told([each])[0] for each in matches} for matches in found] == [
            {"all": (["1"], ["0"]), "it": (["1"], [])},
            {"all": (["0"], ["1"]), "it": ([], ["1"])},
            {"all": (["1"], ["0"]), "it": (["1"], [])},
            {"all": (["2"], ["1"]), "it": (["1"], [])},
        ]


def test_queries_of_one_form_about_other_constant_subjects() -> None:
    with Engine() as engine:
        for name in "abc":
            text = f"PREFIX e: <http://e/> SELECT ?x ?n {{ ?x e:of ?n . e:{name} e:has ?n }}"
            engine.subscribe(text, id=name, scope="repository")
        _, found = publish(engine, [("all", "e:a e:has 1 . e:b e:has 1 . e:c e:has 2 ."), ("x", "e:x e:of 1, 2 .")])
        assert {each.subscription: told([each])[0] for each in found} == {
            "a": (["1"], []),
            "b": (["1"], []),
            "c": (["2"], []),
        }


def test_a_query_beyond_the_limit_of_the_index_is_evaluated_as_of_each_event() -> None:
    many = " ".join(f"e:x{n} e:by e:y ." for n in range(11_000))
    with Engine() as engine:
        engine.subscribe(JOINED, id="it", scope="repository")
        found = publish(
            engine, [("x", many), ("y", "e:y e:name 1 ."), ("y", "e:y e:name 2 ."), ("z", "e:z e:by e:y .")]
        )
        assert [[(len(each.added), len(each.removed)) for each in matches] for matches in found] == [
            [],
            [(11_000, 0)],
            [(11_000, 11_000)],
            [(1, 0)],
        ]


def test_a_query_that_has_ended_is_told_nothing() -> None:
    with Engine() as engine:
        for name in ("it", "other"):
            engine.subscribe(JOINED, id=name, scope="repository")
        publish(engine, [("x", "e:x e:by e:y ."), ("y", "e:y e:name 1 .")])
        engine.unsubscribe("it")
        (found,) = publish(engine, [("z", "e:z e:by e:y .")])
        assert [each.subscription for each in found] == ["other"]


def test_rows_that_the_index_has_are_told_once_where_an_earlier_event_of_the_run_is_undecided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The first event gives more rows than the index tells and the evaluator may find, the second one row."""
    with Engine() as engine:
        engine.subscribe(JOINED, id="it", scope="repository")
        publish(engine, [("x", " ".join(f"e:x{n} e:by e:y ." for n in range(10_100)))])
        with monkeypatch.context() as few:
            few.setattr(standing_answer, "STEPS", 10)
            first = publish(engine, [("y", "e:y e:name 1 ."), ("z", "e:z e:by e:w . e:w e:name 2 .")])
        assert [*map(len, first)] == [0, 0]
        ((made_up,),) = publish(engine, [("o", "e:o e:by e:v . e:v e:name 3 .")])
        added, removed = told([made_up])[0]
        assert (Counter(added), removed) == ({"1": 10_100, "2": 1, "3": 1}, [])
