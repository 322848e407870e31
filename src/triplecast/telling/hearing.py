"""What registrations want to hear, looked up in the journal once."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from triplecast.journal.interface import MatchingReader
from triplecast.kernels.layout import I64, U8
from triplecast.languages import updates_of
from triplecast.model.algebra import Expression
from triplecast.model.operators import OperatorSet
from triplecast.model.subscription import CHANGED, NOTIFY, UPDATES, may_compare


class Hearing:
    """What the registrations of a journal want to hear: nine bytes for each that was asked about, and for those
    registered with it; and the keys that some of them have. For one thread at a time."""

    def __init__(self, journal: MatchingReader) -> None:
        self._journal = journal
        self._numbers: I64 = np.zeros(0, np.int64)
        self._modes: U8 = np.zeros(0, np.uint8)
        self._keys: dict[int, tuple[str, ...]] = {}
        self._conditions: dict[int, tuple[Expression, ...]] = {}
        """Of those that have keys."""

    def has(self, notify: str) -> bool:
        """Whether a subscription that wants to hear this was ever registered."""
        return self._journal.has_hearers(notify)

    def want(self, registrations: I64, notify: str) -> NDArray[np.bool_]:
        """Of each registration whether it is this that it wants to hear."""
        if not len(registrations) or not self.has(notify):
            return np.zeros(len(registrations), np.bool_)
        places = np.searchsorted(self._numbers, registrations)
        known = np.append(self._numbers, -1)[places] == registrations
        if not known.all():
            self._learn(np.unique(registrations[~known]).tolist())
            places = np.searchsorted(self._numbers, registrations)
        wanted: NDArray[np.bool_] = self._modes[places] == NOTIFY.index(notify)
        return wanted

    def key(self, registration: int) -> tuple[str, ...]:
        """By which variables a row of it is updated; nothing for none."""
        place = np.searchsorted(self._numbers, registration)
        if place == len(self._numbers) or self._numbers[place] != registration:
            self._learn([registration])
        return self._keys.get(registration, ())

    def conditions(self, registrations: I64, operators: OperatorSet) -> Mapping[int, tuple[Expression, ...]]:
        """The conditions of an update that some of them have, whose queries may call these operators."""
        if not len(registrations) or not self.has(UPDATES):
            return {}
        self.want(registrations, CHANGED)
        keyed = [number for number in np.unique(registrations).tolist() if number in self._keys]
        unknown = [number for number in keyed if number not in self._conditions]
        for each in self._journal.registrations_at(unknown):
            written = each.subscription
            found = updates_of(written.text, written.language, operators) if may_compare(written) else ()
            self._conditions[int(each.id)] = found
        return {number: found for number in keyed if (found := self._conditions[number])}

    def _learn(self, unknown: list[int]) -> None:
        numbers, modes = [self._numbers], [self._modes]
        for first, hears, keys in self._journal.notify_with(unknown):
            self._keys.update(keys)
            numbers.append(np.arange(first, first + len(hears), dtype=np.int64))
            modes.append(np.array([*map(NOTIFY.index, hears)], np.uint8))
        self._numbers, first_of = np.unique(np.concatenate(numbers), return_index=True)
        self._modes = np.concatenate(modes)[first_of]
