"""What a schedule is to the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from triplecast.operators.schedules.conjunctions import Conjunctions


class StandingTable(NamedTuple):
    """Subscriptions and their templates: subscription i has ``members[starts[i]:starts[i + 1]]``, each once."""

    subscriptions: NDArray[np.int64]
    """Their numbers, each once."""
    starts: NDArray[np.int64]
    members: NDArray[np.int32]


class Run(Protocol):
    """Decides the rows of one publication."""

    def wanted(self, limit: int = 1) -> Sequence[int]:
        """The ground predicates to evaluate next, at most `limit`, no two in one undecided row; empty when all rows
        are decided. The same again until one of them is learnt."""
        ...

    def learnt(self, predicate: int, holds: bool | None) -> None:
        """What a ground predicate turned out to be, None for one that failed. Any that is not known yet may be learnt,
        wanted or not (one that an earlier publication or a replay has answered); raises `ValueError` for one that is
        known."""
        ...

    def outcomes(self) -> NDArray[np.uint8]:
        """[rows] `OPEN`, `HOLDS`, `REFUTED`, `FAILED`."""
        ...


class Schedule(Protocol):
    """Knows the templates of the standing subscriptions as far as its order depends on them."""

    @property
    def keeps_order(self) -> bool:
        """Whether what is inserted and removed makes a difference."""
        ...

    def insert(self, subscription: int, predicates: Sequence[int]) -> None:
        """`predicates`: its templates. A subscription that stands already gets these instead."""
        ...

    def insert_all(self, standing: StandingTable) -> None:
        """As `insert` for each, far cheaper."""
        ...

    def remove(self, subscription: int) -> None:
        """One that does not stand is no error."""
        ...

    def reorder(self) -> None:
        """Puts the standing subscriptions in order anew, by what has been learnt since they were inserted."""
        ...

    def start(self, undecided: Conjunctions) -> Run:
        """A run over the rows of one publication. Rows of subscriptions that do not stand are decided too, last."""
        ...
