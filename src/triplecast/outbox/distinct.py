"""Rows to the distinct values in them, and which of these the outbox knows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I32, I64

_SPREAD = 16
"""A table over the range of the values may be so many times longer than they are; and so many times fewer ranges are
new than old."""
_NEW = 1024
"""Ranges that may be new however few are old."""


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
        self._old, self._new = NO_RANGES, NO_RANGES
        """Those that came lately are few, so that adding one does not touch all."""
        self.add(ranges)

    def add(self, ranges: Sequence[range]) -> None:
        """Add ranges, of which none is empty; those that are there stay."""
        if not ranges:
            return
        added = NumberRanges(
            np.array([each.start for each in ranges], np.int64), np.array([each.stop - 1 for each in ranges], np.int64)
        )
        self._new = self._new.joined(added)
        if len(self._new.last) > _NEW + len(self._old.last) // _SPREAD:
            self._old, self._new = self._old.joined(self._new), NO_RANGES

    def missing(self, numbers: I64) -> I64:
        """Return those of `numbers` that are not in the set, each once, ascending."""
        found = numbers
        if not (numbers[1:] > numbers[:-1]).all():  # as those of one publication are
            found, _ = distinct(numbers)
        return self._new.without(self._old.without(found))


class NumberRanges(NamedTuple):
    """Ranges of numbers, ascending."""

    first: I64
    last: I64

    def joined(self, other: NumberRanges) -> NumberRanges:
        last, places = np.unique(np.concatenate([self.last, other.last]), return_index=True)
        return NumberRanges(np.concatenate([self.first, other.first])[places], last)

    def without(self, numbers: I64) -> I64:
        """Return those of ascending `numbers` that are in none."""
        if not (len(self.last) and len(numbers)):
            return numbers
        at = np.minimum(np.searchsorted(self.last, numbers), len(self.last) - 1)
        return numbers[(numbers < self.first[at]) | (numbers > self.last[at])]


NO_RANGES = NumberRanges(np.zeros(0, np.int64), np.zeros(0, np.int64))
