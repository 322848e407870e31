"""The subscriptions of repository scope, event by event: what each event adds to and removes from their answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeAlias

from triplecast.compile.compiled import CompiledSubscription, compile_subscription
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.evaluate.budget import Budget, BudgetExceeded
from triplecast.incremental.asked_graph import MOST_HELD, AskedGraph
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
from triplecast.incremental.filed import NOT_CONCERNED, Concerned, lacks_constants
from triplecast.incremental.owed import OwedAnswers
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
from triplecast.repository import Repository
from triplecast.repository.earlier import HELD_TRIPLES
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


Decided: TypeAlias = tuple[list[AnswerChanged], list[AnswerUndecided]]
"""What is told of one answer, or why it is undecided."""


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
    graph: AskedGraph

    @property
    def number(self) -> int:
        return int(self.registration.id)


class StandingQueries:
    """Follows a journal from position `told` on. For one thread at a time."""

    def __init__(
        self,
        journal: JournalFile,
        repository: Repository,
        matcher: Matcher,
        told: int,
        owed: OwedAnswers | None = None,
    ) -> None:
        """Answers were told as of `told`, but for those that are `owed`; `repository` has come to where these start."""
        self._journal = journal
        self._repository = repository
        self._matcher = matcher
        self.owed = owed or OwedAnswers()
        """The answers that are undecided."""
        start = repository.reached
        self._taxonomy = journal.taxonomies(start, start).before(start + 1)
        self._graphs: dict[Entailment, AskedGraph] = {}
        """Those that a live subscription is asked of."""
        self._told = told
        self._live: dict[int, _Standing] = {}
        self._anytime: set[int] = set()
        """Those that are evaluated as a whole, whatever changes."""
        for each in journal.live_registrations(told):
            if each.subscription.scope == REPOSITORY:
                self._add(each)
        self._catch_up()

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

    def _graph(self, entailment: Entailment) -> AskedGraph:
        found = self._graphs.get(entailment)
        if found is None:
            found = AskedGraph(self._repository.store, entailment, self._taxonomy, self._matcher)
            self._graphs[entailment] = found
        return found

    def _catch_up(self) -> None:
        """Take the events up to `told`, and keep the states from which answers are owed."""
        since: dict[int, list[_Standing]] = {}
        for number, first in self.owed.since.items():
            if number not in self._live:
                self.owed.end(number, self._told)
            elif number != first:
                since.setdefault(first, []).append(self._live[number])
        for event in self._repository.coming(self._told):
            change = self._repository.take(event)
            self._note_taxonomy(event)
            for graph in self._graphs.values():
                self._take(graph, event, change)
            for standing in since.get(event.position, ()):
                standing.graph.hold(event.position)

    def _end(self, ends: dict[int, Position], upto: int) -> None:
        """Take those away whose end is before `upto`."""
        for number in [number for number, position in ends.items() if position <= upto]:
            del ends[number]
            standing = self._live.pop(number, None)
            if standing is not None:
                self._settle(standing, upto)
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
        at = registration.id
        if not standing.graph.too_large and lacks_constants(standing.compiled, standing.query, standing.graph.store):
            return
        changed, undecided = self._first(standing)
        if undecided:
            self.owed.begin(standing.number, standing.number)
        if changed or undecided:
            name = Publication(Position(at), DOCUMENTS, 0, self._journal.registered_at(at), b"")
            yield EventAnswers(name, False, changed, undecided)

    def _first(self, standing: _Standing) -> Decided:
        """All rows as added."""
        if standing.graph.too_large:
            return [], [AnswerUndecided(standing.number, TOO_LARGE)]
        query, source = _query_of(standing.compiled), standing.graph.after
        return self._decided(standing, lambda: AnswerChange(whole_answer(query, source, Budget(STEPS)), Counter()))

    # ---- events -----------------------------------------------------------------------------------------------------

    def _answers(self, event: Event, change: Change) -> Iterator[EventAnswers]:
        self._note_taxonomy(event)
        told: list[AnswerChanged] = []
        undecided: list[AnswerUndecided] = []
        for _, graph in sorted(self._graphs.items()):
            for number in sorted(concerned := self._concerned(graph, event, change)):
                standing = self._live[number]
                changed: Sequence[AnswerChanged] = ()
                unsure: Sequence[AnswerUndecided]
                if graph.too_large:
                    unsure = [AnswerUndecided(number, TOO_LARGE)]
                elif number in self.owed:
                    changed, unsure = self._make_up(standing)
                else:
                    changed, unsure = self._decide(standing, concerned[number], graph.before)
                if not unsure:
                    self._settle(standing, event.position)
                elif number not in self.owed:
                    self.owed.begin(number, event.position)
                    graph.hold(event.position)
                told += changed
                undecided += unsure
        if told or undecided:
            yield EventAnswers(*self._name_of(event), sorted(told), sorted(undecided))

    def _note_taxonomy(self, event: Event) -> None:
        if isinstance(event, TaxonomyVersion):
            self._taxonomy = restore_taxonomy(event.lines, event.broader)

    def _take(self, graph: AskedGraph, event: Event, change: Change) -> Change | None:
        """What an event changes in a graph; None where it is none of its events."""
        if isinstance(event, TaxonomyVersion):
            return graph.replace_taxonomy(self._taxonomy, event.position)
        return graph.take(change)

    def _concerned(self, graph: AskedGraph, event: Event, change: Change) -> dict[int, Concerned | None]:
        """Whom an event may concern; with what is known of that, or None for whom it is evaluated as a whole."""
        was_too_large = graph.too_large
        own = self._take(graph, event, change)
        if own is None:
            return {}
        if graph.too_large != was_too_large:
            return dict.fromkeys(graph.live)
        moved = bool(len(own.added) or len(own.removed))
        found = graph.filed.find(graph.store, own) if moved else NOT_CONCERNED
        concerned: dict[int, Concerned | None] = dict.fromkeys((*found.rows, *found.stars, *found.unsure), found)
        is_taught = isinstance(event, TaxonomyVersion)
        if moved or is_taught or len(change.added) or len(change.removed):
            concerned.update(dict.fromkeys(self._anytime & graph.live))
        else:
            concerned.update((each, None) for each in self._anytime & graph.live if self._live[each].query.documents)
        if is_taught:
            concerned.update((each, None) for each in graph.live if self._live[each].query.kin)
        return concerned

    def _make_up(self, standing: _Standing) -> Decided:
        """What changed since the event that left an answer undecided, that and all others since together."""
        since = self.owed.since[standing.number]
        if since == standing.number:
            return self._first(standing)
        before = standing.graph.before_event(since)
        if before is None:
            return [], [AnswerUndecided(standing.number, LOST)]
        whole = standing.number in self._anytime or standing.query.kin
        return self._decide(standing, None if whole else standing.graph.concerned_since(since), before)

    def _settle(self, standing: _Standing, position: int) -> None:
        """Note that an answer is decided, or not wanted any more."""
        if standing.number in self.owed:
            since = self.owed.since[standing.number]
            self.owed.end(standing.number, position)
            if since != standing.number:
                standing.graph.drop(since)

    def _name_of(self, event: Event) -> tuple[Publication, bool]:
        """What notifications call an event, and whether it is a removal."""
        if isinstance(event, Publication):
            return event._replace(quads=b""), False
        if isinstance(event, Removal):
            return Publication(event.position, event.graph, event.version, event.removed_at, b""), True
        position = event.position
        return Publication(Position(position), TAXONOMY, position, self._journal.loaded_at(position), b""), False

    def _decide(self, standing: _Standing, found: Concerned | None, before: Source) -> Decided:
        """By what an answer differs from that of an earlier state, of whose change it is known whom it concerns."""
        number, query, after = standing.number, _query_of(standing.compiled), standing.graph.after
        if found is not None and number in found.rows and number not in found.unsure:
            return self._rows_changed(standing, found.rows[number], before)
        if found is not None and number not in found.stars and number not in found.unsure:
            return [], []
        stars = None if found is None else _known_stars(standing.query, number, found)
        seeds = None if stars is None else seeds_of(standing.query, stars)
        return self._decided(standing, lambda: change_of_answer(query, seeds, before, after, Budget(STEPS)))

    def _rows_changed(self, standing: _Standing, changed: RowsChanged, before: Source) -> Decided:
        """What was decided by the index, but for rows that may come from elsewhere too."""
        then, now = (Counter(tuple(row.items()) for row in rows_of(text)) for text in changed)
        if not standing.query.recounted:
            return [AnswerChanged(standing.number, _json(now - then), _json(then - now))], []
        query, after = _query_of(standing.compiled), standing.graph.after
        names = [variable.name for variable in query.variables]
        rows = []
        for row in (now - then) | (then - now):
            terms = {name: from_ntriples(text) for name, text in row}
            rows.append(tuple(map(terms.get, names)))
        return self._decided(standing, lambda: change_of_rows(query, rows, before, after, Budget(STEPS)))

    def _decided(self, standing: _Standing, change: Callable[[], AnswerChange]) -> Decided:
        try:
            return _told(standing.number, _query_of(standing.compiled), change())
        except _BEYOND as error:
            return [], [AnswerUndecided(standing.number, _reason(error))]


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


def _told(number: int, query: Query, change: AnswerChange) -> Decided:
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


TOO_LARGE = f"its answer in the stored documents: of a resource {EntailmentTooLarge()}"
LOST = (
    f"its answer in the stored documents: since it was decided, more than {HELD_TRIPLES:,} triples have changed, or "
    f"after {MOST_HELD} events answers are owed; subscribe again"
)
_BEYOND = (BudgetExceeded, EntailmentTooLarge, RecursionError, MemoryError)


def _reason(error: BaseException) -> str:
    if isinstance(error, BudgetExceeded | EntailmentTooLarge):
        return f"its answer in the stored documents: {error}"
    return "its answer in the stored documents: nested too deeply, or more than memory holds"
