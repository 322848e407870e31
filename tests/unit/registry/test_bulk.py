"""Many subscriptions at once: what they have in common is said once, and each is told what it would be told alone."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from triplecast import Engine, Subscription
from triplecast.compile.compiled import compile_subscription
from triplecast.errors import QueryRefused
from triplecast.model.operators import NO_OPERATORS
from triplecast.registry import admission
from triplecast.registry.admission import examine
from triplecast.registry.bulk import MANY, paused_collection

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
