"""Cancelled registrations of a snapshot's segments.

There may be a hundred thousand of them, and some change every second: they are arrays, from manifest to matching.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from triplecast.index.numbers import Registrations
from triplecast.kernels.layout import I64


class Removals(NamedTuple):
    """Cancelled registrations, ascending, each once, and the positions at which they were cancelled."""

    registration: I64
    position: I64

    def up_to(self, position: int) -> I64:
        """Those that no publication after `position` is asked of."""
        return self.registration[self.position <= position]

    def joined(self, pairs: Sequence[tuple[int, int]]) -> Removals:
        """With further (registration, position)."""
        if not pairs:
            return self
        more = np.array(pairs, np.int64)
        registration, first = np.unique(np.concatenate([self.registration, more[:, 0]]), return_index=True)
        return Removals(registration, np.concatenate([self.position, more[:, 1]])[first])

    def within(self, parts: Iterable[Registrations]) -> Removals:
        """Those of registrations that some of `parts` has."""
        kept = np.zeros(len(self.registration), np.bool_)
        for part in parts:
            kept |= part.among(self.registration)
        return self if kept.all() else Removals(self.registration[kept], self.position[kept])


NO_REMOVALS = Removals(np.zeros(0, np.int64), np.zeros(0, np.int64))


def make_removals(pairs: Mapping[int, int]) -> Removals:
    """Registration to position."""
    return NO_REMOVALS.joined([*pairs.items()])
