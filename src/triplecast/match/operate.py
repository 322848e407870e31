"""What operators are asked, and when: pairs step together, so that one call serves all subscriptions, and one request
all publications of the batch.

Every round, each publication's schedule says which ground conditions to look at; the calls that these wait for are
made, each once; what they tell decides rows, until none is open. The answers are the same under every schedule.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from triplecast.evaluate import DEFAULT_STEPS, BudgetExceeded, Candidate, Decision, Evaluator
from triplecast.evaluate.rowwise import Calculation
from triplecast.evaluate.unknown import Answers, Unknown
from triplecast.index import Snapshot
from triplecast.match.answer import NO_MATCH, Verdict, answer_asking, answer_rows
from triplecast.match.asking import Asking
from triplecast.match.conditions import Condition, Ground, Row, judge_bare, judge_chain, wait_call
from triplecast.match.learnt import LearntTemplates
from triplecast.match.standing import Standing
from triplecast.match.waiting import SIFTED, Waiting, count_looks, distinct_pairs
from triplecast.model.match import Learnt, OperatorResult
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.publication import Publication
from triplecast.model.schedules import SCHEDULE
from triplecast.operators.answers import Answer, Failed, GroundCall, format_answer
from triplecast.operators.frames import Asked
from triplecast.operators.perform import Performer
from triplecast.operators.schedules import Conjunctions, Run, make_schedule
from triplecast.operators.schedules.experience import LEAST_COST

AT_ONCE = 32
"""Ground conditions of one publication that are looked at in one round."""
UNASKED = "internal: it waits for operators, and none was left to be asked; report it to the authors of Triplecast"


@dataclass(slots=True)
class Operated:
    """What became of a batch's pairs that operators are asked about, and what was asked."""

    verdicts: list[Verdict]
    """Of the pairs of the index, in their order."""
    decisions: list[Decision]
    """Of the evaluator's candidates, in their order."""
    results: list[OperatorResult] = field(default_factory=list)
    """Calls made, in order."""
    failed: int = 0
    learnt: tuple[Learnt, ...] = ()


class Operators:
    """The workers and what is learnt of them, from batch to batch. For one thread at a time."""

    def __init__(
        self,
        performer: Performer | None = None,
        schedule: str = SCHEDULE,
        learnt: Iterable[Learnt] = (),
        operators: OperatorSet = NO_OPERATORS,
    ) -> None:
        """`learnt`: what the journal has of templates. `operators`: of the performer that is made where none is given."""
        self.performer = performer or Performer(operators)
        self.templates = LearntTemplates(learnt)
        self._schedule = make_schedule(schedule, self.templates.experience)
        self._standing = Standing(self._schedule)

    def close(self) -> None:
        self.performer.close()

    def leave(self, snapshot: Snapshot) -> None:
        """Subscriptions that this one has no more are forgotten, and templates beyond those that are remembered."""
        self._standing.leave(snapshot)
        if self.templates.crowded:
            self.templates.forget(self._standing.templates())

    def begin(
        self,
        publications: Sequence[Publication],
        asking: Sequence[Asking],
        candidates: Sequence[tuple[int, int, Candidate]],
        evaluator: Evaluator,
        known: Mapping[int, Answers],
    ) -> Operating:
        """Tell what needs no call. `candidates`: publication, registration, query. `known`: answers by position."""
        return Operating(self, publications, asking, candidates, evaluator, known)

    def start(self, ground: Ground, rows: Waiting) -> _Running:
        """A run over the rows of one publication."""
        starts = np.zeros(len(rows.lengths) + 1, np.int64)
        np.cumsum(rows.lengths, out=starts[1:])
        flat = np.array(rows.conditions, np.int32)
        there = np.zeros(len(ground.conditions), np.bool_)
        there[flat] = True
        numbers = np.flatnonzero(there)
        members = (np.cumsum(there, dtype=np.int32) - 1)[flat].astype(np.int32)
        conditions = [ground.conditions[number] for number in numbers.tolist()]
        known, experience = self.templates, self.templates.experience
        templates = np.array([known.number(each.template, each.cost) for each in conditions], np.int32)
        known.use(templates)
        calls = np.array(ground.waits, np.int64)[numbers]
        holds = experience.holds(templates)
        costs = _shared_costs(
            np.bincount(members, minlength=len(numbers)) * (1 - holds), calls, experience.costs(templates)
        )
        registrations = np.array(rows.registrations, np.int64)
        if self._schedule.keeps_order:
            of_rows = np.split(templates[members], starts[1:-1])
            self._standing.meet(zip(registrations.tolist(), map(np.ndarray.tolist, of_rows), strict=True))
        run = self._schedule.start(Conjunctions(registrations, starts, members, templates, costs, holds))
        return _Running(run, ground, numbers.tolist(), templates.tolist())


def _shared_costs(
    refutes: NDArray[np.float64], calls: NDArray[np.int64], costs: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Of each condition, which is expected to refute so many rows: conditions that wait for one call share its cost,
    each as much as it is expected to refute. So what any of them is expected to refute for its cost is what the call
    is, which is made once for all."""
    shared: NDArray[np.float64] = costs * refutes / np.bincount(calls, refutes)[calls]
    return np.maximum(shared, LEAST_COST)


class _Running:
    """A schedule's run over one publication, and what its conditions wait for. Conditions are numbered as they are in
    the run."""

    def __init__(self, run: Run, ground: Ground, numbers: Sequence[int], templates: Sequence[int]) -> None:
        self.run = run
        self.templates = templates
        self._ground = ground
        self._numbers = numbers
        """By condition, its number in the publication."""
        self._calls: dict[int, dict[GroundCall, None]] = {}
        """What conditions that are no bare calls have waited for until now."""
        self._settled = bytearray(len(numbers))
        self._by_call: dict[GroundCall, list[int]] = {}
        """Conditions that wait for a call, before anything else."""
        for place, number in enumerate(numbers):
            self._by_call.setdefault(ground.calls[ground.waits[number]], []).append(place)

    def condition(self, place: int) -> Condition:
        return self._ground.conditions[self._numbers[place]]

    def calls(self, place: int) -> Iterable[GroundCall]:
        """What a condition has waited for until now."""
        return self._calls.get(place) or (self._ground.calls[self._ground.waits[self._numbers[place]]],)

    def woken_by(self, call: GroundCall) -> list[int]:
        """The conditions that wait for this call, ascending; they wait no more."""
        return sorted(set(self._by_call.pop(call, ())))

    def settled(self, place: int) -> bool:
        return bool(self._settled[place])

    def settle(self, place: int, holds: bool | None) -> None:
        self._settled[place] = True
        self.run.learnt(place, holds)

    def wait(self, place: int, call: GroundCall) -> None:
        self._by_call.setdefault(call, []).append(place)
        if not isinstance(self.condition(place).chain, GroundCall):
            self._calls.setdefault(place, dict.fromkeys(self.calls(place)))[call] = None

    def judge(self, place: int) -> bool | None:
        """Whether a condition holds; None where it cannot be told. Raises `Unknown` with what it waits for."""
        ground, condition = self._ground, self.condition(place)
        if isinstance(condition.chain, GroundCall):
            return judge_bare(condition.chain, ground.answers)
        calculation = Calculation(DEFAULT_STEPS, ground.answers)
        try:
            return judge_chain(condition.chain, condition.row, calculation)
        except BudgetExceeded:
            return None
        finally:
            ground.dearest = max(ground.dearest, calculation.spent)


class Operating:
    """A batch's pairs that operators are asked about: decided as far as the answers at hand go, then `finish`ed."""

    def __init__(
        self,
        operators: Operators,
        publications: Sequence[Publication],
        asking: Sequence[Asking],
        candidates: Sequence[tuple[int, int, Candidate]],
        evaluator: Evaluator,
        known: Mapping[int, Answers],
    ) -> None:
        self._stage = _Stage(operators, publications, known)
        self._known = operators.performer.operators
        self._begin = partial(operators.begin, publications, asking, candidates, evaluator)
        self._evaluator = evaluator
        self._asking, self._alike = distinct_pairs(asking)
        """Those that are looked at, and of each pair which of them."""
        grounds = self._stage.grounds
        self._candidates = [
            (publication, registration, replace(candidate, answers=grounds[publication].answers))
            for publication, registration, candidate in candidates
        ]
        self._decisions = evaluator.decide([each for _, _, each in self._candidates], self._known) if candidates else []
        self._rounds = 0
        self._rows: dict[int, Waiting] = {}
        """What waits, by publication, as far as it is asked about in this round."""
        self._verdicts: list[Verdict] = []
        unknowing = {number: Ground({}) for number, ground in enumerate(grounds) if ground.answers}
        for number, pair in enumerate(self._asking):
            told = answer_asking(pair, unknowing[pair.publication]) if pair.publication in unknowing else None
            # Told with no answer at all, it was told before any was known: what one saves or costs changes nothing.
            self._verdicts.append(self._look(number, pair) if told is None or told.waiting else told)

    def operated(self) -> Operated:
        """As far as it is known. Verdicts with `waiting` rows and decisions with `wanted` calls are open."""
        verdicts = [self._verdicts[number] for number in self._alike]
        stage = self._stage
        return Operated(verdicts, list(self._decisions), stage.results, stage.failed, stage.learnt())

    def finish(self) -> Operated:
        """Asks until nothing is open."""
        self._add_candidates()
        while self._rows:
            before = self._stage.settled
            asked, self._rows = self._rows, {}
            outcomes = self._stage.learn(asked)
            if self._stage.settled == before:
                self._give_up()
                break
            self._rounds += 1
            self._look_again(asked, outcomes)
            self._add_candidates()
        return self.operated()

    def waits_on(self) -> Operated | None:
        """After `finish`, where nobody could be asked for some calls: what is known without them. Its open verdicts and
        decisions are those that wait on."""
        lost = self._stage.lost
        if not lost:
            return None
        found = zip(self._stage.publications, self._stage.grounds, strict=True)
        known: dict[int, Answers] = {
            each.position: {call: answer for call, answer in ground.answers.items() if (index, call) not in lost}
            for index, (each, ground) in enumerate(found)
        }
        return self._begin(known).operated()

    def _look(self, number: int, pair: Asking) -> Verdict:
        """A verdict with the answers that are known; its rows that wait are added to those of the round."""
        ground = self._stage.grounds[pair.publication]
        steps = None if pair.refused else pair.questions.by_row(pair.combination)
        verdict = None if steps is None else self._waiting(pair.publication).sift(number, pair, steps, ground)
        if verdict is None:
            verdict = answer_asking(pair, ground)
            for group in verdict.waiting:
                for conditions in group[: 1 << self._rounds]:
                    self._waiting(pair.publication).add(pair.registration, conditions)
        return verdict

    def _give_up(self) -> None:
        self._verdicts = [Verdict(undecided=UNASKED) if each.waiting else each for each in self._verdicts]
        self._decisions = [
            replace(each, undecided=UNASKED, wanted=()) if each.wanted else each for each in self._decisions
        ]

    def _may_exceed(self, number: int, dearest: Mapping[int, int]) -> bool:
        """Whether a sifted pair might take more steps than a pair may, where a look takes so many by publication."""
        pair = self._asking[number]
        steps = pair.questions.by_row(pair.combination)
        assert steps is not None
        return count_looks(pair, steps) * dearest.get(pair.publication, 0) > DEFAULT_STEPS

    def _waiting(self, publication: int) -> Waiting:
        found = self._rows.get(publication)
        if found is None:
            found = self._rows[publication] = Waiting()
        return found

    def _add_candidates(self) -> None:
        """Their rows, behind the others; publications without any go."""
        for (publication, registration, _), decision in zip(self._candidates, self._decisions, strict=True):
            ground = self._stage.grounds[publication]
            for calls in decision.wanted:
                conditions = dict.fromkeys(wait_call(ground, call, self._known) for call in calls)
                self._waiting(publication).add(registration, conditions)
        self._rows = {publication: rows for publication, rows in self._rows.items() if rows.lengths}

    def _look_again(self, asked: Mapping[int, Waiting], outcomes: Mapping[int, NDArray[np.uint8]]) -> None:
        """At what is open, with the answers that are known now. Rows that were told for themselves are not looked at,
        but for those of pairs of which an operator failed on one, or that might take more steps than a pair may: each
        row was judged within a budget of its own."""
        left: dict[int, list[Row]] = {}
        failed: set[int] = set()
        dear: dict[int, int] = {}
        for publication, rows in asked.items():
            failing, kept = rows.told(outcomes[publication])
            failed.update(failing)
            left.update(kept)
            dearest = self._stage.grounds[publication].dearest
            if rows.largest * dearest > DEFAULT_STEPS:
                dear[publication] = dearest
        for number, verdict in enumerate(self._verdicts):
            if verdict is SIFTED and number not in failed and not (dear and self._may_exceed(number, dear)):
                rows_left = left.get(number)
                made = NO_MATCH if rows_left is None else answer_rows(self._asking[number].combination, rows_left)
                self._verdicts[number] = made
            elif verdict.waiting:
                self._verdicts[number] = self._look(number, self._asking[number])
        again = [place for place, decision in enumerate(self._decisions) if decision.wanted]
        pairs = [self._candidates[place][2] for place in again]
        decided = self._evaluator.decide(pairs, self._known) if again else []
        for place, decision in zip(again, decided, strict=True):
            self._decisions[place] = decision


class _Stage:
    """One batch: the answers that are known of each of its publications."""

    def __init__(self, operators: Operators, publications: Sequence[Publication], known: Mapping[int, Answers]) -> None:
        self._operators = operators
        self.publications = publications
        self.grounds = [Ground(known.get(each.position, {})) for each in publications]
        self.results: list[OperatorResult] = []
        self.failed = 0
        self.lost: dict[tuple[int, GroundCall], None] = {}
        """Calls for which nobody could be asked: they count as failed, and what depends on them waits on."""
        self._counts: dict[str, list[float]] = {}
        self._seconds: dict[tuple[int, GroundCall], float] = {}
        """What calls took, of those that were made."""

    @property
    def settled(self) -> int:
        """Calls that have an answer, or will have none here."""
        return len(self.results) + len(self.lost)

    def learnt(self) -> tuple[Learnt, ...]:
        """By template: hint, true or false answers, true ones, measured ones, seconds."""
        return tuple(Learnt(template, *counts) for template, counts in sorted(self._counts.items()))

    def learn(self, rows: Mapping[int, Waiting]) -> dict[int, NDArray[np.uint8]]:
        """Asks until the schedules of all publications have their rows decided; what became of each row."""
        started = {number: self._operators.start(self.grounds[number], rows[number]) for number in sorted(rows)}
        running = dict(started)
        while running:
            wanted: dict[tuple[int, GroundCall], None] = {}
            for publication, each in list(running.items()):
                numbers = each.run.wanted(AT_ONCE)
                if not numbers:
                    del running[publication]
                for number in numbers:
                    call = self._judge(publication, each, number)
                    if call is not None:
                        wanted[publication, call] = None
            if wanted:
                self._ask(wanted, running)
        return {publication: each.run.outcomes() for publication, each in started.items()}

    def _ask(self, wanted: Iterable[tuple[int, GroundCall]], running: Mapping[int, _Running]) -> None:
        """Makes the calls, and lets every condition that waits for one of them learn what it can."""
        asked = [Asked(self.publications[publication], call) for publication, call in wanted]
        performed = self._operators.performer.perform(asked)
        for (publication, call), (answer, seconds, final) in zip(wanted, performed, strict=True):
            self._keep(publication, call, answer, final)
            if seconds > 0:
                self._seconds[publication, call] = seconds
            each = running[publication]
            for waiting in each.woken_by(call):
                self._judge(publication, each, waiting)

    def _keep(self, publication: int, call: GroundCall, answer: Answer, final: bool) -> None:
        self.grounds[publication].keep(call, answer)
        if not final:
            self.lost[publication, call] = None
            return
        self.failed += isinstance(answer, Failed)
        declared = self._operators.performer.operators.find(call.operator)
        version = declared.version if declared is not None else ""
        self.results.append(OperatorResult(publication, call.operator, version, call.arguments, format_answer(answer)))

    def _judge(self, publication: int, running: _Running, place: int) -> GroundCall | None:
        """Tells the run what a condition turned out to be, or notes for which call it waits now, and gives that."""
        if running.settled(place):
            return None
        try:
            holds = running.judge(place)
        except Unknown as met:
            running.wait(place, met.calls[0])
            return met.calls[0]
        running.settle(place, holds)
        took = [self._seconds.get((publication, call)) for call in running.calls(place)]
        seconds = None if None in took else sum(each for each in took if each is not None)
        self._operators.templates.learn(running.templates[place], holds, seconds)
        condition = running.condition(place)
        counts = self._counts.setdefault(condition.template, [condition.cost, 0.0, 0.0, 0.0, 0.0])
        for at, more in enumerate((holds is not None, bool(holds), seconds is not None, seconds or 0.0), 1):
            counts[at] += more
        return None
