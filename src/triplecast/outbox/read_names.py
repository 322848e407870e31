"""Subscription and owner of registrations, as far as a reader has met them: columns, not an entry for each."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I32, I64

SubscriptionName = tuple[int, str, str | None]
"""A registration, and the id and owner of its subscription."""


class ReadNames:
    """Names in the order in which they were read; each keeps its place."""

    def __init__(self) -> None:
        self.subscriptions: list[str] = []
        self.owners: list[str | None] = []
        self._numbers: I64 = np.zeros(0, np.int64)
        """Ascending."""
        self._places: I32 = np.zeros(0, np.int32)
        """Of these, in the columns."""

    def missing(self, numbers: I64) -> I64:
        """Return those of `numbers` that are not here yet."""
        known = self._numbers
        if not len(known):
            return numbers
        is_new: NDArray[np.bool_] = known[np.minimum(np.searchsorted(known, numbers), len(known) - 1)] != numbers
        return numbers[is_new]

    def add(self, names: Iterable[SubscriptionName]) -> None:
        """Add names of registrations that are not here yet."""
        numbers, subscriptions, owners = [*zip(*names, strict=True)] or [(), (), ()]
        known = len(self.subscriptions)
        self.subscriptions += subscriptions
        self.owners += owners
        joined = np.concatenate([self._numbers, np.array(numbers, np.int64)])
        places = np.concatenate([self._places, np.arange(known, len(self.subscriptions), dtype=np.int32)])
        order = np.argsort(joined, kind="stable")
        self._numbers, self._places = joined[order], places[order]

    def places(self, numbers: I64) -> I32:
        """Return where the names of `numbers`, which are all here, stand in the columns."""
        return self._places[np.searchsorted(self._numbers, numbers)]

    def of(self, numbers: I64) -> list[tuple[str, str | None]]:
        """Return the subscription and the owner of each of `numbers`, which are all here."""
        return [(self.subscriptions[place], self.owners[place]) for place in self.places(numbers).tolist()]
