"""The values of RDF terms that comparisons see (semantics 3.3).

Every term has a class and, in an ordered class, a place. A literal is `ILL` if its text is outside the lexical space of
its datatype, or if its datatype is none of those below (``xsd:duration``, ``xsd:dateTimeStamp`` and the types derived
from ``xsd:string`` are not recognised). Limits beyond XSD's: integers fit 64 bits with sign, decimals have at most 18
digits on either side of the point, years and each field of a duration have at most 18 digits.

Promotion: an exact number (integer or decimal) becomes a double by rounding to nearest even, and a *float* through that
double (rounded twice), so that one float64 is enough for comparisons with floats.
"""

from __future__ import annotations

import math
import re
import struct
from decimal import Context, Decimal
from enum import IntEnum
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from pyoxigraph import BlankNode, NamedNode

from triplecast.model.algebra import Term
from triplecast.terms.temporal import Instant, read_date, read_datetime, read_time, read_year, read_year_month

XSD = "http://www.w3.org/2001/XMLSchema#"
XSD_STRING = XSD + "string"
XSD_BOOLEAN = XSD + "boolean"
XSD_INTEGER = XSD + "integer"
XSD_DECIMAL = XSD + "decimal"
XSD_FLOAT = XSD + "float"
XSD_DOUBLE = XSD + "double"
XSD_DATETIME = XSD + "dateTime"

LARGEST_INTEGER = 2**63 - 1
SMALLEST_INTEGER = -(2**63)
MOST_DIGITS = 18
"""Most digits of a decimal on either side of its point, without leading and trailing zeros; beyond, it is ill-typed."""


class ValueClass(IntEnum):
    """Kinds of values that compare with their own kind; ``_LOCAL`` ones have no time zone."""

    IRI = 0
    BLANK = 1
    ILL = 2
    """Ill-typed, or of an unrecognised datatype."""
    LANG = 3
    STRING = 4
    BOOLEAN = 5
    EXACT = 6
    """xsd:integer, the types derived from it, xsd:decimal."""
    FLOAT = 7
    DOUBLE = 8
    DATETIME = 9
    DATETIME_LOCAL = 10
    DATE = 11
    DATE_LOCAL = 12
    TIME = 13
    TIME_LOCAL = 14
    GYEAR = 15
    GYEAR_LOCAL = 16
    GYEARMONTH = 17
    GYEARMONTH_LOCAL = 18
    YEARMONTHDURATION = 19
    DAYTIMEDURATION = 20
    PENDING = 255
    """Only inside the scan kernel: not classified yet."""


Exact: TypeAlias = int | Decimal | float | bool | str | Instant | tuple[str, str] | None
"""By class: EXACT int or Decimal; FLOAT (a float32 widened) and DOUBLE float; BOOLEAN bool; STRING its text; LANG text
and tag; date and time classes `Instant`; YEARMONTHDURATION int months; DAYTIMEDURATION Decimal milliseconds; else
None."""


class Value(NamedTuple):
    kind: ValueClass
    exact: Exact


_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"([+-]?)(?:([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))")
_DOUBLE = re.compile(r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|INF)|NaN")
_MONTHS = re.compile(r"(-?)P(?:([0-9]+)Y)?(?:([0-9]+)M)?")
_DAY_TIME = re.compile(r"(-?)P(?:([0-9]+)D)?(?:T(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+)(?:\.([0-9]+))?S)?)?")
WIDE = Context(prec=120)
"""Wide enough for every sum and product of decimals, and every sum of duration fields, to be exact."""

INTEGER_BOUNDS: dict[str, tuple[int, int]] = {
    XSD + "integer": (SMALLEST_INTEGER, LARGEST_INTEGER),
    XSD + "long": (SMALLEST_INTEGER, LARGEST_INTEGER),
    XSD + "int": (-(2**31), 2**31 - 1),
    XSD + "short": (-(2**15), 2**15 - 1),
    XSD + "byte": (-128, 127),
    XSD + "nonNegativeInteger": (0, LARGEST_INTEGER),
    XSD + "positiveInteger": (1, LARGEST_INTEGER),
    XSD + "nonPositiveInteger": (SMALLEST_INTEGER, 0),
    XSD + "negativeInteger": (SMALLEST_INTEGER, -1),
    XSD + "unsignedLong": (0, LARGEST_INTEGER),
    XSD + "unsignedInt": (0, 2**32 - 1),
    XSD + "unsignedShort": (0, 2**16 - 1),
    XSD + "unsignedByte": (0, 255),
}
"""Bounds of xsd:integer and its derived types, within 64 bits with sign (unsignedLong too)."""

NUMERIC_TYPES = frozenset({*INTEGER_BOUNDS, XSD_DECIMAL, XSD_FLOAT, XSD_DOUBLE})

_TEMPORAL = {
    XSD_DATETIME: (read_datetime, ValueClass.DATETIME, ValueClass.DATETIME_LOCAL),
    XSD + "date": (read_date, ValueClass.DATE, ValueClass.DATE_LOCAL),
    XSD + "time": (read_time, ValueClass.TIME, ValueClass.TIME_LOCAL),
    XSD + "gYear": (read_year, ValueClass.GYEAR, ValueClass.GYEAR_LOCAL),
    XSD + "gYearMonth": (read_year_month, ValueClass.GYEARMONTH, ValueClass.GYEARMONTH_LOCAL),
}

ILL_VALUE = Value(ValueClass.ILL, None)
_IRI_VALUE = Value(ValueClass.IRI, None)
_BLANK_VALUE = Value(ValueClass.BLANK, None)
REMEMBERED_LENGTH = 64
"""Longest lexical form, in characters, whose value is cached."""


EXACT_DIGITS = 15
"""Numbers of at most this many digits have different nearest doubles."""
_DECIMAL_SUFFIX = f"^^<{XSD_DECIMAL}>"
_UNBOUNDED = frozenset((_DECIMAL_SUFFIX, f"^^<{XSD}integer>"))
"""Suffixes of the datatypes in which every run of digits is a value."""


def value_of(term: Term) -> Value:
    """Return the value of a term."""
    if isinstance(term, NamedNode):
        return _IRI_VALUE
    if isinstance(term, BlankNode):
        return _BLANK_VALUE
    lexical = term.value
    if term.language is not None:
        return Value(ValueClass.LANG, (lexical, term.language))
    datatype = term.datatype.value
    if datatype == XSD_STRING:
        return Value(ValueClass.STRING, lexical)
    return (
        _remembered_value(lexical, datatype) if len(lexical) <= REMEMBERED_LENGTH else literal_value(lexical, datatype)
    )


def literal_value(lexical: str, datatype: str) -> Value:
    """Return the value of an untagged literal; `ILL_VALUE` outside the lexical space, limits and known datatypes."""
    if datatype == XSD_STRING:
        return Value(ValueClass.STRING, lexical)
    if datatype in INTEGER_BOUNDS:
        return _integer(lexical, *INTEGER_BOUNDS[datatype])
    if datatype in _TEMPORAL:
        read, zoned_class, local_class = _TEMPORAL[datatype]
        found = read(lexical)
        return ILL_VALUE if found is None else Value(zoned_class if found[1] else local_class, found[0])
    reader = _READERS.get(datatype)
    return ILL_VALUE if reader is None else reader(lexical)


def has_values(datatype: str) -> bool:
    """Whether literals of this datatype have values; one of any other equals only itself."""
    return datatype == XSD_STRING or datatype in INTEGER_BOUNDS or datatype in _TEMPORAL or datatype in _READERS


_remembered_value = lru_cache(maxsize=16_384)(literal_value)


def order_key(ntriples: str) -> tuple[ValueClass, float, int]:
    """Return (class, number, tie) of a term in canonical N-Triples form.

    Within a class, a value compares as (number, tie) with constants whose tie is 0. EXACT: `number` is the nearest
    double and `tie` the sign of (value - number written with 15 significant digits), which is 0 iff the value has at
    most 15 significant digits (and neither over- nor underflows a double). FLOAT, DOUBLE: the IEEE value, NaN included,
    tie 0. BOOLEAN: 0 or 1. Dates and times: milliseconds since 1970-01-01T00:00:00Z, local ones as if UTC; tie is the
    sign of (instant - number). Durations: months, or milliseconds with such a tie. IRI, BLANK, LANG and STRING: 0.0, 0.
    ILL: nan, 0.
    """
    if ntriples.startswith("<"):
        return ValueClass.IRI, 0.0, 0
    if ntriples.startswith("_:"):
        return ValueClass.BLANK, 0.0, 0
    end = ntriples.rindex('"')
    suffix = ntriples[end + 1 :]
    if not suffix or suffix == f"^^<{XSD_STRING}>":
        return ValueClass.STRING, 0.0, 0
    if suffix.startswith("@"):
        return ValueClass.LANG, 0.0, 0
    if not (suffix.startswith("^^<") and suffix.endswith(">")):
        raise ValueError(f"not a term in N-Triples form: {ntriples!r}")
    lexical = ntriples[1:end]
    if suffix in _UNBOUNDED and len(lexical) <= EXACT_DIGITS and lexical.isascii():
        digits = lexical.replace(".", "", 1) if suffix == _DECIMAL_SUFFIX else lexical
        if digits.isdigit():
            return ValueClass.EXACT, float(lexical), 0
    # No lexical space but xsd:string's has a character that canonical N-Triples escapes.
    return place(ILL_VALUE if "\\" in lexical else literal_value(lexical, suffix[3:-1]))


def place(value: Value) -> tuple[ValueClass, float, int]:
    """Return the `order_key` of a value."""
    kind, exact = value
    if kind == ValueClass.ILL:
        return kind, math.nan, 0
    if kind <= ValueClass.STRING:
        return kind, 0.0, 0
    if isinstance(exact, Instant):
        number = float(exact.milliseconds)
        rest = exact.milliseconds - int(number)
        return kind, number, (rest > 0) - (rest < 0) if rest else int(exact.finer != "")
    if isinstance(exact, bool | float):
        return kind, float(exact), 0
    assert isinstance(exact, int | Decimal)
    if kind == ValueClass.EXACT:
        number = to_double(exact)
        return kind, number, _sign(Decimal(exact), Decimal(f"{number:.15g}"))
    number = float(exact)
    return kind, number, _sign(Decimal(exact), Decimal(number))


def to_double(exact: int | Decimal) -> float:
    """Return the nearest double (ties to even); values beyond its range become infinite."""
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def to_single(number: float) -> float:
    """Return the float32 nearest a double, widened."""
    try:
        return float(struct.unpack("<f", struct.pack("<f", number))[0])
    except OverflowError:
        return math.copysign(math.inf, number)


def _sign(left: Decimal, right: Decimal) -> int:
    return (left > right) - (left < right)


def _integer(lexical: str, lowest: int, highest: int) -> Value:
    if _INTEGER.fullmatch(lexical) is None or len(lexical.lstrip("+-").lstrip("0")) > 19:
        return ILL_VALUE
    number = int(lexical.lstrip("+-").lstrip("0") or "0") * (-1 if lexical[0] == "-" else 1)
    return Value(ValueClass.EXACT, number) if lowest <= number <= highest else ILL_VALUE


def _decimal(lexical: str) -> Value:
    match = _DECIMAL.fullmatch(lexical)
    if match is None:
        return ILL_VALUE
    whole, fraction = (match[2] or "").lstrip("0"), (match[3] or match[4] or "").rstrip("0")
    if len(whole) > MOST_DIGITS or len(fraction) > MOST_DIGITS:
        return ILL_VALUE
    return Value(ValueClass.EXACT, Decimal(f"{match[1]}{whole}.{fraction}") if whole or fraction else Decimal(0))


def _boolean(lexical: str) -> Value:
    if lexical in ("true", "1"):
        return Value(ValueClass.BOOLEAN, True)
    return Value(ValueClass.BOOLEAN, False) if lexical in ("false", "0") else ILL_VALUE


def _double(lexical: str) -> Value:
    return Value(ValueClass.DOUBLE, float(lexical)) if _DOUBLE.fullmatch(lexical) else ILL_VALUE


def _float(lexical: str) -> Value:
    if _DOUBLE.fullmatch(lexical) is None:
        return ILL_VALUE
    number = float(lexical)
    rounded = to_single(number)
    if rounded != number and math.isfinite(number):
        rounded = _nearer_single(lexical, number, rounded)
    return Value(ValueClass.FLOAT, rounded)


def _nearer_single(lexical: str, number: float, rounded: float) -> float:
    """Correct the one case where rounding through a double is wrong: the double is exactly halfway, the text is not."""
    bits = struct.unpack("<Q", struct.pack("<d", number))[0]
    if bits & 0x1FFFFFFF and abs(number) >= 2.0**-126:
        halfway = bits & 0x1FFFFFFF == 0x10000000
    else:
        halfway = Fraction(number) % Fraction(1, 2**149) == Fraction(1, 2**150)
    if not halfway:
        return rounded
    exact = Decimal(lexical)
    if exact == Decimal(number):
        return rounded
    return to_single(math.nextafter(number, math.inf if exact > Decimal(number) else -math.inf))


def _field(digits: str | None) -> int | None:
    """Return a duration's field; None if it has too many digits."""
    if digits is None:
        return 0
    significant = digits.lstrip("0")
    return None if len(significant) > MOST_DIGITS else int(significant or "0")


def _months(lexical: str) -> Value:
    match = _MONTHS.fullmatch(lexical)
    if match is None or (match[2] is None and match[3] is None):
        return ILL_VALUE
    years, months = _field(match[2]), _field(match[3])
    if years is None or months is None:
        return ILL_VALUE
    return Value(ValueClass.YEARMONTHDURATION, (years * 12 + months) * (-1 if match[1] else 1))


def _day_time(lexical: str) -> Value:
    match = _DAY_TIME.fullmatch(lexical)
    if match is None or lexical.endswith(("P", "T")):
        return ILL_VALUE
    days, hours, minutes, seconds = (_field(match[group]) for group in (2, 3, 4, 5))
    fraction = (match[6] or "").rstrip("0")
    if days is None or hours is None or minutes is None or seconds is None or len(fraction) > MOST_DIGITS:
        return ILL_VALUE
    whole = ((days * 24 + hours) * 60 + minutes) * 60 + seconds
    total = WIDE.add(Decimal(whole * 1000), Decimal(f"0.{fraction}E3" if fraction else 0))
    return Value(ValueClass.DAYTIMEDURATION, WIDE.minus(total) if match[1] else total)


_READERS = {
    XSD_DECIMAL: _decimal,
    XSD_BOOLEAN: _boolean,
    XSD_DOUBLE: _double,
    XSD_FLOAT: _float,
    XSD + "yearMonthDuration": _months,
    XSD + "dayTimeDuration": _day_time,
}
