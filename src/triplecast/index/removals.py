"""Cancelled registrations of a snapshot's segments, as arrays: there may be 100,000, changing every second."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from triplecast.index.registration_numbers import RegistrationNumbers
from triplecast.kernels.layout import I64


class Removals(NamedTuple):
    """Cancelled registrations, ascending, each once, and the positions at which they were cancelled."""

    registration: I64
    position: I64

    def up_to(self, position: int) -> I64:
        """The registrations cancelled at or before `position`: later publications are not evaluated against them."""
        return self.registration[self.position <= position]

    def joined(self, pairs: Sequence[tuple[int, int]]) -> Removals:
        """Add pairs of (registration, position)."""
        if not pairs:
            return self
        more = np.array(pairs, np.int64)
        registration, first = np.unique(np.concatenate([self.registration, more[:, 0]]), return_index=True)
        return Removals(registration, np.concatenate([self.position, more[:, 1]])[first])

    def within(self, parts: Iterable[RegistrationNumbers]) -> Removals:
        """Keep the removals of registrations that `parts` contain."""
        kept = np.zeros(len(self.registration), np.bool_)
        for part in parts:
            kept |= part.among(self.registration)
        return self if kept.all() else Removals(self.registration[kept], self.position[kept])


NO_REMOVALS = Removals(np.zeros(0, np.int64), np.zeros(0, np.int64))


def make_removals(pairs: Mapping[int, int]) -> Removals:
    """Make removals of a mapping from registration to position."""
    return NO_REMOVALS.joined([*pairs.items()])
