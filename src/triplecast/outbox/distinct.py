"""Rows to the distinct values in them, and which of these the outbox knows."""

from __future__ import annotations

from collections.abc import Sequence

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


class KnownNumbers:
    """The registrations whose names the outbox has, as ranges that do not overlap: those of one record, mostly."""

    def __init__(self, ranges: Sequence[range] = ()) -> None:
        self._first: I64 = np.zeros(0, np.int64)
        self._last: I64 = np.zeros(0, np.int64)
        """Ascending."""
        self.add(ranges)

    def add(self, ranges: Sequence[range]) -> None:
        """Add ranges, of which none is empty; those that are there stay."""
        if not ranges:
            return
        first = np.concatenate([self._first, np.array([each.start for each in ranges], np.int64)])
        last = np.concatenate([self._last, np.array([each.stop - 1 for each in ranges], np.int64)])
        self._last, places = np.unique(last, return_index=True)
        self._first = first[places]

    def missing(self, numbers: I64) -> I64:
        """Return those of `numbers` that are not in the set, each once, ascending."""
        found = numbers
        if not (numbers[1:] > numbers[:-1]).all():  # as those of one publication are
            found, _ = distinct(numbers)
        if len(self._last):
            at = np.minimum(np.searchsorted(self._last, found), len(self._last) - 1)
            found = found[(found < self._first[at]) | (found > self._last[at])]
        return found
