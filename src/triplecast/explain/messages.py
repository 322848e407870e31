"""Messages between `explain_subscription` and its child.

A request is an evaluation's input (`evaluate.messages`) with ``"explain": [name, text, language, index_decides,
[[iri, [argument, ...]], ...]]``. The answer is the explanation's JSON object, or, while rows wait for operators, a JSON
list of their calls.
"""

from __future__ import annotations

from typing import NamedTuple

from triplecast.evaluate.messages import EvaluationInput, read_input, read_wanted, write_input
from triplecast.evaluate.unknown import Wanted
from triplecast.model.answers import GroundCall
from triplecast.model.subscription import Subscription


class ExplainRequest(NamedTuple):
    """A pair to explain."""

    context: EvaluationInput
    subscription: Subscription
    index_decides: bool
    """`Admission.bounded`."""
    stored: frozenset[GroundCall] = frozenset()
    """The calls in `context.answers` whose results were recorded when the publication was matched."""


def write_explain_request(request: ExplainRequest) -> bytes:
    name, text, language = request.subscription.name, request.subscription.text, request.subscription.language
    return write_input(request.context, explain=[name, text, language, request.index_decides, sorted(request.stored)])


def read_explain_request(message: bytes) -> ExplainRequest:
    context, fields = read_input(message)
    name, text, language, index_decides, calls = fields["explain"]
    stored = frozenset(GroundCall(iri, tuple(arguments)) for iri, arguments in calls)
    return ExplainRequest(context, Subscription(name, text, language), index_decides, stored)


def read_open_rows(answer: bytes) -> tuple[Wanted, ...] | None:
    """The rows that wait for operators; None where `answer` is an explanation."""
    return read_wanted(answer) if answer.startswith(b"[") else None
