"""The subscriptions of repository scope, event by event: what each event adds to and removes from their answers."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from sys import intern
from typing import TypeAlias

from triplecast.compile.compiled import NOTHING_COMPILED, CompiledSubscription, compile_subscription
from triplecast.errors import QueryRefused, QuerySyntaxError
from triplecast.evaluate.unknown import NO_ANSWERS, Answers
from triplecast.incremental.asked_graph import AskedGraph, RunStates, States, TwoStates
from triplecast.incremental.changed_resources import NOTHING_HELD, RULE, HeldByRules, changed_terms
from triplecast.incremental.compiled import compile_standing
from triplecast.incremental.decided_index import PlainRows
from triplecast.incremental.event_answers import (
    AS_TOLD,
    LOST,
    TOO_LARGE,
    AnswerChanged,
    AnswerUndecided,
    Decided,
    EventAnswers,
    RowsTold,
    name_at,
    name_of,
    with_changed,
)
from triplecast.incremental.filed import NOT_CONCERNED, Concerned
from triplecast.incremental.operator_answers import EventCalls, OperatorAnswers
from triplecast.incremental.owed import OwedAnswers
from triplecast.incremental.standing_answer import StandingAnswer, event_budget
from triplecast.journal import JournalFile
from triplecast.match import Matcher
from triplecast.model.entailment import Entailment
from triplecast.model.events import Event, SchemaVersion, TaxonomyVersion
from triplecast.model.operators import NO_OPERATORS
from triplecast.model.publication import DOCUMENTS, Position
from triplecast.model.subscription import REPOSITORY, Registration
from triplecast.outbox.batch import distinct
from triplecast.repository import Repository
from triplecast.repository.changes import Change, Changes
from triplecast.repository.stored_graphs import Source
from triplecast.schema import restore_schema
from triplecast.taxonomy import restore_taxonomy

EVENTS_AT_ONCE = 1_000
"""Events whose changes are found together."""
_Attempt: TypeAlias = Callable[[StandingAnswer, Answers], Decided]


class StandingQueries:
    """Follows a journal from position `told` on. For one thread at a time."""

    def __init__(
        self,
        journal: JournalFile,
        repository: Repository,
        matcher: Matcher,
        told: int,
        owed: OwedAnswers | None = None,
        operators: OperatorAnswers | None = None,
        compiled: Mapping[int, CompiledSubscription] = NOTHING_COMPILED,
    ) -> None:
        """Answers were told as of `told`, but for those that are `owed`; `repository` has come to where these start.
        Without `operators`, queries that call some cannot be read. Those that are `compiled`, by id, are not parsed."""
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
        self._live: dict[int, StandingAnswer] = {}
        self._unread: dict[int, str] = {}
        """Those that cannot be read any more, and why: their answers are owed from the next event on."""
        self._operators = operators
        self._grammar = "" if operators is None else operators.operators.grammar
        self._calls: dict[int, EventCalls] = {}
        """Of the events that are told now, by position."""
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

    def reads_alike(self) -> bool:
        """Whether operators are declared as they were when the queries were read, but for their versions."""
        return self._operators is None or self._operators.operators.grammar == self._grammar

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

    def _add(self, registration: Registration) -> StandingAnswer | None:
        """None for a subscription that cannot be read any more."""
        try:
            known = NO_OPERATORS if self._operators is None else self._operators.operators
            compiled = self._compiled.get(registration.id) or compile_subscription(registration.subscription, known)
            compiled = compiled._replace(constants=tuple(map(intern, compiled.constants)))  # queries have many alike
            query = compile_standing(compiled)
        except (QuerySyntaxError, QueryRefused) as error:
            self._unread[int(registration.id)] = f"query: {error}"
            return None
        graph = self._graph(compiled.entailment)
        standing = StandingAnswer(int(registration.id), compiled, query, graph, registration.subscription.key)
        self._live[standing.number] = standing
        graph.live.add(standing.number)
        is_rule = registration.subscription.language == RULE
        plain = not (is_rule or query.documents or query.asks or compiled.template.updates)
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
        since: dict[int, list[StandingAnswer]] = {}
        for number, first in [*self.owed.since.items()]:
            if number not in self._live and number not in self._unread:
                self.owed.end(number, self._told)
            elif number in self._live and number != first:
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
            if self._unread.pop(number, None) is not None:
                self.owed.end(number, upto)
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
        changed, undecided = self._decide_one(standing.number, standing, StandingAnswer.first)
        if undecided:
            self.owed.begin(standing.number, standing.number)
        if changed or undecided:
            changed = [*map(standing.hears, changed)]
            yield EventAnswers(name_at(standing.number, DOCUMENTS, 0, self._journal), False, changed, undecided)

    def _present(self, number: int, at: int) -> Iterator[EventAnswers]:
        """An answer that was asked for again at a position, which is the version that the notification names. With it
        nothing is owed."""
        standing = self._live.get(number)
        if standing is None:
            return
        changed, undecided = self._decide_one(at, standing, StandingAnswer.first)
        if not undecided:
            self._settle(standing, at)
            changed = [each._replace(is_present=True) for each in changed or [AnswerChanged(number, b"[]", b"")]]
        yield EventAnswers(name_at(at, DOCUMENTS, at, self._journal), False, changed, undecided)

    # ---- events -----------------------------------------------------------------------------------------------------

    def _answers(self, events: Sequence[Event]) -> Iterator[EventAnswers | RowsTold]:
        """Take events in which the same queries are live; how they change the answers."""
        changes = self._repository.take(events)
        self._calls.clear()
        strong = [self._note(event) for event in events]
        of_graphs = [self._answers_of(graph, events, changes, strong) for _, graph in sorted(self._graphs.items())]
        found = [answers for answers, _ in of_graphs]
        unread = [AnswerUndecided(*each) for each in self._unread.items() if each[0] not in self.owed]
        for each in unread:
            self.owed.begin(each.registration, events[0].position)
        for place in sorted({0}.union(*found)):
            decided = sorted(pair for of_graph in found for pair in of_graph.get(place, {}).items())
            told = [self._live[number].hears(each) for number, (changed, _) in decided for each in changed]
            undecided = [each for _, (_, unsure) in decided for each in unsure] + (unread if not place else [])
            if told or undecided:
                yield EventAnswers(*name_of(events[place], self._journal), told, undecided)
        for rows in (each for _, plain in of_graphs for each in plain if len(each.events)):
            yield RowsTold(rows, {place: name_of(events[place], self._journal) for place in distinct(rows.events)})

    def _note(self, event: Event) -> Collection[str]:
        """Take what an event says of classes and properties; return those whose references are strong after it."""
        if isinstance(event, TaxonomyVersion):
            self._taxonomy = restore_taxonomy(event.lines, event.broader)
        if isinstance(event, SchemaVersion):
            self._strong = restore_schema(event.lines).strong
        return self._strong

    def _answers_of(
        self, graph: AskedGraph, events: Sequence[Event], changes: Changes, strong: Sequence[Collection[str]]
    ) -> tuple[dict[int, dict[int, Decided]], list[PlainRows]]:
        """What each event does to the answers from one graph: by its number and by registration, and plain rows."""
        was_too_large = graph.too_large
        own = graph.take(events, changes, self._taxonomy)
        is_owed = bool(self.owed.since) or self.owed.leaves_undecided(events[0].position)
        found, plain = graph.filed.find(graph.store, own, not (is_owed or was_too_large or graph.too_large))
        held = graph.rules.find(graph.store, own, strong)
        states = graph.states(len(events))
        is_quiet = not self._anytime and graph.too_large == was_too_large
        answers: dict[int, dict[int, Decided]] = {}
        for place in range(len(events) - 1, -1, -1):  # a store goes back, and not forth
            event, known_of = events[place], found[place]
            is_taught = isinstance(event, TaxonomyVersion)
            if is_quiet and not is_taught and known_of is NOT_CONCERNED and held[place] is NOTHING_HELD:
                continue
            concerned = self._concerned(graph, event, changes.touch(place) or own.touch(place), known_of)
            if graph.too_large != was_too_large:
                concerned = dict.fromkeys(graph.live)
            states.go_to(place)
            attempts = {
                number: (self._live[number], partial(self._answer, known, states))
                for number, known in concerned.items()
            }
            answers[place] = self._decide_all(event.position, attempts)
            if held[place] is not NOTHING_HELD and not graph.too_large:
                self._add_changed(graph, held[place], answers[place], states)
        self._note_owed(graph, events, answers, states)
        return answers, plain

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
                    decided = self._decide_one(event.position, standing, partial(_change_between, two))
                    decided = self._with_all_changed(standing, decided, graph.store.change(first, place), two.after)
                    decisions[number] = decided
                    if not decided[1]:
                        self.owed.begin(number, events[since.pop(number)].position)
                        self.owed.end(number, event.position)
                elif not unsure:
                    self._settle(self._live[number], event.position)
                elif number not in self.owed:
                    since[number] = place
        for number, place in since.items():
            self.owed.begin(number, events[place].position)
            graph.hold(events[place].position, place)

    def _make_up(self, standing: StandingAnswer, answers: Answers) -> Decided:
        """What changed since the event that left an answer undecided, that and all others since together."""
        since = self.owed.since[standing.number]
        if since == standing.number:
            return standing.first(answers)
        before = standing.graph.before_event(since)
        if before is None:
            return standing.undecided(LOST)
        whole = standing.number in self._anytime or standing.query.kin
        found = None if whole else standing.graph.concerned_since(since)
        decided = standing.change(found, TwoStates(before, standing.graph.after), answers)
        return self._with_all_changed(standing, decided, standing.graph.change_since(since), standing.graph.after)

    def _settle(self, standing: StandingAnswer, position: int) -> None:
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
                query, decided = self._live[number].filled, answers.get(number, ([], []))
                answers[number] = with_changed(number, query, decided, resources, lambda: states.after, event_budget())

    def _with_all_changed(
        self, standing: StandingAnswer, decided: Decided, change: Change | None, after: Source
    ) -> Decided:
        """Add the resources of a rule that a change over several events changed; None: it is too large."""
        if standing.number not in standing.graph.rules:
            return decided
        resources = None if change is None else changed_terms(after, change, self._strong)
        return with_changed(standing.number, standing.filled, decided, resources, lambda: after, event_budget())

    # ---- one answer -------------------------------------------------------------------------------------------------

    def _decide_all(self, position: int, attempts: Mapping[int, tuple[StandingAnswer, _Attempt]]) -> dict[int, Decided]:
        """What the event at a position does to answers, by registration; operators that some need are asked."""
        decided: dict[int, Decided] = {}
        asking: dict[int, Callable[[Answers], Decided]] = {}
        for number, (standing, attempt) in attempts.items():
            if self.owed.was_undecided(number, position):
                decided[number] = standing.undecided(AS_TOLD)
            elif standing.query.asks:
                asking[number] = partial(attempt, standing)
            else:
                decided[number] = attempt(standing, NO_ANSWERS)
        if asking and self._operators is not None:
            if position not in self._calls:
                self._calls[position] = self._operators.at(position)
            decided |= self._calls[position].decide(asking)
        return decided

    def _decide_one(self, position: int, standing: StandingAnswer, attempt: _Attempt) -> Decided:
        return self._decide_all(position, {standing.number: (standing, attempt)})[standing.number]

    def _answer(self, known: Concerned | None, states: States, standing: StandingAnswer, answers: Answers) -> Decided:
        if standing.graph.too_large:
            return standing.undecided(TOO_LARGE)
        if standing.number in self.owed:
            return self._make_up(standing, answers)
        return standing.change(known, states, answers)


def _change_between(states: States, standing: StandingAnswer, answers: Answers) -> Decided:
    return standing.change(None, states, answers)
