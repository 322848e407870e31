"""The registrations of a segment, four bytes each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I64


@dataclass(frozen=True, slots=True, eq=False)
class RegistrationNumbers:
    """Ascending 64-bit registration ids by member, stored as distances from the first.

    They read like an array: by member, as a whole (`all`), by length.
    """

    base: int
    distances: NDArray[np.integer]
    """uint32, or int64 once four thousand million journal records lie between two registrations of one segment."""

    @classmethod
    def of(cls, numbers: I64) -> RegistrationNumbers:
        base = int(numbers[0]) if len(numbers) else 0
        small = not len(numbers) or int(numbers[-1]) - base < 1 << 32
        return cls(base, (numbers - base).astype(np.uint32 if small else np.int64))

    def __len__(self) -> int:
        return len(self.distances)

    def __getitem__(self, members: Any) -> Any:
        """The ids of one member, of a slice, or of an array of members."""
        return self.distances[members].astype(np.int64) + self.base

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self[:], dtype or np.int64)

    def among(self, numbers: I64) -> NDArray[np.bool_]:
        """Tell for each of `numbers`, ascending, whether it is one of these ids."""
        found = np.zeros(len(numbers), np.bool_)
        if len(self):
            first, end = np.searchsorted(numbers, [self.base, self.base + int(self.distances[-1]) + 1])
            distances = (numbers[first:end] - self.base).astype(self.distances.dtype)
            found[first:end] = self.distances[np.searchsorted(self.distances, distances)] == distances
        return found


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
