"""The value of a literal and the six comparisons, straight from semantics 3.3 to 3.7 with exact arithmetic.

Numbers are `Fraction`s until a pair has been promoted, times are `Fraction`s of a second, strings are strings.
"""

from __future__ import annotations

import math
import re
import struct
from datetime import date
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

from tests.reference.terms import LANG_STRING, STRING, XSD, Term

EXACT, FLOAT, DOUBLE = "exact", "float", "double"
NUMERIC = (EXACT, FLOAT, DOUBLE)
ILL, UNKNOWN, TAGGED = "ill-typed", "unrecognised", "tagged"
TIMES = ("dateTime", "date", "time", "gYear", "gYearMonth")
MOST_DIGITS = 18
"""Of a decimal on either side of its point, of a year, and of each field of a duration (semantics 3.3)."""
HALF_A_DAY_AND_TWO = Fraction(14 * 3600)


class TypeFault(Exception):
    """A SPARQL type error: the expression has no value."""


class NotDetermined(Exception):
    """The specification leaves the answer open (an order between values that have none decides what a LIMIT keeps), or
    the reference lacks what it would need to know."""


class Value(NamedTuple):
    """`family` is one of the families of semantics 3.3, or ill-typed, unrecognised or tagged."""

    family: str
    number: Fraction | float | str | bool | None
    zoned: bool = True
    """Only for times: whether the lexical form has a time zone."""


_INTEGER = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_FLOATING = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_ZONE = r"(Z|[+-](?:0[0-9]|1[0-3]):[0-5][0-9]|[+-]14:00)?"
_YEAR = r"(-?(?:[1-9][0-9]{3,}|0[0-9]{3}))"
_CLOCK = r"([0-9]{2}):([0-9]{2}):([0-9]{2}(?:\.[0-9]+)?)"
_TIME_FORMS = {
    "dateTime": re.compile(rf"{_YEAR}-([0-9]{{2}})-([0-9]{{2}})T{_CLOCK}{_ZONE}"),
    "date": re.compile(rf"{_YEAR}-([0-9]{{2}})-([0-9]{{2}}){_ZONE}"),
    "time": re.compile(rf"{_CLOCK}{_ZONE}"),
    "gYear": re.compile(rf"{_YEAR}{_ZONE}"),
    "gYearMonth": re.compile(rf"{_YEAR}-([0-9]{{2}}){_ZONE}"),
}
_MONTHS = re.compile(r"(-?)P(?=[0-9])(?:([0-9]+)Y)?(?:([0-9]+)M)?")
_SECONDS = re.compile(
    r"(-?)P(?=[0-9T])(?:([0-9]+)D)?(?:T(?=[0-9])(?:([0-9]+)H)?(?:([0-9]+)M)?(?:([0-9]+(?:\.[0-9]+)?)S)?)?"
)

_BOUNDS: dict[str, tuple[int | None, int | None]] = {
    "integer": (None, None),
    "nonPositiveInteger": (None, 0),
    "negativeInteger": (None, -1),
    "nonNegativeInteger": (0, None),
    "positiveInteger": (1, None),
    "long": (-(2**63), 2**63 - 1),
    "int": (-(2**31), 2**31 - 1),
    "short": (-(2**15), 2**15 - 1),
    "byte": (-(2**7), 2**7 - 1),
    "unsignedLong": (0, 2**64 - 1),
    "unsignedInt": (0, 2**32 - 1),
    "unsignedShort": (0, 2**16 - 1),
    "unsignedByte": (0, 2**8 - 1),
}
INTEGER_TYPES = frozenset(XSD + name for name in _BOUNDS)


@lru_cache(maxsize=100_000)
def value_of(term: Term) -> Value:
    """The value of a literal; ill-typed and unrecognised literals have none, tagged ones are their text."""
    _, lexical, datatype, language = term
    if language or datatype == LANG_STRING:
        return Value(TAGGED, lexical)
    if datatype == STRING:
        return Value("string", lexical)
    if not datatype.startswith(XSD):
        return Value(UNKNOWN, None)
    name = datatype[len(XSD) :]
    if name in _BOUNDS:
        return _integer(lexical, *_BOUNDS[name])
    if name == "decimal":
        return _decimal(lexical)
    if name in ("float", "double"):
        return _floating(lexical, name)
    if name == "boolean":
        return Value(name, lexical in ("true", "1")) if lexical in ("true", "false", "1", "0") else Value(ILL, None)
    if name in _TIME_FORMS:
        return _time(lexical, name)
    if name in ("yearMonthDuration", "dayTimeDuration"):
        return _duration(lexical, name)
    return Value(UNKNOWN, None)


def _integer(lexical: str, least: int | None, greatest: int | None) -> Value:
    if not _INTEGER.fullmatch(lexical):
        return Value(ILL, None)
    number = int(lexical)
    inside = (least is None or number >= least) and (greatest is None or number <= greatest)
    if not inside or not -(2**63) <= number < 2**63:
        return Value(ILL, None)
    return Value(EXACT, Fraction(number))


def _decimal(lexical: str) -> Value:
    if not _DECIMAL.fullmatch(lexical):
        return Value(ILL, None)
    number = Fraction(lexical)
    return Value(EXACT, number) if fits_decimal(number) else Value(ILL, None)


def fits_decimal(number: Fraction) -> bool:
    """Whether `MOST_DIGITS` on either side of the point write the number."""
    return abs(number) < 10**MOST_DIGITS and (number * 10**MOST_DIGITS).denominator == 1


def _floating(lexical: str, name: str) -> Value:
    special = {"INF": math.inf, "+INF": math.inf, "-INF": -math.inf, "NaN": math.nan}
    if lexical in special:
        return Value(name, special[lexical])
    if not _FLOATING.fullmatch(lexical):
        return Value(ILL, None)
    return Value(name, float(lexical) if name == "double" else nearest_single(lexical))


def nearest_single(lexical: str) -> float:
    """The float32 nearest to the lexical value (ties to even), infinite beyond its range."""
    exponent = re.search(r"[eE]([+-]?[0-9]+)$", lexical)
    if exponent and abs(int(exponent[1])) > 400:
        return float(lexical)
    exact, near = abs(Fraction(lexical)), abs(single(float(lexical)))
    sign = -1.0 if lexical.startswith("-") else 1.0
    if math.isinf(near):
        return near * sign
    bits = struct.unpack("<i", struct.pack("<f", near))[0]
    neighbours = {
        step: struct.unpack("<f", struct.pack("<i", bits + step))[0] for step in (-1, 0, 1) if bits + step >= 0
    }
    finite = {bits + step: Fraction(other) for step, other in neighbours.items() if math.isfinite(other)}
    best = min(finite, key=lambda pattern: (abs(finite[pattern] - exact), pattern & 1))
    return sign * neighbours[best - bits]


def single(number: float) -> float:
    """A double rounded to float32."""
    try:
        return struct.unpack("<f", struct.pack("<f", number))[0]
    except OverflowError:
        return math.copysign(math.inf, number)


def _time(lexical: str, name: str) -> Value:
    match = _TIME_FORMS[name].fullmatch(lexical)
    if match is None:
        return Value(ILL, None)
    *parts, zone = match.groups()
    year, month, day, hours, minutes, seconds = 1972, 12, 31, 0, 0, Fraction(0)
    if name == "time":
        hours, minutes, seconds = int(parts[0]), int(parts[1]), Fraction(parts[2])
    else:
        month, day = 1, 1
        if len(parts[0].lstrip("-")) > MOST_DIGITS:
            return Value(ILL, None)
        year = int(parts[0])
        if len(parts) > 1:
            month = int(parts[1])
        if len(parts) > 2:
            day = int(parts[2])
        if len(parts) > 3:
            hours, minutes, seconds = int(parts[3]), int(parts[4]), Fraction(parts[5])
    if parts[0] == "-0000" or not 1 <= month <= 12 or not 1 <= day <= _days_in(year, month):
        return Value(ILL, None)
    end_of_day = hours == 24 and minutes == 0 and seconds == 0
    if not end_of_day and (hours > 23 or minutes > 59 or seconds >= 60):
        return Value(ILL, None)
    if name == "time" and end_of_day:
        hours = 0
    instant = _days_since_epoch(year, month, day) * 86400 + hours * 3600 + minutes * 60 + seconds
    return Value(name, Fraction(instant) - _zone_seconds(zone), zone is not None)


def _zone_seconds(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    size = int(zone[1:3]) * 3600 + int(zone[4:6]) * 60
    return -size if zone[0] == "-" else size


def _days_in(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]


def _days_since_epoch(year: int, month: int, day: int) -> int:
    """Proleptic Gregorian; years outside Python's range are shifted by whole cycles of 400 years (146,097 days)."""
    cycles = (year - 2000) // 400
    return date(year - cycles * 400, month, day).toordinal() - date(1970, 1, 1).toordinal() + cycles * 146_097


def _duration(lexical: str, name: str) -> Value:
    if name == "yearMonthDuration":
        match = _MONTHS.fullmatch(lexical)
        if match is None:
            return Value(ILL, None)
        sign, years, months = match.groups()
        if not _short(years, months):
            return Value(ILL, None)
        size = Fraction(int(years or 0) * 12 + int(months or 0))
    else:
        match = _SECONDS.fullmatch(lexical)
        if match is None:
            return Value(ILL, None)
        sign, days, hours, minutes, seconds = match.groups()
        whole, _, fraction = (seconds or "").partition(".")
        if not _short(days, hours, minutes, whole) or len(fraction.rstrip("0")) > MOST_DIGITS:
            return Value(ILL, None)
        size = int(days or 0) * 86400 + int(hours or 0) * 3600 + int(minutes or 0) * 60 + Fraction(seconds or 0)
    return Value(name, -size if sign else size)


def _short(*fields: str | None) -> bool:
    return all(len((field or "").lstrip("0")) <= MOST_DIGITS for field in fields)


# ---- comparisons (semantics 3.3 to 3.6) -------------------------------------------------------------------


def compare(operator: str, left: Term, right: Term) -> bool:
    """One of ``= != < <= > >=``. Raises `TypeFault`."""
    if operator == "=":
        return equal(left, right)
    if operator == "!=":
        return not equal(left, right)
    order = _order(left, right)
    if order is None:
        return False
    return {"<": order < 0, "<=": order <= 0, ">": order > 0, ">=": order >= 0}[operator]


def equal(left: Term, right: Term) -> bool:
    """Semantics 3.6. Raises `TypeFault`."""
    if left[0] != "literal" or right[0] != "literal":
        return left == right
    one, two = value_of(left), value_of(right)
    if left == right:
        return not (one.family in (FLOAT, DOUBLE) and one.number != one.number)
    if (one.family == TAGGED) != (two.family == TAGGED):
        return False
    if one.family == TAGGED:
        return False
    if ILL in (one.family, two.family) or UNKNOWN in (one.family, two.family):
        raise TypeFault("an ill-typed or unrecognised literal meets another one")
    if _same_family(one, two):
        return _order(left, right) == 0
    return False


def _same_family(one: Value, two: Value) -> bool:
    return one.family == two.family or (one.family in NUMERIC and two.family in NUMERIC)


def _order(left: Term, right: Term) -> int | None:
    """The sign of left - right, None for NaN. Raises `TypeFault` outside a family or where indeterminate."""
    if left[0] != "literal" or right[0] != "literal":
        raise TypeFault("only literals have an order")
    one, two = value_of(left), value_of(right)
    if one.family in (ILL, UNKNOWN, TAGGED) or not _same_family(one, two):
        raise TypeFault(f"no order between {one.family} and {two.family}")
    if one.family in NUMERIC:
        a, b = promote(one, two)
        if a != a or b != b:
            return None
        return _sign(a, b)
    if one.family in TIMES and one.zoned != two.zoned:
        return _order_across_zones(one, two)
    return _sign(one.number, two.number)


def _order_across_zones(one: Value, two: Value) -> int:
    """XSD's partial order: a local time lies anywhere from 14 hours earlier to 14 hours later. Raises `TypeFault`."""
    if one.number < two.number - HALF_A_DAY_AND_TWO:
        return -1
    if one.number > two.number + HALF_A_DAY_AND_TWO:
        return 1
    raise TypeFault("a time with a zone and one without cannot be told apart")


def promote(one: Value, two: Value) -> tuple[Fraction | float, Fraction | float]:
    """Both numbers in the wider of the two types (semantics 3.4); decimal to float goes through the nearest double."""
    families = (one.family, two.family)
    if DOUBLE in families:
        return float(one.number), float(two.number)
    if FLOAT in families:
        return single(float(one.number)), single(float(two.number))
    return one.number, two.number


def _sign(a, b) -> int:
    return (a > b) - (a < b)


def effective_boolean(term: Term) -> bool:
    """Semantics 3.7. Raises `TypeFault`."""
    if term[0] != "literal":
        raise TypeFault("an IRI or blank node has no boolean value")
    value = value_of(term)
    if value.family in NUMERIC:
        return value.number == value.number and value.number != 0
    if value.family == "boolean":
        return bool(value.number)
    if value.family in ("string", TAGGED):
        return value.number != ""
    if value.family == ILL and (term[2] in NUMERIC_TYPES or term[2] == XSD + "boolean"):
        return False
    raise TypeFault(f"no boolean value: {value.family}")


NUMERIC_TYPES = INTEGER_TYPES | {XSD + "decimal", XSD + "float", XSD + "double"}
