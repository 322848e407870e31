"""Explanations from a child process that calls operators as they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from triplecast.evaluate import DEFAULT_STEPS, LIMITS, NO_BACKGROUND, Background
from triplecast.evaluate.messages import EvaluationInput
from triplecast.evaluate.unknown import Answers
from triplecast.explain.explanation import Explanation, read_explanation
from triplecast.explain.messages import ExplainRequest, read_open_rows, write_explain_request
from triplecast.languages import parse_query
from triplecast.model.answers import Answer, GroundCall
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.operators.messages import PublicationCall
from triplecast.operators.perform import Performer
from triplecast.sandbox import Limits, RequestFailure, Sandbox


class Explainer:
    """Explains pairs in a child process that starts at the first call. Thread-safe as its sandbox is."""

    def __init__(self, limits: Limits = LIMITS, steps: int = DEFAULT_STEPS) -> None:
        self._steps = steps
        self._sandbox = Sandbox(function="triplecast.explain.worker:answer", limits=limits)

    def __enter__(self) -> Explainer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def children(self) -> int:
        """Children started so far."""
        return self._sandbox.started

    def close(self) -> None:
        """End the child."""
        self._sandbox.close()

    def explain(
        self,
        subscription: Subscription,
        publications: Sequence[Publication],
        index_decides: bool,
        background: Background = NO_BACKGROUND,
        stored: Sequence[Answers] = (),
        operators: OperatorSet = NO_OPERATORS,
    ) -> tuple[Explanation, ...]:
        """Explain each publication, in order. `index_decides` is the subscription's `Admission.bounded`.

        `stored` are the operator results recorded when each publication was matched, if any were. Operators are called
        for the rest, one call per open row and round, in workers that end with this call. A pair whose evaluation fails
        in the child is undecided, as it is when matching. Raises `QuerySyntaxError` and `QueryRefused`.
        """
        parse_query(subscription.text, subscription.language, subscription.name, operators)
        explanations: dict[int, Explanation] = {}
        recorded = stored or [{}] * len(publications)
        answers: list[dict[GroundCall, Answer]] = [dict(each) for each in recorded]
        with Performer(operators) as performer:
            while len(explanations) < len(publications):
                places = [place for place in range(len(publications)) if place not in explanations]
                requests = []
                for place in places:
                    context = EvaluationInput(publications[place], self._steps, background, answers[place], operators)
                    request = ExplainRequest(context, subscription, index_decides, frozenset(recorded[place]))
                    requests.append(write_explain_request(request))
                for place, answered in zip(places, self._sandbox.map(requests), strict=True):
                    rows = read_open_rows(answered) if isinstance(answered, bytes) else None
                    if rows is None:
                        explanations[place] = _explanation(subscription, publications[place], answered)
                        continue
                    calls = list(dict.fromkeys(row[0] for row in rows))
                    performed = performer.perform([PublicationCall(publications[place], call) for call in calls])
                    answers[place].update((call, each.answer) for call, each in zip(calls, performed, strict=True))
        return tuple(explanations[place] for place in range(len(publications)))


def explain_subscription(
    subscription: Subscription,
    publications: Sequence[Publication],
    index_decides: bool,
    background: Background = NO_BACKGROUND,
    operators: OperatorSet = NO_OPERATORS,
) -> tuple[Explanation, ...]:
    """Explain each publication in a child process that ends with this call (`Explainer.explain`)."""
    with Explainer() as explainer:
        return explainer.explain(subscription, publications, index_decides, background, operators=operators)


def _explanation(subscription: Subscription, publication: Publication, answered: bytes | RequestFailure) -> Explanation:
    if isinstance(answered, bytes):
        return read_explanation(answered)
    reason = f"{answered.kind}: {answered.detail}"
    return Explanation(subscription.name, publication.graph, publication.version, False, reason)
