"""The child that explains pairs: `answer` is the function that the sandbox runs."""

from __future__ import annotations

from triplecast.evaluate.messages import write_wanted
from triplecast.evaluate.unknown import Unanswered
from triplecast.evaluate.worker import prepare
from triplecast.explain.explanation import read_explain_request, write_explanation
from triplecast.explain.operator_answers import ExplainedAnswers
from triplecast.explain.pair import explain_pair


def answer(message: bytes) -> bytes:
    """Raises ValueError or SyntaxError for a malformed request."""
    context, subscription, index_decides, stored = read_explain_request(message)
    explained = ExplainedAnswers(context.answers, stored, context.operators)
    try:
        return write_explanation(
            explain_pair(subscription, context.publication, context.steps, index_decides, context.background, explained)
        )
    except Unanswered as unanswered:
        return write_wanted(unanswered.rows)


prepare()
