"""The subscriptions of repository scope, event by event: what each event adds to and removes from their answers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from triplecast.compile.compiled import CompiledSubscription, compile_subscription
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.evaluate.budget import Budget
from triplecast.incremental.asked_graph import AskedGraph, RunStates, States, TwoStates
from triplecast.incremental.compiled import StandingQuery, compile_standing
from triplecast.incremental.decided_index import RowsChanged, rows_of
from triplecast.incremental.difference import AnswerChange, change_of_answer, change_of_rows, whole_answer
from triplecast.incremental.event_answers import (
    BEYOND,
    LOST,
    TOO_LARGE,
    AnswerChanged,
    AnswerUndecided,
    Decided,
    EventAnswers,
    reason_of,
    rows_text,
    told_of,
)
from triplecast.incremental.filed import Concerned, lacks_constants
from triplecast.incremental.owed import OwedAnswers
from triplecast.incremental.restriction import Seeds
from triplecast.journal import JournalFile
from triplecast.languages import fill
from triplecast.match import Matcher
from triplecast.model.algebra import Query, from_ntriples
from triplecast.model.entailment import Entailment
from triplecast.model.events import Event, Removal, TaxonomyVersion
from triplecast.model.publication import DOCUMENTS, TAXONOMY, Position, Publication
from triplecast.model.subscription import REPOSITORY, Registration
from triplecast.repository import Repository
from triplecast.repository.changes import Changes
from triplecast.taxonomy import restore_taxonomy

STEPS = 500_000
"""Steps that one event may take for one subscription, before and after it together; about a second."""
QUERIES_CACHED = 10_000
EVENTS_AT_ONCE = 1_000
"""Events whose changes are found together."""


class _Standing(NamedTuple):
    number: int
    compiled: CompiledSubscription
    query: StandingQuery
    graph: AskedGraph


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
        for group in self._repository.coming(upto):
            places = [each.position for each in group]
            start = 0
            while start < len(group):
                while following is not None and following.id < places[start]:
                    yield from self._begin(following)
                    following = next(subscribed, None)
                self._end(ends, places[start])
                stop = min(start + self._events_at_once(), len(group))
                for position in (*ends.values(), *(() if following is None else (following.id,))):
                    stop = min(stop, max(bisect_left(places, position), start + 1))
                yield from self._answers(group[start:stop])
                start = stop
        while following is not None:
            yield from self._begin(following)
            following = next(subscribed, None)
        self._end(ends, upto)
        self._told = upto

    def _events_at_once(self) -> int:
        """What follows from an event is known before the next one; an answer that is owed is tried after each."""
        is_entailed = any(graph.entailed is not None for graph in self._graphs.values())
        return 1 if is_entailed or self.owed.since else EVENTS_AT_ONCE

    # ---- the registry -----------------------------------------------------------------------------------------------

    def _add(self, registration: Registration) -> _Standing | None:
        """None for a subscription that cannot be read any more."""
        try:
            compiled = compile_subscription(registration.subscription)
            compiled = compiled._replace(constants=tuple(map(intern, compiled.constants)))  # queries have many alike
            query = compile_standing(compiled)
        except (QuerySyntaxError, QueryRefused):
            return None
        graph = self._graph(compiled.entailment)
        standing = _Standing(int(registration.id), compiled, query, graph)
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
        for number, first in [*self.owed.since.items()]:
            if number not in self._live:
                self.owed.end(number, self._told)
            elif number != first:
                since.setdefault(first, []).append(self._live[number])
        for group in self._repository.coming(self._told):
            for event in group:
                changes = self._repository.take([event])
                self._note_taxonomy(event)
                for graph in self._graphs.values():
                    graph.take([event], changes, self._taxonomy)
                for standing in since.get(event.position, ()):
                    standing.graph.hold(event.position, 0)

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

    def _answers(self, events: Sequence[Event]) -> Iterator[EventAnswers]:
        """Take events in which the same queries are live; how each of them changes the answers."""
        changes = self._repository.take(events)
        for event in events:
            self._note_taxonomy(event)
        found = [self._answers_of(graph, events, changes) for _, graph in sorted(self._graphs.items())]
        for place, event in enumerate(events):
            decided = sorted(pair for of_graph in found for pair in of_graph[place].items())
            told = [each for _, (changed, _) in decided for each in changed]
            undecided = [each for _, (_, unsure) in decided for each in unsure]
            if told or undecided:
                yield EventAnswers(*self._name_of(event), told, undecided)

    def _note_taxonomy(self, event: Event) -> None:
        if isinstance(event, TaxonomyVersion):
            self._taxonomy = restore_taxonomy(event.lines, event.broader)

    def _answers_of(self, graph: AskedGraph, events: Sequence[Event], changes: Changes) -> Sequence[dict[int, Decided]]:
        """What each event does to the answers from one graph, by registration."""
        was_too_large = graph.too_large
        own = graph.take(events, changes, self._taxonomy)
        found = graph.filed.find(graph.store, own)
        states = graph.states(len(events))
        answers: list[dict[int, Decided]] = [{} for _ in events]
        for place in range(len(events) - 1, -1, -1):  # a store goes back, and not forth
            states.go_to(place)
            concerned = self._concerned(graph, events[place], changes.touch(place) or own.touch(place), found[place])
            if graph.too_large != was_too_large:
                concerned = dict.fromkeys(graph.live)
            for number, known in concerned.items():
                standing = self._live[number]
                if graph.too_large:
                    answers[place][number] = [], [AnswerUndecided(number, TOO_LARGE)]
                elif number in self.owed:
                    answers[place][number] = self._make_up(standing)
                else:
                    answers[place][number] = self._decide(standing, known, states)
        self._note_owed(graph, events, answers, states)
        return answers

    def _concerned(
        self, graph: AskedGraph, event: Event, touched: bool, found: Concerned
    ) -> dict[int, Concerned | None]:
        """Whom an event may concern; with what is known of that, or None for whom it is evaluated as a whole."""
        is_taught = isinstance(event, TaxonomyVersion)
        if is_taught and graph.entailed is None:
            return {}
        concerned: dict[int, Concerned | None] = dict.fromkeys((*found.rows, *found.stars, *found.unsure), found)
        whole = self._anytime & graph.live
        if not touched and not is_taught:
            whole = {number for number in whole if self._live[number].query.documents}
        if is_taught:
            whole |= {number for number in graph.live if self._live[number].query.kin}
        concerned.update(dict.fromkeys(whole))
        return concerned

    # ---- what is owed -----------------------------------------------------------------------------------------------

    def _note_owed(
        self, graph: AskedGraph, events: Sequence[Event], answers: list[dict[int, Decided]], states: RunStates
    ) -> None:
        """Note which answers are decided again, and from which events others are owed. Those that were left undecided
        among several events are made up for among these."""
        since: dict[int, int] = {}
        for place, event in enumerate(events):
            for number, (_, unsure) in answers[place].items():
                first = since.get(number)
                if first is not None:
                    decided = self._decide(self._live[number], None, states.between(first, place))
                    answers[place][number] = decided
                    if not decided[1]:
                        del since[number]
                elif not unsure:
                    self._settle(self._live[number], event.position)
                elif number not in self.owed:
                    since[number] = place
        for number, place in since.items():
            self.owed.begin(number, events[place].position)
            graph.hold(events[place].position, place)

    def _make_up(self, standing: _Standing) -> Decided:
        """What changed since the event that left an answer undecided, that and all others since together."""
        since = self.owed.since[standing.number]
        if since == standing.number:
            return self._first(standing)
        before = standing.graph.before_event(since)
        if before is None:
            return [], [AnswerUndecided(standing.number, LOST)]
        whole = standing.number in self._anytime or standing.query.kin
        found = None if whole else standing.graph.concerned_since(since)
        return self._decide(standing, found, TwoStates(before, standing.graph.after))

    def _settle(self, standing: _Standing, position: int) -> None:
        """Note that an answer is decided, or not wanted any more."""
        if standing.number in self.owed:
            since = self.owed.since[standing.number]
            self.owed.end(standing.number, position)
            if since != standing.number:
                standing.graph.drop(since)

    # ---- one answer -------------------------------------------------------------------------------------------------

    def _name_of(self, event: Event) -> tuple[Publication, bool]:
        """What notifications call an event, and whether it is a removal."""
        if isinstance(event, Publication):
            return event._replace(quads=b""), False
        if isinstance(event, Removal):
            return Publication(event.position, event.graph, event.version, event.removed_at, b""), True
        position = event.position
        return Publication(Position(position), TAXONOMY, position, self._journal.loaded_at(position), b""), False

    def _decide(self, standing: _Standing, found: Concerned | None, states: States) -> Decided:
        """By what an answer differs between two states, of which it is known whom the change concerns, or not."""
        number, query = standing.number, _query_of(standing.compiled)
        if found is not None and number in found.rows and number not in found.unsure:
            return self._rows_changed(standing, found.rows[number], states)
        if found is not None and number not in found.stars and number not in found.unsure:
            return [], []
        stars = None if found is None else _known_stars(standing.query, number, found)
        seeds = None if stars is None else seeds_of(standing.query, stars)
        return self._decided(
            standing, lambda: change_of_answer(query, seeds, states.before, states.after, Budget(STEPS))
        )

    def _rows_changed(self, standing: _Standing, changed: RowsChanged, states: States) -> Decided:
        """What was decided by the index, but for rows that may come from elsewhere too."""
        if not standing.query.recounted and not (changed.before and changed.after):
            return [AnswerChanged(standing.number, changed.after, changed.before)], []
        then, now = (Counter(tuple(row.items()) for row in rows_of(text)) for text in changed)
        if not standing.query.recounted:
            return [AnswerChanged(standing.number, rows_text(now - then), rows_text(then - now))], []
        query = _query_of(standing.compiled)
        names = [variable.name for variable in query.variables]
        rows = []
        for row in (now - then) | (then - now):
            terms = {name: from_ntriples(text) for name, text in row}
            rows.append(tuple(map(terms.get, names)))
        return self._decided(standing, lambda: change_of_rows(query, rows, states.before, states.after, Budget(STEPS)))

    def _decided(self, standing: _Standing, change: Callable[[], AnswerChange]) -> Decided:
        try:
            return told_of(standing.number, _query_of(standing.compiled), change())
        except BEYOND as error:
            return [], [AnswerUndecided(standing.number, reason_of(error))]


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


@lru_cache(maxsize=QUERIES_CACHED)
def _filled(query: Query, constants: tuple[str, ...]) -> Query:
    return fill(query, constants)


def _query_of(compiled: CompiledSubscription) -> Query:
    return _filled(compiled.template.query, compiled.constants)
