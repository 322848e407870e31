"""The subscriptions of repository scope, event by event: what each event adds to and removes from their answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from triplecast.model.entailment import Entailment
from triplecast.model.events import Event, Removal, TaxonomyVersion
from triplecast.model.match import TOO_LONG
from triplecast.model.publication import Position, Publication
from triplecast.model.subscription import REPOSITORY, Registration
from triplecast.repository import Repository, Store
from triplecast.repository.entailed import EntailedStore
from triplecast.repository.store import Change
from triplecast.repository.stored_graphs import Source
from triplecast.taxonomy import EntailmentTooLarge, restore_taxonomy

STEPS = 500_000
"""Steps that one event may take for one subscription, before and after it together; about a second."""
QUERIES_CACHED = 10_000
TAXONOMY = "urn:triplecast:taxonomy"
"""What notifications call a taxonomy; its version is its position."""


class AnswerChanged(NamedTuple):
    """What an event did to one answer."""

    registration: int
    added: bytes
    """The rows that came, as JSON; empty for none."""
    removed: bytes


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


class _Graph:
    """What the queries of one entailment regime are asked of: the documents, or what they entail; and these queries."""

    def __init__(self, stated: Store, entailed: EntailedStore | None, matcher: Matcher) -> None:
        self._stated = stated
        self.entailed = entailed
        self.filed = FiledQueries(matcher)
        self.live: set[int] = set()

    @property
    def store(self) -> Store:
        return self._stated if self.entailed is None else self.entailed.store

    @property
    def before(self) -> Source:
        return self._stated.before if self.entailed is None else self.entailed.before

    @property
    def after(self) -> Source:
        return self._stated if self.entailed is None else self.entailed.after


class _Standing(NamedTuple):
    registration: Registration
    compiled: CompiledSubscription
    query: StandingQuery
    graph: _Graph

    @property
    def number(self) -> int:
        return int(self.registration.id)


class StandingQueries:
    """Follows a journal from position `told` on. For one thread at a time."""

    def __init__(self, journal: JournalFile, repository: Repository, matcher: Matcher, told: int) -> None:
        """Answers are known as of `told`, up to which `repository` has come."""
        self._journal = journal
        self._repository = repository
        self._matcher = matcher
        self._taxonomy = journal.taxonomies(told, told).before(told + 1)
        self._graphs: dict[Entailment, _Graph] = {}
        """Those that a live subscription is asked of."""
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
        coming = [each for each in changes.added if each.subscription.scope == REPOSITORY]
        ends = {int(id): position for id, position in changes.removed}
        subscribed = iter(coming)
        following = next(subscribed, None)
        for event in self._repository.coming(upto):
            while following is not None and following.id < event.position:
                yield from self._begin(following)
                following = next(subscribed, None)
            self._end(ends, event.position)
            yield from self._answers(event, self._repository.take(event))
        while following is not None:
            yield from self._begin(following)
            following = next(subscribed, None)
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
        graph = self._graph(compiled.entailment)
        standing = _Standing(registration, compiled, query, graph)
        self._live[standing.number] = standing
        graph.live.add(standing.number)
        graph.filed.add(standing.number, compiled, query)
        if query.every or query.documents:
            self._anytime.add(standing.number)
        return standing

    def _graph(self, entailment: Entailment) -> _Graph:
        found = self._graphs.get(entailment)
        if found is None:
            stated = self._repository.store
            entailed = None if entailment is Entailment.NONE else EntailedStore(stated, entailment, self._taxonomy)
            found = self._graphs[entailment] = _Graph(stated, entailed, self._matcher)
        return found

    def _end(self, ends: dict[int, Position], upto: int) -> None:
        """Take those away whose end is before `upto`."""
        for number in [number for number, position in ends.items() if position <= upto]:
            del ends[number]
            standing = self._live.pop(number, None)
            if standing is not None:
                standing.graph.filed.remove(number, standing.query)
                standing.graph.live.discard(number)
                self._anytime.discard(number)
                if not standing.graph.live:
                    del self._graphs[standing.compiled.entailment]

    def _begin(self, registration: Registration) -> Iterator[EventAnswers]:
        """Its first answer: all rows as added."""
        standing = self._add(registration)
        if standing is None:
            return
        graph, at = standing.graph, registration.id
        if lacks_constants(standing.compiled, standing.query, graph.store):
            return
        query = _query_of(standing.compiled)
        changed, undecided = _decided(
            standing.number, query, lambda: AnswerChange(whole_answer(query, graph.after, Budget(STEPS)), Counter())
        )
        if changed or undecided:
            name = Publication(Position(at), DOCUMENTS, 0, self._journal.registered_at(at), b"")
            yield EventAnswers(name, False, changed, undecided)

    # ---- events -----------------------------------------------------------------------------------------------------

    def _answers(self, event: Event, change: Change) -> Iterator[EventAnswers]:
        if isinstance(event, TaxonomyVersion):
            self._taxonomy = restore_taxonomy(event.lines, event.broader)
        found = [self._answers_of(graph, event, change) for _, graph in sorted(self._graphs.items())]
        told = sorted(each for changed, _ in found for each in changed)
        undecided = sorted(each for _, unsure in found for each in unsure)
        if told or undecided:
            yield EventAnswers(*self._name_of(event), told, undecided)

    def _answers_of(
        self, graph: _Graph, event: Event, change: Change
    ) -> tuple[list[AnswerChanged], list[AnswerUndecided]]:
        """What an event does to the answers from one graph."""
        touched, whole = len(change.added) + len(change.removed) > 0, self._anytime & graph.live
        if graph.entailed is not None:
            if isinstance(event, TaxonomyVersion):
                change = graph.entailed.replace_taxonomy(self._taxonomy, event.position)
                whole |= {number for number in graph.live if self._live[number].query.kin}
                touched = True
            else:
                change = graph.entailed.follow(change)
        elif isinstance(event, TaxonomyVersion):
            return [], []
        moved = bool(len(change.added) or len(change.removed))
        found = graph.filed.find(graph.store, change) if moved else NOT_CONCERNED
        if not touched and not moved:
            whole = {number for number in whole if self._live[number].query.documents}
        told: list[AnswerChanged] = []
        undecided: list[AnswerUndecided] = []
        for number in sorted({*found.rows, *found.stars, *found.unsure, *whole}):
            standing = self._live[number]
            if number in found.rows and number not in whole and number not in found.unsure:
                changed, unsure = self._rows_changed(standing, found.rows[number])
            else:
                stars = None if number in whole else _known_stars(standing.query, number, found)
                changed, unsure = self._decide(standing, stars)
            told += changed
            undecided += unsure
        return told, undecided

    def _name_of(self, event: Event) -> tuple[Publication, bool]:
        """What notifications call an event, and whether it is a removal."""
        if isinstance(event, Publication):
            return event._replace(quads=b""), False
        if isinstance(event, Removal):
            return Publication(event.position, event.graph, event.version, event.removed_at, b""), True
        position = event.position
        return Publication(Position(position), TAXONOMY, position, self._journal.loaded_at(position), b""), False

    def _rows_changed(
        self, standing: _Standing, changed: RowsChanged
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
        graph = standing.graph
        return _decided(
            standing.number, query, lambda: change_of_rows(query, rows, graph.before, graph.after, Budget(STEPS))
        )

    def _decide(
        self, standing: _Standing, stars: Mapping[int, RowsChanged] | None
    ) -> tuple[list[AnswerChanged], list[AnswerUndecided]]:
        query = _query_of(standing.compiled)
        seeds = None if stars is None else seeds_of(standing.query, stars)
        graph = standing.graph
        return _decided(
            standing.number, query, lambda: change_of_answer(query, seeds, graph.before, graph.after, Budget(STEPS))
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


@lru_cache(maxsize=QUERIES_CACHED)
def _filled(query: Query, constants: tuple[str, ...]) -> Query:
    return fill(query, constants)


def _query_of(compiled: CompiledSubscription) -> Query:
    return _filled(compiled.template.query, compiled.constants)


_BEYOND = (BudgetExceeded, EntailmentTooLarge, RecursionError, MemoryError)


def _reason(error: BaseException) -> str:
    if isinstance(error, BudgetExceeded | EntailmentTooLarge):
        return f"its answer in the stored documents: {error}"
    return "its answer in the stored documents: nested too deeply, or more than memory holds"
