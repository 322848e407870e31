"""What a journal's writer knows of its last commit, so that it need not read back what only it changes."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from triplecast.journal.record import DOCUMENT_EVENTS, LEASED, Kind, Writing, attached_to, read_event
from triplecast.model.events import Event
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import Registration

_FRESH = {*DOCUMENT_EVENTS, Kind.REJECT}


class LastCommit(NamedTuple):
    """Where the journal ends, and what the next append has to know."""

    head: Position
    written_at: int
    first_end: int | None
    """Of the leases; None where none ends."""
    registry: int
    """The last position that changed the registry."""

    def following(self, writing: Writing, first_end: int | None) -> LastCommit:
        registry = self.registry
        if writing.changes_registry:
            registry = max(row.position for row in writing.rows if row.kind in LEASED)
        return LastCommit(Position(writing.next - 1), writing.at, first_end, registry)

    def unread(self, new: NewRegistrations | None, writing: Writing) -> NewRegistrations | None:
        """Return what is new after the append that follows this commit."""
        if not writing.added or writing.kinds != {Kind.SUBSCRIPTION}:
            return None if writing.changes_registry else new
        if new is None or new.upto != self.registry:
            return NewRegistrations(self.registry, writing.next - 1, [*writing.added])
        new.registrations.extend(writing.added)
        return new._replace(upto=writing.next - 1)


class NewRegistrations(NamedTuple):
    """Registrations at positions in (`after`, `upto`], where nothing else changed the registry, which the index has
    not read: as `IndexUpkeep` keeps what was compiled of them."""

    after: int
    upto: int
    registrations: list[Registration]

    def is_all(self, after: int, upto: int, most: int, last: LastCommit) -> bool:
        """Whether they are all that changed at positions in (`after`, `upto`], and fewer than `most`."""
        first = int(self.registrations[0].id)
        return self.after <= after < first and self.upto == last.registry <= upto and len(self.registrations) < most


class Fresh(NamedTuple):
    """Documents and removals at positions beyond `after`, which were appended last and all that happened there."""

    after: int
    events: list[tuple[int, Event]]
    """Each with its kind."""

    @classmethod
    def of(cls, writing: Writing) -> Fresh | None:
        """What an append wrote; None where there was more to it, or attachments."""
        rows = writing.rows
        if not rows or not writing.kinds <= _FRESH or any(map(attached_to, rows)):
            return None
        events = [(row.kind, read_event(row)) for row in rows if row.kind != Kind.REJECT]
        return cls(rows[0].position - 1, events)

    def some(
        self, after: int, upto: int, limit: int | None, most_bytes: int | None, kinds: Container[int]
    ) -> list[Event]:
        """As `Records.events` does."""
        found: list[Event] = []
        size = 0
        for kind, each in self.events:
            if len(found) == limit or each.position > upto or (most_bytes is not None and size >= most_bytes):
                break
            if each.position > after and kind in kinds:
                found.append(each)
                size += len(each.quads) if isinstance(each, Publication) else 0
        return found
