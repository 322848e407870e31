"""Ground calls to results, in workers that may be killed. An operator that hangs, dies or returns nonsense fails; it is
quarantined once it has failed too often. One whose worker does not start or does not have it is not called at all:
that says nothing of any publication."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import NamedTuple

from triplecast.errors import SandboxFailed
from triplecast.model.answers import Answer, Failed, bounded_reason, parse_answer
from triplecast.model.operators import Operator, OperatorSet
from triplecast.model.printable import shortened
from triplecast.operators.asking.availability import (
    COSTLY,
    OperatorHealth,
    OperatorUnavailable,
    UnavailableOperators,
    WorkerKey,
)
from triplecast.operators.failure_hints import ANSWER_BYTES, failure_hint, import_hint
from triplecast.operators.messages import NotThere, PublicationCall, read_answers, write_request
from triplecast.sandbox import Limits, RequestFailure, Sandbox
from triplecast.sandbox.process import ChildLost

START_SECONDS = 60.0
"""For a worker to import the module of its operators."""
BATCH_CALLS = 32
"""Calls that a batch operator is given at once, unless their publications come to `BATCH_BYTES`."""
BATCH_BYTES = 32 << 20
_LEAST = 1e-9
"""Seconds of a call that was too quick for the clock."""


class Performed(NamedTuple):
    """What became of a call."""

    answer: Answer
    seconds: float
    """What it took in the worker, or its share of its batch, failed attempts included; 0 where it was skipped."""
    final: bool = True
    """False where the operator is unavailable: another time the same call may have an answer."""


class Performer:
    """Workers of operators; they start when first needed. For one thread at a time."""

    def __init__(self, operators: OperatorSet, clock: Callable[[], float] = time.perf_counter) -> None:
        self.operators = operators
        """Replaced between two calls where the caller's are others now."""
        self._clock = clock
        self._sandboxes: dict[WorkerKey, Sandbox] = {}
        self._health: dict[tuple[str, str], OperatorHealth] = {}
        """By IRI and version."""
        self._unavailable = UnavailableOperators(clock)

    @property
    def unavailable(self) -> list[str]:
        """Why operators were unavailable when they were last needed."""
        return sorted(self._unavailable.reasons())

    def revive(self) -> bool:
        """Try unavailable operators whose back-off is over; return whether any recovered since the last call."""
        for declared in self._unavailable.due(self.operators.find):
            if self._unavailable.reason(declared) is not None:
                continue  # just tried, with another operator of its worker
            began = self._clock()
            try:
                self._request(self._sandbox(WorkerKey.of(declared)), declared, ())
            except OperatorUnavailable as still:
                self._unavailable.note_unavailable(declared, still, began)
            else:
                self._unavailable.note_available(declared)
        return self._unavailable.take_recovered()

    def __enter__(self) -> Performer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def children(self) -> int:
        """Workers started so far."""
        return sum(sandbox.started for sandbox in self._sandboxes.values())

    def close(self) -> None:
        for sandbox in self._sandboxes.values():
            sandbox.close()
        self._sandboxes.clear()

    def perform(self, calls: Sequence[PublicationCall]) -> list[Performed]:
        """Make calls; return what became of each, in order. Workers run at the same time, each with its own operators'
        calls in order; nothing is raised for what an operator does."""
        tasks: dict[WorkerKey, dict[str, list[int]]] = {}
        outcomes: dict[int, Performed] = {}
        for index, (_, call) in enumerate(calls):
            declared = self.operators.find(call.operator)
            if declared is None:
                hint = "import its module, install its package, or give it to Engine(operators=…)"
                reason = bounded_reason(f"operator <{call.operator}>: it is not declared here; {hint}")
                self._unavailable.note_undeclared(call.operator, reason)
                outcomes[index] = Performed(Failed(reason), 0.0, final=False)
                continue
            tasks.setdefault(WorkerKey.of(declared), {}).setdefault(declared.iri, []).append(index)
        if len(tasks) == 1:
            for worker, by_operator in tasks.items():
                outcomes.update(self._work(self._sandbox(worker), by_operator, calls))
        elif tasks:
            with ThreadPoolExecutor(len(tasks), "triplecast-operators") as threads:
                running = [
                    threads.submit(self._work, self._sandbox(worker), by_operator, calls)
                    for worker, by_operator in tasks.items()
                ]
                for each in running:
                    outcomes.update(each.result())
        return [outcomes[index] for index in range(len(calls))]

    def health(self, declared: Operator) -> OperatorHealth:
        return self._health.setdefault((declared.iri, declared.version), OperatorHealth())

    def _sandbox(self, worker: WorkerKey) -> Sandbox:
        found = self._sandboxes.get(worker)
        if found is None:
            limits = Limits(worker.seconds, worker.memory, ANSWER_BYTES, trusted=True, start=START_SECONDS)
            function = "triplecast.operators.worker:answer"
            found = self._sandboxes[worker] = Sandbox(function, limits, modules=(worker.source,))
        return found

    def _work(
        self, sandbox: Sandbox, by_operator: dict[str, list[int]], calls: Sequence[PublicationCall]
    ) -> dict[int, Performed]:
        """Make one worker's calls, operator after operator."""
        outcomes: dict[int, Performed] = {}
        for iri, indexes in by_operator.items():
            declared = self.operators.find(iri)
            assert declared is not None
            for group in _groups(declared, indexes, calls):
                outcomes.update(self._ask(sandbox, declared, group, calls))
        return outcomes

    def _ask(
        self,
        sandbox: Sandbox,
        declared: Operator,
        group: Sequence[int],
        calls: Sequence[PublicationCall],
        spent: float = 0.0,
        weighs: bool = True,
    ) -> dict[int, Performed]:
        """Make one request's calls. Those of a batch that fails are repeated, one half after the other, so that each
        succeeds or fails by itself; of the batches that fail on the way only the first counts (`weighs`).

        `spent`: what each call has taken already."""
        health = self.health(declared)
        unavailable = self._unavailable.reason(declared)
        if unavailable is not None:
            return {index: Performed(Failed(unavailable), 0.0, final=False) for index in group}
        tried = [index for index in group if health.may_try(self._clock())]
        outcomes = {index: Performed(_quarantined(declared, health), spent) for index in group if index not in tried}
        if not tried:
            return outcomes
        began = self._clock()
        try:
            sandbox.start()
            began = self._clock()
            found = self._request(sandbox, declared, [calls[index] for index in tried])
        except (SandboxFailed, OperatorUnavailable) as failed:
            error = failed if isinstance(failed, OperatorUnavailable) else _not_started(declared, failed)
            self._unavailable.note_unavailable(declared, error, began)
            return outcomes | {index: Performed(Failed(error.reason), spent, final=False) for index in tried}
        ended = self._clock()
        self._unavailable.note_available(declared)
        if not isinstance(found, RequestFailure):
            for index, (answer, seconds) in zip(tried, found, strict=True):
                health.note(answer, 0, seconds, ended)
                outcomes[index] = Performed(_in_full(declared, calls[index], answer), spent + max(seconds, _LEAST))
            return outcomes
        weight = 1 if found.kind in ("error", "size") else COSTLY
        failures = [_broken(declared, calls[index], found) for index in tried]
        health.note(failures[0], weight if weighs or len(tried) == 1 else 0, ended - began, ended, len(tried))
        spent += (ended - began) / len(tried)
        if len(tried) == 1:
            return outcomes | {tried[0]: Performed(failures[0], spent)}
        middle = len(tried) // 2
        for half in (tried[:middle], tried[middle:]):
            outcomes |= self._ask(sandbox, declared, half, calls, spent, weighs=False)
        return outcomes

    def _request(
        self, sandbox: Sandbox, declared: Operator, calls: Sequence[PublicationCall]
    ) -> list[tuple[Answer, float]] | RequestFailure:
        """Return answers with their seconds; without calls, this asks whether the worker has the operator. Raises
        `OperatorUnavailable`."""
        try:
            (outcome,) = sandbox.map([write_request(declared, calls)], once=(0,))
        except SandboxFailed as failed:
            raise _not_started(declared, failed) from failed
        if isinstance(outcome, RequestFailure):
            return outcome
        try:
            answers = [(parse_answer(written), seconds) for written, seconds in read_answers(outcome)]
        except NotThere as missing:
            sandbox.close()  # the next worker reads the module as it is now
            reason = _failed(declared, f"is unavailable: {missing}").reason
            raise OperatorUnavailable(reason, whole=False) from missing
        except ValueError as error:
            return RequestFailure("crash", f"its worker answered nonsense: {error}")
        if len(answers) != len(calls):
            return RequestFailure("crash", f"its worker gave {len(answers)} answers for {len(calls)} calls")
        return answers


def _groups(declared: Operator, indexes: Iterable[int], calls: Sequence[PublicationCall]) -> Iterable[list[int]]:
    """Each call alone; of a batch operator, as many as go together."""
    group: list[int] = []
    size = 0
    for index in indexes:
        publication = calls[index].publication
        group.append(index)
        size += len(publication.quads) + sum(len(content) for _, content in publication.attachments)
        if not declared.batch or len(group) >= BATCH_CALLS or size >= BATCH_BYTES:
            yield group
            group, size = [], 0
    if group:
        yield group


def _not_started(declared: Operator, failed: SandboxFailed) -> OperatorUnavailable:
    """A worker that did not start, in words that help to fix it."""
    cause = failed.__cause__
    kind = cause.failure.kind if isinstance(cause, ChildLost) else ""
    reason, hint = failed.reason, failed.hint
    if kind == "timeout":
        reason = f"importing {declared.source} took more than {START_SECONDS:g} s"
        hint = "import what is heavy when the function is called first"
    elif kind:
        hint = import_hint(declared.source, reason)
    pending = "pending pairs are decided once it is there"
    return OperatorUnavailable(_failed(declared, f"is unavailable: {reason}; {hint}; {pending}").reason, whole=True)


def _in_full(declared: Operator, call: PublicationCall, answer: Answer) -> Answer:
    if isinstance(answer, Failed):
        return _failed(declared, f"cannot answer on <{_graph(call)}>: {answer.reason}", call)
    return answer


def _broken(declared: Operator, call: PublicationCall, failure: RequestFailure) -> Failed:
    reason = f"failed on <{_graph(call)}>: {failure.kind}: {failure.detail}; {failure_hint(failure)}"
    return _failed(declared, reason, call)


def _quarantined(declared: Operator, health: OperatorHealth) -> Failed:
    hint = "fix it, give it another version and start again"
    reason = f"is quarantined after {health.failed} failures; {hint}; the last failure: {health.last_failure}"
    return _failed(declared, reason)


def _failed(declared: Operator, reason: str, call: PublicationCall | None = None) -> Failed:
    """With the arguments of the call, as queries write them, each part short enough to leave the reason room."""
    arguments = [shortened(argument, 120) for argument in call.call.arguments] if call else []
    shown = f"({shortened(', '.join(arguments), 400)})" if call else ""
    return Failed(bounded_reason(f"operator <{declared.iri}>{shown} version {declared.version} {reason}"))


def _graph(call: PublicationCall) -> str:
    return shortened(call.publication.graph, 300)
