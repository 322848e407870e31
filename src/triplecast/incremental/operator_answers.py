"""Operators of standing queries: what they gave of their arguments, and the calls that an event makes.

Here an operator answers of its arguments alone (semantics 8.3), so an answer is stored once for all events, before
anything that depends on it is told. A call that fails is made again at the next event that needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from triplecast.evaluate.unknown import Answers, Unanswered, Wanted
from triplecast.incremental.event_answers import AnswerUndecided, Decided
from triplecast.journal import Journal
from triplecast.match import Matcher
from triplecast.model.answers import (
    OF_ARGUMENTS,
    Answer,
    Failed,
    Found,
    GroundCall,
    OperatorResult,
    format_answer,
    parse_answer,
)
from triplecast.model.match import MatchStats
from triplecast.model.operators import OperatorSet
from triplecast.model.publication import DOCUMENTS, Position, Publication
from triplecast.operators.asking import Asker
from triplecast.operators.asking.rounds import UNASKED, AskingRound
from triplecast.residual import NumberedTerms, PublicationConditions, ResidualPlans

MOST_CALLS = 10_000
"""Calls of one event; an answer that needs more is owed, and goes on with the next event."""
REMEMBERED = 32 << 20
"""Bytes of answers that are kept at hand."""
TOO_MANY_CALLS = (
    f"operators: its answer needs more than the {MOST_CALLS:,} calls of one event; what was answered is kept, and the "
    "next event that concerns it goes on"
)


class OperatorAnswers:
    """Calls operators for the events of one journal, and keeps what they give. For one thread at a time."""

    def __init__(self, journal: Journal, matcher: Matcher, asker: Asker) -> None:
        self.work = MatchStats()
        """Calls since this was made."""
        self._journal = journal
        self._matcher = matcher
        self._asker = asker
        self._known: dict[tuple[GroundCall, str], Found] = {}
        self._bytes = 0

    @property
    def operators(self) -> OperatorSet:
        return self._matcher.operators

    def at(self, position: int) -> EventCalls:
        """The calls of an event."""
        return EventCalls(self, Publication(Position(position), DOCUMENTS, 0, self._journal.written_at(position), b""))

    def find(self, call: GroundCall) -> Found | None:
        """What the operator's version gave. Raises `StorageFault`."""
        version = self._version(call)
        found = self._known.get((call, version))
        if found is None:
            kept = self._journal.result_of_arguments(call, version)
            answer = None if kept is None else parse_answer(kept.answer)
            if isinstance(answer, Found) and kept is not None:
                found = answer
                self._remember(kept, found)
        return found

    def ask(self, event: Publication, waiting: Mapping[int, Sequence[Wanted]]) -> Mapping[GroundCall, Answer]:
        """Make the calls that rows of answers, by registration, wait for, as far as some row needs them; store what
        they give. Raises `StorageFault`."""
        conditions = PublicationConditions({}, NumberedTerms(), ResidualPlans(self.operators))
        for number, (registration, rows) in enumerate(waiting.items()):
            conditions.wait_evaluated(number, registration, rows)
        asking = AskingRound(self._asker, [event], {}, self._matcher.limits)
        asking.ask({event.position: conditions}, 0)
        answers = asking.answers[event.position]
        results = [
            OperatorResult(OF_ARGUMENTS, call.operator, self._version(call), call.arguments, format_answer(answer))
            for call, answer in answers.items()
            if isinstance(answer, Found)
        ]
        self._journal.keep_results(results)
        self.work += MatchStats(operator_calls=len(answers), operator_failures=len(answers) - len(results))
        return answers

    def _version(self, call: GroundCall) -> str:
        declared = self.operators.find(call.operator)
        return "" if declared is None else declared.version

    def _remember(self, kept: OperatorResult, found: Found) -> None:
        if self._bytes > REMEMBERED:
            self._known, self._bytes = {}, 0
        self._known[GroundCall(kept.operator, kept.arguments), kept.version] = found
        self._bytes += sum(map(len, kept.arguments)) + len(kept.answer)


class EventCalls(Mapping[GroundCall, Answer]):
    """What is known of operators at one event, with the calls that it makes, each once."""

    def __init__(self, asked: OperatorAnswers, event: Publication) -> None:
        self._asked = asked
        self._event = event
        self._failed: dict[GroundCall, Failed] = {}
        self._made = 0

    def __getitem__(self, call: GroundCall) -> Answer:
        found = self._failed.get(call) or self._asked.find(call)
        if found is None:
            raise KeyError(call)
        return found

    def __iter__(self) -> Iterator[GroundCall]:
        return iter(self._failed)

    def __len__(self) -> int:
        return len(self._failed)

    def decide(self, attempts: Mapping[int, Callable[[Answers], Decided]]) -> dict[int, Decided]:
        """What answers are, by registration, with what operators give. An attempt raises `Unanswered` where it needs
        further calls, which are made for all together."""
        decided: dict[int, Decided] = {}
        while True:
            waiting: dict[int, Sequence[Wanted]] = {}
            for number, attempt in attempts.items():
                if number not in decided:
                    try:
                        decided[number] = attempt(self)
                    except Unanswered as met:
                        waiting[number] = met.rows
                        if not met.rows:
                            decided[number] = [], [AnswerUndecided(number, met.failures[0])]
            waiting = {number: rows for number, rows in waiting.items() if rows}
            if not waiting:
                return decided
            reason = self._ask(waiting)
            if reason:
                return decided | {number: ([], [AnswerUndecided(number, reason)]) for number in waiting}

    def _ask(self, waiting: Mapping[int, Sequence[Wanted]]) -> str:
        """Make calls; why no further ones are made, or nothing."""
        left = MOST_CALLS - self._made
        if left <= 0:
            return TOO_MANY_CALLS
        chosen: dict[int, Sequence[Wanted]] = {}
        for number, rows in waiting.items():
            chosen[number] = rows[:left]
            left -= len(chosen[number])
        answers = self._asked.ask(self._event, {number: rows for number, rows in chosen.items() if rows})
        self._failed.update((call, each) for call, each in answers.items() if isinstance(each, Failed))
        self._made += len(answers)
        return "" if answers else UNASKED
