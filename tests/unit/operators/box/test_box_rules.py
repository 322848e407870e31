"""Rules over a publication, against a plain fixpoint."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Dataset, Literal, NamedNode, Quad, RdfFormat, parse, serialize

from triplecast.errors import InputError
from triplecast.operators import PublicationView, Unanswerable

pytest.importorskip("clingo", reason="the extra triplecast[operators] is not installed")

from triplecast.operators.box.rules import MOST_TRIPLES, Rules

X = "https://example.org/"
ANCESTORS = """
#const parent = "https://example.org/parent".
ancestor(X, Y) :- triple(X, parent, Y).
ancestor(X, Z) :- ancestor(X, Y), triple(Y, parent, Z).
"""
XSD = "http://www.w3.org/2001/XMLSchema#"


def event(turtle: str, prefix: str = X) -> PublicationView:
    quads = serialize(parse(f"@prefix : <{prefix}> . {turtle}", format=RdfFormat.TURTLE), format=RdfFormat.N_TRIPLES)
    assert quads is not None
    return PublicationView(NamedNode("urn:g"), 1, {}, quads)


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
    assert len(Rules(ANCESTORS).rows(PublicationView(NamedNode("urn:g"), 1, {}, quads, dataset=True), "ancestor")) == 3
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
        (
            "a(1).\n#external b(1).",
            "a",
            "line 2, column 1 of the rules: #external leaves open what holds; write a rule",
        ),
        ("#program part. a(1).", "a", "#program names a part, and parts are not applied"),
        ("#program base(k). a(k).", "a", "#program names a part"),
        ("a(1). #show a/1.", "a", "column 7 of the rules: #show changes nothing"),
        ("a(1). #show X : a(X).", "a", "#show changes nothing"),
        ("a(1). #minimize { X : a(X) }.", "a", "preferences choose among models"),
        ("a(1). #script (python) x = 1 #end.", "a", "scripts are not run; write an operator in Python"),
        ("a(1). #edge (1, 2).", "a", "#edge (1,2). is neither a rule nor a constant; leave it out"),
        (ANCESTORS + "a(X) :- tripel(X, _, _).", "a", "none of them derives: line 5, column 9: atom does not occur"),
        ("a(X) :- triple(X, _).", "a", "number of arguments; if it is meant so, say #defined name/arity."),
        ("a(X) :- -b(X). b(1).", "a", "derives: line 1, column 9: atom does not occur in any rule head: (-b(X))"),
        ("-flies(1).", "flies", "no rule derives flies; was -flies meant"),
    ],
)
def test_rules_that_cannot_be_used(program: str, predicate: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        Rules(program).rows(event(":a :p :b ."), predicate)
    assert told in str(caught.value)


def test_what_is_denied_is_a_predicate_of_its_own() -> None:
    rules = Rules("""
        -flies(X) :- triple(X, rdf_type, "https://example.org/Penguin").
        flies(X) :- triple(X, rdf_type, "https://example.org/Bird"), not -flies(X).
    """)
    given = event(":p a :Penguin, :Bird . :s a :Bird .")
    assert (rules.rows(given, "flies"), rules.rows(given, "-flies")) == ([x("s")], [x("p")])
    assert (rules.holds(given, "flies", x("p")), rules.holds(given, "-flies", x("p"))) == (False, True)
    assert Rules("-a(X; Y) :- triple(X, _, Y).").holds(event(":s :p :o ."), "-a", x("o"))
    with pytest.raises(Unanswerable, match=r"\(a constraint, or p\(…\) and -p\(…\) both\)"):
        Rules("-a(X) :- triple(X, _, _). a(X) :- triple(X, _, _).").rows(given, "a")


@pytest.mark.parametrize(
    ("head", "told"),
    [
        ("a(X; Y)", {"s", "o"}),
        ("{ a(X) : X = Y }", set()),
        ("1 { a(X) } 1", {"s"}),
        ("a(X) ; b(X)", None),
        ("#count { X : a(X) } = 1", {"s"}),
    ],
)
def test_heads_of_every_form(head: str, told: set[str] | None) -> None:
    """Those with two models are refused."""
    rules = Rules(head + " :- triple(X, _, Y).")
    if told is None:
        with pytest.raises(InputError, match="the rules leave a choice"):
            rules.rows(event(":s :p :o ."), "a")
    else:
        assert {term.value.removeprefix(X) for term in map(single, rules.rows(event(":s :p :o ."), "a"))} == told


def single(row: object) -> NamedNode:
    assert isinstance(row, NamedNode)
    return row


def test_a_predicate_that_is_said_to_be_defined_elsewhere_may_hold_nowhere() -> None:
    assert Rules("#defined old/1. a(X) :- triple(X, _, _), not old(X).").rows(event(":s :p :o ."), "a") == [x("s")]


@pytest.mark.parametrize(
    "program",
    [
        "half(X, N / M) :- number(X, N), number(_, M).",
        'next(O, O + 1) :- triple(_, "https://example.org/p", O). half(1, 1).',
    ],
)
def test_a_calculation_without_a_value_is_told(program: str) -> None:
    with pytest.raises(Unanswerable, match=r"what has no value: line 1, column [0-9]+: operation undefined: \("):
        Rules(program).rows(event(":a :p 0 ."), "half")
    assert Rules("half(X, N / M) :- number(X, N), number(_, M), M != 0.").rows(event(":a :p 0 ."), "half") == []


def test_a_file_that_rules_include_is_told(tmp_path: Path) -> None:
    (tmp_path / "more.lp").write_text("a(2).")
    with pytest.raises(InputError, match="whose content is not in their version; write its rules here"):
        Rules(f'#include "{tmp_path / "more.lp"}". a(1).').rows(event(":s :p :o ."), "a")


def test_publications_that_rules_cannot_answer_for() -> None:
    rules = Rules(":- triple(X, _, X).")
    with pytest.raises(Unanswerable, match="contradicts the rules"):
        rules.rows(event(":a :p :a ."), "triple")
    assert len(rules.rows(event(":a :p :b ."), "triple")) == 1
    with pytest.raises(Unanswerable, match="50,000 triples at most, and the publication has 50,001"):
        rules.rows(PublicationView(NamedNode("urn:g"), 1, {}, b"<x:s> <x:p> <x:o> .\n" * (MOST_TRIPLES + 1)), "triple")
    with pytest.raises(Unanswerable, match=r"U\+0000"):
        rules.rows(event(':a :p "\\u0000" .'), "triple")


def test_another_program_is_another_version() -> None:
    assert Rules("a.").version == Rules("a.").version != Rules("a. b.").version
