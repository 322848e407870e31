"""The subscriptions of repository scope, event by event: what each event adds to and removes from their answers."""

from __future__ import annotations

import json
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from triplecast.compile.compiled import CompiledSubscription, compile_subscription
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.evaluate.budget import Budget, BudgetExceeded
from triplecast.incremental.compiled import StandingQuery, compile_standing
from triplecast.incremental.decided_index import RowsChanged, rows_of
from triplecast.incremental.difference import (
    DOCUMENTS,
    AnswerChange,
    change_of_answer,
    change_of_rows,
    change_text,
    whole_answer,
)
from triplecast.incremental.filed import NOT_CONCERNED, Concerned, FiledQueries, lacks_constants
from triplecast.incremental.restriction import Seeds
from triplecast.journal import JournalFile
from triplecast.languages import fill
from triplecast.match import Matcher
from triplecast.model.algebra import Query, from_ntriples
from triplecast.model.events import Event, Removal
from triplecast.model.match import TOO_LONG
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import REPOSITORY, Registration
from triplecast.repository import Repository, Store
from triplecast.repository.store import Change

STEPS = 500_000
"""Steps that one event may take for one subscription, before and after it together; about a second."""
QUERIES_CACHED = 10_000


class AnswerChanged(NamedTuple):
    """What an event did to one answer."""

    registration: int
    added: bytes
    """The rows that came, as JSON; empty for none."""
    removed: bytes
    is_present: bool = False
    """Whether the rows are all that there are, told because somebody asked."""
    key: tuple[str, ...] = ()
    """Variables by which a row removed and one added are a row updated."""


class AnswerUndecided(NamedTuple):
    registration: int
    reason: str


class EventAnswers(NamedTuple):
    """What one event did to all answers, by registration."""

    name: Publication
    """What notifications call it: the version that came or went, or the repository as a subscription found it."""
    removal: bool
    changed: Sequence[AnswerChanged]
    undecided: Sequence[AnswerUndecided]


class _Standing(NamedTuple):
    registration: Registration
    compiled: CompiledSubscription
    query: StandingQuery

    @property
    def number(self) -> int:
        return int(self.registration.id)


class StandingQueries:
    """Follows a journal from position `told` on. For one thread at a time."""

    def __init__(self, journal: JournalFile, repository: Repository, matcher: Matcher, told: int) -> None:
        """Answers are known as of `told`, up to which `repository` has come."""
        self._journal = journal
        self._repository = repository
        self._filed = FiledQueries(matcher)
        self._told = told
        self._live: dict[int, _Standing] = {}
        self._anytime: set[int] = set()
        """Those that are evaluated as a whole, whatever changes."""
        for each in journal.live_registrations(told):
            if each.subscription.scope == REPOSITORY:
                self._add(each)

    @property
    def told(self) -> int:
        """Up to here answers are known."""
        return self._told

    def follow(self, upto: int) -> Iterator[EventAnswers]:
        """The events up to a position, in order, that change an answer or leave one undecided. Raises `StorageFault`;
        what was not taken from it is given again by others that follow from where it was told."""
        changes = self._journal.registry_changes(self._told, upto)
        coming = {int(each.id): each for each in changes.added if each.subscription.scope == REPOSITORY}
        resyncs = dict(self._journal.resyncs(self._told, upto))
        ends = {int(id): position for id, position in changes.removed}
        asked = deque(sorted([*coming, *resyncs]))

        def answer_until(position: int) -> Iterator[EventAnswers]:
            while asked and asked[0] < position:
                at = asked.popleft()
                yield from self._begin(coming[at]) if at in coming else self._present(resyncs[at], at)

        for event in self._repository.coming(upto):
            yield from answer_until(event.position)
            self._end(ends, event.position)
            yield from self._answers(event, self._repository.take(event))
        yield from answer_until(upto + 1)
        self._end(ends, upto)
        self._told = upto

    # ---- the registry -----------------------------------------------------------------------------------------------

    def _add(self, registration: Registration) -> _Standing | None:
        """None for a subscription that cannot be read any more."""
        try:
            compiled = compile_subscription(registration.subscription)
            query = compile_standing(compiled)
        except (QuerySyntaxError, QueryRefused):
            return None
        standing = _Standing(registration, compiled, query)
        self._live[standing.number] = standing
        self._filed.add(standing.number, compiled, query)
        if query.every or query.documents:
            self._anytime.add(standing.number)
        return standing

    def _end(self, ends: dict[int, Position], upto: int) -> None:
        """Take those away whose end is before `upto`."""
        for number in [number for number, position in ends.items() if position <= upto]:
            del ends[number]
            standing = self._live.pop(number, None)
            if standing is not None:
                self._filed.remove(number, standing.query)
                self._anytime.discard(number)

    def _begin(self, registration: Registration) -> Iterator[EventAnswers]:
        """Its first answer, unless it does not want that: all rows as added."""
        standing = self._add(registration)
        if standing is None or registration.subscription.initial == "none":
            return
        changed, undecided = self._whole(standing)
        if changed or undecided:
            at = registration.id
            name = Publication(Position(at), DOCUMENTS, 0, self._journal.written_at(at), b"")
            yield EventAnswers(name, False, changed, undecided)

    def _present(self, number: int, at: int) -> Iterator[EventAnswers]:
        """An answer that was asked for again at a position, which is the version that the notification names."""
        standing = self._live.get(number)
        if standing is None:
            return
        changed, undecided = self._whole(standing)
        changed = [each._replace(is_present=True) for each in changed]
        if not changed and not undecided:
            changed = [AnswerChanged(number, b"[]", b"", True)]
        name = Publication(Position(at), DOCUMENTS, at, self._journal.written_at(at), b"")
        yield EventAnswers(name, False, changed, undecided)

    def _whole(self, standing: _Standing) -> tuple[list[AnswerChanged], list[AnswerUndecided]]:
        store, query = self._repository.store, _query_of(standing.compiled)
        if lacks_constants(standing.compiled, standing.query, store):
            return [], []
        return _decided(
            standing.number, query, lambda: AnswerChange(whole_answer(query, store, Budget(STEPS)), Counter())
        )

    # ---- events -----------------------------------------------------------------------------------------------------

    def _answers(self, event: Event, change: Change) -> Iterator[EventAnswers]:
        if not self._live or not isinstance(event, Publication | Removal):
            return
        store = self._repository.store
        touched = bool(len(change.added) or len(change.removed))
        found = self._filed.find(store, change) if touched else NOT_CONCERNED
        whole = {number for number in self._anytime if touched or self._live[number].query.documents}
        told: list[AnswerChanged] = []
        undecided: list[AnswerUndecided] = []
        for number in sorted({*found.rows, *found.stars, *found.unsure, *whole}):
            standing = self._live[number]
            if number in found.rows and number not in whole and number not in found.unsure:
                changed, unsure = self._rows_changed(standing, found.rows[number], store)
            else:
                stars = None if number in whole else _known_stars(standing.query, number, found)
                changed, unsure = self._decide(standing, stars, store)
            key = standing.registration.subscription.key
            told += [each._replace(key=key) for each in changed] if key else changed
            undecided += unsure
        name, removal = _name_of(event)
        yield from _event(name, removal, told, undecided)

    def _rows_changed(
        self, standing: _Standing, changed: RowsChanged, store: Store
    ) -> tuple[list[AnswerChanged], list[AnswerUndecided]]:
        """What was decided by the index, but for rows that may come from elsewhere too."""
        before, after = (Counter(tuple(row.items()) for row in rows_of(text)) for text in changed)
        if not standing.query.recounted:
            return [AnswerChanged(standing.number, _json(after - before), _json(before - after))], []
        query = _query_of(standing.compiled)
        names = [variable.name for variable in query.variables]
        rows = []
        for row in (after - before) | (before - after):
            terms = {name: from_ntriples(text) for name, text in row}
            rows.append(tuple(map(terms.get, names)))
        return _decided(standing.number, query, lambda: change_of_rows(query, rows, store.before, store, Budget(STEPS)))

    def _decide(
        self, standing: _Standing, stars: Mapping[int, RowsChanged] | None, store: Store
    ) -> tuple[list[AnswerChanged], list[AnswerUndecided]]:
        query = _query_of(standing.compiled)
        seeds = None if stars is None else seeds_of(standing.query, stars)
        return _decided(
            standing.number, query, lambda: change_of_answer(query, seeds, store.before, store, Budget(STEPS))
        )


def _decided(
    number: int, query: Query, change: Callable[[], AnswerChange]
) -> tuple[list[AnswerChanged], list[AnswerUndecided]]:
    try:
        return _told(number, query, change())
    except _BEYOND as error:
        return [], [AnswerUndecided(number, _reason(error))]


def _known_stars(query: StandingQuery, number: int, found: Concerned) -> Mapping[int, RowsChanged] | None:
    """The stars of a query that changed; None where one of them has too many rows, or none is filed."""
    if number not in found.unsure:
        return found.stars[number]
    if query.graph is None or query.is_single:
        return None
    known: dict[int, RowsChanged] = {}
    for place, star in enumerate(query.stars):
        if star.key in found.star_rows:
            rows = found.star_rows[star.key]
            if rows is None:
                return None
            known[place] = rows
    return known or None


def seeds_of(query: StandingQuery, stars: Mapping[int, RowsChanged]) -> list[Seeds] | None:
    """What the rows that a star lost or gained say of the solutions that change; None where one says nothing."""
    found: dict[tuple[str, ...], list[tuple[str, ...]]] = {}
    for number, changed in stars.items():
        seeds = query.stars[number].seeds
        if not seeds:
            return None
        before, after = (
            {tuple(sorted(row.items())): row for row in rows_of(text)} for text in (changed.before, changed.after)
        )
        differing = [row for key, row in before.items() if key not in after]
        differing += [row for key, row in after.items() if key not in before]
        wanted = found.setdefault(tuple(name for _, name in seeds), [])
        wanted += [tuple(row[shown] for shown, _ in seeds) for row in differing]
    return [
        Seeds(names, [tuple(map(from_ntriples, row)) for row in dict.fromkeys(rows)]) for names, rows in found.items()
    ]


def _json(rows: Counter[tuple[tuple[str, str], ...]]) -> bytes:
    if not rows:
        return b""
    return json.dumps([dict(row) for row in rows.elements()], ensure_ascii=False, separators=(",", ":")).encode()


def _told(number: int, query: Query, change: AnswerChange) -> tuple[list[AnswerChanged], list[AnswerUndecided]]:
    if not change.added and not change.removed:
        return [], []
    added, removed = change_text([variable.name for variable in query.variables], change)
    if added is None or removed is None:
        return [], [AnswerUndecided(number, TOO_LONG)]
    return [AnswerChanged(number, added, removed)], []


def _event(
    name: Publication, removal: bool, changed: Sequence[AnswerChanged], undecided: Sequence[AnswerUndecided]
) -> Iterable[EventAnswers]:
    return (EventAnswers(name, removal, changed, undecided),) if changed or undecided else ()


def _name_of(event: Publication | Removal) -> tuple[Publication, bool]:
    if isinstance(event, Publication):
        return event._replace(quads=b""), False
    return Publication(event.position, event.graph, event.version, event.removed_at, b""), True


@lru_cache(maxsize=QUERIES_CACHED)
def _filled(query: Query, constants: tuple[str, ...]) -> Query:
    return fill(query, constants)


def _query_of(compiled: CompiledSubscription) -> Query:
    return _filled(compiled.template.query, compiled.constants)


_BEYOND = (BudgetExceeded, RecursionError, MemoryError)


def _reason(error: BaseException) -> str:
    if isinstance(error, BudgetExceeded):
        return f"its answer in the stored documents: {error}"
    return "its answer in the stored documents: nested too deeply, or more than memory holds"
