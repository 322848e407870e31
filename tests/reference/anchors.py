"""Strategies of anchors that the index is compared with: each has to find what `RarestKey` finds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I32, I64


@dataclass(frozen=True, slots=True)
class FirstWritten:
    """Prefer the key that occurs first in the subscriptions, without statistics."""

    unfiltered: bool = False

    def rank(self, terms: I32, uses: I64) -> NDArray[np.int64]:
        return np.arange(len(uses))


@dataclass(frozen=True, slots=True)
class NoFilter:
    """Make every structure a candidate of every publication."""

    unfiltered: bool = True

    def rank(self, terms: I32, uses: I64) -> NDArray[np.int64]:
        always = terms[:, 0] == -2
        return np.lexsort((uses, ~always))
