"""Rows to the distinct values in them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I32, I64

_SPREAD = 16
"""A table over the range of the values may be so many times longer than they are."""


def distinct(values: NDArray[np.integer]) -> tuple[I64, I32]:
    """Return the distinct values, ascending, and for each value its place among these."""
    least = int(values.min(initial=0))
    span = int(values.max(initial=least)) - least + 1
    if span > _SPREAD * len(values) + 4096:
        found, places = np.unique(values, return_inverse=True)
        return found.astype(np.int64), places.astype(np.int32)
    shifted = values - least
    table = np.zeros(span, np.int32)
    table[shifted] = 1
    found = np.flatnonzero(table)
    table[found] = np.arange(len(found), dtype=np.int32)
    return found + least, table[shifted]
