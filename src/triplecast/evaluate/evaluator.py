"""Candidates to decisions, and pairs to explanations, through a sandbox."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from types import TracebackType

from triplecast.evaluate.budget import DEFAULT_STEPS
from triplecast.evaluate.entailed import NO_BACKGROUND, Background
from triplecast.evaluate.explanation import Explanation, read_explanation
from triplecast.evaluate.frames import (
    ExplainRequest,
    Outcome,
    read_answer,
    read_open,
    read_wanted,
    write_explain_request,
    write_request,
)
from triplecast.evaluate.unknown import Answers, Wanted
from triplecast.languages import parse_query
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.operators.answers import Answer, GroundCall
from triplecast.operators.frames import Asked
from triplecast.operators.operator_set import NO_OPERATORS, OperatorSet
from triplecast.operators.perform import Performer
from triplecast.sandbox import Failure, Limits, Sandbox

LIMITS = Limits(seconds=20.0, memory=768 << 20, answer=64 << 20)
"""Of one request. The step budget ends a pair long before the clock does, so that a replay decides alike.

Should one pair overrun them all the same, it costs at most three children and 60 s: once in the request it shares,
twice alone. k such pairs of one publication cost at most 2k + 1 children for each `QUERIES_A_REQUEST` queries.
"""
QUERIES_A_REQUEST = 256
REQUESTS_AT_ONCE = 64
"""Requests that are held in memory together."""


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
    """`matched` with `bindings` (as in `MatchedBatch`, empty if unmatched), unless `undecided` says why neither
    holds, or `wanted` what operators have to be asked before."""

    matched: bool
    bindings: bytes
    undecided: str | None
    wanted: tuple[Wanted, ...] = ()
    """The rows that wait for answers."""


@dataclass(frozen=True, slots=True)
class _Question:
    """One request: some queries of one publication with one background, each with the candidates (by index) that it
    decides."""

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
    """Decides candidates in a child process that starts at the first call. Thread-safe as its sandbox is."""

    def __init__(self, limits: Limits = LIMITS, steps: int = DEFAULT_STEPS) -> None:
        self._steps = steps
        self._sandbox = Sandbox(function="triplecast.evaluate.worker:answer", limits=limits)

    def __enter__(self) -> Evaluator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def children(self) -> int:
        """Children started so far; more than one tells of requests that one did not survive."""
        return self._sandbox.started

    def close(self) -> None:
        self._sandbox.close()

    def decide(self, candidates: Sequence[Candidate], operators: OperatorSet = NO_OPERATORS) -> list[Decision]:
        """One decision per candidate, in order; their queries may call these `operators`.

        A query asked twice of one publication is evaluated once. A shared request that fails is asked again query by
        query, so that a query which kills its child leaves its neighbours decided and itself undecided; a request of
        one query is tried twice.
        """
        decisions: dict[int, Decision] = {}
        waiting = deque(_questions(candidates))
        while waiting:
            asked = [waiting.popleft() for _ in range(min(REQUESTS_AT_ONCE, len(waiting)))]
            answers = self._sandbox.map(
                [
                    write_request(
                        question.publication,
                        self._steps,
                        question.queries,
                        question.background,
                        question.answers,
                        operators,
                    )
                    for question in asked
                ],
                once={index for index, question in enumerate(asked) if len(question.queries) > 1},
            )
            for question, answered in zip(asked, answers, strict=True):
                waiting.extend(_settle(question, answered, decisions))
        return [decisions[index] for index in range(len(candidates))]

    def explain(
        self,
        subscription: Subscription,
        publications: Sequence[Publication],
        index_decides: bool,
        background: Background = NO_BACKGROUND,
        kept: Sequence[Answers] = (),
        operators: OperatorSet = NO_OPERATORS,
    ) -> tuple[Explanation, ...]:
        """`explain.explain` for each publication, in order; one that fails in the child is undecided, as it is in
        `decide`. The subscription's text is one that parses. `kept` are the answers that are known of each publication,
        if any are; for others, operators are asked for what each row waits for first, in
        workers that end with the call."""
        told: dict[int, Explanation] = {}
        answers: list[dict[GroundCall, Answer]] = [dict(each) for each in kept or [{}] * len(publications)]
        before = [frozenset(each) for each in answers]
        with Performer(operators) as performer:
            while len(told) < len(publications):
                places = [place for place in range(len(publications)) if place not in told]
                requests = [
                    ExplainRequest(
                        publications[place],
                        self._steps,
                        subscription,
                        index_decides,
                        background,
                        answers[place],
                        before[place],
                        operators,
                    )
                    for place in places
                ]
                outcomes = self._sandbox.map(list(map(write_explain_request, requests)))
                for place, answered in zip(places, outcomes, strict=True):
                    wanted = read_open(answered) if isinstance(answered, bytes) else None
                    if wanted is None:
                        told[place] = _explanation(subscription, publications[place], answered)
                        continue
                    calls = list(dict.fromkeys(row[0] for row in wanted))
                    performed = performer.perform([Asked(publications[place], call) for call in calls])
                    answers[place].update((call, each.answer) for call, each in zip(calls, performed, strict=True))
        return tuple(told[place] for place in range(len(publications)))


def explain_subscription(
    subscription: Subscription,
    publications: Sequence[Publication],
    index_decides: bool,
    evaluator: Evaluator | None = None,
    background: Background = NO_BACKGROUND,
    kept: Sequence[Answers] = (),
    operators: OperatorSet = NO_OPERATORS,
) -> tuple[Explanation, ...]:
    """Why each publication matches or where it fails, in order, in the child of `evaluator` or in one of its own.

    `kept`: what operators are known to have said of each, if anything is. `index_decides` is the subscription's
    `Admission.bounded`. Raises `QuerySyntaxError` and `QueryRefused`.
    """
    parse_query(subscription.text, subscription.language, subscription.name, operators)
    if evaluator is not None:
        return evaluator.explain(subscription, publications, index_decides, background, kept, operators)
    with Evaluator() as own:
        return own.explain(subscription, publications, index_decides, background, kept, operators)


def _explanation(subscription: Subscription, publication: Publication, answered: bytes | Failure) -> Explanation:
    if isinstance(answered, bytes):
        return read_explanation(answered)
    reason = f"{answered.kind}: {answered.detail}"
    return Explanation(subscription.name, publication.graph, publication.version, False, reason)


def _settle(question: _Question, answered: bytes | Failure, decisions: dict[int, Decision]) -> Iterable[_Question]:
    """Notes what an answer decides and gives what is to be asked next."""
    if isinstance(answered, Failure):
        if len(question.queries) > 1:
            return [question.part([index]) for index in range(len(question.queries))]
        failed = Decision(False, b"", f"{answered.kind}: {answered.detail}")
        decisions.update(dict.fromkeys(question.askers[0], failed))
        return ()
    outcomes = read_answer(answered)
    later: list[int] = []
    for index, outcome in enumerate(outcomes):
        if outcome.kind == "later":
            later.append(index)
        else:
            decisions.update(dict.fromkeys(question.askers[index], _decision(outcome)))
    return [question.part(later)] if later else ()


def _decision(outcome: Outcome) -> Decision:
    if outcome.kind == "open":
        return Decision(False, b"", None, read_wanted(outcome.bindings))
    return Decision(outcome.kind == "matched", outcome.bindings, outcome.reason or None)


def _questions(candidates: Sequence[Candidate]) -> list[_Question]:
    """Requests by publication and background, in order of first appearance; candidates of one publication have the same
    answers."""
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
