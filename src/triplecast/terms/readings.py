"""RDQL's two ways to look at a term: as the number that a plain literal reads as, and as text (semantics 7.1).

Both are total: comparisons and arithmetic on what they give are SPARQL's (`terms.compare`, `terms.arithmetic`).
"""

from __future__ import annotations

import re

from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms.values import (
    ILL_VALUE,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_INTEGER,
    XSD_STRING,
    literal_value,
)

_NUMBER = re.compile(
    r"[+-]?(?:([0-9]+)|[0-9]+\.[0-9]*|\.[0-9]+)|([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]+)"
)
_INTEGER, _DECIMAL, _DOUBLE = (NamedNode(name) for name in (XSD_INTEGER, XSD_DECIMAL, XSD_DOUBLE))


def reads_as_number(text: str) -> bool:
    """Whether the whole text is a number: digits with a sign, a point or an exponent; no space, no ``INF``."""
    return _NUMBER.fullmatch(text) is not None


def number_reading(term: Term) -> Term:
    """A plain literal (without datatype and tag) that reads as a number as that number, any other term as it is.

    The number is an xsd:integer, an xsd:decimal (with a point) or an xsd:double (with an exponent), and a double too
    where it has more digits than those hold exactly.
    """
    if not isinstance(term, Literal) or term.language is not None or term.datatype.value != XSD_STRING:
        return term
    text = term.value
    match = _NUMBER.fullmatch(text)
    if match is None:
        return term
    datatype = _DOUBLE if match[2] else _INTEGER if match[1] else _DECIMAL
    if literal_value(text, datatype.value) == ILL_VALUE:
        datatype = _DOUBLE
    return Literal(text, datatype=datatype)


def text_reading(term: Term) -> str:
    """The lexical form of a literal, an IRI as written, a blank node as bindings show it (``_:c14n0``).

    So an IRI and a blank node never have the same text, and two that are no literals have it only if they are one.
    """
    return str(term) if isinstance(term, BlankNode) else term.value
