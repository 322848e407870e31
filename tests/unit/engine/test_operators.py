"""Operators through the engine: in FILTER, in BIND, as predicates, wherever a query may hold them."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "operators"))

import wild_operators
from wild_operators import WILD

from triplecast.engine import Engine, Receipt

P = f"PREFIX : <https://example.org/> PREFIX w: <{WILD}> "
TTL = f"@prefix : <https://example.org/> . @prefix w: <{WILD}> . "
assert wild_operators


@pytest.fixture
def engine() -> Iterator[Engine]:
    with Engine() as opened:
        yield opened


def told(receipt: Receipt) -> dict[str, list[dict[str, str]]]:
    return {
        match.subscription: [{name: term.value for name, term in row.items()} for row in match.bindings]
        for match in receipt.matches
    }


QUERIES = {
    "filter": "SELECT ?p { ?p a :Picture FILTER(w:size(?p) > 3) }",
    "filter-false": "SELECT ?p { ?p a :Picture FILTER(w:size(?p) > 300) }",
    "bind": "SELECT ?p ?n { ?p a :Picture BIND(w:size(?p) * 2 AS ?n) }",
    "property": "SELECT ?p ?n { ?p a :Picture ; w:size ?n }",
    "constant": "ASK { ?p a :Picture ; w:size 5 }",
    "other-constant": "ASK { ?p a :Picture ; w:size 6 }",
    "many": "SELECT ?l { ?p :title ?t . ?t w:letters ?l }",
    "pairs": "SELECT ?n { ?p :title ?t . ?t w:pairs ('e' ?n) }",
    "same": "SELECT ?n { ?p :title ?t . ?t w:pairs (?n ?n) }",
    "joined": "SELECT ?l { ?p :title ?t . ?t w:letters ?l . ?u w:letters ?l . ?p :by ?u }",
    "both": "SELECT ?n ?m { ?p a :Picture ; w:size ?n ; :title ?t BIND(w:lengths(?t) AS ?m) FILTER(?n = ?m - 1) }",
    "bool": "ASK { ?p :title ?t FILTER(w:long(?t) && !w:long('abc')) }",
    "bool-triple": "ASK { ?p :title ?t . ?t w:long () }",
    "or": "ASK { ?p :title ?t FILTER(w:size(?p) > 300 || w:long(?t)) }",
    "optional": "SELECT ?p ?n { ?p a :Picture OPTIONAL { ?p :title ?t . ?t w:lengths ?n FILTER(?n > 100) } }",
    "optional-found": "SELECT ?p ?n { ?p a :Picture OPTIONAL { ?p :title ?t . ?t w:lengths ?n } }",
    "not-exists": "SELECT ?p { ?p a :Picture FILTER NOT EXISTS { ?p :title ?t FILTER(w:long(?t)) } }",
    "exists": "SELECT ?p { ?p a :Picture FILTER EXISTS { ?p :title ?t FILTER(w:long(?t)) } }",
    "minus": "SELECT ?p { ?p a :Picture MINUS { ?p :title ?t . ?t w:lengths 3 } }",
    "union": "SELECT ?p { { ?p a :Picture FILTER(w:size(?p) = 5) } UNION { ?p :title ?t FILTER(w:long(?t)) } }",
    "count": "SELECT (COUNT(?l) AS ?n) { ?p :title ?t . ?t w:letters ?l } HAVING(COUNT(*) > 0)",
    "having": "SELECT ?p { ?p :title ?t . ?t w:letters ?l } GROUP BY ?p HAVING(w:size(?p) > COUNT(?l))",
    "subselect": "SELECT ?p { { SELECT ?p { ?p a :Picture FILTER(w:size(?p) > 3) } LIMIT 1 } }",
    "path": "SELECT ?n { ?p :title/^:title ?q . ?q w:size ?n }",
    "construct": "CONSTRUCT { ?p :bytes ?n } { ?p a :Picture ; w:size ?n }",
    "alone": "ASK { FILTER(w:quads(1) = 3) }",
    "alone-produced": "SELECT ?n { <urn:pic> w:size ?n }",
    "distinct": "SELECT DISTINCT ?n { ?p ?any ?o . ?o w:quads ?n }",
}
DOCUMENT = TTL + '<urn:pic> a :Picture ; :title "timber" ; :by "term" .'
WANTED: dict[str, list[dict[str, str]]] = {
    "filter": [{"p": "urn:pic"}],
    "bind": [{"p": "urn:pic", "n": "10"}],
    "property": [{"p": "urn:pic", "n": "5"}],
    "constant": [{}],
    "many": [{"l": letter} for letter in "beimrt"],
    "pairs": [{"n": "4"}],
    "joined": [{"l": letter} for letter in "emrt"],
    "both": [{"n": "5", "m": "6"}],
    "bool": [{}],
    "bool-triple": [{}],
    "or": [{}],
    "optional": [{"p": "urn:pic"}],
    "optional-found": [{"p": "urn:pic", "n": "6"}],
    "exists": [{"p": "urn:pic"}],
    "minus": [{"p": "urn:pic"}],
    "union": [{"p": "urn:pic"}, {"p": "urn:pic"}],
    "count": [{"n": "6"}],
    "subselect": [{"p": "urn:pic"}],
    "path": [{"n": "5"}],
    "construct": [{"p": "urn:pic", "n": "5"}],
    "alone": [{}],
    "alone-produced": [{"n": "5"}],
    "distinct": [{"n": "3"}],
}


def test_every_place_in_a_query(engine: Engine) -> None:
    for name, text in QUERIES.items():
        engine.subscribe(P + text, id=name)
    receipt = engine.publish(DOCUMENT, "text/turtle", attachments={"urn:pic": b"12345"})
    assert receipt.undecided == ()
    assert told(receipt) == WANTED
