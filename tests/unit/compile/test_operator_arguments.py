"""Operators that are given what nothing binds are refused, with the name that was meant."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

import wild_operators
from wild_operators import WILD

from triplecast.compile.refusals import operators_of
from triplecast.errors import QueryRefused
from triplecast.languages import parse_template
from triplecast.model.subscription import Subscription
from triplecast.operators.declaration import declarations_in
from triplecast.operators.operator_set import operator_set
from triplecast.registry.admission import admit

P = f"PREFIX w: <{WILD}> PREFIX : <urn:> "
OPERATORS = operator_set(declarations_in(wild_operators.__name__))


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("SELECT * { ?pic a :P FILTER(w:size(?pick) > 1) }", "argument ?pick is unbound; was ?pic meant?"),
        ("SELECT * { ?pic a :P BIND(w:size(?zz) AS ?n) }", "argument ?zz is unbound; bind it"),
        ("SELECT * { ?pic a :P . ?zz w:size ?n }", "argument ?zz is unbound"),
        ("SELECT * { ?pic a :P OPTIONAL { ?pic w:size ?n } }", "argument ?pic is unbound"),
        ("SELECT * { ?p a :P OPTIONAL { ?p :b ?c FILTER(w:size(?d) > 1) } }", "argument ?d is unbound"),
        ("SELECT * { ?pic a :P FILTER EXISTS { ?a :b ?c FILTER(w:size(?zz) > 1) } }", "argument ?zz is unbound"),
        ("SELECT ?p { ?p a :P } ORDER BY w:size(?zz)", "argument ?zz is unbound"),
        ("SELECT (SUM(w:size(?zz)) AS ?n) { ?p a :P } GROUP BY ?p", "argument ?zz is unbound"),
        ("SELECT * { BIND(w:size(?p) AS ?n) ?p a :P }", "argument ?p is unbound"),
    ],
)
def test_what_is_never_bound_is_refused(query: str, told: str) -> None:
    with pytest.raises(QueryRefused) as caught:
        admit(Subscription("s", P + query), operators=OPERATORS)
    assert told in str(caught.value)
    assert caught.value.construct.startswith(f"operator <{WILD}")


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * { ?p a :P OPTIONAL { ?p :b ?c FILTER(w:size(?p) > 1) } }",
        "SELECT * { ?p a :P FILTER EXISTS { ?p w:size ?n } }",
        "SELECT * { ?p a :P . ?p w:size ?n . ?n w:letters ?m }",
        "SELECT * { ?n w:letters ?m . ?p w:size ?n . ?p a :P }",
        "SELECT * { [] :b [ w:size ?n ] }",
        "SELECT ?n { ?p a :P BIND(w:size(?p) AS ?n) FILTER(w:long(?n)) }",
        "ASK { FILTER(w:size(<urn:pic>) > 1) }",
        "SELECT (SUM(w:size(?p)) AS ?n) { ?p a :P } GROUP BY ?p HAVING(w:size(?p) > 1)",
    ],
)
def test_what_may_be_bound_is_taken(query: str) -> None:
    assert admit(Subscription("s", P + query), operators=OPERATORS).decider in ("index", "combined", "evaluator")
    assert operators_of([parse_template(P + query, operators=OPERATORS)[0]], OPERATORS)


def test_the_operators_of_subscriptions() -> None:
    texts = ["ASK { ?p a :P FILTER(w:size(?p) > 1) }", "ASK { ?p w:letters ?n ; :b ?c }", "ASK { ?p a :P }"]
    texts.append("ASK { ?p a :P FILTER NOT EXISTS { ?p :b ?c FILTER(w:long(?c)) } }")
    found = operators_of([parse_template(P + text, operators=OPERATORS)[0] for text in texts], OPERATORS)
    assert [declared.iri.removeprefix(WILD) for declared in found] == ["letters", "long", "size"]
