"""The constants of plans: their texts, and where their values stand."""

from __future__ import annotations

import math
from enum import IntEnum
from functools import lru_cache
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

from triplecast.model.algebra import Slot
from triplecast.terms.values import ValueClass, order_key

Constant: TypeAlias = NamedNode | Literal | Slot


class Kind(IntEnum):
    """What a comparison needs to know of its constant; below 32 a `ValueClass` whose place is exact."""

    NAN = 32
    INEXACT = 33
    """A value that needs more digits than its number holds: compared by the evaluator only."""


@lru_cache(maxsize=65_536)
def place_of(constant: str) -> tuple[int, float]:
    """(kind, number) of a constant in N-Triples form; the kind is a `ValueClass` or a `Kind`."""
    value_class, number, tie = order_key(constant)
    if tie != 0:
        return int(Kind.INEXACT), number
    if math.isnan(number) and value_class != ValueClass.ILL:
        return int(Kind.NAN), number
    return int(value_class), number


def constant_text(constant: Constant, constants: tuple[str, ...]) -> str:
    """Its N-Triples form, for the constants of a subscription."""
    return constants[constant.index] if isinstance(constant, Slot) else str(constant)
