"""What changed in a store from a state on, for as long as that is held."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from triplecast.kernels.layout import I32
from triplecast.kernels.triples import ANY

if TYPE_CHECKING:
    from triplecast.repository.changes import Change

HELD_TRIPLES = 500_000
"""Triples by which two states may differ for one of them to be held."""


class HeldChange:
    """What changed from a state on, as one change: what came and went again is not in it."""

    def __init__(self) -> None:
        self._added: set[tuple[int, ...]] = set()
        self._removed: set[tuple[int, ...]] = set()
        self.replaced: dict[int, I32 | None] = {}
        """By the id of its graph, each document that was replaced since, as it was; None where there was none."""
        self._replaced_triples = 0
        self.is_lost = False
        """It came to more than `HELD_TRIPLES`."""

    @property
    def size(self) -> int:
        return len(self._added) + len(self._removed)

    def take(self, change: Change) -> None:
        if self.is_lost:
            return
        _net(self._added, self._removed, change.added)
        _net(self._removed, self._added, change.removed)
        if change.graph != ANY and change.graph not in self.replaced:
            self.replaced[change.graph] = change.replaced
            self._replaced_triples += 0 if change.replaced is None else len(change.replaced)
        if self.size + self._replaced_triples + len(self.replaced) > HELD_TRIPLES:
            self.is_lost = True
            self._added, self._removed, self.replaced = set(), set(), {}

    def triples(self) -> tuple[I32, I32]:
        """[n, 3] the triples that came, and those that went."""
        return _rows(self._added), _rows(self._removed)

    def all_rows(self) -> Iterator[I32]:
        """[n, ·] all ids that it has."""
        yield from self.triples()
        yield np.array([*self.replaced], np.int32).reshape(-1, 1)
        yield from (triples for triples in self.replaced.values() if triples is not None)

    def renumber(self, ids: I32) -> None:
        """The terms have other ids now, by the former ones."""
        added, removed = self.triples()
        self._added, self._removed = ({tuple(row) for row in ids[rows].tolist()} for rows in (added, removed))
        self.replaced = {
            int(ids[graph]): None if triples is None else ids[triples] for graph, triples in self.replaced.items()
        }


def _net(there: set[tuple[int, ...]], opposite: set[tuple[int, ...]], rows: I32) -> None:
    for row in map(tuple, rows.tolist()):
        if row in opposite:
            opposite.remove(row)
        else:
            there.add(row)


def _rows(triples: set[tuple[int, ...]]) -> I32:
    return np.array(sorted(triples), np.int32).reshape(-1, 3)
