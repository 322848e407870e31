"""Constants of a text: prefixes, base, escapes, numbers as written, language tags, comments."""

from __future__ import annotations

import random

import pytest
from pyoxigraph import Literal, NamedNode

from triplecast.errors import QuerySyntaxError
from triplecast.languages import fill, parse_query, parse_template
from triplecast.languages.template import slot_kind
from triplecast.languages.tokens import TOKEN, find_tokens
from triplecast.languages.vocabularies import DECLARED
from triplecast.model.algebra import BasicPattern, Node, TriplePattern

XSD = "http://www.w3.org/2001/XMLSchema#"


def term(constant: str, prologue: str = "") -> Node:
    """The object of a query's only triple."""
    pattern = parse_query(f"{prologue} ASK {{ ?s ?p {constant} }}").pattern
    assert isinstance(pattern, BasicPattern)
    (edge,) = pattern.triples
    assert isinstance(edge, TriplePattern)
    return edge.object


@pytest.mark.parametrize(
    ("written", "datatype"),
    [
        ("01", "integer"),
        ("+1", "integer"),
        ("-007", "integer"),
        ("+1.0", "decimal"),
        (".5", "decimal"),
        ("-0.0", "decimal"),
        ("1e0", "double"),
        ("1.E3", "double"),
        ("-.5e-3", "double"),
        ("123456789012345678901234567890", "integer"),
    ],
)
def test_numbers_keep_their_lexical_form(written: str, datatype: str) -> None:
    assert term(written) == Literal(written, datatype=NamedNode(XSD + datatype))


def test_a_dot_after_a_whole_number_ends_the_triple() -> None:
    pattern = parse_query("ASK { ?s ?p 1. ?s ?p 2 }").pattern
    assert isinstance(pattern, BasicPattern)
    assert len(pattern.triples) == 2


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("'a\"b'", 'a"b'),
        ('"a\\t\\"\\\\ \\n"', 'a\t"\\ \n'),
        ('"""a\n"b"" c"""', 'a\n"b"" c'),
        ("''' '' '''", " '' "),
        ("''", ""),
        ('""""""', ""),
        ("'# no comment'", "# no comment"),
        ("'\\u00E9\\U0001F600'", "é😀"),
        ("'\\\\u0041'", "\\u0041"),
    ],
)
def test_strings_in_all_quotes_and_with_escapes(written: str, value: str) -> None:
    assert term(written) == Literal(value)


def test_language_tags_are_lower_case_and_datatypes_are_kept() -> None:
    assert term("'a'@EN-us") == Literal("a", language="en-us")
    assert term('"200"^^xsd:byte') == Literal("200", datatype=NamedNode(XSD + "byte"))
    assert term('"a"^^xsd:string') == Literal("a")
    assert term("'a' # between\n ^^ # and\n <urn:x:t>") == Literal("a", datatype=NamedNode("urn:x:t"))
    assert term("true") == Literal("true", datatype=NamedNode(XSD + "boolean"))
    assert term("FALSE") == Literal("false", datatype=NamedNode(XSD + "boolean"))


def test_the_usual_prefixes_are_declared_unless_a_query_declares_them_otherwise() -> None:
    for prefix, namespace in DECLARED.items():
        assert term(f"{prefix}:x") == NamedNode(namespace + "x")
    assert term("dc:x", "PREFIX dc: <urn:mine:>") == NamedNode("urn:mine:x")
    assert term("dc:x", "PREFIX dc: <urn:mine:> prefix dc: <urn:later:>") == NamedNode("urn:later:x")


@pytest.mark.parametrize(
    ("name", "iri"),
    [
        (":", "urn:e:"),
        (":a.b.c", "urn:e:a.b.c"),
        (":a:b", "urn:e:a:b"),
        (":1", "urn:e:1"),
        (":%41", "urn:e:%41"),
        (r":a\/b\~", "urn:e:a/b~"),
        (r"p.q:é-1", "urn:pq:é-1"),
        (":\\u0061", "urn:e:a"),
    ],
)
def test_prefixed_names(name: str, iri: str) -> None:
    assert term(name, "PREFIX : <urn:e:> PREFIX p.q: <urn:pq:>") == NamedNode(iri)


def test_a_dot_after_a_name_ends_the_triple() -> None:
    pattern = parse_query("ASK { ?s ?p dc:a. ?s ?p dc:b.}").pattern
    assert isinstance(pattern, BasicPattern)
    assert [str(edge.object) for edge in pattern.triples] == [f"<{DECLARED['dc']}{name}>" for name in "ab"]


@pytest.mark.parametrize(
    ("reference", "iri"),
    [
        ("", "http://e.org/a/b"),
        ("c", "http://e.org/a/c"),
        ("/c", "http://e.org/c"),
        ("#c", "http://e.org/a/b#c"),
        ("../../c", "http://e.org/c"),
        ("?q", "http://e.org/a/b?q"),
        ("//f.org", "http://f.org"),
        ("urn:x:../y", "urn:x:../y"),
        ("HTTP://E.org/%7e/../x", "HTTP://E.org/%7e/../x"),
    ],
)
def test_relative_iris_resolve_against_base_and_absolute_ones_stay_as_written(reference: str, iri: str) -> None:
    assert term(f"<{reference}>", "BASE <http://e.org/a/b>") == NamedNode(iri)


def test_base_and_prefix_take_effect_in_order() -> None:
    prologue = "BASE <http://e.org/a/> PREFIX x: <x#> BASE <b/>"
    assert term("x:y", prologue) == NamedNode("http://e.org/a/x#y")
    assert term("<y>", prologue) == NamedNode("http://e.org/a/b/y")


@pytest.mark.parametrize(
    ("constant", "column", "message"),
    [
        ("<a>", 13, "is relative and the query has no BASE"),
        ("no:thing", 13, "the prefix no: is not declared"),
        ("<http://e.org/%zz>", 13, "is no IRI"),
        ("'a'@abcdefghij", 13, "is no language tag"),
        ("'a\\qb'", 13, "unknown escape \\q"),
        ("'a", 13, "this string does not end"),
        ("<a b>", 13, "unexpected <"),
        ("'\\uD800'", 14, "is no character"),
    ],
)
def test_a_constant_that_is_no_term_is_an_error_at_its_place(constant: str, column: int, message: str) -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query(f"ASK {{ ?s ?p {constant} }}")
    assert message in caught.value.message
    assert (caught.value.line, caught.value.column) == (1, column)


def test_places_count_in_the_text_as_written_where_escapes_stand_before() -> None:
    with pytest.raises(QuerySyntaxError) as caught:
        parse_query("ASK { ?s ?p '\\u0041\\u0042' ?\n}")
    assert (caught.value.line, caught.value.column) == (1, 28)


def test_variables_in_both_spellings_are_one() -> None:
    assert parse_query("SELECT ?x { $x ?p ?x }") == parse_query("SELECT $x { ?x ?p ?x }")


@pytest.mark.parametrize(
    "text", ["ASK{?s ?p ?o}", "ask\twhere\r\n{\n?s\t?p ?o # end\n}", "# first\nASK { ?s ?p ?o } # last"]
)
def test_layout_and_letter_case_of_keywords_do_not_matter(text: str) -> None:
    assert parse_query(text) == parse_query("ASK { ?s ?p ?o }")


def test_plain_numbers_are_read_as_all_others_are(seed: int) -> None:
    """What is read without a look at its terminal, and what is not, name the same templates and constants."""
    source = random.Random(seed)
    for _ in range(300):
        digits = "".join(source.choices("0123456789", k=source.randint(1, 17)))
        at = source.randint(0, len(digits))
        number = source.choice((digits, f"{digits[:at]}.{digits[at:]}", f"+{digits}", f"{digits}e1"))
        text = f"ASK {{ ?s <urn:p> ?v FILTER(?v >= {number} ) }}"
        try:
            expected = parse_query(text)
        except QuerySyntaxError:
            with pytest.raises(QuerySyntaxError):
                parse_template(text)
            continue
        template, constants = parse_template(text)
        assert fill(template.query, constants) == expected, number
        assert template.kinds == tuple(map(slot_kind, constants))


def test_tokens_are_found_alike_with_and_without_their_space(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(500):
        text = "".join(source.choices(" \t\n\u00a0\x1f\u2028?xb:<>a\"'.#1(){}[]\\|&", k=source.randint(0, 40)))
        start = source.randint(0, len(text))
        expected = [token.rstrip() if token[0] == "#" else token for token in TOKEN.findall(text, start)]
        assert [token.rstrip() for token in find_tokens(text, start)] == expected
