"""Which registrations the outbox has the names of."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray


class KnownNumbers:
    """A set of numbers, of eight bytes each, but for the latest: these wait in a set until they are an eighth."""

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        self._sorted: NDArray[np.int64] = np.unique(np.fromiter(numbers, np.int64))
        self._latest: set[int] = set()

    def add(self, numbers: NDArray[np.int64]) -> None:
        self._latest.update(numbers.tolist())
        if 8 * len(self._latest) > len(self._sorted):
            self._sorted = np.union1d(self._sorted, np.fromiter(self._latest, np.int64))
            self._latest.clear()

    def missing(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return those of `numbers` that are not in the set, each once, ascending."""
        unknown = numbers
        if len(self._sorted):
            at = np.minimum(np.searchsorted(self._sorted, numbers), len(self._sorted) - 1)
            unknown = numbers[self._sorted[at] != numbers]
        return np.array(sorted({*unknown.tolist()} - self._latest), np.int64)
