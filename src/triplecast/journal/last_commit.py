"""What a journal's writer knows of its last commit, so that it need not read back what only it changes."""

from __future__ import annotations

from typing import NamedTuple

from triplecast.journal.record import LEASED, Writing
from triplecast.model.publication import Position, Publication


class LastCommit(NamedTuple):
    """Where the journal ends, and what the next append has to know."""

    head: Position
    written_at: int
    first_end: int | None
    """Of the leases; None where none ends."""
    registry: int
    """The last position that changed the registry."""

    def after(self, writing: Writing, first_end: int | None) -> LastCommit:
        registry = max((row.position for row in writing.rows if row.kind in LEASED), default=self.registry)
        return LastCommit(Position(writing.next - 1), writing.at, first_end, registry)


class Fresh(NamedTuple):
    """Publications at positions in (`after`, `upto`], all that there are, which were accepted last."""

    after: int
    upto: int
    publications: list[Publication]

    def some(self, after: int, limit: int | None, most_bytes: int | None) -> list[Publication]:
        """As `Records.publications` does."""
        found: list[Publication] = []
        size = 0
        for each in self.publications:
            if len(found) == limit or (most_bytes is not None and size >= most_bytes):
                break
            if each.position > after:
                found.append(each)
                size += len(each.quads)
        return found
