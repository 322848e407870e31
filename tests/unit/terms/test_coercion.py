"""RDQL's readings of a term."""

from __future__ import annotations

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms.casts import coerce_to_number, coerce_to_text, reads_as_number

XSD = "http://www.w3.org/2001/XMLSchema#"


@pytest.mark.parametrize(
    ("text", "datatype"),
    [
        ("24", "integer"),
        ("-024", "integer"),
        ("9223372036854775807", "integer"),
        ("9223372036854775808", "double"),
        ("2.50", "decimal"),
        ("5.", "decimal"),
        ("+.5", "decimal"),
        ("0.1234567890123456789", "double"),
        ("1e3", "double"),
        ("-.5E-3", "double"),
    ],
)
def test_a_plain_literal_that_is_written_as_a_number_is_one(text: str, datatype: str) -> None:
    assert reads_as_number(text)
    assert coerce_to_number(Literal(text)) == Literal(text, datatype=NamedNode(XSD + datatype))


@pytest.mark.parametrize(
    "text", ["", " 24", "24\n", "24 ", "1a", "NaN", "INF", "-INF", ".", "e3", "1e", "0x1", "٣", "--1"]
)
def test_other_texts_are_no_numbers(text: str) -> None:
    assert not reads_as_number(text)
    assert coerce_to_number(Literal(text)) == Literal(text)


@pytest.mark.parametrize(
    "term",
    [
        Literal("24", language="en"),
        Literal("24", datatype=NamedNode(XSD + "byte")),
        Literal("24", datatype=NamedNode(XSD + "token")),
        NamedNode("urn:24"),
        BlankNode("24"),
    ],
)
def test_only_plain_literals_are_read(term: Term) -> None:
    assert coerce_to_number(term) == term


def test_the_text_of_each_kind_of_term() -> None:
    terms = (Literal("a", language="en"), Literal("01", datatype=NamedNode(XSD + "int")), NamedNode("urn:a"))
    assert [coerce_to_text(term) for term in (*terms, BlankNode("c14n0"))] == ["a", "01", "urn:a", "_:c14n0"]
