"""What has been learnt of each template: how often it holds, and what an evaluation costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

PRIOR_HOLDS = 0.5
PRIOR_WEIGHT = 2.0
"""Before anything is learnt a template counts as evaluated this often, half of it true, at its hinted cost."""
DEFAULT_COST = 0.01
"""Seconds, of a template without a hint."""
LEAST_COST = 1e-7
"""Seconds: no template is told to cost less, whatever a clock says."""
MEMORY = 1000.0
"""Evaluations: what is older counts less, by ``exp(-age / MEMORY)`` where age is counted in evaluations since."""
_FADED = float(np.exp(-1 / MEMORY))
"""What an answer counts after one more."""


class LearntTemplate(NamedTuple):
    """One template's row of the table that is kept across restarts."""

    template: int
    hint: float
    """Seconds, as declared."""
    answered: float
    """How many true and false answers it remembers, older ones counted less."""
    held: float
    """Of these, the true ones."""
    timed: float
    """How many evaluations with a measured time it remembers, failed ones too."""
    seconds: float
    """What these took together."""


class Experience:
    """Numbers by template, from 0. Learning is a function of the order in which it is told."""

    def __init__(self, rows: Iterable[LearntTemplate] = ()) -> None:
        self._table = np.zeros((0, 5), np.float64)
        """The columns of `LearntTemplate` after `template`; ``hint`` 0 where nothing was declared."""
        for row in rows:
            self._grow(row.template)
            self._table[row.template] = row[1:]

    def declare(self, template: int, cost: float) -> None:
        """Raises `ValueError` for a hinted cost that is not a positive, finite number of seconds."""
        if not 0 < cost < np.inf:
            raise ValueError(f"a cost hint is a positive number of seconds, not {cost}")
        self._grow(template)
        self._table[template, 0] = cost

    def learn(self, template: int, holds: bool | None, seconds: float | None) -> None:
        """One evaluation: None for an operator that failed (its time counts, its truth is not known), or for a time
        that nobody measured."""
        self._grow(template)
        row = self._table[template]
        if holds is not None:
            row[1] = row[1] * _FADED + 1.0
            row[2] = row[2] * _FADED + holds
        if seconds is not None:
            row[3] = row[3] * _FADED + 1.0
            row[4] = row[4] * _FADED + seconds

    def learn_many(self, template: int, answered: int, held: int, timed: int, seconds: float) -> None:
        """A batch's evaluations of one template, as if its answers were spread evenly over it: counts add up, so
        what several workers counted may be summed first and told once."""
        self._grow(template)
        row = self._table[template]
        for count, total, sums in ((answered, float(held), slice(1, 3)), (timed, seconds, slice(3, 5))):
            if count:
                kept = np.exp(-count / MEMORY)
                added = (1 - kept) / (1 - np.exp(-1 / MEMORY))
                row[sums] = row[sums] * kept + np.array([1.0, total / count]) * added

    def holds(self, templates: NDArray[np.int32]) -> NDArray[np.float64]:
        """The probability that each holds, strictly between 0 and 1."""
        _, answered, held, _, _ = self._columns(templates)
        probability: NDArray[np.float64] = (held + PRIOR_WEIGHT * PRIOR_HOLDS) / (answered + PRIOR_WEIGHT)
        return probability

    def costs(self, templates: NDArray[np.int32]) -> NDArray[np.float64]:
        """Expected seconds of an evaluation of each, positive."""
        hint, _, _, timed, seconds = self._columns(templates)
        expected = np.where(hint > 0, hint, DEFAULT_COST)
        mean: NDArray[np.float64] = (seconds + PRIOR_WEIGHT * expected) / (timed + PRIOR_WEIGHT)
        return np.maximum(mean, LEAST_COST)

    def rows(self) -> list[LearntTemplate]:
        """Of every template of which anything is known, by number: what is to be kept."""
        return self.rows_of(np.flatnonzero(self._table.any(axis=1)).tolist())

    def rows_of(self, templates: Iterable[int]) -> list[LearntTemplate]:
        """Of these, in their order."""
        return [LearntTemplate(template, *self._table[template].tolist()) for template in templates]

    def forget(self, template: int) -> None:
        """Nothing is known of it any more."""
        self._grow(template)
        self._table[template] = 0.0

    def _columns(self, templates: NDArray[np.int32]) -> NDArray[np.float64]:
        if len(templates):
            self._grow(int(templates.max()))
        return self._table[templates].T

    def _grow(self, template: int) -> None:
        if template < 0:
            raise ValueError(f"templates are numbered from 0, not {template}")
        if template >= len(self._table):
            grown = np.zeros((max(2 * len(self._table), template + 1), 5), np.float64)
            grown[: len(self._table)] = self._table
            self._table = grown
