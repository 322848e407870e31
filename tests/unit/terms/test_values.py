"""Lexical spaces, bounds and order keys."""

from __future__ import annotations

import math
import random
from decimal import Decimal
from fractions import Fraction

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode

from triplecast.model.comparison_codes import Lane
from triplecast.terms.compare import COMPARISONS, ValueFault, compare
from triplecast.terms.values import (
    SMALLEST_INTEGER,
    XSD,
    Value,
    ValueClass,
    literal_value,
    order_key,
    place,
    to_single,
    value_of,
)

C = ValueClass


def key(lexical: str, datatype: str) -> tuple[ValueClass, float, int]:
    return order_key(f'"{lexical}"^^<{XSD}{datatype}>')


@pytest.mark.parametrize(
    ("lexical", "datatype", "expected"),
    [
        ("01", "integer", (C.EXACT, 1.0, 0)),
        ("+5", "byte", (C.EXACT, 5.0, 0)),
        ("-0", "unsignedByte", (C.EXACT, 0.0, 0)),
        ("000000000000000000000000000007", "int", (C.EXACT, 7.0, 0)),
        ("9223372036854775807", "integer", (C.EXACT, 2.0**63, -1)),
        ("-9223372036854775808", "long", (C.EXACT, -(2.0**63), 1)),
        ("9007199254740993", "integer", (C.EXACT, 9007199254740992.0, 1)),
        ("123456789012345", "integer", (C.EXACT, 123456789012345.0, 0)),
        ("0.1", "decimal", (C.EXACT, 0.1, 0)),
        ("+1.0", "decimal", (C.EXACT, 1.0, 0)),
        ("-.5", "decimal", (C.EXACT, -0.5, 0)),
        ("5.", "decimal", (C.EXACT, 5.0, 0)),
        ("0.1234567890123456", "decimal", (C.EXACT, 0.1234567890123456, -1)),
        ("1.234567890123456789", "decimal", (C.EXACT, 1.2345678901234568, -1)),
        ("-123456789012345678.123456789012345678", "decimal", (C.EXACT, -123456789012345680.0, 1)),
        ("0" * 30 + "1." + "0" * 30, "decimal", (C.EXACT, 1.0, 0)),
        ("0." + "0" * 30, "decimal", (C.EXACT, 0.0, 0)),
        ("0.1", "float", (C.FLOAT, to_single(0.1), 0)),
        ("16777217.0000000001", "float", (C.FLOAT, 16777218.0, 0)),
        ("16777217", "float", (C.FLOAT, 16777216.0, 0)),
        ("3.5e38", "float", (C.FLOAT, math.inf, 0)),
        ("1e400", "double", (C.DOUBLE, math.inf, 0)),
        ("+INF", "double", (C.DOUBLE, math.inf, 0)),
        ("-INF", "float", (C.FLOAT, -math.inf, 0)),
        ("1", "boolean", (C.BOOLEAN, 1.0, 0)),
        ("false", "boolean", (C.BOOLEAN, 0.0, 0)),
        ("1970-01-01T00:00:00Z", "dateTime", (C.DATETIME, 0.0, 0)),
        ("1970-01-01T00:00:00.0010", "dateTime", (C.DATETIME_LOCAL, 1.0, 0)),
        ("1970-01-01T00:00:00.00100001", "dateTime", (C.DATETIME_LOCAL, 1.0, 1)),
        ("1969-12-31T23:59:59.9995Z", "dateTime", (C.DATETIME, -1.0, 1)),
        ("1970-01-01T14:00:00+14:00", "dateTime", (C.DATETIME, 0.0, 0)),
        ("1969-12-31T24:00:00Z", "dateTime", (C.DATETIME, 0.0, 0)),
        ("0000-02-29T00:00:00Z", "dateTime", (C.DATETIME, -62162121600000.0, 0)),
        ("1970-01-01+01:00", "date", (C.DATE, -3600000.0, 0)),
        ("1970-01-02", "date", (C.DATE_LOCAL, 86400000.0, 0)),
        ("00:00:00+14:00", "time", (C.TIME, -50400000.0, 0)),
        ("24:00:00", "time", (C.TIME_LOCAL, 0.0, 0)),
        ("1971", "gYear", (C.GYEAR_LOCAL, 31536000000.0, 0)),
        ("1970-02Z", "gYearMonth", (C.GYEARMONTH, 2678400000.0, 0)),
        ("-P1Y2M", "yearMonthDuration", (C.YEARMONTHDURATION, -14.0, 0)),
        ("P1DT1.5S", "dayTimeDuration", (C.DAYTIMEDURATION, 86401500.0, 0)),
        ("PT0.0000000001S", "dayTimeDuration", (C.DAYTIMEDURATION, 1e-7, 1)),
    ],
)
def test_order_key(lexical: str, datatype: str, expected: tuple[ValueClass, float, int]) -> None:
    assert key(lexical, datatype) == expected


@pytest.mark.parametrize(
    ("lexical", "datatype"),
    [
        (" 5", "integer"),
        ("5 ", "integer"),
        ("5.0", "integer"),
        ("", "integer"),
        ("１", "integer"),
        ("9223372036854775808", "integer"),
        ("18446744073709551615", "unsignedLong"),
        ("9" * 5000, "integer"),
        ("200", "byte"),
        ("-129", "byte"),
        ("256", "unsignedByte"),
        ("65536", "unsignedShort"),
        ("4294967296", "unsignedInt"),
        ("-1", "nonNegativeInteger"),
        ("0", "positiveInteger"),
        ("1", "nonPositiveInteger"),
        ("0", "negativeInteger"),
        ("1.2345678901234567891", "decimal"),
        ("1234567890123456789", "decimal"),
        ("1" + "0" * 18, "decimal"),
        ("0." + "0" * 18 + "1", "decimal"),
        (".", "decimal"),
        ("1e0", "decimal"),
        ("INF", "decimal"),
        ("1e", "double"),
        ("inf", "double"),
        ("+NaN", "double"),
        ("0x1p3", "double"),
        ("1_000", "double"),
        ("True", "boolean"),
        ("01", "boolean"),
        ("2023-02-29T00:00:00", "dateTime"),
        ("2023-04-31", "date"),
        ("1900-02-29", "date"),
        ("2023-1-01", "date"),
        ("00123-01-01", "date"),
        ("2023-01-01T24:00:01", "dateTime"),
        ("2023-01-01T23:59:60", "dateTime"),
        ("2023-01-01T00:00:00.", "dateTime"),
        ("2023-01-01T00:00:00+14:01", "dateTime"),
        ("2023-01-01T00:00:00-00:60", "dateTime"),
        ("2023-01-01T00:00:00z", "dateTime"),
        ("23", "gYear"),
        ("1" * 19, "gYear"),
        ("2023-13", "gYearMonth"),
        ("P", "yearMonthDuration"),
        ("P1D", "yearMonthDuration"),
        ("P1DT", "dayTimeDuration"),
        ("PT.5S", "dayTimeDuration"),
        ("P1Y", "duration"),
        ("x", "token"),
        ("x", "anyURI"),
    ],
)
def test_ill_typed_and_unrecognised(lexical: str, datatype: str) -> None:
    kind, number, tie = key(lexical, datatype)
    assert kind == C.ILL
    assert math.isnan(number)
    assert tie == 0


def test_terms_without_a_place() -> None:
    assert order_key("<urn:x>") == (C.IRI, 0.0, 0)
    assert order_key("_:b") == (C.BLANK, 0.0, 0)
    assert order_key('"1"') == (C.STRING, 0.0, 0)
    assert order_key('"a\\"^^<b"') == (C.STRING, 0.0, 0)
    assert order_key('"1"@en') == (C.LANG, 0.0, 0)
    assert order_key('"1"^^<urn:mine>')[0] == C.ILL
    assert order_key(f'"1\\n"^^<{XSD}integer>')[0] == C.ILL
    with pytest.raises(ValueError, match="N-Triples"):
        order_key('"1"^^nonsense')


def test_not_a_number_is_in_its_class() -> None:
    kind, number, tie = key("NaN", "float")
    assert (kind, tie) == (C.FLOAT, 0)
    assert math.isnan(number)
    assert math.copysign(1, key("-0.0", "double")[1]) == -1


def test_the_cached_form_agrees_with_the_textual_one() -> None:
    for term in (Literal("5"), Literal("5", language="en"), NamedNode("urn:x"), BlankNode("b"), typed("5", "byte")):
        assert place(value_of(term)) == order_key(str(term))


def typed(lexical: str, datatype: str) -> Literal:
    return Literal(lexical, datatype=NamedNode(XSD + datatype))


def random_exact(source: random.Random) -> Literal:
    if source.random() < 0.3:
        return typed(str(source.choice((1, -1)) * source.randrange(10 ** source.randint(1, 18))), "integer")
    digits = str(source.randrange(1, 10 ** source.randint(1, 18)))
    point = source.randint(0, len(digits))
    return typed(source.choice(("", "-")) + f"{digits[:point] or '0'}.{digits[point:]}", "decimal")


def near(literal: Literal, source: random.Random) -> Literal:
    """Another exact number that often rounds to the same double."""
    exact = value_of(literal).exact
    assert isinstance(exact, int | Decimal)
    moved = Decimal(exact) + Decimal(source.choice((-1, 0, 1))).scaleb(
        Decimal(exact).adjusted() - source.randint(14, 17)
    )
    return typed(f"{moved:f}", "decimal")


def test_order_keys_decide_every_comparison_with_a_constant_of_tie_zero(seed: int) -> None:
    source = random.Random(seed)
    decided = 0
    for _ in range(4_000):
        constant = random_exact(source)
        _, number, tie = order_key(str(constant))
        value = near(constant, source) if source.random() < 0.7 else random_exact(source)
        kind, place_number, place_tie = order_key(str(value))
        if tie != 0 or kind == C.ILL:
            continue
        decided += 1
        exact = Fraction(value_of(value).exact) - Fraction(value_of(constant).exact)  # type: ignore[arg-type]
        for operator, holds in COMPARISONS.items():
            assert holds((place_number, place_tie), (number, 0)) == holds(exact, 0), (value, operator, constant)
            assert compare(operator, value, constant) == holds(exact, 0)
    assert decided > 1_500


def test_tie_is_zero_up_to_fifteen_digits(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(2_000):
        literal = random_exact(source)
        digits = literal.value.lstrip("-").replace(".", "").strip("0")
        assert (order_key(str(literal))[2] == 0) == (len(digits) <= 15), literal


def test_floats_are_rounded_once(seed: int) -> None:
    source = random.Random(seed)
    for _ in range(500):
        low = to_single(source.uniform(-1e3, 1e3))
        high = to_single(math.nextafter(low, math.inf) + abs(low) * 2e-7)
        middle = (Fraction(low) + Fraction(high)) / 2
        above = Decimal(middle.numerator) / Decimal(middle.denominator)
        text = f"{above:f}" + "000000000000000000000000001"
        _, number, _ = key(text, "float")
        assert abs(Fraction(number) - Fraction(Decimal(text))) <= abs(
            Fraction(to_single(float(text))) - Fraction(Decimal(text))
        )


def test_integer_bounds_are_signed_64_bit() -> None:
    assert literal_value(str(SMALLEST_INTEGER), XSD + "integer") == Value(C.EXACT, SMALLEST_INTEGER)
    assert literal_value(str(SMALLEST_INTEGER - 1), XSD + "integer").kind == C.ILL


def test_a_zone_may_be_indeterminate() -> None:
    zoned = typed("2020-01-01T00:00:00Z", "dateTime")
    for lexical, answers in {
        "2020-01-01T14:00:00": None,
        "2020-01-01T14:00:00.00000000001": (False, True, True, True, False, False),
        "2019-12-31T10:00:00": None,
        "2019-12-31T09:59:59.999": (False, True, False, False, True, True),
    }.items():
        other = typed(lexical, "dateTime")
        for operator, answer in zip(COMPARISONS, answers or [None] * 6, strict=True):
            if answer is None:
                with pytest.raises(ValueFault):
                    compare(operator, zoned, other)
            else:
                assert compare(operator, zoned, other) is answer


def test_the_index_numbers_lanes_as_classes_of_values() -> None:
    """`model.comparison_codes.Lane` lies below this package, so it states the numbers again."""
    shared = {name: lane.value for name, lane in Lane.__members__.items() if name in ValueClass.__members__}
    classes = {name: kind.value for name, kind in ValueClass.__members__.items()}
    assert shared == {name: number for name, number in classes.items() if name not in ("IRI", "BLANK", "PENDING")}
    assert not {Lane.IDENTITY, Lane.LANGUAGE, Lane.STRING_ORDER, Lane.NEVER, Lane.UNLIKE} & set(shared.values())


def test_plain_numbers_have_the_place_of_their_values(seed: int) -> None:
    """Short runs of digits are placed without making the value."""
    source = random.Random(seed)
    for _ in range(3_000):
        lexical = "".join(source.choices("0123456789.-+", weights=[*[9] * 10, 4, 1, 1], k=source.randint(1, 18)))
        for datatype in ("decimal", "integer", "unsignedByte"):
            found = order_key(f'"{lexical}"^^<{XSD}{datatype}>')
            expected = place(literal_value(lexical, XSD + datatype))
            assert found == expected or (math.isnan(found[1]) and math.isnan(expected[1])), (lexical, datatype)
