"""The rows of one publication that wait for operators, in one round: flat columns that grow together, since there may
be one for each of many thousand subscriptions."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from triplecast.evaluate import DEFAULT_STEPS, BudgetExceeded
from triplecast.match.answer import Verdict, answer_rows
from triplecast.match.asking import FAILS, KEEPS, WAITS, Asking, sift
from triplecast.match.conditions import Ground, Row
from triplecast.match.questions import Steps
from triplecast.operators.schedules import FAILED, HOLDS

SIFTED = Verdict(waiting=(((),),))
"""Stands for the verdict of a pair whose rows wait here, each told by its outcome."""


class Waiting:
    """Row r waits for ``lengths[r]`` of the `conditions`, each once, which stand there one row after the other."""

    __slots__ = ("_pairs", "_rows", "_sure", "conditions", "largest", "lengths", "registrations")

    def __init__(self) -> None:
        self.registrations: list[int] = []
        self.lengths: list[int] = []
        self.conditions: list[int] = []
        self.largest = 0
        """The most looks, each of a filter at a row, that a sifted pair takes."""
        self._pairs: list[int] = []
        """By row the pair that its outcome is told to; -1 where the pair is looked at again."""
        self._rows: list[Row | None] = []
        self._sure: dict[int, list[Row]] = {}
        """By pair, rows that wait for nothing."""

    def add(self, registration: int, conditions: Collection[int]) -> None:
        """Of a pair that is looked at again."""
        self._add(registration, len(conditions), -1, None)
        self.conditions.extend(conditions)

    def sift(self, number: int, pair: Asking, steps: Steps, ground: Ground) -> Verdict | None:
        """The verdict of a pair each of whose rows is told for itself, `SIFTED` where some wait; None, and nothing is
        changed, where an operator failed or it might take more steps than a pair may."""
        conditions, count = self.conditions, len(self.lengths)
        first = len(conditions)
        sure: list[Row] = []
        assert steps.filters is not None
        rows = pair.tables.get(pair.combination.parts[0].branch, ())
        told = KEEPS
        for row in rows:
            before = len(conditions)
            try:
                told = sift(row, steps, ground, conditions)
            except BudgetExceeded:
                told = FAILS
            if told == WAITS:
                self._add(pair.registration, len(conditions) - before, number, row)
            elif told == KEEPS:
                sure.append(row)
            elif told == FAILS:
                break
        looks = count_looks(pair, steps)
        if told == FAILS or looks * ground.dearest > DEFAULT_STEPS:
            del conditions[first:]
            for column in (self.registrations, self.lengths, self._pairs, self._rows):
                del column[count:]
            return None
        if len(self.lengths) == count:
            return answer_rows(pair.combination, sure)
        if sure:
            self._sure[number] = sure
        self.largest = max(self.largest, looks)
        return SIFTED

    def told(self, outcomes: NDArray[np.uint8]) -> tuple[list[int], dict[int, list[Row]]]:
        """Of sifted pairs, by what became of all rows here: those of which an operator failed on a row, and the rows
        of the others, where any are left."""
        pairs = np.array(self._pairs, np.int64)
        failed = set(pairs[outcomes == FAILED].tolist()) - {-1}
        left = {pair: list(rows) for pair, rows in self._sure.items() if pair not in failed}
        for at in np.flatnonzero((outcomes == HOLDS) & (pairs >= 0)).tolist():
            row, pair = self._rows[at], self._pairs[at]
            if row is not None and pair not in failed:
                left.setdefault(pair, []).append(row)
        return sorted(failed), left

    def _add(self, registration: int, length: int, pair: int, row: Row | None) -> None:
        self.registrations.append(registration)
        self.lengths.append(length)
        self._pairs.append(pair)
        self._rows.append(row)


def count_looks(pair: Asking, steps: Steps) -> int:
    """How often filters look at rows of a pair that is sifted, at most; each look takes at most `Ground.dearest`."""
    return len(pair.tables.get(pair.combination.parts[0].branch, ())) * len(steps.filters or ())


def distinct_pairs(asking: Sequence[Asking]) -> tuple[list[Asking], list[int]]:
    """Those that differ in what is asked of which rows, and of each pair the place of its like among them."""
    places: dict[int, int] = {}
    kept: list[Asking] = []
    alike: list[int] = []
    for pair in asking:
        place = places.setdefault(id(pair.questions) << 64 | id(pair.tables), len(kept))
        if place == len(kept):
            kept.append(pair)
        alike.append(place)
    return kept, alike
