"""The constants of plans: their texts and their places in the order of values."""

from __future__ import annotations

import math
from enum import IntEnum
from functools import lru_cache
from typing import TypeAlias

from pyoxigraph import Literal, NamedNode

from triplecast.model.algebra import Slot
from triplecast.terms.values import ValueClass, order_key

Constant: TypeAlias = NamedNode | Literal | Slot


class ComparisonKind(IntEnum):
    """How a constant can be compared; below 32 it is a `ValueClass` whose place is exact."""

    NAN = 32
    INEXACT = 33
    """A value that needs more digits than its number holds: compared by the evaluator only."""


@lru_cache(maxsize=65_536)
def place_of(constant: str) -> tuple[int, float]:
    """(kind, number) of a constant in N-Triples form; the kind is a `ValueClass` or a `ComparisonKind`."""
    value_class, number, tie = order_key(constant)
    if tie != 0:
        return int(ComparisonKind.INEXACT), number
    if math.isnan(number) and value_class != ValueClass.ILL:
        return int(ComparisonKind.NAN), number
    return int(value_class), number


def constant_text(constant: Constant, constants: tuple[str, ...]) -> str:
    """The N-Triples form of a constant, given a subscription's constants."""
    return constants[constant.index] if isinstance(constant, Slot) else str(constant)
