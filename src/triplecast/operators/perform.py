"""Ground calls to answers, in workers that may be killed: an operator that hangs, dies or gives nonsense fails, and is
passed over once it has failed too often. One whose worker does not start, or does not have it, is not asked at all:
that says nothing of any publication."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

from triplecast.errors import SandboxFailed
from triplecast.model.answers import Answer, Failed, parse_answer, told_reason
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.printable import shortened
from triplecast.operators.absence import Absences, Unasked, WorkerName, worker_of
from triplecast.operators.failure_hints import ANSWER_BYTES, failure_hint, import_hint
from triplecast.operators.messages import NotThere, PublicationCall, read_answers, write_request
from triplecast.sandbox import Limits, RequestFailure, Sandbox
from triplecast.sandbox.process import ChildLost

QUARANTINE = 100
"""Failures in a row after which an operator's version is passed over; one that cost a worker counts as `COSTLY`."""
COSTLY = 20
"""What a call counts that overran its time or memory, or ended its worker."""
PROBATION = 64
"""Of the calls that a quarantined operator is passed over in, each with this number is made all the same: an answer
ends the quarantine."""
REST = 20
"""Times as long as the last call of a quarantined operator took, none is made: so one that hangs takes a twentieth of
the time at most from whoever waits beside it."""
START_SECONDS = 60.0
"""For a worker to import the module of its operators."""
BATCH_CALLS = 32
"""Calls that a batch operator is given at once, unless their events come to `BATCH_BYTES`."""
BATCH_BYTES = 32 << 20
_FUNCTION = "triplecast.operators.worker:answer"


class Performed(NamedTuple):
    """What became of a call."""

    answer: Answer
    seconds: float
    """What it took in the worker, or its share of what its batch took, failed attempts too; 0 where it was passed
    over."""
    final: bool = True
    """False where nobody could be asked (`Unasked`): another time the same call may have an answer."""


@dataclass(slots=True)
class Standing:
    """How an operator's version has done in this process."""

    calls: int = 0
    """Made, failed ones too; one that was made anew, in a part of its batch, counts each time."""
    failed: int = 0
    """Calls that failed, each for itself: a batch as a whole, and what was called unanswerable, do not count."""
    in_a_row: int = 0
    """Failures since the last answer, costly ones counted as so many, calls that it called unanswerable not at all."""
    passed_over: int = 0
    last_failure: str = ""
    """Of those in `failed`."""
    rests_until: float = 0.0
    """By the performer's clock."""

    @property
    def quarantined(self) -> bool:
        return self.in_a_row >= QUARANTINE

    def may_try(self, now: float) -> bool:
        """Whether the next call is made; one that is not is counted as passed over."""
        if not self.quarantined:
            return True
        self.passed_over += 1
        return self.passed_over % PROBATION == 0 and now >= self.rests_until

    def note(self, answer: Answer, weight: int, seconds: float, now: float, calls: int = 1) -> None:
        """What became of a call, or of a batch of `calls` as a whole: `seconds` are what it took, until `now`. A
        failure without weight is not the operator's, or counts already."""
        self.calls += calls
        if not isinstance(answer, Failed):
            self.in_a_row = 0
            return
        self.rests_until = now + REST * seconds
        self.in_a_row += weight
        if calls == 1 and weight > 0:
            self.failed += 1
            self.last_failure = answer.reason


class Performer:
    """Workers of the operators that are asked; they start when first needed. For one thread at a time."""

    def __init__(self, operators: OperatorSet, clock: Callable[[], float] = time.perf_counter) -> None:
        self.operators = operators
        """Replaced between two calls where the caller's are others now."""
        self._clock = clock
        self._sandboxes: dict[WorkerName, Sandbox] = {}
        self.standings: dict[tuple[str, str], Standing] = {}
        """By IRI and version."""
        self._absences = Absences(clock)

    @property
    def unasked(self) -> list[str]:
        """Why operators could not be asked when that was tried last."""
        return sorted(self._absences.reasons())

    def revive(self) -> bool:
        """Whether one that could not be asked can be now, or was asked since this was called last."""
        for declared in self._absences.look(self.operators.find):
            if self._absences.reason(declared) is not None:
                continue  # with another of its worker, just now
            began = self._clock()
            try:
                self._request(self._sandbox(worker_of(declared)), declared, ())
            except Unasked as still:
                self._absences.note_absent(declared, still, began)
            else:
                self._absences.note_there(declared)
        return self._absences.take_back()

    def __enter__(self) -> Performer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def children(self) -> int:
        """Workers started so far."""
        return sum(sandbox.started for sandbox in self._sandboxes.values())

    def close(self) -> None:
        for sandbox in self._sandboxes.values():
            sandbox.close()
        self._sandboxes.clear()

    def perform(self, asked: Sequence[PublicationCall]) -> list[Performed]:
        """What became of each call, in order. Workers run at the same time, each with its own operators' calls in
        order; nothing is raised for what an operator does."""
        tasks: dict[WorkerName, dict[str, list[int]]] = {}
        outcomes: dict[int, Performed] = {}
        for index, (_, call) in enumerate(asked):
            declared = self.operators.find(call.operator)
            if declared is None:
                reason = "it is not declared here; import the module that declares it, or install its package"
                told = told_reason(f"operator <{call.operator}>: {reason}")
                self._absences.note_undeclared(call.operator, told)
                outcomes[index] = Performed(Failed(told), 0.0, final=False)
                continue
            tasks.setdefault(worker_of(declared), {}).setdefault(declared.iri, []).append(index)
        if len(tasks) == 1:
            for worker, by_operator in tasks.items():
                outcomes.update(self._work(self._sandbox(worker), by_operator, asked))
        elif tasks:
            with ThreadPoolExecutor(len(tasks), "triplecast-operators") as threads:
                running = [
                    threads.submit(self._work, self._sandbox(worker), by_operator, asked)
                    for worker, by_operator in tasks.items()
                ]
                for each in running:
                    outcomes.update(each.result())
        return [outcomes[index] for index in range(len(asked))]

    def standing(self, declared: Operator) -> Standing:
        return self.standings.setdefault((declared.iri, declared.version), Standing())

    def _sandbox(self, worker: WorkerName) -> Sandbox:
        found = self._sandboxes.get(worker)
        if found is None:
            limits = Limits(worker.seconds, worker.memory, ANSWER_BYTES, trusted=True, start=START_SECONDS)
            found = self._sandboxes[worker] = Sandbox(_FUNCTION, limits, modules=(worker.source,))
        return found

    def _work(
        self, sandbox: Sandbox, by_operator: dict[str, list[int]], asked: Sequence[PublicationCall]
    ) -> dict[int, Performed]:
        """One worker's calls, operator after operator."""
        outcomes: dict[int, Performed] = {}
        for iri, indexes in by_operator.items():
            declared = self.operators.find(iri)
            assert declared is not None
            for group in _groups(declared, indexes, asked):
                outcomes.update(self._ask(sandbox, declared, group, asked))
        return outcomes

    def _ask(
        self,
        sandbox: Sandbox,
        declared: Operator,
        group: Sequence[int],
        asked: Sequence[PublicationCall],
        spent: float = 0.0,
        weighs: bool = True,
    ) -> dict[int, Performed]:
        """One request's calls. Those of a batch that fails are asked again, one half after the other, so that each is
        answered or fails for itself; of the batches that fail on the way the first alone counts (`weighs`).

        `spent`: what each call has taken already."""
        standing = self.standing(declared)
        absent = self._absences.reason(declared)
        if absent is not None:
            return {index: Performed(Failed(absent), 0.0, final=False) for index in group}
        tried = [index for index in group if standing.may_try(self._clock())]
        outcomes = {index: Performed(_passed_over(declared, standing), spent) for index in group if index not in tried}
        if not tried:
            return outcomes
        began = self._clock()
        try:
            sandbox.start()
            began = self._clock()
            found = self._request(sandbox, declared, [asked[index] for index in tried])
        except (SandboxFailed, Unasked) as failed:
            unasked = failed if isinstance(failed, Unasked) else _unasked(declared, failed)
            self._absences.note_absent(declared, unasked, began)
            return outcomes | {index: Performed(Failed(unasked.reason), spent, final=False) for index in tried}
        ended = self._clock()
        self._absences.note_there(declared)
        if not isinstance(found, RequestFailure):
            for index, (answer, seconds) in zip(tried, found, strict=True):
                standing.note(answer, 0, seconds, ended)
                outcomes[index] = Performed(_told(declared, asked[index], answer), spent + max(seconds, _LEAST))
            return outcomes
        weight = 1 if found.kind in ("error", "size") else COSTLY
        failures = [_broken(declared, asked[index], found) for index in tried]
        standing.note(failures[0], weight if weighs or len(tried) == 1 else 0, ended - began, ended, len(tried))
        spent += (ended - began) / len(tried)
        if len(tried) == 1:
            return outcomes | {tried[0]: Performed(failures[0], spent)}
        middle = len(tried) // 2
        for half in (tried[:middle], tried[middle:]):
            outcomes |= self._ask(sandbox, declared, half, asked, spent, weighs=False)
        return outcomes

    def _request(
        self, sandbox: Sandbox, declared: Operator, asked: Sequence[PublicationCall]
    ) -> list[tuple[Answer, float]] | RequestFailure:
        """Answers with their seconds; of no calls, whether the worker has the operator. Raises `Unasked`."""
        try:
            (outcome,) = sandbox.map([write_request(declared, asked)], once=(0,))
        except SandboxFailed as failed:
            raise _unasked(declared, failed) from failed
        if isinstance(outcome, RequestFailure):
            return outcome
        try:
            answers = [(parse_answer(written), seconds) for written, seconds in read_answers(outcome)]
        except NotThere as missing:
            sandbox.close()  # what stands there now is read by the next worker
            raise Unasked(_failed(declared, f"cannot be asked: {missing}").reason, whole=False) from missing
        except ValueError as error:
            return RequestFailure("crash", f"its worker answered nonsense: {error}")
        if len(answers) != len(asked):
            return RequestFailure("crash", f"its worker gave {len(answers)} answers for {len(asked)} calls")
        return answers


_LEAST = 1e-9
"""Seconds of a call that was too quick for the clock."""


def _unasked(declared: Operator, failed: SandboxFailed) -> Unasked:
    """A worker that did not start, in words that fix it."""
    cause = failed.__cause__
    kind = cause.failure.kind if isinstance(cause, ChildLost) else ""
    reason, hint = failed.reason, failed.hint
    if kind == "timeout":
        reason = f"importing {declared.source} took more than {START_SECONDS:g} s"
        hint = "import what is heavy when the function is called first"
    elif kind:
        hint = import_hint(declared.source, reason)
    waits = "what waits for it is asked about once it is there"
    return Unasked(_failed(declared, f"cannot be asked: {reason}; {hint}; {waits}").reason, whole=True)


def _groups(declared: Operator, indexes: Iterable[int], asked: Sequence[PublicationCall]) -> Iterable[list[int]]:
    """Each call alone; of a batch operator, as many as go together."""
    group: list[int] = []
    size = 0
    for index in indexes:
        publication = asked[index].publication
        group.append(index)
        size += len(publication.quads) + sum(len(content) for _, content in publication.attachments)
        if not declared.batch or len(group) >= BATCH_CALLS or size >= BATCH_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _told(declared: Operator, asked: PublicationCall, answer: Answer) -> Answer:
    if isinstance(answer, Failed):
        return _failed(declared, f"cannot answer on <{_graph(asked)}>: {answer.reason}", asked)
    return answer


def _broken(declared: Operator, asked: PublicationCall, failure: RequestFailure) -> Failed:
    told = f"failed on <{_graph(asked)}>: {failure.kind}: {failure.detail}; {failure_hint(failure)}"
    return _failed(declared, told, asked)


def _passed_over(declared: Operator, standing: Standing) -> Failed:
    hint = "fix it, give it another version and start again"
    told = f"is quarantined after {standing.failed} failures; {hint}; the last failure: {standing.last_failure}"
    return _failed(declared, told)


def _failed(declared: Operator, told: str, asked: PublicationCall | None = None) -> Failed:
    """With the arguments of the call, where it is one that is told of."""
    call = "" if asked is None else f"({_arguments(asked)})"
    return Failed(told_reason(f"operator <{declared.iri}>{call} version {declared.version} {told}"))


def _arguments(asked: PublicationCall) -> str:
    """As queries write them, short enough to leave the reason behind them room."""
    return shortened(", ".join(shortened(argument, 120) for argument in asked.call.arguments), 400)


def _graph(asked: PublicationCall) -> str:
    """Its IRI, short enough to leave the reason behind it room."""
    return shortened(asked.publication.graph, 300)
