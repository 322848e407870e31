"""The evaluator in a child process: candidates to decisions."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from triplecast.evaluate.background import NO_BACKGROUND, Background
from triplecast.evaluate.budget import DEFAULT_STEPS
from triplecast.evaluate.messages import EvaluationInput, Outcome, read_answer, read_wanted, write_request
from triplecast.evaluate.unknown import Answers, Wanted
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.publication import Publication
from triplecast.sandbox import Limits, RequestFailure, Sandbox

LIMITS = Limits(seconds=20.0, memory=768 << 20, answer=64 << 20)
"""Limits of one request. The step budget ends a pair long before the clock does, so that a replay decides alike.

A pair that still overruns them costs at most three children and 60 s: once in a shared request, twice alone. k such
pairs of one publication cost at most 2k + 1 children for each `QUERIES_A_REQUEST` queries.
"""
QUERIES_A_REQUEST = 256
REQUESTS_AT_ONCE = 64
"""Requests that are held in memory together, or fewer whose answers come to `ANSWERS_AT_ONCE`."""
ANSWERS_AT_ONCE = 32 << 20
"""Bytes."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A pair that the index lets through but cannot decide."""

    publication: Publication
    registration: int
    text: str
    language: str
    background: Background = NO_BACKGROUND
    answers: Answers = field(default_factory=dict)
    """Of operators, as far as they are known."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Whether the pair matched, with `bindings` as in `MatchedBatch`, unless `undecided` or `wanted` is set.

    `undecided` is the reason why the pair has no decision; `wanted` are the operator calls that it needs first.
    """

    matched: bool
    bindings: bytes
    undecided: str | None
    wanted: tuple[Wanted, ...] = ()
    """The calls of each open row."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One request: queries of one publication and background, each with the indices of the candidates it decides."""

    publication: Publication
    background: Background
    answers: Answers
    queries: tuple[tuple[str, str], ...]
    askers: tuple[tuple[int, ...], ...]

    def part(self, wanted: Sequence[int]) -> _Question:
        return _Question(
            self.publication,
            self.background,
            self.answers,
            tuple(self.queries[index] for index in wanted),
            tuple(self.askers[index] for index in wanted),
        )


class Evaluator:
    """Decides candidates in a child process, which starts at the first call. Thread-safe as its sandbox is."""

    def __init__(self, limits: Limits = LIMITS, steps: int = DEFAULT_STEPS) -> None:
        self._steps = steps
        self._at_once = 4
        self._sandbox = Sandbox(function="triplecast.evaluate.worker:answer", limits=limits)

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def children(self) -> int:
        """Children started so far; more than one means that requests killed a child."""
        return self._sandbox.started

    def close(self) -> None:
        self._sandbox.close()

    def decide(
        self, candidates: Sequence[Candidate], operators: OperatorSet = NO_OPERATORS
    ) -> Iterator[tuple[int, Decision]]:
        """Yield each candidate's number and decision, roughly in order; their queries may call these `operators`.

        Equal queries of one publication are evaluated once. A shared request that fails is sent again query by query,
        so that only the query that killed the child stays undecided; a request of one query is tried twice.
        """
        waiting = deque(_questions(candidates))
        while waiting:
            asked = [waiting.popleft() for _ in range(min(self._at_once, len(waiting)))]
            answers = self._sandbox.map(
                [
                    write_request(
                        EvaluationInput(
                            question.publication, self._steps, question.background, question.answers, operators
                        ),
                        question.queries,
                    )
                    for question in asked
                ],
                once={index for index, question in enumerate(asked) if len(question.queries) > 1},
            )
            size = sum(len(answered) for answered in answers if isinstance(answered, bytes))
            fitting = len(asked) * ANSWERS_AT_ONCE // max(size, 1)
            self._at_once = max(1, min(REQUESTS_AT_ONCE, fitting, 2 * self._at_once))
            left: list[_Question] = []
            for question, answered in zip(asked, answers, strict=True):
                yield from _decisions(question, answered, left)
            waiting.extendleft(reversed(left))


def _decisions(
    question: _Question, answered: bytes | RequestFailure, left: list[_Question]
) -> Iterator[tuple[int, Decision]]:
    """Yield what an answer decides, and add to the questions that are left."""
    if isinstance(answered, RequestFailure):
        if len(question.queries) > 1:
            left += [question.part([index]) for index in range(len(question.queries))]
        else:
            failed = Decision(False, b"", f"{answered.kind}: {answered.detail}")
            yield from ((asker, failed) for asker in question.askers[0])
        return
    later: list[int] = []
    for index, outcome in enumerate(read_answer(answered)):
        if outcome.kind == "later":
            later.append(index)
        else:
            decision = _decision(outcome)
            yield from ((asker, decision) for asker in question.askers[index])
    if later:
        left.append(question.part(later))


def _decision(outcome: Outcome) -> Decision:
    if outcome.kind == "open":
        return Decision(False, b"", None, read_wanted(outcome.bindings))
    return Decision(outcome.kind == "matched", outcome.bindings, outcome.reason or None)


def _questions(candidates: Sequence[Candidate]) -> list[_Question]:
    """Group candidates into requests by publication and background, in order of first appearance; candidates of one
    publication have the same answers."""
    grouped: dict[tuple[int, int], tuple[Candidate, dict[tuple[str, str], list[int]]]] = {}
    for index, candidate in enumerate(candidates):
        key = (id(candidate.publication), id(candidate.background))
        _, askers = grouped.setdefault(key, (candidate, {}))
        askers.setdefault((candidate.text, candidate.language), []).append(index)
    questions: list[_Question] = []
    for first, askers in grouped.values():
        queries = list(askers)
        for start in range(0, len(queries), QUERIES_A_REQUEST):
            chunk = tuple(queries[start : start + QUERIES_A_REQUEST])
            asked = tuple(tuple(askers[query]) for query in chunk)
            questions.append(_Question(first.publication, first.background, first.answers, chunk, asked))
    return questions
