"""Casts to the XSD types (SPARQL 17.5, XPath functions and operators 3.0 section 18), and RDQL's coercions.

Text is trimmed of XML white space before it is read as another type. A float or double becomes the decimal of its
shortest written form (``xsd:decimal(0.1e0)`` is 0.1), rounded to 18 digits after the point.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType

from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms.arithmetic import (
    decimal_term,
    decimal_text,
    double_term,
    float_term,
    float_text,
    integer_term,
    number_of,
    rounded_decimal,
    shortest_single,
)
from triplecast.terms.compare import ValueFault, as_double
from triplecast.terms.values import (
    ILL_VALUE,
    XSD_BOOLEAN,
    XSD_DATETIME,
    XSD_DECIMAL,
    XSD_DOUBLE,
    XSD_FLOAT,
    XSD_INTEGER,
    XSD_STRING,
    Value,
    ValueClass,
    literal_value,
    value_of,
)

_BOOLEAN = NamedNode(XSD_BOOLEAN)
_DATETIME = NamedNode(XSD_DATETIME)
_XML_SPACE = " \t\n\r"

TRUE = Literal("true", datatype=_BOOLEAN)
FALSE = Literal("false", datatype=_BOOLEAN)


def boolean_term(value: bool) -> Literal:
    return TRUE if value else FALSE


def to_string(term: Term) -> Literal:
    """Cast to xsd:string: an IRI's text, a number or boolean in canonical form, any other literal without its tag."""
    if isinstance(term, BlankNode):
        raise ValueFault("a blank node has no string")
    if isinstance(term, NamedNode):
        return Literal(term.value)
    kind, exact = value_of(term)
    if kind == ValueClass.BOOLEAN:
        return Literal("true" if exact else "false")
    if isinstance(exact, float):
        return Literal(_plain_float(exact, single=kind == ValueClass.FLOAT))
    if kind == ValueClass.EXACT:
        return Literal(decimal_text(exact) if isinstance(exact, Decimal) else str(exact))
    if kind == ValueClass.ILL:
        raise ValueFault(f"{term} has no value to write as a string")
    return Literal(term.value)


def to_boolean(term: Term) -> Literal:
    kind, exact = _castable(term, XSD_BOOLEAN)
    if kind == ValueClass.BOOLEAN:
        return boolean_term(bool(exact))
    if ValueClass.EXACT <= kind <= ValueClass.DOUBLE:
        return boolean_term(bool(exact) and exact == exact)
    raise ValueFault(f"{term} cannot become xsd:boolean")


def to_integer(term: Term) -> Literal:
    """Cast to xsd:integer; a fraction is cut towards zero."""
    kind, exact = _castable(term, XSD_INTEGER)
    if isinstance(exact, float) and not math.isfinite(exact):
        raise ValueFault("INF and NaN cannot become xsd:integer")
    if kind == ValueClass.BOOLEAN or (ValueClass.EXACT <= kind <= ValueClass.DOUBLE):
        assert isinstance(exact, bool | int | float | Decimal)
        return integer_term(int(exact))
    raise ValueFault(f"{term} cannot become xsd:integer")


def to_decimal(term: Term) -> Literal:
    kind, exact = _castable(term, XSD_DECIMAL)
    if isinstance(exact, float):
        if not math.isfinite(exact):
            raise ValueFault("INF and NaN cannot become xsd:decimal")
        shortest = shortest_single(exact) if kind == ValueClass.FLOAT else repr(exact)
        return rounded_decimal(Fraction(shortest))
    if kind == ValueClass.BOOLEAN or kind == ValueClass.EXACT:
        assert isinstance(exact, bool | int | Decimal)
        return decimal_term(exact if isinstance(exact, Decimal) else Decimal(int(exact)))
    raise ValueFault(f"{term} cannot become xsd:decimal")


def to_float(term: Term) -> Literal:
    value = _castable(term, XSD_FLOAT)
    return float_term(_floating(value, term))


def to_double(term: Term) -> Literal:
    value = _castable(term, XSD_DOUBLE)
    return double_term(_floating(value, term))


def to_datetime(term: Term) -> Literal:
    """Cast to xsd:dateTime: a well-typed one, or text that reads as one."""
    kind, _ = _castable(term, XSD_DATETIME)
    if kind not in (ValueClass.DATETIME, ValueClass.DATETIME_LOCAL):
        raise ValueFault(f"{term} cannot become xsd:dateTime")
    assert isinstance(term, Literal)
    return Literal(term.value.strip(_XML_SPACE), datatype=_DATETIME)


CASTS: Mapping[str, Callable[[Term], Literal]] = MappingProxyType(
    {
        XSD_STRING: to_string,
        XSD_BOOLEAN: to_boolean,
        XSD_INTEGER: to_integer,
        XSD_DECIMAL: to_decimal,
        XSD_FLOAT: to_float,
        XSD_DOUBLE: to_double,
        XSD_DATETIME: to_datetime,
    }
)
"""By the IRI of the function."""


def _castable(term: Term, datatype: str) -> Value:
    """Return the term's value; for a plain string, that of its text read as `datatype`."""
    value = value_of(term)
    if value.kind != ValueClass.STRING:
        return value
    assert isinstance(value.exact, str)
    return literal_value(value.exact.strip(_XML_SPACE), datatype)


def _floating(value: Value, term: Term) -> float:
    if value.kind == ValueClass.BOOLEAN:
        return 1.0 if value.exact else 0.0
    if ValueClass.EXACT <= value.kind <= ValueClass.DOUBLE:
        assert isinstance(value.exact, int | Decimal | float)
        return as_double(value.exact)
    raise ValueFault(f"{number_of(term)} cannot become a float")


def _plain_float(number: float, single: bool) -> str:
    """Return XPath's string of a float: without exponent between 1e-6 and 1e6."""
    shortest = shortest_single(number) if single else repr(number)
    if number == 0:
        return "-0" if math.copysign(1, number) < 0 else "0"
    if math.isfinite(number) and 1e-6 <= abs(number) < 1e6:
        return decimal_text(Decimal(shortest).normalize())
    return float_text(number, shortest)


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
