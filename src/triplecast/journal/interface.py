"""What a reader of journals has at least; `JournalFile` has it of the folder's SQLite file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from triplecast.model.answers import Answer, GroundCall
from triplecast.model.events import DocumentEvent
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration, RegistrationId
from triplecast.taxonomy import Taxonomies


class RegistryChanges(NamedTuple):
    """What happened to the registry in a range of positions; who came and went within it is in both."""

    added: list[Registration]
    """By position; `Registration.removed` is set when the removal is within the range too."""
    removed: list[tuple[RegistrationId, Position]]
    """Registration and the position of its removal, by position."""


class RegistrySlice(NamedTuple):
    """The changes up to a position, after those of the slice before."""

    changes: RegistryChanges
    upto: int


class MatchingReader(Protocol):
    """What matching and telling read of a journal, for documents at some positions; a task on a machine that has no
    journal is given as much of one (`pipeline.carried`). As `JournalFile` has it."""

    def documents(
        self, after: int, upto: int, limit: int | None = None, most_bytes: int | None = None
    ) -> Sequence[DocumentEvent]: ...

    def versions(self, positions: Sequence[int], most_bytes: int) -> list[Publication]: ...

    def taxonomies(self, after: int, upto: int) -> Taxonomies: ...

    def answers(self, after: int, upto: int, operators: OperatorSet) -> Mapping[int, Mapping[GroundCall, Answer]]: ...

    def has_hearers(self, notify: str) -> bool: ...

    def notify_with(self, positions: Sequence[int]) -> list[tuple[int, list[str], Mapping[int, tuple[str, ...]]]]: ...

    def registrations_at(self, positions: Sequence[int]) -> Sequence[Registration]: ...
