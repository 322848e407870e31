"""Which registrations a publication is asked of: those added before it and not removed before it."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.index import Segment, Snapshot
from triplecast.kernels.layout import I32, I64
from triplecast.match.found import Decided, Pairs
from triplecast.model.publication import Publication

_NOTHING = np.zeros(0, np.int32)
SPARSENESS = 16
"""Marks for each removal."""


class Pair(NamedTuple):
    publication: int
    subscription: int
    """Its number in its segment."""
    registration: int


class Validity:
    """Of a snapshot's registrations, asked for one batch."""

    def __init__(self, snapshot: Snapshot, publications: Sequence[Publication]) -> None:
        self._removals = snapshot.removals
        self._positions = np.array([publication.position for publication in publications], np.int64)
        self._first = int(self._positions.min(initial=np.iinfo(np.int64).max))
        self._marks = _mark(snapshot.removals.registration)
        self._lost = _NOTHING

    def without(self, lost: Collection[int]) -> Validity:
        """The same, but for publications (by place) that nothing is asked of."""
        if not lost:
            return self
        made = copy(self)
        made._lost = np.array(sorted(lost), np.int32)
        return made

    def holds(self, publication: I32, registration: I64) -> NDArray[np.bool_]:
        """Of each pair whether the publication, by its place in the batch, is asked of the registration."""
        valid = np.ones(len(registration), np.bool_)
        if registration.max(initial=-1) >= self._first:
            valid = registration < self._positions[publication]
        if len(self._marks):
            pairs = np.flatnonzero(self._marks[registration & (len(self._marks) - 1)])
            valid[pairs] &= self._stands(publication[pairs], registration[pairs])
        if len(self._lost):
            valid &= ~np.isin(publication, self._lost)
        return valid

    def _stands(self, publication: I32, registration: I64) -> NDArray[np.bool_]:
        """Whether it has not been removed before the publication."""
        removals = self._removals
        at = np.minimum(np.searchsorted(removals.registration, registration), len(removals.registration) - 1)
        before = self._positions[publication] < removals.position[at]
        return np.asarray((removals.registration[at] != registration) | before)

    def keep_decided(self, decided: Decided) -> Decided:
        valid = self.holds(decided.publication, decided.registration)
        if valid.all():
            return decided
        return Decided(
            decided.publication[valid],
            decided.registration[valid],
            decided.text,
            decided.start[valid],
            decided.length[valid],
        )

    def keep(self, segment: Segment, pairs: Pairs) -> list[Pair]:
        registration = segment.tables.registrations[pairs.subscription]
        valid = self.holds(pairs.publication, registration)
        return [
            Pair(*row)
            for row in zip(
                pairs.publication[valid].tolist(),
                pairs.subscription[valid].tolist(),
                registration[valid].tolist(),
                strict=True,
            )
        ]


def _mark(removed: I64) -> NDArray[np.bool_]:
    """True at the low bits of what is removed; so few are true that hardly any pair of another registration is looked
    up. Empty where nothing is removed; else of a length that is a power of two."""
    if not len(removed):
        return np.zeros(0, np.bool_)
    marks = np.zeros(1 << int(SPARSENESS * len(removed) - 1).bit_length(), np.bool_)
    marks[removed & (len(marks) - 1)] = True
    return marks
