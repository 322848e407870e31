"""Many subscriptions at once: what they have in common is said once, and each is told what it would be told alone."""

from __future__ import annotations

import gc
import random
from dataclasses import replace
from pathlib import Path

import pytest

from triplecast import Engine, Subscription
from triplecast.compile.compiled import compile_subscription
from triplecast.errors import QueryRefused
from triplecast.model.operators import NO_OPERATORS
from triplecast.registry import admission
from triplecast.registry.admission import examine
from triplecast.registry.bulk import MANY, paused_collection
from triplecast.registry.registry import Subscribed

DC = "http://purl.org/dc/elements/1.1/"
TEXTS = [
    *(f'SELECT ?s {{ ?s <{DC}{name}> "{word}" }}' for name in ("title", "titel", "creator") for word in ("a", "b")),
    *(f"SELECT ?s {{ ?s <http://e/p> ?y . FILTER(?y > {year}) }}" for year in (1, 2)),
    *(f"SELECT ?s {{ GRAPH <http://e/{name}> {{ ?s ?p 1 }} GRAPH <http://e/g> {{ ?s ?p 2 }} }}" for name in "gh"),
    "SELECT * { ?s ?p ?o }",
    "SELECT * { OPTIONAL { ?s ?p 1 } }",
    "SELECT (COUNT(*) AS ?n) { ?s ?p 1 }",
    "SELECT * { ?s ?p 1 }\n# triplecast: entailment=rdfs",
    "SELECT * { ?s ?p 1 }",
    "# triplecast: entailment=taxonomy\nSELECT * { ?s <http://e/p> 1 }",
]
RDQL = [f"SELECT ?s {source} WHERE (?s, <http://e/p>, 1)" for source in ("", "FROM <http://e/a>", "FROM <http://e/b>")]


def told(subscription: Subscription, datasets: bool) -> object:
    try:
        return examine(subscription, datasets).admission
    except QueryRefused as error:
        return str(error)


@pytest.mark.parametrize("datasets", [True, False])
def test_an_admission_does_not_depend_on_those_before(datasets: bool) -> None:
    subscriptions = [Subscription("s", text) for text in TEXTS] + [Subscription("s", text, "rdql") for text in RDQL]
    alone = []
    for each in subscriptions:
        admission._shared().clear()
        alone.append(told(each, datasets))
    admission._shared().clear()
    for _ in range(2):
        assert [told(each, datasets) for each in subscriptions] == alone
        assert [told(each, datasets) for each in subscriptions[::-1]] == alone[::-1]
    assert len(set(map(str, alone))) > 8


def test_a_usual_subscription_is_described_once() -> None:
    admission._shared().clear()
    first, second = (examine(Subscription("s", TEXTS[0].replace('"a"', f'"{each}"'))) for each in "xy")
    assert first.admission is second.admission
    assert compile_subscription(second.subscription, NO_OPERATORS).constants == second.compiled.constants


def test_the_collector_pauses_for_many_and_goes_on_whatever_happens() -> None:
    assert gc.isenabled()
    with paused_collection(MANY - 1):
        assert gc.isenabled()
    with paused_collection(MANY), paused_collection(MANY):
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(KeyError), paused_collection(MANY):
        raise KeyError
    assert gc.isenabled()


def test_many_at_once_are_what_one_after_the_other_are(seed: int, tmp_path: Path) -> None:
    """Equal registrations, index and matches; also of an index that is made again from the journal."""
    rng = random.Random(seed)
    words = ["<http://e/p>", "<http://e/q>", "1", "2", "'x'", "?o"]
    shapes = ["SELECT * {{ ?s <http://e/p> {} }}", "PREFIX e: <http://e/> ASK {{ ?s e:q {} . ?s e:p {} }}"]
    shapes += [
        "SELECT ?s {{ ?s <http://e/p> ?v FILTER(?v > {}) }}",
        "SELECT * {{ ?s <http://e/q> ?o }} LIMIT {}",
        *TEXTS,
    ]
    wanted = []
    for number in range(150):
        text = rng.choice(shapes)
        text = text.format(*rng.choices(words, k=2)) if "{{" in text else text
        wanted.append(Subscription(rng.choice([f"s{number}", f"s{number % 20}"]), text, owner=rng.choice(["a", None])))
    documents = [
        f"<http://e/s> {rng.choice(words[:2])} {rng.randrange(3)} . <http://e/s> <http://e/q> 'x' ." for _ in range(8)
    ]

    def answers(engine: Engine, part: str) -> list[object]:
        receipts = [engine.publish(each, "text/turtle", f"urn:{part}{at}") for at, each in enumerate(documents)]
        return [[(match.subscription, match.registration, match.json) for match in each.matches] for each in receipts]

    with Engine.open(tmp_path / "bulk") as bulk, Engine.open(tmp_path / "singly") as singly:
        outcomes = bulk.subscribe_many(wanted)
        expected = [singly.subscribe_many([each])[0] for each in wanted]
        for one, other in zip(outcomes, expected, strict=True):
            assert isinstance(one, Subscribed) == isinstance(other, Subscribed), seed
            if isinstance(one, Subscribed) and isinstance(other, Subscribed):
                times = {"ticket": "", "expires": None}
                assert replace(one, **times) == replace(other, **times), seed  # type: ignore[arg-type]
                assert (one.expires is None, len(one.ticket)) == (other.expires is None, len(other.ticket))
            else:
                assert type(one) is type(other), seed
        assert answers(bulk, "x") == answers(singly, "x"), seed
        assert arrays_of(bulk) == arrays_of(singly), seed
        assert bulk._journal.registry_changes(0, 1 << 40) == singly._journal.registry_changes(0, 1 << 40), seed
    for each in (*tmp_path.glob("*/index/*"),):
        each.unlink()
    with Engine.open(tmp_path / "bulk") as bulk, Engine.open(tmp_path / "singly") as singly:
        assert answers(bulk, "y") == answers(singly, "y"), seed
        assert arrays_of(bulk) == arrays_of(singly), seed


def arrays_of(engine: Engine) -> list[bytes]:
    """Of the index, its dictionaries and answers."""
    tables = [segment.tables for segment in engine._upkeep.snapshot.segments]
    return [
        array.tobytes() for each in tables for part in (each.index, each.dictionary, each.answers) for array in part
    ]


def test_the_index_reads_no_new_subscription_back(tmp_path: Path) -> None:
    said: list[str] = []
    many = [Subscription(f"s{number}", f"SELECT * {{ ?s <a:p> {number} }}") for number in range(50)]
    with Engine.open(tmp_path) as engine:
        engine.publish("<a:s> <a:p> 0 .", "text/turtle")
        engine.subscribe_many(many[:30])
        assert not isinstance(engine.subscribe(many[30].text, id="s30"), Exception)
        engine.subscribe_many(many[31:])
        connection = engine._journal._database._connection
        assert connection is not None
        connection.set_trace_callback(said.append)
        found = engine.publish("<a:s> <a:p> 7, 30, 49, 50 .", "text/turtle").matches
        assert [match.subscription for match in found] == ["s7", "s30", "s49"]
        connection.set_trace_callback(None)
    assert not [each for each in said if "kind IN (3, 4, 8) ORDER BY" in each], said
