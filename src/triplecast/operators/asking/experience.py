"""What a process knows of templates: how often each held and what it took, by its text, which is what is kept; and what
of that is not in the journal yet."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.model.match import Learnt
from triplecast.operators.schedules import Experience, LearntTemplate

KNOWN = 200_000
"""Templates that a process remembers. Beyond, those that were asked about longest ago are forgotten, to three quarters
of it: they count as new when they come again."""


class Changes(NamedTuple):
    """What is to be written, so that the journal has what is known."""

    rows: list[Learnt]
    gone: list[str]
    """Templates that are forgotten, none of them among the rows."""


class LearntTemplates:
    """Templates by text, each with its number in `experience`. A number is given again once its template is forgotten,
    which happens in `forget` only."""

    def __init__(self, kept: Iterable[Learnt] = (), known: int = KNOWN) -> None:
        """`kept`: what the journal has; each template once."""
        rows = list(kept)
        self._numbers = {row.template: number for number, row in enumerate(rows)}
        self._texts = [row.template for row in rows]
        """By number."""
        self._hints: list[float | None] = [None] * len(rows)
        """By number, as declared now."""
        self._used = np.zeros(len(rows), np.int64)
        """By number, when it was asked about last, counted in `use`."""
        self._uses = 0
        self._free: list[int] = []
        self._known = self._forget_beyond = known
        self._written = set(range(len(rows)))
        """Numbers of which the journal has a row."""
        self._changed: dict[int, None] = {}
        self._gone: dict[str, None] = {}
        self.experience = Experience(LearntTemplate(number, *row[1:]) for number, row in enumerate(rows))

    def __len__(self) -> int:
        return len(self._numbers)

    def number(self, text: str, hint: float) -> int:
        """Of a template; what is hinted now stands."""
        number = self._numbers.get(text)
        if number is None:
            number = self._add(text)
        if self._hints[number] != hint:
            self._hints[number] = hint
            self.experience.declare(number, hint)
        return number

    def use(self, numbers: NDArray[np.int32]) -> None:
        """They are asked about."""
        self._uses += 1
        if len(self._used) < len(self._texts):
            used = np.zeros(2 * len(self._texts), np.int64)
            used[: len(self._used)] = self._used
            self._used = used
        self._used[numbers] = self._uses

    def learn(self, number: int, holds: bool | None, seconds: float | None) -> None:
        """As `Experience.learn`."""
        self.experience.learn(number, holds, seconds)
        self._changed[number] = None

    def absorb(self, learnt: Iterable[Learnt]) -> None:
        """What other processes learnt of their batches (`MatchedBatch.learnt`)."""
        numbers = []
        for row in learnt:
            number = self.number(row.template, row.hint)
            self.experience.learn_many(number, int(row.answered), int(row.held), int(row.timed), row.seconds)
            self._changed[number] = None
            numbers.append(number)
        self.use(np.array(numbers, np.int32))

    @property
    def crowded(self) -> bool:
        """Whether `forget` would forget any."""
        return len(self._numbers) > self._forget_beyond

    def forget(self, standing: Collection[int] = ()) -> None:
        """Where it is crowded: those that were asked about longest ago, but for the `standing` ones, whose numbers a
        schedule holds. For a time when nothing else holds any."""
        if not self.crowded:
            return
        held = set(standing)
        others = np.array([number for number in self._numbers.values() if number not in held], np.int64)
        oldest = others[np.lexsort((others, self._used[others]))]
        for number in oldest[: len(self._numbers) - self._known * 3 // 4].tolist():
            self._drop(number)
        self._forget_beyond = max(self._known, len(self._numbers) + self._known // 4)

    def changes(self) -> Changes:
        """Since `note_written`: templates of which something was learnt, and those forgotten of which there is a
        row."""
        rows = [Learnt(self._texts[row.template], *row[1:]) for row in self.experience.rows_of(self._changed)]
        return Changes(rows, [text for text in self._gone if self._numbers.get(text) not in self._changed])

    def note_written(self) -> None:
        """The journal has what `changes` gave."""
        self._written.update(self._changed)
        self._changed, self._gone = {}, {}

    def _add(self, text: str) -> int:
        if self._free:
            number = self._free.pop()
            self._texts[number] = text
        else:
            number = len(self._texts)
            self._texts.append(text)
            self._hints.append(None)
        self._numbers[text] = number
        return number

    def _drop(self, number: int) -> None:
        text = self._texts[number]
        del self._numbers[text]
        self._texts[number], self._hints[number] = "", None
        self.experience.forget(number)
        self._changed.pop(number, None)
        if number in self._written:
            self._written.discard(number)
            self._gone[text] = None
        self._free.append(number)
