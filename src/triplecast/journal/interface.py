"""What a reader of journals has at least; `JournalFile` has it of the folder's SQLite file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol

from triplecast.model.answers import Answer, GroundCall
from triplecast.model.events import DocumentEvent, Event
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration, RegistrationId
from triplecast.schema import RdfSchema
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


class JournalReader(Protocol):
    """The one order of events, as it is read.

    What has a position never changes, and nothing is ever written before `head`: two readers of one range see the same.
    Ranges exclude `after` and include `upto`; positions beyond `head` are empty. Methods may be called from any thread
    and raise `StorageFault` for what is damaged or missing: a record is never skipped.
    """

    def head(self) -> Position:
        """Return the last position that is acknowledged; 0 when nothing is. It never falls."""

    def events(self, after: int, upto: int, limit: int | None = None, most_bytes: int | None = None) -> Sequence[Event]:
        """Return the publications, removals, taxonomies and schemas at positions in (`after`, `upto`], in order.

        They are at most `limit`, and none after the one with which their bodies come to `most_bytes`.
        """

    def bodies(self, positions: Sequence[int]) -> Mapping[int, Publication]:
        """Return the publications at `positions`, with their attachments, by position."""

    def taxonomies(self, after: int, upto: int) -> Taxonomies:
        """Return what publications at positions in (`after`, `upto`] are matched with: the last version up to `after`,
        and those behind it."""

    def schema(self, upto: int | None = None) -> RdfSchema:
        """Return the schema that holds at position `upto`, or now: the last one loaded by then."""

    def answers(self, after: int, upto: int, operators: OperatorSet) -> Mapping[int, Mapping[GroundCall, Answer]]:
        """Return what these versions of operators answered for publications at positions in (`after`, `upto`], by
        position, as far as it is stored: the first answer to a call, which stays."""

    def registrations_at(self, positions: Sequence[int]) -> Sequence[Registration]:
        """Return the registrations that records at all these `positions` added, as of now, by id."""

    def registry_slices(self, after: int, upto: int, most: int) -> Iterator[RegistrySlice]:
        """Yield who came and went at positions in (`after`, `upto`], in order, in parts of at most `most`, or of
        what one record says."""
