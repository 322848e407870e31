"""Deep, long and adversarial texts are parsed or refused: no recursion, no stall, and what is parsed is safe."""

from __future__ import annotations

import sys

import pytest

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import fill, parse_query, parse_template
from triplecast.languages.refusals import MAX_CHARACTERS, MAX_DEPTH, MAX_NESTING, MAX_TOKENS
from triplecast.languages.rewriting import measure_depth

MANY = 5_000


@pytest.mark.parametrize(
    "text",
    [
        "ASK { FILTER(" + "||".join(["?o=1"] * MANY) + ") }",
        "ASK { FILTER(" + "&&".join(["?o=1"] * MANY) + ") }",
        "ASK { " + "UNION".join(["{?s ?p 1}"] * MANY) + " }",
        "ASK { " + "{?s ?p 1}" * MANY + " }",
        "ASK { ?s ?p ?o " + "FILTER(?o=1)" * MANY + " }",
        "ASK { ?s " + "|".join(["dc:a"] * 2 * MANY) + " ?o }",
        "ASK { ?s " + "/".join(["dc:a"] * 2 * MANY) + " ?o }",
        "ASK { ?s dc:a " + ",".join(["1"] * 2 * MANY) + " }",
        "ASK { ?s dc:a (" + " 1" * MANY + ") }",
        "ASK { VALUES ?x {" + " 1" * 2 * MANY + "} }",
        "ASK { FILTER(?x IN (" + "1," * MANY + "2)) }",
    ],
    ids=lambda text: text[:24],
)
def test_long_flat_queries_parse_shallow(text: str) -> None:
    query = parse_query(text)
    assert measure_depth(query) < 25


@pytest.mark.parametrize(
    "text",
    [
        "ASK { FILTER(" + "+".join(["?o"] * MANY) + ") }",
        "ASK { FILTER(?o" + " +1" * MANY + ") }",
        "ASK { FILTER(" + "*".join(["?o"] * MANY) + ") }",
        "ASK { FILTER(" + "!" * MANY + "?o) }",
        "SELECT (" + "!" * MANY + "?o AS ?x) { ?s ?p ?o } GROUP BY ?o",
        "SELECT (COUNT(*) AS ?x) { ?s ?p ?o } HAVING(" + "!" * MANY + "?o)",
        "SELECT (COUNT(*) AS ?x) { ?s ?p ?o } ORDER BY (" + "! " * MANY + "?o)",
        "ASK { " + "".join(f"BIND(1 AS ?x{n})" for n in range(MANY)) + " }",
        "ASK { " + "OPTIONAL{?s ?p ?o}" * MANY + " }",
        "ASK { " + "MINUS{?s ?p ?o}" * MANY + " }",
        "SELECT " + "".join(f"(1 AS ?x{n})" for n in range(MANY)) + " { }",
        "ASK { FILTER(" + "(" * MANY + "?o" + ")" * MANY + ") }",
        "ASK " + "{" * MANY + "}" * MANY,
        "ASK { ?s ?p " + "[ ?p " * MANY + "1" + "]" * MANY + "}",
        "ASK " + "{ FILTER EXISTS " * MANY + "{}" + "}" * MANY,
    ],
    ids=lambda text: text[:24],
)
def test_long_chains_that_nest_are_refused(text: str) -> None:
    with pytest.raises(QueryRefused):
        parse_query(text)
    with pytest.raises(QueryRefused):
        parse_template(text)


@pytest.mark.parametrize(
    "text",
    [
        "ASK { FILTER(" + "!" * (MAX_DEPTH - 4) + "?o) }",
        "ASK { " + "OPTIONAL{?s ?p ?o}" * (MAX_DEPTH - 4) + " }",
        "ASK { ?s " + "^(" * (MAX_NESTING - 2) + "dc:a*" + ")" * (MAX_NESTING - 2) + " ?o }",
        "ASK { FILTER(" + "(" * (MAX_NESTING - 2) + "?o" + ")" * (MAX_NESTING - 2) + ") }",
        "ASK " + "{" * MAX_NESTING + "}" * MAX_NESTING,
    ],
    ids=lambda text: text[:24],
)
def test_the_deepest_queries_are_safe_for_recursive_readers(text: str) -> None:
    assert sys.getrecursionlimit() == 1000
    template, constants = parse_template(text)
    query = fill(template.query, constants)
    assert query == parse_query(text)
    assert hash(query) == hash(parse_query(text))
    assert repr(query)


def test_the_limits_are_where_they_are_said_to_be() -> None:
    with pytest.raises(QueryRefused, match="nested more than 100 deep"):
        parse_query("ASK " + "{" * (MAX_NESTING + 1) + "}" * (MAX_NESTING + 1))
    with pytest.raises(QueryRefused, match="its algebra may have 100 levels"):
        parse_query("ASK { FILTER(" + "!" * MAX_DEPTH + "?o) }")
    with pytest.raises(QueryRefused, match="the limit is 1000000"):
        parse_query("ASK {}" + " " * MAX_CHARACTERS)
    with pytest.raises(QueryRefused, match="the limit is 1000000"):
        parse_template("ASK {}" + " " * MAX_CHARACTERS)
    with pytest.raises(QueryRefused, match="more than 100000 tokens"):
        parse_query("ASK { ?s ?p " + "1," * (MAX_TOKENS // 2) + "1 }")


@pytest.mark.timeout(20)
@pytest.mark.parametrize(
    "unit",
    [
        *("a.", "'", '"""\\"', "<", "<a", "'' \n", "''^^", "''^^a:", "( ", "[ ", "a", "a.b-", "1", "1.", "a:%41"),
        *("#\n", "?", "\\u0041", "@", "_:", "\x00"),
    ],
)
def test_no_text_stalls_the_tokens(unit: str) -> None:
    text = "ASK { " + unit * (900_000 // len(unit)) + "}"
    with pytest.raises((QueryRefused, QuerySyntaxError)):
        parse_query(text)


def test_a_long_token_or_line_does_not_make_a_long_message() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query("ASK { " + "a" * 5000 + " }")
    assert len(caught.value.message) < 100
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query("ASK { " + "?s ?p 1 . " * 500 + "} § " + "# more" * 500)
    _, shown, caret = str(caught.value).splitlines()
    assert shown[len(caret) - 1] == "§"
    assert len(shown) < 170
