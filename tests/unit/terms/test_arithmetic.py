"""Arithmetic, rounding functions and casts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms import casts
from triplecast.terms.arithmetic import calculate, negate, round_number
from triplecast.terms.compare import ValueFault
from triplecast.terms.values import XSD


def term(text: str) -> Term:
    """``5 integer`` as a literal of that XSD type."""
    lexical, datatype = text.rsplit(" ", 1)
    return Literal(lexical, datatype=NamedNode(XSD + datatype))


def written(literal: Term) -> str:
    assert isinstance(literal, Literal)
    return f"{literal.value} {literal.datatype.value.removeprefix(XSD)}"


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        ("2 integer", "+", "3 byte", "5 integer"),
        ("2 integer", "*", "3.50 decimal", "7 decimal"),
        ("1 integer", "/", "4 integer", "0.25 decimal"),
        ("4 integer", "/", "2 integer", "2 decimal"),
        ("1 integer", "/", "3 integer", "0.333333333333333333 decimal"),
        ("20 integer", "/", "3 integer", "6.666666666666666667 decimal"),
        (
            "123456789.123456789 decimal",
            "+",
            "1000000000.000000000000000001 decimal",
            "1123456789.123456789000000001 decimal",
        ),
        ("0.000000000000000001 decimal", "/", "2 integer", "0 decimal"),
        ("0.000000000000000003 decimal", "/", "2 integer", "0.000000000000000002 decimal"),
        ("0.1 decimal", "-", "0.3 decimal", "-0.2 decimal"),
        ("1 integer", "+", "1.5 float", "2.5E0 float"),
        ("0.1 float", "+", "0.2 float", "3.0E-1 float"),
        ("0.1 float", "+", "0.2 double", "3.0000000149011613E-1 double"),
        ("1e0 double", "/", "0 integer", "INF double"),
        ("-1e0 double", "/", "0 integer", "-INF double"),
        ("0e0 double", "/", "0 integer", "NaN double"),
        ("1e308 double", "*", "10 integer", "INF double"),
        ("3e38 float", "*", "10 integer", "INF float"),
    ],
)
def test_calculate(left: str, operator: str, right: str, expected: str) -> None:
    assert written(calculate(operator, term(left), term(right))) == expected


@pytest.mark.parametrize(
    ("left", "operator", "right"),
    [
        ("9223372036854775807 integer", "+", "1 integer"),
        ("-9223372036854775808 integer", "-", "1 integer"),
        ("4294967296 integer", "*", "4294967296 integer"),
        ("999999999999999999.5 decimal", "+", "0.5 decimal"),
        ("9223372036854775807 integer", "+", "0.0 decimal"),
        ("123456789.123456789 decimal", "*", "0.1234567891 decimal"),
        ("1 integer", "/", "0 integer"),
        ("1 integer", "/", "0.0 decimal"),
        ("200 byte", "+", "1 integer"),
        ("1 string", "+", "1 integer"),
        ("2020-01-01 date", "-", "2019-01-01 date"),
    ],
)
def test_calculate_errs(left: str, operator: str, right: str) -> None:
    with pytest.raises(ValueFault):
        calculate(operator, term(left), term(right))


def test_negation() -> None:
    assert written(negate(term("5 byte"))) == "-5 integer"
    assert written(negate(term("0e0 double"))) == "-0.0E0 double"
    with pytest.raises(ValueFault):
        negate(term("-9223372036854775808 integer"))


@pytest.mark.parametrize(
    ("function", "argument", "expected"),
    [
        ("ABS", "-5 byte", "5 integer"),
        ("ABS", "-0.50 decimal", "0.5 decimal"),
        ("CEIL", "-2.5 decimal", "-2 decimal"),
        ("FLOOR", "-2.5 decimal", "-3 decimal"),
        ("ROUND", "-2.5 decimal", "-2 decimal"),
        ("ROUND", "2.5 decimal", "3 decimal"),
        ("ROUND", "2.49999999999999999 decimal", "2 decimal"),
        ("ROUND", "999999999999999998.500000000000000000 decimal", "999999999999999999 decimal"),
        ("CEIL", "0.000000000000000001 decimal", "1 decimal"),
        ("ROUND", "-2.5 double", "-2.0E0 double"),
        ("ROUND", "-0.4 double", "-0.0E0 double"),
        ("ROUND", "0.49999999999999994 double", "0.0E0 double"),
        ("CEIL", "1.1 float", "2.0E0 float"),
        ("FLOOR", "INF double", "INF double"),
    ],
)
def test_rounding(function: str, argument: str, expected: str) -> None:
    assert written(round_number(function, term(argument))) == expected


@pytest.mark.parametrize(
    ("cast", "argument", "expected"),
    [
        (casts.to_integer, " 5 string", "5 integer"),
        (casts.to_integer, "-2.9 decimal", "-2 integer"),
        (casts.to_integer, "1e3 double", "1000 integer"),
        (casts.to_integer, "true boolean", "1 integer"),
        (casts.to_decimal, "0.1 double", "0.1 decimal"),
        (casts.to_decimal, "0.1 float", "0.1 decimal"),
        (casts.to_decimal, "false boolean", "0 decimal"),
        (casts.to_decimal, "01.50 string", "1.5 decimal"),
        (casts.to_decimal, "1.2345678901234567e-10 double", "0.000000000123456789 decimal"),
        (casts.to_double, "3 integer", "3.0E0 double"),
        (casts.to_double, "INF string", "INF double"),
        (casts.to_float, "0.1 double", "1.0E-1 float"),
        (casts.to_boolean, "0.0 decimal", "false boolean"),
        (casts.to_boolean, "NaN double", "false boolean"),
        (casts.to_boolean, "1 string", "true boolean"),
        (casts.to_string, "01 integer", "1 string"),
        (casts.to_string, "1.50 decimal", "1.5 string"),
        (casts.to_string, "1e7 double", "1.0E7 string"),
        (casts.to_string, "1.5 double", "1.5 string"),
        (casts.to_string, "0.1 float", "0.1 string"),
        (casts.to_string, "1 boolean", "true string"),
        (casts.to_string, "2020-01-01Z date", "2020-01-01Z string"),
        (casts.to_datetime, "2020-01-01T00:00:00 string", "2020-01-01T00:00:00 dateTime"),
    ],
)
def test_cast(cast: Callable[[Term], Literal], argument: str, expected: str) -> None:
    assert written(cast(term(argument))) == expected


@pytest.mark.parametrize(
    ("cast", "argument"),
    [
        (casts.to_integer, "1.5 string"),
        (casts.to_integer, "NaN double"),
        (casts.to_integer, "1e30 double"),
        (casts.to_integer, "200 byte"),
        (casts.to_decimal, "1e0 string"),
        (casts.to_decimal, "INF double"),
        (casts.to_decimal, "1e18 double"),
        (casts.to_decimal, "9223372036854775807 integer"),
        (casts.to_boolean, "yes string"),
        (casts.to_boolean, "2020-01-01 date"),
        (casts.to_double, "x string"),
        (casts.to_datetime, "2020-01-01 string"),
        (casts.to_datetime, "2020-01-01 date"),
        (casts.to_string, "200 byte"),
    ],
)
def test_cast_errs(cast: Callable[[Term], Literal], argument: str) -> None:
    with pytest.raises(ValueFault):
        cast(term(argument))


def test_strings_of_other_terms() -> None:
    assert casts.to_string(NamedNode("urn:x")) == Literal("urn:x")
    assert casts.to_string(Literal("x", language="en")) == Literal("x")
    with pytest.raises(ValueFault):
        casts.to_string(BlankNode("b"))
    with pytest.raises(ValueFault):
        casts.to_integer(NamedNode("urn:x"))


def test_a_quotient_beyond_18_digits_before_the_point_is_an_error() -> None:
    with pytest.raises(ValueFault, match="18 digits"):
        calculate("/", term("1 integer"), term("0.000000000000000001 decimal"))
