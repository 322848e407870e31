"""Messages between the evaluator and its child: one request is one publication version with queries.

Both are payloads of several parts (`sandbox.messages`), the first of them JSON. Request: ``{"queries": [[text,
language], ...], "publication": [position, graph, version, accepted_at, dataset], "steps": n, "background": [entailment,
broader], "operators": as `write_operators`, "answers": [[iri, [argument, ...], answer], ...]}``, then the taxonomy
and the version's quads. Answer: ``[[kind, reason], ...]``, then the bindings of each query; those of ``open`` are the
operator calls that rows wait for.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from triplecast.evaluate.background import NO_BACKGROUND, Background
from triplecast.evaluate.unknown import NO_ANSWERS, Answers, Wanted
from triplecast.model.answers import GroundCall, format_answer, parse_answer
from triplecast.model.entailment import Entailment
from triplecast.model.operators import NO_OPERATORS, OperatorSet, read_operators, write_operators
from triplecast.model.publication import Publication
from triplecast.sandbox.messages import pack_parts, unpack_parts


class EvaluationInput(NamedTuple):
    """What the queries of one request are evaluated with."""

    publication: Publication
    steps: int
    background: Background = NO_BACKGROUND
    answers: Answers = NO_ANSWERS
    operators: OperatorSet = NO_OPERATORS


class Outcome(NamedTuple):
    kind: str
    """``matched``, ``unmatched``, ``undecided``, ``open`` or ``later``."""
    bindings: bytes
    """Of ``open``: the JSON of `write_wanted`."""
    reason: str
    """Of ``undecided``, else empty."""


LATER = Outcome("later", b"", "")


def write_request(context: EvaluationInput, queries: Sequence[tuple[str, str]]) -> bytes:
    return write_input(context, queries=[list(query) for query in queries])


def read_request(message: bytes) -> tuple[EvaluationInput, list[tuple[str, str]]]:
    context, fields = read_input(message)
    return context, [(text, language) for text, language in fields["queries"]]


def write_input(context: EvaluationInput, **fields: object) -> bytes:
    """Write a request with `fields` of its own."""
    publication, steps, background, answers, operators = context
    if operators:
        fields["operators"] = write_operators(operators)
    if answers:
        fields["answers"] = [[*call, format_answer(answer).decode()] for call, answer in answers.items()]
    stamp = [publication.position, publication.graph, publication.version, publication.accepted_at, publication.dataset]
    known = [background.entailment, background.broader]
    header = {**fields, "publication": stamp, "steps": steps, "background": known}
    return pack_parts((json.dumps(header).encode(), background.taxonomy, publication.quads))


def read_input(message: bytes) -> tuple[EvaluationInput, dict[str, Any]]:
    """Read a request and all its fields."""
    first, taxonomy, quads = unpack_parts(message)
    header = json.loads(first)
    operators = read_operators(header["operators"]) if "operators" in header else NO_OPERATORS
    answers = {
        GroundCall(iri, tuple(arguments)): parse_answer(answer.encode())
        for iri, arguments, answer in header.get("answers", ())
    }
    entailment, broader = header["background"]
    background = Background(Entailment(entailment), taxonomy, bool(broader))
    position, graph, version, accepted_at, dataset = header["publication"]
    publication = Publication(position, graph, version, accepted_at, quads, dataset)
    return EvaluationInput(publication, header["steps"], background, answers or NO_ANSWERS, operators), header


def write_wanted(rows: Sequence[Wanted]) -> bytes:
    return json.dumps(rows).encode()


def read_wanted(written: bytes) -> tuple[Wanted, ...]:
    return tuple(tuple(GroundCall(iri, tuple(given)) for iri, given in row) for row in json.loads(written))


def write_answer(outcomes: Sequence[Outcome]) -> bytes:
    header = json.dumps([[outcome.kind, outcome.reason] for outcome in outcomes])
    return pack_parts([header.encode(), *(outcome.bindings for outcome in outcomes)])


def read_answer(answer: bytes) -> list[Outcome]:
    first, *bindings = unpack_parts(answer)
    return [Outcome(kind, each, reason) for (kind, reason), each in zip(json.loads(first), bindings, strict=True)]
