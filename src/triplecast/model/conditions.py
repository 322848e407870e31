"""Conditions on one variable that the index decides: codes shared by compiler, index files and kernels."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

MIRRORED: Mapping[str, str] = MappingProxyType({"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="})
"""What a comparison is called with its sides exchanged."""


class Operator(IntEnum):
    """How a term is compared with a constant. `WINDOW` is the index's own: a lower bound whose upper bound is near."""

    EQUAL = 0
    LESS = 1
    AT_MOST = 2
    GREATER = 3
    AT_LEAST = 4
    UNEQUAL = 5
    WINDOW = 6


class Lane(IntEnum):
    """Which value of a term a condition looks at, by the kind of the constant.

    IDENTITY to STRING compare terms; they differ only in the errors of ``!=`` (semantics 3.6). BOOLEAN to
    DAYTIMEDURATION carry the numbers of `ValueClass`, hold numbers and compare by value. Above them: the tag of a
    language-tagged string, strings by code point, and two for constants that are NaN.
    """

    IDENTITY = 0
    """An IRI, or any constant under ``sameTerm``."""
    ILL = 2
    LANG = 3
    STRING = 4
    BOOLEAN = 5
    EXACT = 6
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
    LANGUAGE = 21
    """``LANG(?v)`` against a tag; ``""`` stands for literals without one."""
    STRING_ORDER = 22
    NEVER = 23
    """No term fulfils it: an order or equality with NaN."""
    UNLIKE = 24
    """``!=`` NaN: every term but an ill-typed literal."""


TERM_LANES = (Lane.IDENTITY, Lane.ILL, Lane.LANG, Lane.STRING, Lane.LANGUAGE, Lane.STRING_ORDER)
"""Lanes whose constant is a term of the dictionary; the others' is a number."""
