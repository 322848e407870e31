"""Statistics of operator conditions: how often each template held and what its evaluations cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.model.match import Learnt

PRIOR_HOLDS = 0.5
PRIOR_WEIGHT = 2.0
"""A new template counts as evaluated this often, half of it true, at its hinted cost."""
DEFAULT_COST = 0.01
"""Seconds, for a template without a hint."""
LEAST_COST = 1e-7
"""Seconds: the lowest expected cost."""
MEMORY = 1000.0
"""Evaluations: older ones weigh ``exp(-age / MEMORY)``, with age counted in evaluations since."""
_FADED = float(np.exp(-1 / MEMORY))
KNOWN = 200_000
"""Templates that a process remembers. Beyond, the least recently used are forgotten, to three quarters of it."""

_ANSWERED, _TIMED, _LEARNT, _USED = slice(1, 3), slice(3, 5), slice(0, 5), 5
"""Columns of the table: those of `Learnt` after `template` (``hint`` 0 where nothing was declared), then when the
template was used last."""


class StatisticsToWrite(NamedTuple):
    """What to write so that the journal has the present statistics."""

    rows: list[Learnt]
    gone: list[str]
    """Forgotten templates, none of them among the rows."""


class Experience:
    """Statistics by template; each text has a number, which is reused only after `forget` dropped its template."""

    def __init__(self, kept: Iterable[Learnt] = (), known: int = KNOWN) -> None:
        """`kept`: the journal's rows, one per template, numbered in their order."""
        rows = list(kept)
        self._texts = [row.template for row in rows]
        self._numbers = {text: number for number, text in enumerate(self._texts)}
        self._table = np.zeros((len(rows), 6), np.float64)
        for number, row in enumerate(rows):
            self._table[number, _LEARNT] = row[1:]
        self._uses = 0
        self._free: list[int] = []
        self._known = self._forget_beyond = known
        self._written = set(range(len(rows)))
        """Numbers of templates that have a row in the journal."""
        self._changed: dict[int, None] = {}
        self._gone: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, text: str, hint: float) -> int:
        """Return the template's number; `hint` replaces an earlier one."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = self._free.pop() if self._free else len(self._texts)
            self._texts[number : number + 1] = [text]
        self.declare(number, hint)
        return number

    def declare(self, template: int, cost: float) -> None:
        """Set the cost hint. Raises `ValueError` unless it is a positive, finite number of seconds."""
        if not 0 < cost < np.inf:
            raise ValueError(f"a cost hint is a positive number of seconds, not {cost}")
        self._grow(template)
        self._table[template, 0] = cost

    def use(self, templates: NDArray[np.int32]) -> None:
        """Note that these templates are used now."""
        self._uses += 1
        if len(templates):
            self._grow(int(templates.max()))
            self._table[templates, _USED] = self._uses

    def learn(self, template: int, holds: bool | None, seconds: float | None) -> None:
        """Count one evaluation: `holds` is None for an operator that failed, `seconds` for a time not measured."""
        self._grow(template)
        row = self._table[template]
        if holds is not None:
            row[_ANSWERED] = row[_ANSWERED] * _FADED + (1.0, holds)
        if seconds is not None:
            row[_TIMED] = row[_TIMED] * _FADED + (1.0, seconds)
        self._changed[template] = None

    def learn_many(self, template: int, answered: int, held: int, timed: int, seconds: float) -> None:
        """Count a batch's evaluations of one template, as if its results were spread evenly over it."""
        self._grow(template)
        row = self._table[template]
        for count, total, columns in ((answered, float(held), _ANSWERED), (timed, seconds, _TIMED)):
            if count:
                kept = np.exp(-count / MEMORY)
                row[columns] = row[columns] * kept + np.array([1.0, total / count]) * (1 - kept) / (1 - _FADED)
        self._changed[template] = None

    def absorb(self, learnt: Iterable[Learnt]) -> None:
        """Count what other processes learnt of their batches."""
        numbers = []
        for row in learnt:
            numbers.append(self.number(row.template, row.hint))
            self.learn_many(numbers[-1], int(row.answered), int(row.held), int(row.timed), row.seconds)
        self.use(np.array(numbers, np.int32))

    def holds(self, templates: NDArray[np.int32]) -> NDArray[np.float64]:
        """The probability that each holds, strictly between 0 and 1."""
        _, answered, held, *_ = self._columns(templates)
        probability: NDArray[np.float64] = (held + PRIOR_WEIGHT * PRIOR_HOLDS) / (answered + PRIOR_WEIGHT)
        return probability

    def costs(self, templates: NDArray[np.int32]) -> NDArray[np.float64]:
        """Expected seconds of an evaluation of each, positive."""
        hint, _, _, timed, seconds, _ = self._columns(templates)
        expected = np.where(hint > 0, hint, DEFAULT_COST)
        mean: NDArray[np.float64] = (seconds + PRIOR_WEIGHT * expected) / (timed + PRIOR_WEIGHT)
        return np.maximum(mean, LEAST_COST)

    @property
    def crowded(self) -> bool:
        """Whether `forget` would forget any."""
        return len(self._numbers) > self._forget_beyond

    def forget(self, scheduled: Collection[int] = ()) -> None:
        """Where it is crowded, drop the least recently used templates, except the `scheduled` ones, whose numbers a
        schedule holds. To be called when nothing else holds any."""
        if not self.crowded:
            return
        held = set(scheduled)
        others = np.array([number for number in self._numbers.values() if number not in held], np.int64)
        oldest = others[np.lexsort((others, self._table[others, _USED]))]
        for number in oldest[: len(self._numbers) - self._known * 3 // 4].tolist():
            self._drop(number)
        self._forget_beyond = max(self._known, len(self._numbers) + self._known // 4)

    def changes(self) -> StatisticsToWrite:
        """What changed since `note_written`: templates of which something was learnt, and forgotten ones that have a
        row."""
        rows = [Learnt(self._texts[number], *self._table[number, _LEARNT].tolist()) for number in self._changed]
        return StatisticsToWrite(rows, [text for text in self._gone if self._numbers.get(text) not in self._changed])

    def note_written(self) -> None:
        """Note that the journal has what `changes` returned."""
        self._written.update(self._changed)
        self._changed, self._gone = {}, {}

    def _drop(self, number: int) -> None:
        text = self._texts[number]
        del self._numbers[text]
        self._texts[number] = ""
        self._table[number] = 0.0
        self._changed.pop(number, None)
        if number in self._written:
            self._written.discard(number)
            self._gone[text] = None
        self._free.append(number)

    def _columns(self, templates: NDArray[np.int32]) -> NDArray[np.float64]:
        if len(templates):
            self._grow(int(templates.max()))
        return self._table[templates].T

    def _grow(self, template: int) -> None:
        if template < 0:
            raise ValueError(f"templates are numbered from 0, not {template}")
        if template >= len(self._table):
            grown = np.zeros((max(2 * len(self._table), template + 1), 6), np.float64)
            grown[: len(self._table)] = self._table
            self._table = grown
