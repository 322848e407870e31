"""Cancelled registrations of a snapshot's segments.

There may be a hundred thousand of them, and some change every second: they are arrays, from manifest to matching.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

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

    def within(self, parts: Iterable[I64]) -> Removals:
        """Those of registrations that some of `parts` has, each ascending."""
        kept = np.zeros(len(self.registration), np.bool_)
        for part in parts:
            kept |= _among(self.registration, part)
        return self if kept.all() else Removals(self.registration[kept], self.position[kept])


NO_REMOVALS = Removals(np.zeros(0, np.int64), np.zeros(0, np.int64))


def make_removals(pairs: Mapping[int, int]) -> Removals:
    """Registration to position."""
    return NO_REMOVALS.joined([*pairs.items()])


def count_among(some: I64, registrations: I64) -> int:
    """How many of `some` are in `registrations`; both ascend."""
    first, end = np.searchsorted(some, [registrations[0], registrations[-1] + 1]) if len(registrations) else (0, 0)
    return int(np.count_nonzero(_among(some[first:end], registrations)))


def _among(some: I64, registrations: I64) -> NDArray[np.bool_]:
    """Of each whether it is in `registrations`; these ascend."""
    at = np.searchsorted(registrations, some)
    found = at < len(registrations)
    found[found] = registrations[at[found]] == some[found]
    return found
