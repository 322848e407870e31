"""What was found of document events to what is told of them (semantics 9.6, 9.7).

Of a version that took another's place, a registration that wants to hear what changed is told the rows by which its
answers to the two differ, and of a removal all rows that it had. Nothing is kept for that: what the version before had
matched is found again, at its position (`telling.earlier`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from triplecast.evaluate.unknown import Answers
from triplecast.index import Snapshot
from triplecast.journal.interface import MatchingReader
from triplecast.kernels.layout import I64
from triplecast.match import Matcher
from triplecast.match.matcher import NO_ANSWERS
from triplecast.match.segment import Validity
from triplecast.model.answers import Answer, GroundCall, OperatorResult, add_answers
from triplecast.model.events import DocumentEvent, Removal
from triplecast.model.match import CHANGE_NUMBER, Learnt, MatchStats
from triplecast.model.open_rows import PairReason
from triplecast.model.publication import Publication
from triplecast.model.subscription import CHANGED
from triplecast.operators.asking import Asker, Settled
from triplecast.outbox.batch import OutboxBatch, OutboxRow, PublicationName
from triplecast.repository.document_lines import blank_names
from triplecast.telling.conditions import hold_to_conditions
from triplecast.telling.earlier import Before, Earlier, Pair
from triplecast.telling.hearing import Hearing
from triplecast.telling.open_events import OpenEvents
from triplecast.telling.rows import Names, changed_text, pair_updates, rows_apart

BEFORE_PENDING = "an earlier version still waits for operators"
_REGISTRATIONS = 1 << 43
"""More than positions of a journal that anybody will see."""


class Told(NamedTuple):
    """What is told of the first events."""

    upto: int
    """The position of the last one of these."""
    batch: OutboxBatch
    results: tuple[OperatorResult, ...] = ()
    """What operators answered; of events that were matched just now, about versions before."""
    stats: MatchStats = MatchStats()
    """What settling took;"""
    learnt: tuple[Learnt, ...] = ()
    """and what it taught."""


class Telling:
    """For one thread at a time."""

    def __init__(self, journal: MatchingReader, matcher: Matcher) -> None:
        self._journal = journal
        self._matcher = matcher
        self._hearing = Hearing(journal)

    def tell(
        self,
        snapshot: Snapshot,
        events: Sequence[DocumentEvent],
        found: OutboxBatch,
        pairs: Collection[Pair] | None = None,
        asker: Asker | None = None,
        fresh: Mapping[int, Answers] = NO_ANSWERS,
    ) -> Iterator[Told]:
        """Yield what is told of events, by position, of which `found` is all that matched; in several parts where the
        versions before are too much for one. Raises `StorageFault`.

        With `pairs` (position, registration), `found` is of these alone, which waited for operators; then the `asker`
        calls those of versions before too, and `fresh` are answers, by position, that the journal does not have yet.
        A pair that cannot be told yet, as one of an earlier version waits for operators, is awaited.
        """
        formers = {each.former: int(each.position) for each in events if each.former}
        if pairs is not None:
            wanted = {position for position, _ in pairs}
            formers = {former: event for former, event in formers.items() if event in wanted}
        nobody_hears = pairs is None and not snapshot.segments
        if not formers or nobody_hears or not self._hearing.has(CHANGED):
            yield Told(events[-1].position, self._kept(found))
            return
        earlier = Earlier(self._journal, self._matcher, snapshot, asker, fresh)
        before = earlier.read(formers)
        if before is not None:
            compared = _Compared(snapshot, events, found, before, pairs, self._hearing)
            undecided = compared.undecided_before()
            if undecided:
                before = earlier.further(before, undecided)
                compared = _Compared(snapshot, events, found, before, pairs, self._hearing)
            yield Told(events[-1].position, self._kept(compared.told()), before.results)
            return
        start, middle = events[0].position - 1, len(events) // 2
        for some in (events[:middle], events[middle:]):
            yield from self.tell(snapshot, some, found.between(start, some[-1].position), pairs, asker, fresh)
            start = some[-1].position

    def tell_settled(
        self,
        snapshot: Snapshot,
        waiting: OpenEvents,
        settled: Iterable[tuple[Sequence[Publication], Settled]],
        pairs: Collection[Pair],
        asker: Asker,
    ) -> Iterator[Told]:
        """Yield what is told of `pairs` that waited for operators, by what became of them group by group of
        publications. A pair of which nothing waited but a version before is told by what was decided as it was found.
        """
        fresh: dict[int, dict[GroundCall, Answer]] = {}
        known = {pair[:2] for pair in waiting.open.awaited()}
        decided = waiting.found.pairs(lambda pair: pair in pairs and pair not in known)
        start = waiting.after
        for of, each in settled:
            add_answers(fresh, each.results)
            end = of[-1].position
            found = OutboxBatch.merged([decided.between(start, end), OutboxBatch.of(of, each.matched)])
            batch, more = self._tell_late(snapshot, waiting.between_positions(start, end), found, pairs, asker, fresh)
            yield Told(end, batch, (*each.results, *more), each.matched.stats, each.learnt)
            start = end
        if events := waiting.between_positions(start, waiting.upto):
            found = decided.between(start, waiting.upto)
            yield Told(waiting.upto, *self._tell_late(snapshot, events, found, pairs, asker, fresh))

    def _kept(self, told: OutboxBatch) -> OutboxBatch:
        """What fulfils the conditions of those that have some."""
        conditions = self._hearing.conditions(told.registration, self._matcher.operators)
        return hold_to_conditions(told, conditions) if conditions else told

    def _tell_late(
        self,
        snapshot: Snapshot,
        events: Sequence[DocumentEvent],
        found: OutboxBatch,
        pairs: Collection[Pair],
        asker: Asker,
        fresh: dict[int, dict[GroundCall, Answer]],
    ) -> tuple[OutboxBatch, tuple[OperatorResult, ...]]:
        told = [*self.tell(snapshot, events, found, pairs, asker, fresh)]
        results = tuple(result for part in told for result in part.results)
        add_answers(fresh, results)
        return OutboxBatch.merged([part.batch for part in told]), results


class _Compared:
    """The answers to some versions beside those to the versions before."""

    def __init__(
        self,
        snapshot: Snapshot,
        events: Sequence[DocumentEvent],
        found: OutboxBatch,
        before: Before,
        pairs: Collection[Pair] | None,
        hearing: Hearing,
    ) -> None:
        self._events = {int(each.position): each for each in events}
        self._places = {position: place for place, position in enumerate(self._events)}
        self._found = found
        self._versions = before.versions
        self._pairs = pairs
        self._hearing = hearing
        self._validity = Validity(snapshot, [_named(each) for each in events])
        then = before.answers
        self._then = then.only(self._are_mine(then.position, then.registration))
        self._undecided = {pair[:2] for pair in then.undecided}
        self._open = {pair[:2]: pair.reason for pair in then.awaited}
        versioned = np.array(sorted(before.versions), np.int64)
        self._now = np.isin(found.position, versioned)
        self._now[self._now] = hearing.want(found.registration[self._now], CHANGED)
        self._skipped = {pair[:2] for pair in (*found.undecided, *found.awaited)}

    def undecided_before(self) -> set[Pair]:
        """The pairs of versions before that were undecided, of registrations that want to know."""
        return self._only_mine(self._undecided - self._skipped)

    def told(self) -> OutboxBatch:
        found, then = self._found, self._then
        awaited = self._only_mine(self._open.keys() - self._skipped)
        hidden = {*self._skipped, *awaited}
        if hidden:
            then = then.pairs(lambda pair: pair not in hidden)
        now_key, then_key = self._keys(found), self._keys(then)
        now_at = np.searchsorted(then_key, now_key)
        both = self._now & (np.append(then_key, -1)[now_at] == now_key)
        gone = ~np.isin(then_key, now_key[both])
        rows = self._changed_rows(then, np.flatnonzero(both), now_at[both])
        kept = ~both
        if awaited:
            kept &= ~np.array([pair in awaited for pair in found.row_pairs()], np.bool_)
        names = {int(position): _name_of(event) for position, event in self._events.items()}
        new = [
            PairReason(*pair, self._open[pair] or BEFORE_PENDING, isinstance(self._events[pair[0]], Removal))
            for pair in awaited
        ]
        pairs = tuple(sorted((*found.awaited, *new)))
        parts = found.only(kept), self._removed(then.only(gone), names)
        return OutboxBatch.merged([*parts, OutboxBatch.of_rows(rows, names, found.undecided, pairs)])

    def _removed(self, batch: OutboxBatch, names: Mapping[int, PublicationName]) -> OutboxBatch:
        """Rows of versions before as rows removed by their events."""
        number = {
            position: CHANGE_NUMBER["removed", isinstance(event, Removal)] for position, event in self._events.items()
        }
        change = np.array([number[position] for position in batch.position.tolist()], np.uint8)
        here = {*batch.position.tolist()}
        return replace(batch, publications=tuple(names[each] for each in sorted(here)), change=change)

    def _changed_rows(self, then: OutboxBatch, now_rows: I64, then_rows: I64) -> list[OutboxRow]:
        """What pairs are told that had and have an answer, where the two differ."""
        found = self._found
        texts: dict[bytes, int] = {}
        now_text, now_blank = _numbered(found, now_rows, texts)
        then_text, then_blank = _numbered(then, then_rows, texts)
        blank = now_blank | then_blank
        apart = np.flatnonzero((now_text != then_text) | blank)
        by_number, known, rows = [*texts], dict[tuple[int, int, int, tuple[str, ...]], tuple[str, bytes]](), []
        for place in apart.tolist():
            row = int(now_rows[place])
            position, registration = int(found.position[row]), int(found.registration[row])
            by = self._hearing.key(registration)
            key = int(now_text[place]), int(then_text[place]), position if blank[place] else 0, by
            if key not in known:
                names = self._names(position) if blank[place] else ({}, {})
                apart_rows = rows_apart(by_number[key[0]], by_number[key[1]], *names)
                known[key] = changed_text(*pair_updates(*apart_rows, by, *names))
            word, text = known[key]
            if word:
                rows.append(OutboxRow(position, registration, CHANGE_NUMBER[word, False], text.decode()))
        return rows

    def _names(self, position: int) -> tuple[Names, Names]:
        event = self._events[position]
        return blank_names(event) if isinstance(event, Publication) else {}, blank_names(self._versions[position])

    def _are_mine(self, position: I64, registration: I64) -> NDArray[np.bool_]:
        """Of pairs of versions before, whether what became of them is to be told: to registrations that live still."""
        mine = self._hearing.want(registration, CHANGED)
        places = np.array([self._places[each] for each in position.tolist()], np.int32)
        mine &= self._validity.holds(places, registration)
        if self._pairs is not None:
            pairs = zip(position.tolist(), registration.tolist(), strict=True)
            mine &= np.array([pair in self._pairs for pair in pairs], np.bool_)
        return mine

    def _only_mine(self, pairs: Collection[Pair]) -> set[Pair]:
        ordered = sorted(pairs)
        columns = np.array(ordered, np.int64).reshape(-1, 2)
        mine = self._are_mine(columns[:, 0], columns[:, 1]).tolist() if ordered else []
        return {pair for pair, is_mine in zip(ordered, mine, strict=True) if is_mine}

    def _keys(self, batch: OutboxBatch) -> I64:
        """A number for each pair, ascending."""
        position = np.array([*self._places], np.int64)
        return np.searchsorted(position, batch.position) * _REGISTRATIONS + batch.registration


def _numbered(batch: OutboxBatch, rows: I64, texts: dict[bytes, int]) -> tuple[I64, NDArray[np.bool_]]:
    """The number of the text of each of some rows, among all that are alike, and whether it may name a blank node."""
    number = np.zeros(len(batch.offsets), np.int64)
    blank = np.zeros(len(batch.offsets), np.bool_)
    raw, sheets = batch.bindings.tobytes() if len(rows) else b"", batch.sheet[rows]
    for sheet in np.unique(sheets).tolist():
        text = raw[batch.offsets[sheet] : batch.offsets[sheet + 1]]
        number[sheet] = texts.setdefault(text, len(texts))
        blank[sheet] = b'"_:' in text
    return number[sheets], blank[sheets]


def _named(event: DocumentEvent) -> Publication:
    name = _name_of(event)
    return Publication(event.position, name.graph, name.version, name.accepted_at, b"")


def _name_of(event: DocumentEvent) -> PublicationName:
    at = event.removed_at if isinstance(event, Removal) else event.accepted_at
    return PublicationName(event.position, event.graph, event.version, at)
