"""Explanations of single pairs."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from tests.unit.evaluate.evaluate_samples import PREFIXES, published
from triplecast.explain import Explanation, explain_subscription, explaining_sandbox
from triplecast.explain.pair import explain_pair
from triplecast.explain.wording import Wording
from triplecast.kernels.rows import SOLUTIONS_LIMIT
from triplecast.model.match import INDEX_SOLUTIONS
from triplecast.model.subscription import Subscription
from triplecast.sandbox import Limits
from triplecast.terms.values import XSD

DOC = published(':a a :Item ; :price 12 ; :title "Boats" . :b :title "Cars" .')


def why(text: str) -> Explanation:
    return explain_pair(asking(text), DOC)


def asking(text: str, name: str = "mine.rq") -> Subscription:
    return Subscription(name, PREFIXES + text)


def test_a_match_names_its_triples_and_conditions() -> None:
    found = why("SELECT ?s { ?s a :Item ; :price ?p FILTER(?p < 20) }")
    assert found.matched
    assert found.solutions == ((("s", "<urn:x:a>"),),)
    assert found.support == (":a a :Item .", ":a :price 12 .", "(?p < 20) is true for ?p = 12")
    assert "mine.rq matches urn:x:doc (version 1)" in str(found)


@pytest.mark.parametrize(
    ("text", "failure", "instead"),
    [
        ("ASK { ?s :price ?p FILTER(?p < 10) }", "FILTER(?p < ", "is false for ?p = "),
        ("ASK { ?s :title ?t FILTER(?t < 10) }", "FILTER(?t < ", "is an error ("),
        ("ASK { ?s :price 13 }", "?s :price 13", ":a :price 12 ."),
        ("ASK { ?s a :Item ; :colour ?c }", "?s :colour ?c", "predicates of the publication: "),
        ("ASK { { ?s :price ?p FILTER(?p > 20) } ?s :title ?t }", "FILTER(?p > ", "is false"),
        ("ASK { ?s :title ?t MINUS { ?s :title ?u } }", "MINUS", None),
        ("ASK { GRAPH :other { ?s ?p ?o } }", "GRAPH :other", "graph :doc"),
        ("SELECT * { ?s :price ?p } OFFSET 5", "OFFSET 5", None),
        ("ASK { ?s :price ?p { SELECT ?s { ?s :title 'Cars' } } }", "(with ?s = :b)", "(on another subject)"),
        ("ASK { ?s :a|:b ?o }", "?s (:a|:b) ?o", "no triple has the predicate :b"),
        (
            "SELECT ?s (COUNT(*) AS ?n) { ?s :title ?t } GROUP BY ?s HAVING(COUNT(*) > 1)",
            "FILTER(COUNT(*) > ",
            "COUNT(*) = ",
        ),
        ("CONSTRUCT { ?p :of ?s } { ?s :price ?p }", "template", None),
        ("ASK { OPTIONAL { ?s :colour ?c } ?s :price 13 }", "?s :price 13", None),
    ],
)
def test_no_match_names_what_failed(text: str, failure: str, instead: str | None) -> None:
    found = why(text)
    assert not found.matched
    assert found.failure is not None
    assert failure in found.failure
    if instead is not None:
        assert any(instead in line for line in found.instead)
    assert found.failure in str(found)


def test_terms_are_worded_as_in_a_query() -> None:
    words = {"12": Literal(12), '"012x"^^xsd:integer': typed("012x", "integer"), "-.5": typed("-.5", "decimal")}
    words |= {"true": Literal(True), '"1"^^xsd:boolean': typed("1", "boolean"), '"1"^^xsd:byte': typed("1", "byte")}
    words |= {'"a\\"b"': Literal('a"b'), '"a"@en': Literal("a", language="en"), "<urn:a>": NamedNode("urn:a")}
    assert {wording: Wording().node(term) for wording, term in words.items()} == {wording: wording for wording in words}


def typed(lexical: str, datatype: str) -> Literal:
    return Literal(lexical, datatype=NamedNode(XSD + datatype))


def test_undecided_says_so() -> None:
    many = published("".join(f":s{i} :p :o{i} . " for i in range(60)))
    product = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    found = explain_pair(Subscription("big.rq", product), many, steps=2_000)
    assert not found.matched
    assert "budget" in (found.undecided or "")
    assert "big.rq is undecided on urn:x:doc" in str(found)


def test_an_explanation_is_undecided_where_the_index_is() -> None:
    many = published("".join(f":s{i} :p :o{i} . " for i in range(150)), version=0)
    product = asking("SELECT * { ?a :p ?b . ?c :p ?d FILTER(?a = :s1) }", "big.rq")
    found = explain_pair(product, many, index_decides=True)
    assert not found.matched
    assert found.undecided == "more than 10,000 solutions of its patterns in this publication"
    assert "big.rq is undecided on urn:x:doc\n" in str(found)
    assert explain_pair(product, many).solution_count == 150
    asked = explain_pair(asking("ASK { ?a :p ?b . ?c :p ?d }"), many, index_decides=True)
    assert asked.matched


def test_an_explanation_is_undecided_where_the_answer_is_too_long() -> None:
    long = published("".join(f':s{i} :p "{i}{"x" * 20_000}" . ' for i in range(40)))
    found = explain_pair(asking("SELECT * { ?a ?b ?c . ?d ?e ?f }"), long)
    assert found.undecided == "answer: more than 16777216 bytes of bindings"


def test_a_version_that_does_not_exist_is_not_told() -> None:
    assert "version" not in str(explain_pair(asking("ASK { ?s :p ?o }"), published(":a :p :b .", version=0)))


def test_the_bound_stated_for_the_index_is_the_kernels() -> None:
    assert INDEX_SOLUTIONS == SOLUTIONS_LIMIT


# ---- what was there instead


def instead(text: str, turtle: str) -> tuple[str, ...]:
    found = explain_pair(asking(text), published(turtle))
    assert found.failure is not None
    return found.instead


def test_a_match_names_the_alternative_of_its_first_solution() -> None:
    found = why("SELECT * { { ?s :price ?p } UNION { ?s :colour ?c } UNION { ?s :title ?t } }")
    assert found.solutions[0] == (("s", "<urn:x:a>"), ("t", '"Boats"'))
    assert found.support == ("alternative 3 of 3 of UNION", ':a :title "Boats" .')


def test_each_alternative_of_a_union_says_where_it_fails() -> None:
    text = "ASK { { ?s :price 13 } UNION { ?s :title ?t FILTER(?t = 'Ships') } UNION { ?s :colour 'red' } }"
    found = why(text)
    assert found.failure == "UNION: none of its 3 alternatives has a solution"
    assert found.instead == (
        "alternative 1 fails at ?s :price 13",
        "  :a :price 12 .",
        'alternative 2 fails at FILTER(?t = "Ships")',
        '  (?t = "Ships") is false for ?t = "Boats"',
        '  (?t = "Ships") is false for ?t = "Cars"',
        'alternative 3 fails at ?s :colour "red"',
        "  no triple has the predicate :colour",
        "  predicates of the publication: rdf:type, :price, :title",
    )


def test_a_long_union_is_cut() -> None:
    text = "ASK { " + " UNION ".join(f"{{ ?s :price {number} }}" for number in range(20, 30)) + " }"
    found = why(text)
    assert found.instead[-1] == "and 4 alternatives more"
    assert len(found.instead) == 13


@pytest.mark.parametrize(
    ("asked", "turtle", "expected"),
    [
        # a mistyped predicate: the one that was meant, of this subject first
        ("?s a :Item ; :tilte ?t", ":a a :Item ; :title 'A' ; :size 3 .", ':a :title "A" .'),
        # the same name in another vocabulary
        ("?s dc:subject 'rail'", ":a dcterms:subject 'rail' .", ':a dcterms:subject "rail" .'),
        # nothing alike: what there is
        ("?s :colour ?c", ":a :size 3 .", "predicates of the publication: :size"),
        # a mistyped class, value, language or datatype: nearest first
        ("?s a :Itm", ":a a :Book . :b a :Item .", ":b a :Item ."),
        ("?s :topic 'energi'", ":a :topic 'art' , 'energy' .", ':a :topic "energy" .'),
        ("?s :topic 'rail'@en", ":a :topic 'sea'@en , 'rail' .", ':a :topic "rail" .'),
        ("?s :size 3", ":a :size '3' , 4 .", ':a :size "3" .'),
        # a subject that is not there
        (":itm ?p ?o", ":item :p :o . :x :p :o .", "subjects of the publication: :item and 1 more"),
        # the predicate stands on another subject
        ("?s a :Item ; :price ?p", ":a a :Item . :b :price 3 .", ":b :price 3 . (on another subject)"),
        # paths: their first step
        ("?s :autor/:name 'X'", ":a :author :b . :b :name 'X' .", ":a :author :b ."),
        ("?s ^:knosw :b", ":b :knows :a .", ":b :knows :a ."),
        ("?s ?p ?o", "", "the publication is empty"),
    ],
)
def test_near_misses(asked: str, turtle: str, expected: str) -> None:
    prefixes = "PREFIX dc: <http://purl.org/dc/elements/1.1/> PREFIX dcterms: <http://purl.org/dc/terms/> "
    lines = instead(f"ASK {{ {asked} }}", prefixes + turtle)
    assert next(line for line in lines if not line.startswith("no triple has")) == expected


@pytest.mark.parametrize(
    ("text", "failure"),
    [
        ("ASK { [ :price 13 ] :title ?t }", "[] :title ?t"),
        ("ASK { ?s :price [ :in ?x ] }", None),
        ("SELECT ?s { ?s :price ?p } GROUP BY ?s HAVING(MAX(?p) > 20 && COUNT(*) > 0)", "FILTER(MAX(?p) > 20)"),
        ("SELECT (COUNT(*) AS ?n) { ?s :price ?p } GROUP BY (?p + 1) HAVING(SUM(?p) > 20)", "FILTER(SUM(?p) > 20)"),
    ],
)
def test_hidden_names_are_not_shown(text: str, failure: str | None) -> None:
    found = why(text)
    if failure is not None and "[" not in failure:
        assert found.failure == failure
    assert "_:g" not in str(found)
    assert "_:k" not in str(found)


def test_an_explanation_comes_from_a_child_that_may_be_killed() -> None:
    matched = asking("SELECT ?s { ?s :price ?p FILTER(?p < 20) }")
    with explaining_sandbox() as sandbox:
        found = explain_subscription(matched, [DOC, DOC], True, sandbox=sandbox)
        assert sandbox.started == 1
    assert found == (explain_pair(matched, DOC, index_decides=True),) * 2
    missed = asking("ASK { { ?s :price 13 } UNION { ?s :title 'Ship' } }")
    assert explain_subscription(missed, [DOC], False) == (explain_pair(missed, DOC),)


def test_what_the_child_cannot_answer_is_undecided() -> None:
    with explaining_sandbox(Limits(seconds=20.0, memory=768 << 20, answer=16)) as sandbox:
        (found,) = explain_subscription(asking("ASK { ?s :price 12 }"), [DOC], True, sandbox=sandbox)
    assert found.undecided is not None
    assert found.undecided.startswith("size: ")
    assert not found.matched


def test_rdql_is_worded_as_rdql_and_with_its_own_prefixes() -> None:
    constraints = "?p < 20, ?t eq 'Boats', ?t =~ /^B/i"
    text = f"SELECT ?s WHERE (?s, p:price, ?p), (?s, p:title, ?t) AND {constraints} USING p FOR <urn:x:>"
    found = explain_pair(Subscription("mine.rdql", text, "rdql"), DOC)
    assert found.support[:2] == ("p:a p:price 12 .", 'p:a p:title "Boats" .')
    assert any(line.startswith("(?p < 20) is true") for line in found.support)
    assert any(line.startswith('(?t eq "Boats") is true') for line in found.support)
    assert any(line.startswith("(?t =~ /^B/i) is true") for line in found.support)
    other = explain_pair(Subscription("mine.rdql", text.replace("eq", "ne"), "rdql"), DOC)
    assert not other.matched
    assert 'FILTER(?t ne "Boats")' in str(other)
