"""What is no query, what is refused, and what both errors say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.languages import directives, parse_query, parse_template, refusals, unread_directive
from triplecast.languages.tokens import FUNCTIONS, KEYWORDS
from triplecast.languages.vocabularies import DECLARED


def fault(text: str) -> QuerySyntaxError:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text)
    return caught.value


def refusal(text: str) -> QueryRefused:
    with pytest.raises(QueryRefused) as caught:
        parse_query(text)
    return caught.value


def test_a_syntax_error_shows_place_line_caret_and_what_was_expected() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query("SELECT ?x\nWHERE { ?x dc:title }", name="alerts/a.rq")
    assert str(caught.value) == (
        "alerts/a.rq:2:21: unexpected }\n"
        "  WHERE { ?x dc:title }\n"
        "                      ^\n"
        "expected: (, (), *, +, /, ?, [, a blank node, a literal, a variable like ?x, an IRI or a name like dc:title, |"
    )


def test_a_query_that_ends_too_early_is_told_at_its_end() -> None:
    error = fault("SELECT ?x WHERE { ?x ?p ?o  \n")
    assert (error.message, error.line, error.column) == ("the query ends too early", 1, 27)
    assert "}" in error.expected
    assert fault("").message == "the query ends too early"
    assert "SELECT" in fault("").expected


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("ASK { _:a ?p ?o . { _:a ?q ?r } }", (1, 7), "the blank node _:a is used in two groups"),
        ("ASK { _:a ?p ?o OPTIONAL { ?x ?y ?z } _:a ?q ?r }", (1, 39), "the blank node _:a is used in two groups"),
        ("ASK { _:a ?p ?o BIND(1 AS ?x) _:a ?q ?r }", (1, 31), "the blank node _:a is used in two groups"),
        ("ASK { ?x ?p ?o BIND(1 AS ?x) }", (1, 26), "?x has a value already"),
        ("ASK { ?x rdf:type * . }", (1, 19), "* is no term; write a variable, such as ?any"),
        ("ASK { { ?s ?p ?x } UNION { ?s ?p ?y } BIND(1 AS ?y) }", (1, 49), "?y has a value already"),
        ("SELECT (1 AS ?x) { ?x ?p ?o }", (1, 14), "?x has a value already"),
        ("SELECT (1 AS ?x) (2 AS ?x) { }", (1, 24), "?x has a value already"),
        ("SELECT ?x { ?s ?p ?o } GROUP BY ?s (1 AS ?s)", (1, 42), "?s has a value already"),
        ("SELECT ?o { ?s ?p ?o } GROUP BY ?s", (1, 8), "?o is neither a key of GROUP BY nor inside an aggregate"),
        ("SELECT ?o (COUNT(*) AS ?c) { ?s ?p ?o }", (1, 8), "?o is neither a key"),
        ("SELECT (?o + 1 AS ?c) { ?s ?p ?o } GROUP BY ?s", (1, 19), "?o is neither a key"),
        ("SELECT * { ?s ?p ?o } GROUP BY ?s", (1, 1), "SELECT * is not allowed with GROUP BY"),
        ("SELECT (SUM(COUNT(?o)) AS ?c) { ?s ?p ?o }", (1, 13), "COUNT is not allowed inside another aggregate"),
        ("ASK { ?s ?p ?o FILTER(COUNT(?o) > 1) }", (1, 23), "COUNT is not allowed in FILTER"),
        ("ASK { ?s ?p ?o BIND(MAX(?o) AS ?x) }", (1, 21), "MAX is not allowed in BIND"),
        ("ASK { ?s ?p ?o } GROUP BY (MAX(?o) AS ?x)", (1, 28), "MAX is not allowed in GROUP BY"),
        ("ASK { VALUES (?x ?y) { (1 2) (1) } }", (1, 31), "this row of VALUES has 1 values for 2 variables"),
        ("ASK { VALUES (?x) { () } }", (1, 21), "this row of VALUES has 0 values for 1 variables"),
        ("ASK { VALUES (?x ?x) { (1 2) } }", (1, 18), "VALUES names a variable twice"),
        ("ASK { FILTER(STRLEN()) }", (1, 14), "STRLEN takes 1 arguments and got 0"),
        ("ASK { FILTER(REGEX(?x)) }", (1, 14), "REGEX takes 2 to 3 arguments and got 1"),
        ("ASK { FILTER(BOUND(1)) }", (1, 14), "BOUND takes a variable"),
        ("ASK { FILTER(xsd:integer(1, 2)) }", (1, 14), "the cast xsd:integer takes 1 argument and got 2"),
        ("ASK { FILTER(STR(DISTINCT ?x)) }", (1, 18), "DISTINCT is allowed only in an aggregate"),
        (
            "CONSTRUCT { ?s dc:a/dc:b ?o } WHERE { ?s ?p ?o }",
            (1, 20),
            "a CONSTRUCT template cannot contain a property path",
        ),
        ("PREFIX ex:ex: <urn:x> ASK {}", (1, 8), "unexpected ex:ex:"),
        ("PREFIX ex: ASK {}", (1, 12), "unexpected ASK"),
        ("PREFIX", (1, 1), "nothing follows PREFIX"),
        ("SELEC ?x { }", (1, 1), "unknown word SELEC"),
        ("ASK { ?s A ?o }", (1, 10), "unknown word A"),
        ("ASK { ?s ?p ?o } LIMIT -1", (1, 24), "unexpected -1"),
        ("ASK { ?s ?p ?o } LIMIT 1.5", (1, 24), "unexpected 1.5"),
        ("ASK { FILTER(- - 1) }", (1, 16), "unexpected -"),
        ("ASK { ?s ?p § }", (1, 13), "unexpected §"),
    ],
)
def test_what_the_grammar_and_its_notes_forbid_is_told_at_its_place(
    text: str, place: tuple[int, int], message: str
) -> None:
    error = fault(text)
    assert message in error.message
    assert (error.line, error.column) == place


@pytest.mark.parametrize(
    ("text", "construct", "column"),
    [
        ("DESCRIBE <urn:x:a>", "DESCRIBE", 1),
        ("ASK { SERVICE <urn:x:a> { } }", "SERVICE", 7),
        ("ASK FROM <urn:x:a> { }", "FROM", 5),
        ("ASK from named <urn:x:a> { }", "FROM", 5),
        ("ASK { FILTER(RAND() > 0) }", "RAND", 14),
        ("ASK { BIND(uuid() AS ?x) }", "UUID", 12),
        ("ASK { BIND(STRUUID() AS ?x) }", "STRUUID", 12),
        ("INSERT DATA { <urn:x:a> <urn:x:b> 1 }", "INSERT", 1),
        ("DELETE WHERE { ?s ?p ?o }", "DELETE", 1),
        ("CLEAR ALL", "CLEAR", 1),
        ("ASK { << ?s ?p ?o >> ?q ?r }", "<< (RDF 1.2)", 7),
        ("ASK { ?s ?p ?o {| ?q ?r |} }", "{| (RDF 1.2)", 16),
        ("ASK { FILTER(isTRIPLE(?x)) }", "ISTRIPLE", 14),
        ("ASK { ?s ?p 'a'@en--ltr }", "@en--ltr (RDF 1.2)", 13),
        ("ASK { FILTER(ft:near(?x, 'a')) }", "function <urn:triplecast:ft:near>", 14),
        ("ASK { FILTER(tc:isa(?x, ?y)) }", "function <urn:triplecast:taxonomy:isa>", 14),
        ("ASK { FILTER(op:near(?x)) }", "function <urn:triplecast:op:near>", 14),
        ("ASK { FILTER(<urn:x:f>(?x)) }", "function <urn:x:f>", 14),
        ("ASK { FILTER(xsd:date(?x)) }", "function <http://www.w3.org/2001/XMLSchema#date>", 14),
        ("SELECT (COUNT(*) AS ?c) { ?s ?p ?o } HAVING (?c > 1)", "?c in HAVING", 21),
        ("ASK { } LIMIT 9999999999999999999", "LIMIT", 15),
    ],
)
def test_what_is_refused_is_named_with_its_place_and_a_way_out(text: str, construct: str, column: int) -> None:
    error = refusal(text)
    assert error.construct == construct
    assert (error.line, error.column) == (1, column)
    assert error.reason
    assert error.hint
    with pytest.raises(QueryRefused):
        parse_template(text)


def test_refused_words_are_free_elsewhere() -> None:
    query = parse_query(
        "SELECT ?from ?service { ?from dc:describe 'RAND() SERVICE' . <urn:x:uuid> dc:insert ?service } # DESCRIBE"
    )
    assert [variable.name for variable in query.variables] == ["from", "service"]


def test_having_may_use_a_name_of_select_that_where_binds_too() -> None:
    query = parse_query("SELECT (SUM(?x) AS ?x) { ?s ?p ?x } HAVING (SUM(?x) > 1)")
    assert [variable.name for variable in query.variables] == ["x"]


def test_languages_are_chosen_by_name() -> None:
    for parse in (parse_query, parse_template):
        with pytest.raises(QueryRefused, match=r"x\.rq: language sql is refused.*known are sparql"):
            parse("SELECT ?x", "sql", "x.rq")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# triplecast: entailment=rdfs\nASK {}", {"entailment": "rdfs"}),
        ("\ufeff\n#triplecast: Entailment = rdfs, scope=publication", {"entailment": "rdfs", "scope": "publication"}),
        ("ASK {} # triplecast: entailment=rdfs", {}),
        ("# another comment\n# triplecast: entailment=rdfs", {"entailment": "rdfs"}),
        ("// of RDQL\n/* and\n # triplecast: a=b */ # triplecast: entailment=rdfs", {"entailment": "rdfs"}),
        ("PREFIX : <urn:>\n# triplecast: entailment=rdfs\nASK {}", {}),
        ("", {}),
    ],
)
def test_directives_stand_above_the_query(text: str, found: dict[str, str]) -> None:
    assert directives(text) == found


def test_the_document_names_every_word_prefix_and_limit() -> None:
    page = (Path(__file__).resolve().parents[3] / "docs" / "language.md").read_text("utf-8")
    page = re.sub(r"```.*?```", "", page, flags=re.DOTALL)
    words = {word for code in re.findall(r"`([^`]+)`", page) for word in re.split(r"[\s,…()\\]+", code)}
    refused = [word for word in refusals.WORDS if word not in ("<<", ">>", "{|", "|}")]
    assert [word for word in [*FUNCTIONS, *KEYWORDS, *refused] if word not in words] == []
    assert [prefix for prefix, iri in DECLARED.items() if f"|`{prefix}:`|`{iri}`|" not in page] == []
    limits = (refusals.MAX_CHARACTERS, refusals.MAX_TOKENS, refusals.MAX_NESTING, refusals.MAX_DEPTH)
    assert [limit for limit in limits if f"|{limit:,}|" not in page] == []


@pytest.mark.parametrize(
    ("text", "column", "message"),
    [
        ("SELCT * { ?x dc:date ?d }", 1, "unknown word SELCT; was SELECT meant?"),
        ("ASK { ?x dc:date ?d FILTR(?d = 1) }", 21, "unknown word FILTR; was FILTER meant?"),
        ("ASK { ?x dc:date ?d } XYZZY", 23, "unknown word XYZZY"),
        ("SELECT COUNT(?x) { ?x dc:date ?d }", 8, "brackets and a name; write (COUNT(…) AS ?name)"),
        ("SELECT ?d lcase(?x) { ?x dc:date ?d }", 11, "brackets and a name; write (LCASE(…) AS ?name)"),
        ("ASK { ?x dc:date ?d FILTER(?d == 1) }", 31, "unexpected ==; SPARQL compares with one ="),
        ("ASK { ?x dc:title “Rail” }", 19, "“ is no quotation mark of SPARQL; write \" or '"),
        ("ASK { ?x https://e.org/p ?d }", 10, "https://e.org/p is no IRI here; write it in angle brackets: <…>"),
        ("ASK { ?x dc:type http://e.org/p }", 18, "http://e.org/p is no IRI here"),
        ("ASK { ?x dc:type 'http://e.org/p' / }", 35, "unexpected /"),
    ],
)
def test_what_newcomers_write_is_told_by_what_they_meant(text: str, column: int, message: str) -> None:
    error = fault(text)
    assert message in error.message
    assert error.column == column


def test_the_name_of_a_language_is_lower_case() -> None:
    with pytest.raises(QueryRefused, match=r'language SPARQL is refused: .*; write "sparql"'):
        parse_query("ASK { ?s ?p ?o }", "SPARQL")


@pytest.mark.parametrize("tag", ["@en_GB", "@_", "@1", "@en1", "@en-", "@"])
@pytest.mark.parametrize("language", ["sparql", "rdql"])
def test_a_wrong_language_tag_says_what_a_right_one_is(tag: str, language: str) -> None:
    text = f'ASK {{ ?x dc:title "x"{tag} }}' if language == "sparql" else f'SELECT ?x WHERE (?x, <dc:title>, "x"{tag})'
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(text, language)
    hint = "join letters and digits, eight at most, by hyphens, as in en-US"
    assert caught.value.message == f"{tag} is no language tag; {hint}"
    assert caught.value.column == text.index("@") + 1


@pytest.mark.parametrize(
    ("text", "language", "line"),
    [
        ("# triplecast: entailment=rdfs\nASK {}", "sparql", None),
        ("# first\n# triplecast: entailment=rdfs\nASK {}", "sparql", None),
        ("ASK { ?s <urn:a#triplecast:x> '# triplecast: b=c' }", "sparql", None),
        ("PREFIX : <urn:a#>\n# triplecast: entailment=rdfs\nASK {}", "sparql", 2),
        ("ASK {\n ?s ?p 'a' # triplecast: entailment=rdfs\n}", "sparql", 2),
        ("# triplecast: entailment=rdfs\n# triplecast: entailment=none\nASK {}", "sparql", 2),
        ("SELECT ?x\nWHERE (?x, <urn:p>, 'a')\n# triplecast: entailment=rdfs", "rdql", 3),
    ],
)
def test_a_directive_that_is_not_read_is_found(text: str, language: str, line: int | None) -> None:
    found = unread_directive(text, language)
    assert (found and found[0]) == line
