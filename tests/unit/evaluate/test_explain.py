"""Why, and why not."""

from __future__ import annotations

import pytest
from pyoxigraph import Literal, NamedNode

from tests.unit.evaluate.evaluate_samples import PREFIXES, published
from triplecast.evaluate import Explanation, explain
from triplecast.evaluate.wording import word_node
from triplecast.kernels.rows import SOLUTIONS_LIMIT
from triplecast.languages import parse_query
from triplecast.model.match import INDEX_SOLUTIONS
from triplecast.terms.values import XSD

DOC = published(':a a :Item ; :price 12 ; :title "Boats" . :b :title "Cars" .')


def why(text: str) -> Explanation:
    return explain(parse_query(PREFIXES + text), DOC, "mine.rq")


def test_a_match_names_its_triples_and_conditions() -> None:
    found = why("SELECT ?s { ?s a :Item ; :price ?p FILTER(?p < 20) }")
    assert found.matched
    assert found.solutions == ((("s", "<urn:x:a>"),),)
    assert any("<urn:x:price>" in line for line in found.support)
    assert "(?p < 20) is true for ?p = 12" in found.support
    assert "<urn:x:a> <urn:x:price> 12 ." in found.support
    assert "mine.rq matches urn:x:doc (version 1)" in str(found)


@pytest.mark.parametrize(
    ("text", "failure", "instead"),
    [
        ("ASK { ?s :price ?p FILTER(?p < 10) }", "FILTER((?p < ", "is false for ?p = "),
        ("ASK { ?s :title ?t FILTER(?t < 10) }", "FILTER((?t < ", "is error ("),
        ("ASK { ?s :price 13 }", "?s <urn:x:price>", "<urn:x:a> <urn:x:price>"),
        ("ASK { ?s a :Item ; :colour ?c }", "<urn:x:colour>", None),
        ("ASK { { ?s :price ?p FILTER(?p > 20) } ?s :title ?t }", "FILTER((?p > ", "is false"),
        ("ASK { ?s :title ?t MINUS { ?s :title ?u } }", "MINUS", None),
        ("ASK { GRAPH :other { ?s ?p ?o } }", "GRAPH <urn:x:other>", "graph <urn:x:doc>"),
        ("SELECT * { ?s :price ?p } OFFSET 5", "OFFSET 5", None),
        ("ASK { ?s :price ?p { SELECT ?s { ?s :title 'Cars' } } }", "(with ?s = <urn:x:b>)", "<urn:x:b> <urn:x:title>"),
        ("ASK { ?s :a|:b ?o }", "(<urn:x:a>|<urn:x:b>)", None),
        (
            "SELECT ?s (COUNT(*) AS ?n) { ?s :title ?t } GROUP BY ?s HAVING(COUNT(*) > 1)",
            "FILTER((COUNT(*) > ",
            "COUNT(*) = ",
        ),
        ("CONSTRUCT { ?p :of ?s } { ?s :price ?p }", "template", None),
        ("ASK { OPTIONAL { ?s :colour ?c } ?s :price 13 }", "?s <urn:x:price>", None),
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
    assert {wording: word_node(term) for wording, term in words.items()} == {wording: wording for wording in words}


def typed(lexical: str, datatype: str) -> Literal:
    return Literal(lexical, datatype=NamedNode(XSD + datatype))


def test_undecided_says_so() -> None:
    many = published("".join(f":s{i} :p :o{i} . " for i in range(60)))
    product = "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }"
    found = explain(parse_query(product), many, "big.rq", steps=2_000)
    assert not found.matched
    assert "budget" in (found.undecided or "")
    assert "is undecided" in str(found)


def test_an_explanation_is_undecided_where_the_index_is() -> None:
    many = published("".join(f":s{i} :p :o{i} . " for i in range(150)), version=0)
    product = parse_query(PREFIXES + "SELECT * { ?a :p ?b . ?c :p ?d FILTER(?a = :s1) }")
    found = explain(product, many, "big.rq", index_decides=True)
    assert not found.matched
    assert found.undecided == "more than 10,000 solutions of its patterns in this publication"
    assert "big.rq is undecided urn:x:doc\n" in str(found)
    assert explain(product, many, "big.rq").solution_count == 150
    asked = explain(parse_query(PREFIXES + "ASK { ?a :p ?b . ?c :p ?d }"), many, "ask.rq", index_decides=True)
    assert asked.matched


def test_an_explanation_is_undecided_where_the_answer_is_too_long() -> None:
    long = published("".join(f':s{i} :p "{i}{"x" * 20_000}" . ' for i in range(40)))
    found = explain(parse_query("SELECT * { ?a ?b ?c . ?d ?e ?f }"), long, "long.rq")
    assert found.undecided == "answer: more than 16777216 bytes of bindings"


def test_a_version_that_does_not_exist_is_not_told() -> None:
    text = "ASK { ?s :p ?o }"
    assert "version" not in str(explain(parse_query(PREFIXES + text), published(":a :p :b .", version=0), "mine.rq"))


def test_the_bound_stated_for_the_index_is_the_kernels() -> None:
    assert INDEX_SOLUTIONS == SOLUTIONS_LIMIT
