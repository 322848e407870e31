"""Rules over a publication, against a plain fixpoint."""

from __future__ import annotations

import random

import pytest
from pyoxigraph import BlankNode, Dataset, Literal, NamedNode, Quad, RdfFormat, parse, serialize

from triplecast.errors import InputError
from triplecast.operators import Event, Unanswerable

pytest.importorskip("clingo", reason="the extra triplecast[operators] is not installed")

from triplecast.operators.box.rules import MOST_TRIPLES, Rules

X = "https://example.org/"
ANCESTORS = """
#const parent = "https://example.org/parent".
ancestor(X, Y) :- triple(X, parent, Y).
ancestor(X, Z) :- ancestor(X, Y), triple(Y, parent, Z).
"""
XSD = "http://www.w3.org/2001/XMLSchema#"


def event(turtle: str, prefix: str = X) -> Event:
    quads = serialize(parse(f"@prefix : <{prefix}> . {turtle}", format=RdfFormat.TURTLE), format=RdfFormat.N_TRIPLES)
    assert quads is not None
    return Event(NamedNode("urn:g"), 1, {}, quads)


def x(name: str) -> NamedNode:
    return NamedNode(X + name)


def test_what_recursion_derives_is_the_closure_of_a_plain_fixpoint() -> None:
    chance = random.Random(3)
    rules = Rules(ANCESTORS)
    for _ in range(20):
        pairs = {(chance.randrange(12), chance.randrange(12)) for _ in range(chance.randrange(1, 20))}
        closure = set(pairs)
        while True:
            wider = closure | {(a, d) for a, b in closure for c, d in pairs if b == c}
            if wider == closure:
                break
            closure = wider
        given = event(" ".join(f":n{a} :parent :n{b} ." for a, b in sorted(pairs)))
        for a in range(12):
            told = rules.rows(given, "ancestor", x(f"n{a}"))
            assert sorted(term.value for term in told) == sorted(X + f"n{b}" for c, b in closure if c == a)
        assert len(rules.rows(given, "ancestor")) == len(closure)
        assert all(rules.holds(given, "ancestor", x(f"n{a}"), x(f"n{b}")) for a, b in closure)
        assert not rules.holds(given, "ancestor", x("n0"), x("nobody"))


def test_terms_keep_their_form() -> None:
    given = event(f':a :p "01"^^<{XSD}integer>, "x\\"\\\\\\n"@en-gb, "5"^^<{XSD}byte>, "t", _:b . _:b :q :c .')
    rules = Rules('copy(S, O) :- triple(S, "https://example.org/p", O). next(L, N + 1) :- number(L, N).')
    assert set(rules.rows(given, "copy", x("a"))) == {
        Literal("01", datatype=NamedNode(XSD + "integer")),
        Literal('x"\\\n', language="en-gb"),
        Literal("5", datatype=NamedNode(XSD + "byte")),
        Literal("t"),
        *(quad.object for quad in given.graph if isinstance(quad.object, BlankNode)),
    }
    assert rules.rows(given, "next", Literal("01", datatype=NamedNode(XSD + "integer"))) == [Literal(2)]
    assert len(rules.rows(given, "next")) == 2


def test_triples_entailed_and_types() -> None:
    rules = Rules('triple(X, rdf_type, "https://example.org/Loop") :- triple(X, _, X).')
    given = event(":a :p :a ; a :Thing . :b :p :a .")
    assert set(rules.types(given, x("a"))) == {x("Loop"), x("Thing")}
    assert rules.types(given, x("b")) == []
    assert sorted(str(p) + str(o) for p, o in rules.entails(given, x("b"))) == [f"<{X}p><{X}a>"]


def test_negation_comparison_and_facts_of_the_rules() -> None:
    rules = Rules("""
        limit("https://example.org/speed", 50).
        fast(X) :- triple(X, P, L), limit(P, M), number(L, N), N > M.
        calm(X) :- triple(X, _, _), not fast(X).
    """)
    given = event(":a :speed 51 . :b :speed 50 . :c :speed 50.5 .")
    assert rules.holds(given, "fast", x("a"))
    assert not rules.holds(given, "fast", x("b"))
    assert sorted(term.value for term in rules.rows(given, "calm")) == [X + "b", X + "c"]


def test_datasets_are_one() -> None:
    quads = serialize(
        [Quad(x("a"), x("parent"), x("b"), x("g")), Quad(x("b"), x("parent"), x("c"))], format=RdfFormat.N_QUADS
    )
    assert quads is not None
    assert len(Rules(ANCESTORS).rows(Event(NamedNode("urn:g"), 1, {}, quads, dataset=True), "ancestor")) == 3
    assert len(Dataset(parse(quads, format=RdfFormat.N_QUADS))) == 2


@pytest.mark.parametrize(
    ("program", "predicate", "told"),
    [
        ("a(X) :- b(X .", "a", "the rules cannot be read: <string>:1:13-14: error: syntax error, unexpected ."),
        ("a(X) :- b(Y).", "a", "unsafe"),
        ("{ a(1) }.", "a", "the rules leave a choice"),
        ("a(1) :- not b(1). b(1) :- not a(1).", "a", "the rules leave a choice"),
        (ANCESTORS, "ancestors", "no rule derives ancestors; was ancestor meant"),
        ("a(f(1)).", "a", "the rules derive f(1), which is no term"),
        ('a("no IRI").', "a", "which is no term"),
        ("a(1, 1). a(1, 1, 1).", "a", "0 arguments are given for a/2 and a/3"),
    ],
)
def test_rules_that_cannot_be_used(program: str, predicate: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        Rules(program).rows(event(":a :p :b ."), predicate)
    assert told in str(caught.value)


def test_publications_that_rules_cannot_answer_for() -> None:
    rules = Rules(":- triple(X, _, X).")
    with pytest.raises(Unanswerable, match="contradicts a constraint"):
        rules.rows(event(":a :p :a ."), "triple")
    assert len(rules.rows(event(":a :p :b ."), "triple")) == 1
    with pytest.raises(Unanswerable, match="50,000 triples at most, and the publication has 50,001"):
        rules.rows(Event(NamedNode("urn:g"), 1, {}, b"<x:s> <x:p> <x:o> .\n" * (MOST_TRIPLES + 1)), "triple")
    with pytest.raises(Unanswerable, match=r"U\+0000"):
        rules.rows(event(':a :p "\\u0000" .'), "triple")


def test_another_program_is_another_version() -> None:
    assert Rules("a.").version == Rules("a.").version != Rules("a. b.").version
