"""How large a query may be, and that a larger one is refused by name before it costs anything."""

from __future__ import annotations

import pytest

from triplecast.compile import compiled
from triplecast.compile.refusals import LARGEST, QuerySize, measure
from triplecast.errors import QueryRefused
from triplecast.languages import parse_template
from triplecast.model.subscription import Subscription
from triplecast.registry.admission import admit

CONSTANTS, PATTERNS, OPERATORS = LARGEST

SIZES = {
    "ASK { ?s dc:title ?o }": (1, 1, 0),
    "ASK { }": (0, 1, 0),
    "ASK { { ?s dc:title ?o } UNION { ?s dc:date ?o } UNION { } }": (2, 3, 0),
    "ASK { ?s dc:title/(dc:date|^dc:type)* ?o }": (3, 3, 0),
    "ASK { ?s !(dc:date|^dc:type) ?o }": (2, 2, 0),
    "ASK { VALUES (?x ?y) { (1 UNDEF) (UNDEF UNDEF) } }": (4, 1, 0),
    "ASK { ?s dc:title ?o FILTER(?o > 2 && ?o IN (1, ?s)) }": (3, 2, 6),
    "ASK { ?s dc:title ?o FILTER NOT EXISTS { ?s dc:date ?o } }": (2, 3, 1),
    "CONSTRUCT { ?s dc:date ?o . ?s dc:type ?o } WHERE { ?s dc:title ?o }": (3, 3, 0),
}
"""Constants, patterns, operators."""


@pytest.mark.parametrize("text", SIZES)
def test_what_is_counted(text: str) -> None:
    template, _ = parse_template(text)
    assert measure(template.query, template.slots) == QuerySize(*SIZES[text])


LARGE = {
    "constants": (lambda n: "ASK { VALUES ?x { " + "1 " * (n - 1) + "} ?s dc:title ?x }", CONSTANTS),
    "UNDEF": (lambda n: "ASK { VALUES ?x { " + "UNDEF " * (n - 1) + "} ?s dc:title ?x }", CONSTANTS),
    "IN": (lambda n: "ASK { ?s dc:title ?x FILTER(?x IN (" + ",".join(["1"] * (n - 1)) + ")) }", CONSTANTS),
    "triples": (lambda n: "ASK { " + "?s dc:title ?x . " * n + "}", PATTERNS),
    "alternatives": (lambda n: "ASK { ?s " + "|".join(["dc:title"] * n) + " ?x }", PATTERNS),
    "branches": (lambda n: "ASK { " + "UNION".join(["{ ?s dc:title ?x }"] * n) + " }", PATTERNS),
    "mentions": (
        lambda n: "ASK { ?s dc:title ?x FILTER(CONCAT(" + ",".join(["?x"] * (n - 2)) + ') = "a") }',
        OPERATORS,
    ),
}


@pytest.mark.parametrize("kind", LARGE)
def test_one_more_than_allowed_is_refused_by_name(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    write, most = LARGE[kind]
    admit(Subscription("large", write(most)))

    def compile_nothing(*_: object) -> None:
        raise AssertionError("it was compiled")

    monkeypatch.setattr(compiled, "plan_of", compile_nothing)
    with pytest.raises(QueryRefused, match=rf"large: a query of {most + 1:,} \w+ is refused: {most:,} are allowed"):
        admit(Subscription("large", write(most + 1)))
