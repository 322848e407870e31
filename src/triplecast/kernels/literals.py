"""Value class and order key of a literal from its bytes, for the lexical forms that are frequent.

The kernel's answer equals `triplecast.terms.values.order_key` or is `PENDING`: its caller then calls that function
then. Decided here: plain and tagged strings, datatypes outside the XSD namespace, booleans, integers and decimals of
at most 15 significant digits, doubles and floats that one correctly rounded operation gives exactly (W. D. Clinger,
"How to read floating point numbers accurately", PLDI 1990: mantissa below 2**53, power of ten at most 22), and dates
and times with a year of four digits. Everything else, most ill-typed literals included, is pending.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels import borrowing, inlined
from triplecast.kernels.words import Text, keep_low, load_word
from triplecast.terms.values import EXACT_DIGITS, INTEGER_BOUNDS, MOST_DIGITS, XSD, ValueClass

PENDING = np.uint8(ValueClass.PENDING)
ILL = np.uint8(ValueClass.ILL)
LANG = np.uint8(ValueClass.LANG)
STRING = np.uint8(ValueClass.STRING)
BOOLEAN = np.uint8(ValueClass.BOOLEAN)
EXACT = np.uint8(ValueClass.EXACT)
FLOAT = np.uint8(ValueClass.FLOAT)
DOUBLE = np.uint8(ValueClass.DOUBLE)
LOCAL = np.uint8(ValueClass.DATETIME_LOCAL - ValueClass.DATETIME)
"""From a zoned class to its local one."""

_SCALARS = ("decimal", "double", "float", "boolean", "dateTime", "date", "time", "gYear", "gYearMonth")
_DECIMAL, _DOUBLE, _FLOAT, _BOOLEAN, _DATETIME, _DATE, _TIME, _GYEAR, _GYEARMONTH = range(len(_SCALARS))
_FIRST_INTEGER = len(_SCALARS)
_NAMES = (*_SCALARS, *(name.removeprefix(XSD) for name in INTEGER_BOUNDS))
_FOREIGN = -1
"""A datatype outside the XSD namespace: never recognised."""
_OTHER = -2
"""A name of the XSD namespace that is not in `_NAMES`."""


def _spell(names: tuple[str, ...], words: int) -> NDArray[np.uint64]:
    """uint64[names, words]: each name's bytes, zeros after them."""
    rows = b"".join(name.encode().ljust(8 * words, b"\0") for name in names)
    return np.frombuffer(rows, np.uint64).reshape(len(names), words)


_SPELLED = _spell(_NAMES, 3)
_NAMESPACE = _spell((XSD,), 5)[0]
_LENGTHS = np.array([len(name) for name in _NAMES], np.int64)
_LOWEST = np.array([bounds[0] for bounds in INTEGER_BOUNDS.values()], np.float64)
_HIGHEST = np.array([bounds[1] for bounds in INTEGER_BOUNDS.values()], np.float64)
_TENS = 10.0 ** np.arange(23)
_MONTH_START = np.array([0, 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334])
_MONTH_LENGTH = np.array([0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31])

_NO_NUMBER, _DIGITS, _WITH_POINT, _WITH_EXPONENT = range(4)
_LARGEST_EXPONENT = 9_999
_SMALLEST_NORMAL_SINGLE = 2.0**-126
_LARGEST_SINGLE = float(np.finfo(np.float32).max)
_TRUE = np.uint64(int.from_bytes(b"true", "little"))
_FALSE = np.uint64(int.from_bytes(b"false", "little"))
_MINUTE = 60_000
_DAY = 24 * 60 * _MINUTE
_NO_DAY = -(2**62)
_EPOCH = 719_528
"""Days from 0000-01-01 to 1970-01-01."""


@borrowing
def classify_literal(text: Text, start: int, quote: int, stop: int, escaped: bool) -> tuple[np.uint8, float, int]:
    """(class, number, tie) of the literal ``text[start:stop]`` whose closing quote is at `quote`."""
    if quote + 1 == stop:
        return STRING, 0.0, 0
    if text[quote + 1] == ord("@"):
        return LANG, 0.0, 0
    code = _find_datatype(text, quote + 4, stop - 1)
    if code == _FOREIGN:
        return ILL, np.nan, 0
    if escaped or code == _OTHER:
        return PENDING, np.nan, 0
    start += 1
    if code == _BOOLEAN:
        return _classify_boolean(text, start, quote)
    if code in (_DATETIME, _DATE, _TIME, _GYEAR, _GYEARMONTH):
        return _classify_instant(text, start, quote, code)
    return _classify_number(text, start, quote, code)


@inlined
def _find_datatype(text: Text, start: int, stop: int) -> int:
    """Index into `_NAMES` of the datatype IRI ``text[start:stop]``, or `_FOREIGN` or `_OTHER`."""
    name = start + len(XSD)
    if name > stop:
        return _FOREIGN
    for i in range(4):
        if load_word(text, start + 8 * i) != _NAMESPACE[i]:
            return _FOREIGN
    if text[name - 1] != ord("#"):
        return _FOREIGN
    length = stop - name
    first = keep_low(load_word(text, name), length)
    for code in range(len(_SPELLED)):
        if _SPELLED[code, 0] == first and _LENGTHS[code] == length:
            if length <= 8:
                return code
            second = keep_low(load_word(text, name + 8), length - 8)
            if second == _SPELLED[code, 1]:
                if length <= 16:
                    return code
                if keep_low(load_word(text, name + 16), length - 16) == _SPELLED[code, 2]:
                    return code
    return _OTHER


@borrowing
def _classify_boolean(text: Text, start: int, stop: int) -> tuple[np.uint8, float, int]:
    length = stop - start
    word = keep_low(load_word(text, start), min(length, 8))
    if (length == 4 and word == _TRUE) or (length == 1 and text[start] == ord("1")):
        return BOOLEAN, 1.0, 0
    if (length == 5 and word == _FALSE) or (length == 1 and text[start] == ord("0")):
        return BOOLEAN, 0.0, 0
    return PENDING, np.nan, 0


@borrowing
def _classify_number(text: Text, start: int, stop: int, code: int) -> tuple[np.uint8, float, int]:
    shape, mantissa, exponent = _read_number(text, start, stop)
    if shape == _NO_NUMBER or exponent < -22 or exponent > 22:
        return PENDING, np.nan, 0
    number = float(mantissa)
    number = number * _TENS[exponent] if exponent >= 0 else number / _TENS[-exponent]
    if code in (_DOUBLE, _FLOAT):
        if text[start] == ord("-"):
            number = -number
        if code == _DOUBLE:
            return DOUBLE, number, 0
        single = float(np.float32(number))
        size = abs(number)
        if single != number and not _SMALLEST_NORMAL_SINGLE <= size <= _LARGEST_SINGLE:
            return PENDING, np.nan, 0
        if np.float64(number).view(np.uint64) & np.uint64(0x1FFFFFFF) == np.uint64(0x10000000):
            return PENDING, np.nan, 0  # halfway between two float32, and the text may not be
        return FLOAT, single, 0
    if text[start] == ord("-") and mantissa != 0:
        number = -number
    if code == _DECIMAL:
        readable = shape != _WITH_EXPONENT and exponent >= -MOST_DIGITS
        return (EXACT, number, 0) if readable else (PENDING, np.nan, 0)
    if shape != _DIGITS:
        return PENDING, np.nan, 0
    family = code - _FIRST_INTEGER
    if number < _LOWEST[family] or number > _HIGHEST[family]:
        return ILL, np.nan, 0
    return EXACT, number, 0


@borrowing
def _read_number(text: Text, i: int, stop: int) -> tuple[int, int, int]:
    """(shape, mantissa without sign, power of ten) of a number of at most `EXACT_DIGITS` significant digits.

    `_NO_NUMBER` when it has more of them, or when the text is none.
    """
    if i < stop and (text[i] == ord("+") or text[i] == ord("-")):
        i += 1
    mantissa, significant, digits, scale = 0, 0, 0, 0
    shape = _DIGITS
    while i < stop:
        digit = int(text[i]) - ord("0")
        if 0 <= digit <= 9:
            digits += 1
            if mantissa != 0 or digit != 0:
                significant += 1
                if significant > EXACT_DIGITS:
                    return _NO_NUMBER, 0, 0
            mantissa = mantissa * 10 + digit
            if shape == _WITH_POINT:
                scale += 1
        elif text[i] == ord(".") and shape == _DIGITS:
            shape = _WITH_POINT
        else:
            break
        i += 1
    if digits == 0:
        return _NO_NUMBER, 0, 0
    if i == stop:
        return shape, mantissa, -scale
    exponent = _read_exponent(text, i, stop)
    if exponent > _LARGEST_EXPONENT:
        return _NO_NUMBER, 0, 0
    return _WITH_EXPONENT, mantissa, exponent - scale


@inlined
def _read_exponent(text: Text, i: int, stop: int) -> int:
    """Read the exponent in ``text[i:stop]``, with its ``e``; more than `_LARGEST_EXPONENT` when there is none."""
    if text[i] != ord("e") and text[i] != ord("E"):
        return _LARGEST_EXPONENT + 1
    i += 1
    negative = i < stop and text[i] == ord("-")
    if i < stop and (text[i] == ord("-") or text[i] == ord("+")):
        i += 1
    if i >= stop or stop - i > 4:
        return _LARGEST_EXPONENT + 1
    exponent = _read_digits(text, i, stop - i)
    if exponent < 0:
        return _LARGEST_EXPONENT + 1
    return -exponent if negative else exponent


@borrowing
def _classify_instant(text: Text, i: int, stop: int, code: int) -> tuple[np.uint8, float, int]:
    day, time, tie = 0, 0, 0
    kind = np.uint8(ValueClass.TIME)
    if code == _GYEAR:
        kind = np.uint8(ValueClass.GYEAR)
        day = _count_days(_read_digits(text, i, min(4, stop - i)), 1, 1)
        i += 4
    elif code == _GYEARMONTH:
        kind = np.uint8(ValueClass.GYEARMONTH)
        if stop - i < 7 or text[i + 4] != ord("-"):
            return PENDING, np.nan, 0
        day = _count_days(_read_digits(text, i, 4), _read_digits(text, i + 5, 2), 1)
        i += 7
    elif code != _TIME:
        kind = np.uint8(ValueClass.DATE)
        if stop - i < 10 or text[i + 4] != ord("-") or text[i + 7] != ord("-"):
            return PENDING, np.nan, 0
        day = _count_days(_read_digits(text, i, 4), _read_digits(text, i + 5, 2), _read_digits(text, i + 8, 2))
        i += 10
        if code == _DATETIME:
            kind = np.uint8(ValueClass.DATETIME)
            if i >= stop or text[i] != ord("T"):
                return PENDING, np.nan, 0
            i += 1
    if code in (_DATETIME, _TIME):
        i, time, tie = _read_time(text, i, stop)
    zone = _read_zone(text, i, stop)
    if i > stop or day == _NO_DAY or zone == _NO_DAY:
        return PENDING, np.nan, 0
    number = float(day * _DAY + time - zone * _MINUTE)
    return (kind + LOCAL if i == stop else kind), number, tie


@borrowing
def _read_time(text: Text, i: int, stop: int) -> tuple[int, int, int]:
    """(where it ends, milliseconds of the day rounded down, 1 if there is more) of ``hh:mm:ss`` with or without
    fraction.

    Ends beyond `stop` when it is no such time; 24:00:00 is not read.
    """
    if stop - i < 8 or text[i + 2] != ord(":") or text[i + 5] != ord(":"):
        return stop + 1, 0, 0
    hours, minutes, seconds = _read_digits(text, i, 2), _read_digits(text, i + 3, 2), _read_digits(text, i + 6, 2)
    if not (0 <= hours <= 23 and 0 <= minutes <= 59 and 0 <= seconds <= 59):
        return stop + 1, 0, 0
    time = ((hours * 60 + minutes) * 60 + seconds) * 1_000
    i += 8
    if i >= stop or text[i] != ord("."):
        return i, time, 0
    i += 1
    first, weight, tie = i, 100, 0
    while i < stop and ord("0") <= text[i] <= ord("9"):
        digit = int(text[i]) - ord("0")
        time += digit * weight
        if weight == 0 and digit != 0:
            tie = 1
        weight //= 10
        i += 1
    return (i if i > first else stop + 1), time, tie


@inlined
def _read_zone(text: Text, i: int, stop: int) -> int:
    """Minutes east of UTC, 0 where ``text[i:stop]`` is empty, `_NO_DAY` when it is no zone."""
    if i == stop or (i + 1 == stop and text[i] == ord("Z")):
        return 0
    if stop - i != 6 or text[i + 3] != ord(":") or (text[i] != ord("+") and text[i] != ord("-")):
        return _NO_DAY
    hours, minutes = _read_digits(text, i + 1, 2), _read_digits(text, i + 4, 2)
    offset = hours * 60 + minutes
    if hours < 0 or not 0 <= minutes <= 59 or offset > 14 * 60:
        return _NO_DAY
    return offset if text[i] == ord("+") else -offset


@inlined
def _count_days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01 in the proleptic Gregorian calendar, years 0 to 9999; `_NO_DAY` when there is no such
    day.
    """
    if year < 0 or month < 1 or month > 12:
        return _NO_DAY
    leap = int(year % 4 == 0 and (year % 100 != 0 or year % 400 == 0))
    if day < 1 or day > _MONTH_LENGTH[month] + (leap if month == 2 else 0):
        return _NO_DAY
    leaps_before = (year + 3) // 4 - (year + 99) // 100 + (year + 399) // 400
    day_of_year = int(_MONTH_START[month]) + (leap if month > 2 else 0) + day - 1
    return 365 * year + leaps_before + day_of_year - _EPOCH


@inlined
def _read_digits(text: Text, i: int, count: int) -> int:
    """The number written in exactly `count` digits, -1 when there are others or none."""
    number = 0
    for k in range(i, i + count):
        digit = int(text[k]) - ord("0")
        if digit < 0 or digit > 9:
            return -1
        number = number * 10 + digit
    return number if count > 0 else -1
