"""What is found of a batch in one segment, before positions are looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I32


class Decided(NamedTuple):
    """Decided matches of one segment; row i has the JSON ``text[start[i]:start[i] + length[i]]``."""

    publication: I32
    registration: NDArray[np.int64]
    text: NDArray[np.uint8]
    start: NDArray[np.int64]
    length: NDArray[np.int64]

    def without(self, publications: I32) -> Decided:
        kept = ~np.isin(self.publication, publications)
        return Decided(self.publication[kept], self.registration[kept], self.text, self.start[kept], self.length[kept])


class Pairs(NamedTuple):
    """Pairs by (publication, subscription number)."""

    publication: I32
    subscription: I32


def make_matches(publication: list[int], registration: list[int], bindings: list[bytes]) -> Decided:
    """Matches with the JSON of each."""
    lengths = np.array([len(each) for each in bindings], np.int64)
    return Decided(
        np.array(publication, np.int32),
        np.array(registration, np.int64),
        np.frombuffer(bytearray(b"".join(bindings)), np.uint8),
        np.cumsum(lengths) - lengths,
        lengths,
    )


def no_matches() -> Decided:
    return make_matches([], [], [])
