"""Codes of the comparisons that the index decides, shared by compiler, index files and kernels."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType

MIRRORED: Mapping[str, str] = MappingProxyType({"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="})
"""The comparison with its sides exchanged."""


class Comparison(IntEnum):
    """How a term is compared with a constant. `SPAN`, the index's own, is a lower bound with an upper one: 1 more where
    the upper one is closed, 2 more where the lower one is open."""

    EQUAL = 0
    LESS = 1
    AT_MOST = 2
    GREATER = 3
    AT_LEAST = 4
    UNEQUAL = 5
    SPAN = 8


class Lane(IntEnum):
    """The value of a term that a comparison uses, by the kind of the constant.

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
    """``LANG(?v)`` against a tag; ``""`` means literals without one."""
    STRING_ORDER = 22
    NEVER = 23
    """No term satisfies it: an order or equality with NaN."""
    UNLIKE = 24
    """``!=`` NaN: every term but an ill-typed literal."""


TERM_LANES = (Lane.IDENTITY, Lane.ILL, Lane.LANG, Lane.STRING, Lane.LANGUAGE, Lane.STRING_ORDER)
"""Lanes whose constant is a term of the dictionary; in others it is a number."""
