"""Ground calls to answers, in workers that may be killed: an operator that hangs, dies or gives nonsense fails, and is
passed over once it has failed too often."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import NamedTuple

from triplecast.errors import SandboxFailed
from triplecast.operators.answers import Answer, Failed, parse_answer, shortened, told_reason
from triplecast.operators.declaration import Operator
from triplecast.operators.frames import Asked, read_answers, write_request
from triplecast.operators.registry import Registry, known_operators
from triplecast.sandbox import Failure, Limits, Sandbox

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
ANSWER_BYTES = 4 << 20
"""Of the answers of one request."""
BATCH_CALLS = 32
"""Calls that a batch operator is given at once, unless their events come to `BATCH_BYTES`."""
BATCH_BYTES = 32 << 20
_MENDS = {
    "timeout": "declare more `seconds`, or see what it waits for",
    "memory": "declare more `memory`, or see what it holds",
    "crash": "call the function by itself, with this publication, to see what ends its process",
    "size": f"the answers of one request have {ANSWER_BYTES:,} bytes at most",
}
"""By kind of failure, what to do about it."""
_FUNCTION = "triplecast.operators.worker:answer"


class Performed(NamedTuple):
    """What became of a call."""

    answer: Answer
    seconds: float
    """Its share of what its request took; 0 where it was passed over."""


@dataclass(slots=True)
class Standing:
    """How an operator's version has done in this process."""

    calls: int = 0
    """Made, failed ones too."""
    failed: int = 0
    in_a_row: int = 0
    """Failures since the last answer, costly ones counted as so many, calls that it called unanswerable not at all."""
    passed_over: int = 0
    last_failure: str = ""
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

    def note(self, answer: Answer, weight: int, seconds: float, now: float) -> None:
        """`seconds`: what the call took, until `now`."""
        self.calls += 1
        if isinstance(answer, Failed):
            self.rests_until = now + REST * seconds
            self.failed += 1
            self.in_a_row += weight
            self.last_failure = answer.reason
        else:
            self.in_a_row = 0


class _Worker(NamedTuple):
    """Operators of one module with equal limits share a child; others cannot harm them."""

    source: str
    seconds: float
    memory: int


class Performer:
    """Workers of the operators that are asked; they start when first needed. For one thread at a time."""

    def __init__(self, known: Registry | None = None, clock: Callable[[], float] = time.perf_counter) -> None:
        self._known = known or known_operators()
        self._clock = clock
        self._sandboxes: dict[_Worker, Sandbox] = {}
        self.standings: dict[tuple[str, str], Standing] = {}
        """By IRI and version."""

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

    def perform(self, asked: Sequence[Asked]) -> list[Performed]:
        """What became of each call, in order. Workers run at the same time, each with its own operators' calls in
        order; nothing is raised for what an operator does."""
        tasks: dict[_Worker, dict[str, list[int]]] = {}
        outcomes: dict[int, Performed] = {}
        for index, (_, call) in enumerate(asked):
            declared = self._known.find(call.operator)
            if declared is None:
                reason = "it is not declared here; import the module that declares it, or install its package"
                outcomes[index] = Performed(Failed(told_reason(f"operator <{call.operator}>: {reason}")), 0.0)
                continue
            worker = _Worker(declared.source, declared.seconds, declared.memory)
            tasks.setdefault(worker, {}).setdefault(declared.iri, []).append(index)
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

    def _sandbox(self, worker: _Worker) -> Sandbox:
        found = self._sandboxes.get(worker)
        if found is None:
            limits = Limits(worker.seconds, worker.memory, ANSWER_BYTES, trusted=True)
            found = self._sandboxes[worker] = Sandbox(_FUNCTION, limits, modules=(worker.source,))
        return found

    def _work(
        self, sandbox: Sandbox, by_operator: dict[str, list[int]], asked: Sequence[Asked]
    ) -> dict[int, Performed]:
        """One worker's calls, operator after operator."""
        outcomes: dict[int, Performed] = {}
        for iri, indexes in by_operator.items():
            declared = self._known.find(iri)
            assert declared is not None
            for group in _groups(declared, indexes, asked):
                outcomes.update(self._ask(sandbox, declared, group, asked))
        return outcomes

    def _ask(
        self, sandbox: Sandbox, declared: Operator, group: Sequence[int], asked: Sequence[Asked]
    ) -> dict[int, Performed]:
        """One request's calls. Those of a batch that fails are asked again one by one, so that each is answered or
        fails for itself."""
        standing = self.standing(declared)
        tried = [index for index in group if standing.may_try(self._clock())]
        outcomes = {index: Performed(_passed_over(declared, standing), 0.0) for index in group if index not in tried}
        if not tried:
            return outcomes
        began = self._clock()
        answers, weight = self._answers(sandbox, declared, [asked[index] for index in tried])
        ended = self._clock()
        seconds = (ended - began) / len(tried)
        if len(tried) > 1 and weight:
            for index in tried:
                outcomes.update(self._ask(sandbox, declared, [index], asked))
            return outcomes
        for index, answer in zip(tried, answers, strict=True):
            standing.note(answer, weight, seconds, ended)
            outcomes[index] = Performed(answer, seconds)
        return outcomes

    def _answers(self, sandbox: Sandbox, declared: Operator, asked: Sequence[Asked]) -> tuple[list[Answer], int]:
        """Of one request; and what each failure among them counts: nothing where the operator did its work and said of
        some calls that they are unanswerable."""
        try:
            (outcome,) = sandbox.map([write_request(asked, declared.version)], once=(0,))
        except SandboxFailed as failed:
            outcome = Failure("start", failed.reason)
        if isinstance(outcome, bytes):
            try:
                answers = list(map(parse_answer, read_answers(outcome)))
            except ValueError as error:
                outcome = Failure("crash", f"its worker answered nonsense: {error}")
            else:
                if len(answers) == len(asked):
                    return [_told(declared, *each) for each in zip(asked, answers, strict=True)], 0
                outcome = Failure("crash", f"its worker gave {len(answers)} answers for {len(asked)} calls")
        weight = 1 if outcome.kind in ("error", "size") else COSTLY
        mend = f"; {_MENDS[outcome.kind]}" if outcome.kind in _MENDS else ""
        told = f"{outcome.kind}: {outcome.detail}{mend}"
        return [_failed(declared, f"failed on <{_graph(each)}>: {told}") for each in asked], weight


def _groups(declared: Operator, indexes: Iterable[int], asked: Sequence[Asked]) -> Iterable[list[int]]:
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


def _told(declared: Operator, asked: Asked, answer: Answer) -> Answer:
    if isinstance(answer, Failed):
        return _failed(declared, f"cannot answer on <{_graph(asked)}>: {answer.reason}")
    return answer


def _passed_over(declared: Operator, standing: Standing) -> Failed:
    mend = "mend it, give it another version and start again"
    told = f"is quarantined after {standing.failed} failures; {mend}; the last failure: {standing.last_failure}"
    return _failed(declared, told)


def _failed(declared: Operator, told: str) -> Failed:
    return Failed(told_reason(f"operator <{declared.iri}> version {declared.version} {told}"))


def _graph(asked: Asked) -> str:
    """Its IRI, short enough to leave the reason behind it room."""
    return shortened(asked.publication.graph, 300)
