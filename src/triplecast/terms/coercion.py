"""RDQL's coercions of a term to a number and to text (semantics 7.1).

Both are total; comparisons and arithmetic on the results are SPARQL's (`terms.compare`, `terms.arithmetic`).
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


def coerce_to_number(term: Term) -> Term:
    """Return the number that a plain literal (without datatype and tag) spells; any other term unchanged.

    The number is an xsd:integer, an xsd:decimal (with a point) or an xsd:double (with an exponent, or with more digits
    than the other two hold exactly).
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


def coerce_to_text(term: Term) -> str:
    """Return the lexical form of a literal, an IRI as written, or a blank node as bindings show it (``_:c14n0``).

    Two terms that are not literals have the same text only if they are the same term.
    """
    return str(term) if isinstance(term, BlankNode) else term.value
