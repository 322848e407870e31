"""Comparisons of a term with constants, in three-valued logic (semantics 3.3 to 3.6).

A term is *seen* through a lane: as a number that compares with the constants of that lane, or as true for all of them,
or for none (false and error alike: both drop a row). The exactness of the numbers is `terms.values.order_key`'s:
constants have tie 0, so a value that needs more digits moves to the next double towards its side and compares right
with every constant.
"""

from __future__ import annotations

import numpy as np

from triplecast.kernels import borrowing, inlined
from triplecast.kernels.layout import (
    CONTINUES,
    ENDS,
    EXTRA_LANGUAGE,
    EXTRA_RANK,
    F64,
    I32,
    U8,
    VALUE_CLASS,
    VALUE_EXACT,
    VALUE_NUMBER,
    Integer,
)
from triplecast.model.comparison_codes import Comparison, Lane

NONE_TRUE = 0
BY_NUMBER = 1
BY_SINGLE = 2
"""As `BY_NUMBER`, with the constant rounded to float32 first."""
ALL_TRUE = 3
FAR_TRUE = 4
"""``!=`` across zones: true when more than 14 hours apart, an error otherwise."""

ZONE_SPAN = 14 * 3600 * 1000.0
"""Milliseconds: a time without a zone may lie this far to either side."""

EQUAL = int(Comparison.EQUAL)
LESS = int(Comparison.LESS)
AT_MOST = int(Comparison.AT_MOST)
GREATER = int(Comparison.GREATER)
AT_LEAST = int(Comparison.AT_LEAST)
UNEQUAL = int(Comparison.UNEQUAL)
SPAN = int(Comparison.SPAN)
FEW = 8
"""Spans that are compared one by one, without looking for the first."""

_ILL = int(Lane.ILL)
_LANG = int(Lane.LANG)
_STRING = int(Lane.STRING)
_BOOLEAN = int(Lane.BOOLEAN)
_EXACT = int(Lane.EXACT)
_FLOAT = int(Lane.FLOAT)
_DOUBLE = int(Lane.DOUBLE)
_DATETIME = int(Lane.DATETIME)
_GYEARMONTH_LOCAL = int(Lane.GYEARMONTH_LOCAL)
_DAYTIMEDURATION = int(Lane.DAYTIMEDURATION)
_LANGUAGE = int(Lane.LANGUAGE)
_STRING_ORDER = int(Lane.STRING_ORDER)
_UNLIKE = int(Lane.UNLIKE)
_CLASS_ILL = int(Lane.ILL)
_CLASS_LANG = int(Lane.LANG)
_CLASS_STRING = int(Lane.STRING)


@inlined
def see(values: F64, identity: I32, extras: F64, term: int, operator: int, lane: int) -> tuple[int, float, bool]:
    """(how, number, strict): how a term compares with the constants of a lane under an operator.

    `values`, `identity` and `extras` are those of `Encoded`. `strict`: ``<=`` and ``>=`` hold only where ``<`` and
    ``>`` do.
    """
    kind = np.int64(values[term, VALUE_CLASS])
    if lane >= _BOOLEAN and lane <= _DAYTIMEDURATION:
        return _see_number(kind, values[term, VALUE_NUMBER], values[term, VALUE_EXACT], operator, lane)
    if lane <= _STRING:
        known = identity[term]
        if operator == EQUAL:
            return (BY_NUMBER if known >= 0 else NONE_TRUE), float(known), False
        if kind == _CLASS_ILL and lane == _STRING:
            return NONE_TRUE, 0.0, False
        if lane == _ILL and (kind == _CLASS_ILL or kind > _CLASS_LANG):
            return NONE_TRUE, 0.0, False
        return (BY_NUMBER if known >= 0 else ALL_TRUE), float(known), False
    if lane == _LANGUAGE:
        tag = extras[term, EXTRA_LANGUAGE]
        if tag == -2.0:
            return NONE_TRUE, 0.0, False
        if tag == -1.0:
            return (ALL_TRUE if operator == UNEQUAL else NONE_TRUE), 0.0, False
        return BY_NUMBER, tag, False
    if lane == _STRING_ORDER:
        return (BY_NUMBER if kind == _CLASS_STRING else NONE_TRUE), extras[term, EXTRA_RANK], False
    if lane == _UNLIKE:
        return (NONE_TRUE if kind == _CLASS_ILL else ALL_TRUE), 0.0, False
    return NONE_TRUE, 0.0, False


@inlined
def _see_number(kind: Integer, number: float, exact: float, operator: int, lane: int) -> tuple[int, float, bool]:
    if kind >= _EXACT and kind <= _DOUBLE and lane >= _EXACT and lane <= _DOUBLE:
        if lane == _EXACT:
            if kind == _EXACT:
                return BY_NUMBER, exact, False
            return (BY_SINGLE if kind == _FLOAT else BY_NUMBER), number, False
        if lane == _FLOAT and kind == _EXACT:
            return BY_NUMBER, float(np.float32(number)), False
        return BY_NUMBER, number, False
    if kind == lane:
        return BY_NUMBER, exact, False
    if lane >= _DATETIME and lane <= _GYEARMONTH_LOCAL and _is_other_zone(kind, lane):
        if operator == EQUAL:
            return NONE_TRUE, 0.0, False
        if operator == UNEQUAL:
            return FAR_TRUE, exact, False
        span = ZONE_SPAN if operator in (LESS, AT_MOST) else -ZONE_SPAN
        return BY_NUMBER, _shifted(number, exact, span), True
    if operator == UNEQUAL and kind != _CLASS_ILL:
        return ALL_TRUE, 0.0, False
    return NONE_TRUE, 0.0, False


@inlined
def _is_other_zone(kind: Integer, lane: Integer) -> bool:
    """Whether two different classes are one family of dates or times, with and without a zone."""
    return bool(kind >= _DATETIME and (kind - _DATETIME) >> 1 == (lane - _DATETIME) >> 1)


@inlined
def _shifted(number: float, exact: float, span: float) -> float:
    """`exact` moved by whole milliseconds: still on its side of `number` moved alike."""
    if exact == number:
        return number + span
    return float(np.nextafter(number + span, np.inf if exact > number else -np.inf))


@inlined
def compares(how: int, number: float, strict: bool, operator: int, constant: float) -> bool:
    """Whether a term so seen fulfils ``term operator constant``."""
    if how == NONE_TRUE:
        return False
    if how == ALL_TRUE:
        return True
    if how == FAR_TRUE:
        return number > constant + ZONE_SPAN or number < constant - ZONE_SPAN
    if how == BY_SINGLE:
        constant = float(np.float32(constant))
    if operator == EQUAL:
        return number == constant
    if operator == UNEQUAL:
        return number != constant
    if operator == LESS or (strict and operator == AT_MOST):
        return number < constant
    if operator == AT_MOST:
        return number <= constant
    if operator == GREATER or (strict and operator == AT_LEAST):
        return number > constant
    return number >= constant


@inlined
def holds(values: F64, identity: I32, extras: F64, term: int, operator: int, lane: int, constant: float) -> bool:
    """Whether ``term operator constant`` is true."""
    how, number, strict = see(values, identity, extras, term, operator, lane)
    return compares(how, number, strict, operator, constant)


@inlined
def lower_of(operator: int) -> int:
    """The comparison with the lower bound of a span; another operator itself."""
    return operator if operator < SPAN else GREATER if operator & 2 else AT_LEAST


@inlined
def upper_of(operator: int) -> int:
    """The comparison with the upper bound of a span."""
    return AT_MOST if operator & 1 else LESS


@inlined
def see_bounds(
    values: F64, identity: I32, extras: F64, term: int, operator: int, lane: int
) -> tuple[int, float, bool, float]:
    """As `see`, and the number as the upper bounds of spans see it."""
    how, number, strict = see(values, identity, extras, term, lower_of(operator), lane)
    above = number
    if operator >= SPAN and strict:
        _, above, _ = see(values, identity, extras, term, upper_of(operator), lane)
    return how, number, strict, above


@inlined
def spans(seen: tuple[int, float, bool, float], operator: int, lower: float, upper: float) -> bool:
    """Whether a term seen by `see_bounds` lies between two bounds; NaN bounds nothing."""
    how, number, strict, above = seen
    return (lower != lower or compares(how, number, strict, lower_of(operator), lower)) and (
        upper != upper or compares(how, above, strict, upper_of(operator), upper)
    )


@borrowing
def all_hold(
    codes: U8, constants: F64, atom: int, values: F64, identity: I32, extras: F64, row: I32, first: int
) -> bool:
    """Whether a solution fulfils the condition in conjunctive form that begins with `atom`; variable v is ``row[first +
    v]``."""
    clause_true = False
    while True:
        if not clause_true:
            term = row[first + codes[atom, 0]]
            clause_true = holds(values, identity, extras, term, codes[atom, 1], codes[atom, 2], constants[atom])
        if codes[atom, 3] != CONTINUES:
            if not clause_true:
                return False
            if codes[atom, 3] == ENDS:
                return True
            clause_true = False
        atom += 1


@inlined
def narrow_range(
    how: int, number: float, strict: bool, operator: int, constants: F64, start: int, end: int, width: float
) -> tuple[int, int]:
    """Of ascending constants the range that a term so seen may fulfil: exactly those it does, but for ``!=`` and
    spans, none of which is wider than `width`."""
    if how == NONE_TRUE:
        return start, start
    if how in (ALL_TRUE, FAR_TRUE) or operator == UNEQUAL:
        return start, end
    if number != number:
        return start, start
    single = how == BY_SINGLE
    if operator == EQUAL:
        start = _first_from(constants, start, end, number, single)
        last = start
        while last < end and _rounded(constants[last], single) == number:
            last += 1
        return start, last
    if operator == LESS or (operator == AT_MOST and strict):
        return _first_beyond(constants, start, end, number, single), end
    if operator == AT_MOST:
        return _first_from(constants, start, end, number, single), end
    if operator == GREATER or (operator == AT_LEAST and strict):
        return start, _first_from(constants, start, end, number, single)
    if operator == AT_LEAST:
        return start, _first_beyond(constants, start, end, number, single)
    if end - start <= FEW:
        return start, end
    slack = abs(number) * 1e-6 + width * 1e-6 + 1e-30
    start = _first_from(constants, start, end, number - width - slack, False)
    return start, _first_beyond(constants, start, end, number, single)


@inlined
def _rounded(constant: float, single: bool) -> float:
    return float(np.float32(constant)) if single else constant


@inlined
def _first_from(constants: F64, start: int, end: int, number: float, single: bool) -> int:
    """The first of the ascending constants that is not less than `number`, in steps without branches."""
    left = end - start
    while left > 0:
        half = (left + 1) >> 1
        start += half if _rounded(constants[start + half - 1], single) < number else 0
        left -= half
    return start


@inlined
def _first_beyond(constants: F64, start: int, end: int, number: float, single: bool) -> int:
    """The first of the ascending constants that is greater than `number`."""
    left = end - start
    while left > 0:
        half = (left + 1) >> 1
        start += half if _rounded(constants[start + half - 1], single) <= number else 0
        left -= half
    return start
