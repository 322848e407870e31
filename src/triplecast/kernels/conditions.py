"""Comparisons of a term with constants, in three-valued logic (semantics 3.3 to 3.6).

A term is *seen* through a lane: as a number that compares with the constants of that lane, or as true for all of them, or for none
(false and error alike: both drop a row). The exactness of the numbers is `terms.values.order_key`'s: constants have tie 0, so a
value that needs more digits moves to the next double towards its side and compares right with every constant.
"""

from __future__ import annotations

import numpy as np

from triplecast.kernels import inlined
from triplecast.kernels.layout import TermValues
from triplecast.model.conditions import Lane, Operator

NONE_TRUE = 0
BY_NUMBER = 1
BY_SINGLE = 2
"""As `BY_NUMBER`, with the constant rounded to float32 first."""
ALL_TRUE = 3
FAR_TRUE = 4
"""``!=`` across zones: true when more than 14 hours apart, an error otherwise."""

ZONE_SPAN = 14 * 3600 * 1000.0
"""Milliseconds: a time without a zone may lie this far to either side."""

EQUAL = int(Operator.EQUAL)
LESS = int(Operator.LESS)
AT_MOST = int(Operator.AT_MOST)
GREATER = int(Operator.GREATER)
AT_LEAST = int(Operator.AT_LEAST)
UNEQUAL = int(Operator.UNEQUAL)
WINDOW = int(Operator.WINDOW)

_IDENTITY = int(Lane.IDENTITY)
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
def see(values: TermValues, term: int, operator: int, lane: int) -> tuple[int, float, bool]:
    """(how, number, strict): how a term compares with the constants of a lane under an operator.

    `strict`: ``<=`` and ``>=`` hold only where ``<`` and ``>`` do.
    """
    if lane >= _BOOLEAN and lane <= _DAYTIMEDURATION:
        return _see_number(values, term, operator, lane)
    kind = values.value_class[term]
    if lane <= _STRING:
        known = values.identity[term]
        if operator == EQUAL:
            return (BY_NUMBER if known >= 0 else NONE_TRUE), float(known), False
        if kind == _CLASS_ILL and (lane == _STRING or lane == _ILL):
            return NONE_TRUE, 0.0, False
        if lane == _ILL and kind > _CLASS_LANG:
            return NONE_TRUE, 0.0, False
        return (BY_NUMBER if known >= 0 else ALL_TRUE), float(known), False
    if lane == _LANGUAGE:
        tag = values.language[term]
        if tag == -2:
            return NONE_TRUE, 0.0, False
        if tag == -1:
            return (ALL_TRUE if operator == UNEQUAL else NONE_TRUE), 0.0, False
        return BY_NUMBER, float(tag), False
    if lane == _STRING_ORDER:
        return (BY_NUMBER if kind == _CLASS_STRING else NONE_TRUE), values.rank[term], False
    if lane == _UNLIKE:
        return (NONE_TRUE if kind == _CLASS_ILL else ALL_TRUE), 0.0, False
    return NONE_TRUE, 0.0, False


@inlined
def _see_number(values: TermValues, term: int, operator: int, lane: int) -> tuple[int, float, bool]:
    kind = values.value_class[term]
    number = values.number[term]
    if kind >= _EXACT and kind <= _DOUBLE and lane >= _EXACT and lane <= _DOUBLE:
        if lane == _EXACT:
            if kind == _EXACT:
                return BY_NUMBER, _moved(number, values.tie[term]), False
            return (BY_SINGLE if kind == _FLOAT else BY_NUMBER), number, False
        if lane == _FLOAT and kind == _EXACT:
            return BY_NUMBER, float(np.float32(number)), False
        return BY_NUMBER, number, False
    if kind == lane:
        return BY_NUMBER, _moved(number, values.tie[term]), False
    if kind >= _DATETIME and lane >= _DATETIME and kind <= _GYEARMONTH_LOCAL and lane <= _GYEARMONTH_LOCAL:
        if (kind - _DATETIME) >> 1 == (lane - _DATETIME) >> 1:
            tie = values.tie[term]
            if operator == EQUAL:
                return NONE_TRUE, 0.0, False
            if operator == UNEQUAL:
                return FAR_TRUE, _moved(number, tie), False
            if operator == LESS or operator == AT_MOST:
                return BY_NUMBER, _moved(number + ZONE_SPAN, tie), True
            return BY_NUMBER, _moved(number - ZONE_SPAN, tie), True
    if operator == UNEQUAL and kind != _CLASS_ILL:
        return ALL_TRUE, 0.0, False
    return NONE_TRUE, 0.0, False


@inlined
def _moved(number: float, tie: int) -> float:
    """The double next to `number` on the side of the exact value."""
    if tie > 0:
        return float(np.nextafter(number, np.inf))
    if tie < 0:
        return float(np.nextafter(number, -np.inf))
    return number


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
def holds(values: TermValues, term: int, operator: int, lane: int, constant: float) -> bool:
    how, number, strict = see(values, term, operator, lane)
    return compares(how, number, strict, operator, constant)
