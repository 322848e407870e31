"""Explanations from a child process that calls operators as they are needed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from triplecast.evaluate import DEFAULT_STEPS, LIMITS, NO_BACKGROUND, Background
from triplecast.evaluate.messages import EvaluationInput
from triplecast.evaluate.unknown import Answers
from triplecast.explain.explanation import (
    ExplainRequest,
    Explanation,
    read_explanation,
    read_open_rows,
    write_explain_request,
)
from triplecast.languages import parse_query
from triplecast.model.operators import NO_OPERATORS, OperatorSet
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.operators.asking.workers import Performer
from triplecast.operators.messages import PublicationCall
from triplecast.sandbox import Limits, RequestFailure, Sandbox


def explaining_sandbox(limits: Limits = LIMITS) -> Sandbox:
    """A child process that explains pairs; it starts at the first call."""
    return Sandbox(function="triplecast.explain.worker:answer", limits=limits)


def explain_subscription(
    subscription: Subscription,
    publications: Sequence[Publication],
    index_decides: bool,
    background: Background = NO_BACKGROUND,
    operators: OperatorSet = NO_OPERATORS,
    stored: Sequence[Answers] = (),
    sandbox: Sandbox | None = None,
) -> tuple[Explanation, ...]:
    """Explain each publication, in order, in `sandbox` (default: one that ends with this call).

    `index_decides` is the subscription's `Admission.bounded`. `stored` are the operator results recorded when each
    publication was matched, if any were; operators are called for the rest, one call per open row and round, in workers
    that end with this call. A pair whose evaluation fails in the child is undecided, as it is when matching. Raises
    `QuerySyntaxError` and `QueryRefused`.
    """
    parse_query(subscription.text, subscription.language, subscription.name, operators)
    with ExitStack() as opened:
        child = sandbox or opened.enter_context(explaining_sandbox())
        performer = opened.enter_context(Performer(operators))
        explanations = []
        for publication, known in zip(publications, stored or [{}] * len(publications), strict=True):
            context = EvaluationInput(publication, DEFAULT_STEPS, background, dict(known), operators)
            request = ExplainRequest(context, subscription, index_decides, frozenset(known))
            explanations.append(_explain(request, child, performer))
    return tuple(explanations)


def _explain(request: ExplainRequest, sandbox: Sandbox, performer: Performer) -> Explanation:
    """Explain one pair, with operators called while rows need them."""
    publication, answers = request.context.publication, dict(request.context.answers)
    while True:
        context = request.context._replace(answers=answers)
        (answered,) = sandbox.map([write_explain_request(request._replace(context=context))])
        if isinstance(answered, RequestFailure):
            reason = f"{answered.kind}: {answered.detail}"
            return Explanation(request.subscription.name, publication.graph, publication.version, False, reason)
        rows = read_open_rows(answered)
        if rows is None:
            return read_explanation(answered)
        calls = list(dict.fromkeys(row[0] for row in rows))
        performed = performer.perform([PublicationCall(publication, call) for call in calls])
        answers.update((call, each.answer) for call, each in zip(calls, performed, strict=True))
