"""As much of journal and outbox as a slice needs, to travel with it to a machine that has neither."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from triplecast.journal import BYTES_AT_ONCE, JournalFile
from triplecast.model.answers import Answer, GroundCall
from triplecast.model.events import DocumentEvent
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import Publication
from triplecast.outbox import OutboxReader
from triplecast.outbox.tables import Pending
from triplecast.pipeline.hearers import CarriedHearers
from triplecast.taxonomy import NO_TAXONOMIES, Taxonomies
from triplecast.telling.earlier import BACK

CARRIED_BYTES = 64 << 20
"""Of documents that are carried for one batch, unless the first piece of it has more."""
EVENTS_AT_ONCE = 256
SHALLOW, DEEP = 1, BACK + 1
"""How many versions before each document are carried: mostly one is needed, and all where pairs were undecided."""


class NotCarried(Exception):
    """A version before is needed that was not carried."""


class Carried(NamedTuple):
    """What is read of journal and outbox for events at positions up to `upto`."""

    upto: int
    events: tuple[DocumentEvent, ...]
    formers: Mapping[int, Publication]
    """Versions before, by position."""
    taxonomies: Taxonomies
    """Those that apply to any of these."""
    answers: Mapping[int, Mapping[GroundCall, Answer]]
    pending: Pending = Pending([], [], [])

    @property
    def size(self) -> int:
        documents = (each for each in (*self.events, *self.formers.values()) if isinstance(each, Publication))
        return sum(len(each.quads) + sum(len(content) for _, content in each.attachments) for each in documents)

    def between(self, after: int, upto: int) -> Carried:
        """What is needed for positions in (`after`, `upto`]."""
        events = tuple(each for each in self.events if after < each.position <= upto)
        formers: dict[int, Publication] = {}
        for each in events:
            former = each.former
            while former in self.formers:
                formers[former] = self.formers[former]
                former = formers[former].former
        needed = {*formers, *(each.position for each in events)}
        answers = {position: each for position, each in self.answers.items() if position in needed}
        return self._replace(upto=upto, events=events, formers=formers, answers=answers)


def carry(journal: JournalFile, after: int, upto: int, operators: OperatorSet, depth: int) -> Carried:
    """Read what events in (`after`, `upto`] are matched with, up to the piece with which documents come to
    `CARRIED_BYTES`, with `depth` versions before each. Raises `StorageFault`."""
    events: list[DocumentEvent] = []
    formers: dict[int, Publication] = {}
    start, size = after, 0
    while size < CARRIED_BYTES and (some := journal.documents(start, upto, EVENTS_AT_ONCE, BYTES_AT_ONCE)):
        before = _versions_before(journal, some, depth)
        size += Carried(upto, tuple(some), before, NO_TAXONOMIES, {}).size
        events += some
        formers |= before
        start = some[-1].position
    reached = upto if size < CARRIED_BYTES else start
    positions = sorted({*formers, *(each.position for each in events)})
    answers: dict[int, Mapping[GroundCall, Answer]] = {}
    for position in positions if operators.operators else ():
        answers |= journal.answers(position - 1, position, operators)
    return Carried(reached, tuple(events), formers, _taxonomies(journal, positions), answers)


def carry_pending(
    journal: JournalFile, outbox: OutboxReader, positions: Sequence[int], operators: OperatorSet
) -> Carried:
    """Read what deciding the pending pairs of publications at these positions takes. Raises `StorageFault`."""
    pending = outbox.pending(positions[0] - 1, len(positions))
    events = [each for position in positions for each in journal.documents(position - 1, position)]
    formers = _versions_before(journal, events, DEEP)
    needed = sorted({*formers, *positions})
    answers: dict[int, Mapping[GroundCall, Answer]] = {}
    for position in needed:
        answers |= journal.answers(position - 1, position, operators)
    taxonomies = _taxonomies(journal, needed)
    return Carried(positions[-1], tuple(events), formers, taxonomies, answers, pending)


def _versions_before(journal: JournalFile, events: Sequence[DocumentEvent], depth: int) -> dict[int, Publication]:
    found: dict[int, Publication] = {}
    wanted = {each.former for each in events if each.former}
    for _ in range(depth):
        if not wanted:
            break
        some = journal.bodies(sorted(wanted))
        found |= some
        wanted = {each.former for each in some.values() if each.former}
    return found


def _taxonomies(journal: JournalFile, positions: Sequence[int]) -> Taxonomies:
    """Those that apply to publications at `positions`."""
    if not positions or not journal.taxonomies(positions[-1], positions[-1]).versions:
        return NO_TAXONOMIES
    found = {
        each.position: each
        for position in positions
        for each in journal.taxonomies(position - 1, position - 1).versions
        if each.position < position
    }
    return Taxonomies(tuple(found[position] for position in sorted(found)))


class CarriedJournal:
    """A `MatchingReader` of what was carried."""

    def __init__(self, carried: Carried, hearers: CarriedHearers) -> None:
        self._carried = carried
        self._hearers = hearers
        self.notify_with = hearers.notify_with
        self.registrations_at = hearers.registrations_at

    def documents(
        self, after: int, upto: int, limit: int | None = None, most_bytes: int | None = None
    ) -> Sequence[DocumentEvent]:
        """As the journal's; the bound on bytes was kept when they were carried."""
        return [each for each in self._carried.events if after < each.position <= upto][:limit]

    def versions(self, positions: Sequence[int], most_bytes: int) -> list[Publication]:
        """Raises `NotCarried`."""
        found: list[Publication] = []
        for position in positions:
            each = self._carried.formers.get(position)
            if each is None:
                raise NotCarried(f"version {position} was not carried")
            found.append(each)
            most_bytes -= len(each.quads) + sum(len(content) for _, content in each.attachments)
            if most_bytes <= 0:
                break
        return found

    def taxonomies(self, after: int, upto: int) -> Taxonomies:
        return self._carried.taxonomies

    def answers(self, after: int, upto: int, operators: OperatorSet) -> Mapping[int, Mapping[GroundCall, Answer]]:
        return {position: each for position, each in self._carried.answers.items() if after < position <= upto}

    def has_hearers(self, notify: str) -> bool:
        return notify in self._hearers.heard
