"""The slow reader's values, each line a sentence of semantics 3 or of XSD."""

from __future__ import annotations

import pytest

from tests.reference.terms import XSD, Term, literal
from tests.reference.values import TypeFault, compare, effective_boolean, nearest_single, value_of


def typed(text: str) -> Term:
    """``5^integer`` as a literal."""
    lexical, _, name = text.rpartition("^")
    return literal(lexical, XSD + name)


def outcome(operator: str, left: str, right: str) -> bool | None:
    try:
        return compare(operator, typed(left), typed(right))
    except TypeFault:
        return None


@pytest.mark.parametrize(
    ("left", "operator", "right", "expected"),
    [
        ("01^integer", "=", "1.0^decimal", True),
        ("0.1^float", "=", "0.1^decimal", True),
        ("0.1^float", "=", "0.1^double", False),
        ("0.1^decimal", "=", "0.1^double", True),
        ("NaN^double", "=", "NaN^double", False),
        ("NaN^double", "!=", "NaN^double", True),
        ("NaN^double", "<", "1^integer", False),
        ("-0.0^double", "=", "0^integer", True),
        ("9223372036854775807^integer", ">", "9223372036854775806^integer", True),
        ("9223372036854775808^integer", ">", "1^integer", None),
        ("9223372036854775808^integer", "=", "9223372036854775808^integer", True),
        ("0.1234567890123456789^decimal", "=", "1^integer", None),
        ("0.123456789012345678^decimal", "<", "0.123456789012345679^decimal", True),
        ("200^byte", "=", "200^integer", None),
        (" 5^integer", "=", "5^integer", None),
        ("true^boolean", ">", "0^boolean", True),
        ("1^boolean", "=", "1^integer", False),
        ("1^boolean", "<", "1^integer", None),
        ("2024-02-28T24:00:00Z^dateTime", "=", "2024-02-29T00:00:00Z^dateTime", True),
        ("24:00:00^time", "=", "00:00:00^time", True),
        ("2024-02-29T12:00:00^dateTime", "<", "2024-03-01T02:00:00.001Z^dateTime", True),
        ("2024-02-29T12:00:00^dateTime", "<", "2024-03-01T02:00:00Z^dateTime", None),
        ("2024-02-29T12:00:00^dateTime", "!=", "2024-03-02T02:00:00Z^dateTime", True),
        ("2024-02-29T12:00:00^dateTime", "=", "2024-02-29T12:00:00Z^dateTime", None),
        ("2024-02-29+14:00^date", "<", "2024-02-29Z^date", True),
        ("P1Y^yearMonthDuration", "=", "P12M^yearMonthDuration", True),
        ("P1D^dayTimeDuration", "<", "PT86400.5S^dayTimeDuration", True),
        ("P1D^duration", "=", "PT24H^duration", None),
        ("-0044^gYear", "<", "2024^gYear", True),
        ("2023-02-29T00:00:00Z^dateTime", "<", "2024-01-01T00:00:00Z^dateTime", None),
    ],
)
def test_comparisons(left: str, operator: str, right: str, expected: bool | None) -> None:
    assert outcome(operator, left, right) is expected


def test_equality_across_kinds_of_term() -> None:
    assert compare("=", literal("a", language="en"), literal("a")) is False
    assert compare("!=", literal("a", language="en"), typed("x^byte")) is True
    assert compare("=", ("iri", "urn:x"), typed("x^byte")) is False


def test_strings_stand_by_code_point() -> None:
    assert compare("<", literal("\uffef"), literal("\U0001f600"))


@pytest.mark.parametrize(("text", "expected"), [("abc^integer", False), ("2^boolean", False), ("NaN^float", False)])
def test_ill_typed_numbers_and_booleans_are_false(text: str, expected: bool) -> None:
    assert effective_boolean(typed(text)) is expected


def test_other_datatypes_have_no_boolean_value() -> None:
    with pytest.raises(TypeFault):
        effective_boolean(typed("2024-02-29^date"))


def test_floats_round_once() -> None:
    """1 + 2**-24 + 2**-60 lies above the middle of two floats; by way of a double it would look like the middle."""
    assert nearest_single("1.000000059604644775390625867361737988403547205962240695953369140625") == 1 + 2**-23
    assert nearest_single("-1.000000059604644775390625") == -1.0
    assert value_of(typed("-1e-60^float")).number == 0
