"""What passes between the evaluator and its child: one request is one publication version with queries.

Request: a JSON line ``{"publication": [position, graph, version, accepted_at, dataset], "steps": n, "queries": [[text,
language], ...], "background": [entailment, broader, length], "operators": its
`OperatorSet.to_json`, "answers": [[iri, [argument, ...],
answer], ...]}``, then so many bytes of taxonomy, then the version's quads. Answer: a JSON line with ``[outcome,
length]`` or ``["undecided", reason]`` per query, then the bindings of all, joined; those of ``open`` are the calls of
operators that rows wait for.

A request for an explanation has ``"explain": [name, text, language, index_decides, kept]`` in the place of queries; its
answer is the explanation's JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from triplecast.evaluate.entailed import NO_BACKGROUND, Background
from triplecast.evaluate.unknown import NO_ANSWERS, Answers, Wanted
from triplecast.model.entailment import Entailment
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription
from triplecast.operators.answers import GroundCall, format_answer, parse_answer
from triplecast.operators.operator_set import NO_OPERATORS, OperatorSet


class Request(NamedTuple):
    publication: Publication
    steps: int
    queries: list[tuple[str, str]]
    background: Background
    answers: Answers
    operators: OperatorSet


class Outcome(NamedTuple):
    kind: str
    """``matched``, ``unmatched``, ``undecided``, ``open`` or ``later``."""
    bindings: bytes
    """Of ``open``: the JSON of `write_wanted`."""
    reason: str
    """Of ``undecided``, else empty."""


LATER = Outcome("later", b"", "")


class ExplainRequest(NamedTuple):
    publication: Publication
    steps: int
    subscription: Subscription
    index_decides: bool
    background: Background = NO_BACKGROUND
    answers: Answers = NO_ANSWERS
    kept: frozenset[GroundCall] = frozenset()
    """Of the answers, those that were kept when the publication was matched."""
    operators: OperatorSet = NO_OPERATORS


_EXPLAIN = b'{"explain":'


def write_request(
    publication: Publication,
    steps: int,
    queries: Sequence[tuple[str, str]],
    background: Background = NO_BACKGROUND,
    answers: Answers = NO_ANSWERS,
    operators: OperatorSet = NO_OPERATORS,
) -> bytes:
    header: dict[str, object] = {"queries": [list(query) for query in queries]}
    return _write(header, publication, steps, background, answers, operators)


def read_request(request: bytes) -> Request:
    line, _, rest = request.partition(b"\n")
    header = json.loads(line)
    answers, operators = _read_operators(header)
    queries = [(text, language) for text, language in header["queries"]]
    background, quads = _background(header["background"], rest)
    return Request(_publication(header["publication"], quads), header["steps"], queries, background, answers, operators)


def write_explain_request(asked: ExplainRequest) -> bytes:
    subscription = asked.subscription
    query = [subscription.name, subscription.text, subscription.language, asked.index_decides, sorted(asked.kept)]
    return _write({"explain": query}, asked.publication, asked.steps, asked.background, asked.answers, asked.operators)


def read_explain_request(request: bytes) -> ExplainRequest | None:
    """None for a request of another kind."""
    if not request.startswith(_EXPLAIN):
        return None
    line, _, rest = request.partition(b"\n")
    header = json.loads(line)
    answers, operators = _read_operators(header)
    name, text, language, index_decides, written = header["explain"]
    kept = frozenset(GroundCall(iri, tuple(given)) for iri, given in written)
    background, quads = _background(header["background"], rest)
    publication = _publication(header["publication"], quads)
    subscription = Subscription(name, text, language)
    steps = header["steps"]
    return ExplainRequest(publication, steps, subscription, index_decides, background, answers, kept, operators)


def write_wanted(rows: Sequence[Wanted]) -> bytes:
    return json.dumps(rows).encode()


def read_wanted(written: bytes) -> tuple[Wanted, ...]:
    return tuple(tuple(GroundCall(iri, tuple(given)) for iri, given in row) for row in json.loads(written))


def read_open(answer: bytes) -> tuple[Wanted, ...] | None:
    """The rows that an explanation waits for; None where `answer` is the explanation, which is a JSON object."""
    return read_wanted(read_answer(answer)[0].bindings) if answer.startswith(b"[") else None


def _read_operators(header: dict[str, Any]) -> tuple[Answers, OperatorSet]:
    """Return the answers of a request, and the operators that its queries may call."""
    operators = OperatorSet.from_json(header["operators"]) if "operators" in header else NO_OPERATORS
    answers = {
        GroundCall(iri, tuple(arguments)): parse_answer(answer.encode())
        for iri, arguments, answer in header.get("answers", ())
    }
    return answers or NO_ANSWERS, operators


def _write(
    header: dict[str, object],
    publication: Publication,
    steps: int,
    background: Background,
    answers: Answers,
    operators: OperatorSet,
) -> bytes:
    if operators:
        header["operators"] = operators.to_json()
    if answers:
        header["answers"] = [[*call, format_answer(answer).decode()] for call, answer in answers.items()]
    stamp = [publication.position, publication.graph, publication.version, publication.accepted_at, publication.dataset]
    known = [background.entailment, background.broader, len(background.taxonomy)]
    whole = {**header, "publication": stamp, "steps": steps, "background": known}
    return json.dumps(whole).encode() + b"\n" + background.taxonomy + publication.quads


def _background(known: list[int], rest: bytes) -> tuple[Background, bytes]:
    """The background and the quads behind its taxonomy."""
    entailment, broader, length = known
    return Background(Entailment(entailment), rest[:length], bool(broader)), rest[length:]


def _publication(stamp: list[Any], quads: bytes) -> Publication:
    position, graph, version, accepted_at, dataset = stamp
    return Publication(position, graph, version, accepted_at, quads, dataset)


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
