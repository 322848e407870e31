"""Answers that were undecided and are to be made up for: since which event, whatever ends the process.

The setting `OWED` of the journal says it. It is written before what it depends on is recorded as told, so it is kept
by position: whoever goes on from an earlier one finds what was owed there.
"""

from __future__ import annotations

import json
from typing import NamedTuple

OWED = "owed answers"
INTERVALS_KEPT = 1_000
"""Of those that ended, for positions from which events may be told again."""


class Interval(NamedTuple):
    """An answer was undecided from one event until another one decided it, or still is."""

    registration: int
    since: int
    until: int | None

    def holds_at(self, position: int) -> bool:
        return self.since <= position and (self.until is None or self.until > position)


class OwedAnswers:
    """The answers that are owed after an event."""

    def __init__(self, text: str | None = None, told: int = 0) -> None:
        """`text`: the setting; as of position `told`."""
        intervals = [] if text is None else [Interval(*each) for each in json.loads(text)]
        self.since = {each.registration: each.since for each in intervals if each.holds_at(told)}
        """The event that left an answer undecided first, by registration."""
        self._ended = [each for each in intervals if each.until is not None and each.until <= told]
        self._to_come = [each for each in intervals if each.until is not None and each.until > told]
        """Of events that were told before and are told again."""
        self.is_changed = any(each.since > told and each.until is None for each in intervals)
        """Since the setting was read or written: an event that was not told may be decided now."""

    def __contains__(self, registration: int) -> bool:
        return registration in self.since

    def start(self, told: int) -> int:
        """The position from which documents are read, so that the states are known from which answers are owed."""
        return min((since - 1 for registration, since in self.since.items() if since != registration), default=told)

    def was_undecided(self, registration: int, position: int) -> bool:
        """Whether an event left an answer undecided when it was told before, and a later one decided it: so it stays,
        though an operator that failed then may answer now."""
        return any(each.registration == registration and each.holds_at(position) for each in self._to_come)

    def leaves_undecided(self, position: int) -> bool:
        """Whether there are such answers from this event on."""
        return any(each.until is not None and each.until > position for each in self._to_come)

    def begin(self, registration: int, position: int) -> None:
        self.since[registration] = position
        self.is_changed = True

    def end(self, registration: int, position: int) -> None:
        since = self.since.pop(registration, None)
        if since is not None:
            self._ended.append(Interval(registration, since, position))
            self.is_changed = True

    def text(self) -> str:
        """The setting, which whoever asks for it writes."""
        self.is_changed = False
        self._ended = self._ended[-INTERVALS_KEPT:]
        open = [Interval(registration, since, None) for registration, since in self.since.items()]
        return json.dumps([*self._ended, *self._to_come, *open], separators=(",", ":"))
