"""Anchor strategies: under which of its keys a structure is filed.

Law, held by one test suite for all of them: candidates ⊇ matches. Keys are ranked once per segment; a structure's
anchor is its first key in that order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from triplecast.kernels.layout import I32, I64


class KeyFacts(NamedTuple):
    """Statistics of the distinct keys of a segment."""

    terms: I32
    """[K, 3] dictionary ids, -1 for variables, -2 for the key that every publication has."""
    uses: I64
    """[K] patterns of subscriptions with this key."""


class Anchor(Protocol):
    """A strategy that ranks keys as anchors."""

    @property
    def unfiltered(self) -> bool:
        """Whether every structure is a candidate of every publication."""

    def rank(self, facts: KeyFacts) -> NDArray[np.int64]:
        """Order the keys by preference as anchors, best first."""


@dataclass(frozen=True, slots=True)
class RarestKey:
    """Prefer most constants (subject or object before predicate), then fewest subscriptions."""

    unfiltered: bool = False

    def rank(self, facts: KeyFacts) -> NDArray[np.int64]:
        constant = facts.terms >= 0
        weight = 2 * constant[:, 0] + constant[:, 1] + 2 * constant[:, 2]
        return np.lexsort((facts.uses, -weight))


@dataclass(frozen=True, slots=True)
class FirstWritten:
    """Prefer the key that occurs first in the subscriptions, without statistics."""

    unfiltered: bool = False

    def rank(self, facts: KeyFacts) -> NDArray[np.int64]:
        return np.arange(len(facts.uses))


@dataclass(frozen=True, slots=True)
class NoFilter:
    """Make every structure a candidate of every publication: the reference for the others."""

    unfiltered: bool = True

    def rank(self, facts: KeyFacts) -> NDArray[np.int64]:
        always = facts.terms[:, 0] == -2
        return np.lexsort((facts.uses, ~always))
