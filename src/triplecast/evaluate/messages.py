"""Messages between the evaluator and its child: one request is one publication version with queries.

A request is a JSON line ``{"queries": [[text, language], ...], "publication": [position, graph, version, accepted_at,
dataset], "steps": n, "background": [entailment, broader, length], "operators": as `write_operators`, "answers":
[[iri, [argument, ...], answer], ...]}``, then `length` bytes of taxonomy, then the version's quads. An answer is a JSON
line with ``[outcome, length]`` or ``["undecided", reason]`` per query, then the bindings of all, joined; those of
``open`` are the operator calls that rows wait for.
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
    known = [background.entailment, background.broader, len(background.taxonomy)]
    header = {**fields, "publication": stamp, "steps": steps, "background": known}
    return json.dumps(header).encode() + b"\n" + background.taxonomy + publication.quads


def read_input(message: bytes) -> tuple[EvaluationInput, dict[str, Any]]:
    """Read a request and all its fields."""
    line, _, rest = message.partition(b"\n")
    header = json.loads(line)
    operators = read_operators(header["operators"]) if "operators" in header else NO_OPERATORS
    answers = {
        GroundCall(iri, tuple(arguments)): parse_answer(answer.encode())
        for iri, arguments, answer in header.get("answers", ())
    }
    entailment, broader, length = header["background"]
    background = Background(Entailment(entailment), rest[:length], bool(broader))
    position, graph, version, accepted_at, dataset = header["publication"]
    publication = Publication(position, graph, version, accepted_at, rest[length:], dataset)
    return EvaluationInput(publication, header["steps"], background, answers or NO_ANSWERS, operators), header


def write_wanted(rows: Sequence[Wanted]) -> bytes:
    return json.dumps(rows).encode()


def read_wanted(written: bytes) -> tuple[Wanted, ...]:
    return tuple(tuple(GroundCall(iri, tuple(given)) for iri, given in row) for row in json.loads(written))


def write_answer(outcomes: Sequence[Outcome]) -> bytes:
    header = [
        [outcome.kind, outcome.reason if outcome.kind == "undecided" else len(outcome.bindings)] for outcome in outcomes
    ]
    return json.dumps(header).encode() + b"\n" + b"".join(outcome.bindings for outcome in outcomes)


def read_answer(answer: bytes) -> list[Outcome]:
    line, _, bindings = answer.partition(b"\n")
    outcomes: list[Outcome] = []
    start = 0
    for kind, rest in json.loads(line):
        if kind == "undecided":
            outcomes.append(Outcome(kind, b"", rest))
        else:
            outcomes.append(Outcome(kind, bindings[start : start + rest], ""))
            start += rest
    return outcomes
