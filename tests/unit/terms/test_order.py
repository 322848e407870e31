"""The total order of terms."""

from __future__ import annotations

import itertools

from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms.compare import ValueFault, compare, sort_key
from triplecast.terms.values import XSD


def typed(lexical: str, datatype: str) -> Literal:
    return Literal(lexical, datatype=NamedNode(XSD + datatype))


AWKWARD: list[Term] = [
    BlankNode("b"),
    BlankNode("a"),
    NamedNode("urn:b"),
    NamedNode("urn:a"),
    Literal(""),
    Literal("a"),
    Literal("a", language="en"),
    Literal("a", language="de"),
    Literal("x", datatype=NamedNode("urn:mine")),
    *(typed(lexical, "integer") for lexical in ("01", "1", "-5", "9007199254740993", "9007199254740992", "x")),
    *(typed(lexical, "decimal") for lexical in ("0.1", "1.0", "123456789012345678", "0.12345678901234567")),
    *(typed(lexical, kind) for kind in ("float", "double") for lexical in ("0.1", "NaN", "INF", "-INF", "-0.0", "1")),
    *(typed(lexical, "double") for lexical in ("9007199254740992", "0.12345678901234567")),
    *(typed(lexical, "boolean") for lexical in ("true", "0", "false", "1")),
    *(
        typed(lexical, "dateTime")
        for lexical in (
            "2020-01-01T00:00:00",
            "2020-01-01T00:00:00Z",
            "2020-01-01T20:00:00",
            "2019-12-31T20:00:00-05:00",
            "2020-01-01T00:00:00.0000001Z",
        )
    ),
    typed("2020-01-01", "date"),
    typed("2020", "gYear"),
    typed("P1M", "yearMonthDuration"),
    typed("P1D", "dayTimeDuration"),
]


def test_the_order_is_total() -> None:
    keys = sorted(sort_key(term) for term in AWKWARD)
    for term, other in itertools.permutations(AWKWARD, 2):
        assert (sort_key(term) < sort_key(other)) is not (sort_key(other) < sort_key(term)), (term, other)
    for permutation in (AWKWARD[::-1], AWKWARD[7:] + AWKWARD[:7], AWKWARD[::2] + AWKWARD[1::2]):
        assert sorted(sort_key(term) for term in permutation) == keys


def test_the_order_never_contradicts_a_comparison() -> None:
    for term, other in itertools.permutations(AWKWARD, 2):
        try:
            smaller = compare("<", term, other)
        except ValueFault:
            continue
        if smaller:
            assert sort_key(term) < sort_key(other), (term, other)


def test_kinds_of_terms_are_apart() -> None:
    ordered = [None, BlankNode("z"), NamedNode("urn:a"), Literal("")]
    assert sorted([*reversed(ordered)], key=sort_key) == ordered
