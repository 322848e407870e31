"""What a reader of an outbox gets: notifications, undecided pairs, and a place to go on from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, SupportsIndex

from triplecast.errors import InputError
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.subscription import NamedRegistrations, Registration, Subscription
from triplecast.results import Answered, Recorded
from triplecast.sqlite import row_number

Names = Callable[[Sequence[int]], Iterable[NamedRegistrations]]
"""Gives the names of registrations, and of those that were added with them (`JournalFile.names_with`)."""
Registrations = Callable[[Sequence[int]], Iterable[Registration]]
"""Gives the registrations of ids (`JournalFile.registrations`)."""


class Cursor(NamedTuple):
    """A place in an outbox: where a reader has come to, and in which life of the outbox.

    The epoch rises whenever notifications may have been lost and recorded again, under other sequences.
    """

    epoch: int
    sequence: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.sequence}"

    @classmethod
    def of(cls, since: Cursor | str | SupportsIndex) -> Cursor | int:
        """Return the cursor that `since` is or spells (``EPOCH:SEQUENCE``), or the sequence that it is.

        Raises TypeError for another type, `InputError` for a number that no row can have.
        """
        if isinstance(since, str):
            epoch, colon, sequence = since.partition(":")
            numbers = [epoch, sequence] if colon else [epoch]
            if not all(number.isdecimal() and number.isascii() and len(number) < 20 for number in numbers):
                raise InputError(f"{since!r} is no cursor", "give a sequence, or the `cursor` of a notification")
            since = cls(int(epoch), int(sequence)) if colon else int(epoch)
        if isinstance(since, Cursor):
            return cls(row_number(since.epoch, "an epoch"), row_number(since.sequence, "since"))
        return row_number(since, "since")


@dataclass(frozen=True, slots=True)
class Notification(Answered):
    """What is recorded for a subscriber: a match of a publication, or a changed answer over the repository."""

    cursor: Cursor
    id: str
    position: int
    """Of the publication in the journal, or of its removal."""
    change: str
    """``added``, ``removed``, or ``changed`` for both: what became of the rows."""
    publication: str
    """The graph IRI."""
    version: int
    registration: int
    subscription: str
    """The subscriber's id for the subscription."""
    owner: str | None
    json: str
    """The solutions as recorded: a list of objects from variable name to the N-Triples form of its term; where
    `change` is ``changed``, an object of two such lists, ``added`` and ``removed``."""
    accepted_at: str
    definition: Subscription | None = field(default=None, repr=False, compare=False)
    """As its owner wrote it; None where the reader was given no journal, or one that lacks it."""
    operators: OperatorSet = field(default=NO_OPERATORS, repr=False, compare=False)
    """Those that it may call."""

    @property
    def sequence(self) -> int:
        """Strictly increasing, never given again."""
        return self.cursor.sequence

    @property
    def recorded(self) -> Recorded:
        """The answer with its query, as commands show it."""
        return Recorded(self.definition, self.operators, self.json, self.id, self.change)

    def _repr_html_(self) -> str:
        return self.recorded.html(f"{self.sequence}: {self.subscription}", f"{self.publication} v{self.version}")


class UndecidedPair(NamedTuple):
    """A pair that was not decided, under the id that a notification of rows added would have had."""

    position: int
    id: str
    publication: str
    version: int
    registration: int
    subscription: str
    owner: str | None
    reason: str


class Definitions(NamedTuple):
    """Where the queries of notifications are read."""

    registrations: Registrations
    operators: OperatorSet
    """Those that the queries may call."""
