"""The subscriptions of repository scope, event by event: what each event adds to and removes from their answers."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import NamedTuple

from triplecast.compile.compiled import NOTHING_COMPILED, CompiledSubscription, compile_subscription
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.evaluate.budget import Budget
from triplecast.incremental.asked_graph import AskedGraph, RunStates, States, TwoStates
from triplecast.incremental.changed_resources import NOTHING_HELD, RULE, HeldByRules, changed_terms
from triplecast.incremental.compiled import StandingQuery, compile_standing
from triplecast.incremental.decided_index import PlainRows, RowsChanged, rows_of
from triplecast.incremental.difference import AnswerChange, change_of_answer, change_of_rows, whole_answer
from triplecast.incremental.event_answers import (
    BEYOND,
    LOST,
    TOO_LARGE,
    AnswerChanged,
    AnswerUndecided,
    Decided,
    EventAnswers,
    RowsTold,
    reason_of,
    rows_text,
    told_of,
    with_changed,
)
from triplecast.incremental.filed import NOT_CONCERNED, Concerned, known_stars, lacks_constants, seeds_of
from triplecast.incremental.owed import OwedAnswers
from triplecast.journal import JournalFile
from triplecast.languages import fill
from triplecast.match import Matcher
from triplecast.model.algebra import Query, from_ntriples
from triplecast.model.entailment import Entailment
from triplecast.model.events import Event, Removal, SchemaVersion, TaxonomyVersion
from triplecast.model.publication import DOCUMENTS, TAXONOMY, Position, Publication
from triplecast.model.subscription import REPOSITORY, Registration
from triplecast.outbox.batch import PublicationName, distinct
from triplecast.repository import Repository
from triplecast.repository.changes import Change, Changes
from triplecast.repository.stored_graphs import Source
from triplecast.schema import restore_schema
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
    key: tuple[str, ...]

    def hears(self, changed: AnswerChanged) -> AnswerChanged:
        return changed._replace(key=self.key, conditions=self.compiled.template.updates)


class StandingQueries:
    """Follows a journal from position `told` on. For one thread at a time."""

    def __init__(
        self,
        journal: JournalFile,
        repository: Repository,
        matcher: Matcher,
        told: int,
        owed: OwedAnswers | None = None,
        compiled: Mapping[int, CompiledSubscription] = NOTHING_COMPILED,
    ) -> None:
        """Answers were told as of `told`, but for those that are `owed`; `repository` has come to where these start.
        Those that are `compiled`, by id, are not parsed again."""
        self._compiled = compiled
        self._journal = journal
        self._repository = repository
        self._matcher = matcher
        self.owed = owed or OwedAnswers()
        """The answers that are undecided."""
        start = repository.reached
        self._taxonomy = journal.taxonomies(start, start).before(start + 1)
        self._strong = journal.schema(start).strong
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

    def follow(self, upto: int) -> Iterator[EventAnswers | RowsTold]:
        """What events up to a position change in answers, or leave undecided. Raises `StorageFault`; what was not taken
        from it is given again by others that follow from where it was told."""
        changes = self._journal.registry_changes(self._told, upto)
        coming = {int(each.id): each for each in changes.added if each.subscription.scope == REPOSITORY}
        resyncs = dict(self._journal.resyncs(self._told, upto))
        ends = {int(id): position for id, position in changes.removed}
        asked = deque(sorted([*coming, *resyncs]))

        def answer_until(position: int) -> Iterator[EventAnswers]:
            while asked and asked[0] < position:
                at = asked.popleft()
                yield from self._begin(coming[at]) if at in coming else self._present(resyncs[at], at)

        for group in self._repository.coming(upto):
            places = [each.position for each in group]
            start = 0
            while start < len(group):
                yield from answer_until(places[start])
                self._end(ends, places[start])
                stop = min(start + self._events_at_once(), len(group))
                for position in (*ends.values(), *((asked[0],) if asked else ())):
                    stop = min(stop, max(bisect_left(places, position), start + 1))
                yield from self._answers(group[start:stop])
                start = stop
        yield from answer_until(upto + 1)
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
            compiled = self._compiled.get(registration.id) or compile_subscription(registration.subscription)
            compiled = compiled._replace(constants=tuple(map(intern, compiled.constants)))  # queries have many alike
            query = compile_standing(compiled)
        except (QuerySyntaxError, QueryRefused):
            return None
        graph = self._graph(compiled.entailment)
        standing = _Standing(int(registration.id), compiled, query, graph, registration.subscription.key)
        self._live[standing.number] = standing
        graph.live.add(standing.number)
        is_rule = registration.subscription.language == RULE
        plain = not (is_rule or query.documents or compiled.template.updates)
        graph.filed.add(standing.number, compiled, query, registration.subscription, plain)
        if query.every or query.documents:
            self._anytime.add(standing.number)
        if is_rule:
            graph.rules.add(standing.number, compiled, query)
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
                self._note(event)
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
                if number in standing.graph.rules:
                    standing.graph.rules.remove(number, standing.query)
                standing.graph.live.discard(number)
                self._anytime.discard(number)
                if not standing.graph.live:
                    del self._graphs[standing.compiled.entailment]

    def _begin(self, registration: Registration) -> Iterator[EventAnswers]:
        """Its first answer, unless it does not want that: all rows as added."""
        standing = self._add(registration)
        if standing is None or registration.subscription.initial == "none":
            return
        changed, undecided = self._first(standing)
        if undecided:
            self.owed.begin(standing.number, standing.number)
        if changed or undecided:
            changed = [*map(standing.hears, changed)]
            yield EventAnswers(self._name_at(standing.number, DOCUMENTS, 0), False, changed, undecided)

    def _present(self, number: int, at: int) -> Iterator[EventAnswers]:
        """An answer that was asked for again at a position, which is the version that the notification names. With it
        nothing is owed."""
        standing = self._live.get(number)
        if standing is None:
            return
        changed, undecided = self._first(standing)
        if not undecided:
            self._settle(standing, at)
            changed = [each._replace(is_present=True) for each in changed or [AnswerChanged(number, b"[]", b"")]]
        yield EventAnswers(self._name_at(at, DOCUMENTS, at), False, changed, undecided)

    def _first(self, standing: _Standing) -> Decided:
        """All rows as added."""
        if standing.graph.too_large:
            return [], [AnswerUndecided(standing.number, TOO_LARGE)]
        if lacks_constants(standing.compiled, standing.query, standing.graph.store):
            return [], []
        query, source = _query_of(standing.compiled), standing.graph.after
        return self._decided(standing, lambda: AnswerChange(whole_answer(query, source, Budget(STEPS)), Counter()))

    # ---- events -----------------------------------------------------------------------------------------------------

    def _answers(self, events: Sequence[Event]) -> Iterator[EventAnswers | RowsTold]:
        """Take events in which the same queries are live; how they change the answers."""
        changes = self._repository.take(events)
        strong = [self._note(event) for event in events]
        plain: list[PlainRows] = []
        found = [self._answers_of(graph, events, changes, strong, plain) for _, graph in sorted(self._graphs.items())]
        for place in sorted(set[int]().union(*found)):
            decided = sorted(pair for of_graph in found for pair in of_graph.get(place, {}).items())
            told = [self._live[number].hears(each) for number, (changed, _) in decided for each in changed]
            undecided = [each for _, (_, unsure) in decided for each in unsure]
            if told or undecided:
                yield EventAnswers(*self._name_of(events[place]), told, undecided)
        for rows in (each for each in plain if len(each.events)):
            yield RowsTold(rows, {place: self._name_of(events[place]) for place in distinct(rows.events)})

    def _note(self, event: Event) -> Collection[str]:
        """Take what an event says of classes and properties; return those whose references are strong after it."""
        if isinstance(event, TaxonomyVersion):
            self._taxonomy = restore_taxonomy(event.lines, event.broader)
        if isinstance(event, SchemaVersion):
            self._strong = restore_schema(event.lines).strong
        return self._strong

    def _answers_of(
        self,
        graph: AskedGraph,
        events: Sequence[Event],
        changes: Changes,
        strong: Sequence[Collection[str]],
        plain: list[PlainRows],
    ) -> dict[int, dict[int, Decided]]:
        """What each event does to the answers from one graph, by its number and by registration, but for `plain` rows,
        which are added there."""
        was_too_large = graph.too_large
        own = graph.take(events, changes, self._taxonomy)
        apart = not (self.owed.since or was_too_large or graph.too_large)
        found, rows = graph.filed.find(graph.store, own, apart)
        plain += rows
        held = graph.rules.find(graph.store, own, strong)
        states = graph.states(len(events))
        is_quiet = not (self._anytime or any(isinstance(each, TaxonomyVersion) for each in events))
        is_quiet = is_quiet and graph.too_large == was_too_large
        answers: dict[int, dict[int, Decided]] = {}
        for place in range(len(events) - 1, -1, -1):  # a store goes back, and not forth
            event, known_of = events[place], found[place]
            if is_quiet and known_of is NOT_CONCERNED and held[place] is NOTHING_HELD:
                continue
            concerned = self._concerned(graph, event, changes.touch(place) or own.touch(place), known_of)
            if graph.too_large != was_too_large:
                concerned = dict.fromkeys(graph.live)
            states.go_to(place)
            decided = answers[place] = {}
            for number, known in concerned.items():
                standing = self._live[number]
                if graph.too_large:
                    decided[number] = [], [AnswerUndecided(number, TOO_LARGE)]
                elif number in self.owed:
                    decided[number] = self._make_up(standing)
                else:
                    decided[number] = self._decide(standing, known, states)
            if held[place] is not NOTHING_HELD and not graph.too_large:
                self._add_changed(graph, held[place], decided, states)
        self._note_owed(graph, events, answers, states)
        return answers

    def _concerned(
        self, graph: AskedGraph, event: Event, touched: bool, found: Concerned
    ) -> dict[int, Concerned | None]:
        """Whom an event may concern; with what is known of that, or None for whom it is evaluated as a whole."""
        is_taught = isinstance(event, TaxonomyVersion)
        if isinstance(event, SchemaVersion) or (is_taught and graph.entailed is None):
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
        self, graph: AskedGraph, events: Sequence[Event], answers: dict[int, dict[int, Decided]], states: RunStates
    ) -> None:
        """Note which answers are decided again, and from which events others are owed. Those that were left undecided
        among several events are made up for among these."""
        since: dict[int, int] = {}
        for place, decisions in sorted(answers.items()):
            event = events[place]
            for number, (_, unsure) in decisions.items():
                first = since.get(number)
                if first is not None:
                    two, standing = states.between(first, place), self._live[number]
                    decided = self._decide(standing, None, two)
                    decided = self._with_all_changed(standing, decided, graph.store.change(first, place), two.after)
                    decisions[number] = decided
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
        decided = self._decide(standing, found, TwoStates(before, standing.graph.after))
        return self._with_all_changed(standing, decided, standing.graph.change_since(since), standing.graph.after)

    def _settle(self, standing: _Standing, position: int) -> None:
        """Note that an answer is decided, or not wanted any more."""
        if standing.number in self.owed:
            since = self.owed.since[standing.number]
            self.owed.end(standing.number, position)
            if since != standing.number:
                standing.graph.drop(since)

    # ---- resources of rules that changed ----------------------------------------------------------------------------

    def _add_changed(
        self, graph: AskedGraph, held: HeldByRules | None, answers: dict[int, Decided], states: States
    ) -> None:
        """Add the resources that changed in an event to what it does to answers; None: too many did."""
        for number in sorted(graph.rules.numbers if held is None else {*held.certain, *held.possible}):
            if number not in self.owed:
                resources = None if held is None else held.of(number)
                query, decided = _query_of(self._live[number].compiled), answers.get(number, ([], []))
                answers[number] = with_changed(number, query, decided, resources, lambda: states.after, Budget(STEPS))

    def _with_all_changed(self, standing: _Standing, decided: Decided, change: Change | None, after: Source) -> Decided:
        """Add the resources of a rule that a change over several events changed; None: it is too large."""
        if standing.number not in standing.graph.rules:
            return decided
        resources = None if change is None else changed_terms(after, change, self._strong)
        query = _query_of(standing.compiled)
        return with_changed(standing.number, query, decided, resources, lambda: after, Budget(STEPS))

    # ---- one answer -------------------------------------------------------------------------------------------------

    def _name_of(self, event: Event) -> tuple[PublicationName, bool]:
        """What notifications call an event, and whether it is a removal."""
        if isinstance(event, Publication):
            return PublicationName(*event[:4]), False
        if isinstance(event, Removal):
            return PublicationName(event.position, event.graph, event.version, event.removed_at), True
        return self._name_at(event.position, TAXONOMY, event.position), False

    def _name_at(self, position: int, name: str, version: int) -> PublicationName:
        return PublicationName(position, name, version, self._journal.written_at(position))

    def _decide(self, standing: _Standing, found: Concerned | None, states: States) -> Decided:
        """By what an answer differs between two states, of which it is known whom the change concerns, or not."""
        number, query = standing.number, _query_of(standing.compiled)
        if found is not None and number in found.rows and number not in found.unsure:
            return self._rows_changed(standing, found.rows[number], states)
        if found is not None and number not in found.stars and number not in found.unsure:
            return [], []
        stars = None if found is None else known_stars(standing.query, number, found)
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


@lru_cache(maxsize=QUERIES_CACHED)
def _filled(query: Query, constants: tuple[str, ...]) -> Query:
    return fill(query, constants)


def _query_of(compiled: CompiledSubscription) -> Query:
    return _filled(compiled.template.query, compiled.constants)
