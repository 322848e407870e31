"""Numbers in a line, each with a key that rises along it: what stands in Sub-Order's order while it changes."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
from numpy.typing import NDArray

_LEAST_GAP = 1e-6
"""Between neighbouring keys; far above the spacing of doubles below a billion."""


class Line:
    """A doubly linked list with keys. Putting one in moves the keys of a few neighbours at most, so its cost does not
    grow with the line."""

    def __init__(self) -> None:
        self._key: dict[int, float] = {}
        self._before: dict[int, int | None] = {}
        self._after: dict[int, int | None] = {}
        self._last: int | None = None

    def __contains__(self, number: int) -> bool:
        return number in self._key

    def fill(self, order: Sequence[int]) -> None:
        """The line is `order` from now on."""
        self._key = {number: float(place) for place, number in enumerate(order)}
        self._before = dict(zip(order, [None, *order], strict=False))
        self._after = dict(zip(order, [*order[1:], None], strict=False))
        self._last = order[-1] if order else None

    def put_after(self, number: int, neighbour: int) -> None:
        """`number` is not in the line, `neighbour` is."""
        self._put(number, neighbour, self._after[neighbour])

    def put_before(self, number: int, neighbour: int) -> None:
        """As `put_after`, on the other side."""
        self._put(number, self._before[neighbour], neighbour)

    def put_last(self, number: int) -> None:
        """`number` is not in the line."""
        self._put(number, self._last, None)

    def drop(self, number: int) -> None:
        """One that is not in the line is no error."""
        if number not in self._key:
            return
        before, after = self._before.pop(number), self._after.pop(number)
        del self._key[number]
        self._join(before, after)

    def keys(self, numbers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Of each; infinite for one that is not in the line."""
        return np.array([self._key.get(number, inf) for number in numbers.tolist()], np.float64)

    def order(self) -> list[int]:
        """All numbers, from first to last."""
        return sorted(self._key, key=self._key.__getitem__)

    def _put(self, number: int, before: int | None, after: int | None) -> None:
        self._join(before, number)
        self._join(number, after)
        if before is None:
            self._key[number] = 0.0 if after is None else self._key[after] - 1.0
        elif after is None:
            self._key[number] = self._key[before] + 1.0
        else:
            low, high = self._key[before], self._key[after]
            self._key[number] = (low + high) / 2
            if high - low < 2 * _LEAST_GAP:
                self._respace(number)

    def _join(self, before: int | None, after: int | None) -> None:
        if before is not None:
            self._after[before] = after
        if after is None:
            self._last = before
        else:
            self._before[after] = before

    def _respace(self, number: int) -> None:
        """Spreads the keys of the neighbourhood evenly; it is doubled until there is room."""
        left, right, within = self._before[number], self._after[number], [number]
        while left is not None and right is not None:
            gap = (self._key[right] - self._key[left]) / (len(within) + 1)
            if gap >= 8 * _LEAST_GAP:
                start = self._key[left]
                for place, member in enumerate(within, 1):
                    self._key[member] = start + place * gap
                return
            for _ in range(len(within)):
                if left is not None:
                    within.insert(0, left)
                    left = self._before[left]
                if right is not None:
                    within.append(right)
                    right = self._after[right]
        start = self._key[right] - len(within) if right is not None else 0.0 if left is None else self._key[left] + 1
        for place, member in enumerate(within):
            self._key[member] = start + place
