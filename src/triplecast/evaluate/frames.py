"""What passes between the evaluator and its child: one request is one publication version with queries.

Request: a JSON line ``{"publication": [position, graph, version, accepted_at, dataset], "steps": n, "queries": [[text,
language], ...]}``, then the version's quads. Answer: a JSON line with ``[outcome, length]`` or ``["undecided",
reason]`` per query, then the bindings of all, joined.

A request for an explanation has ``"explain": [name, text, language, index_decides]`` in the place of queries; its
answer is the explanation's JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription


class Outcome(NamedTuple):
    kind: str
    """``matched``, ``unmatched``, ``undecided`` or ``later``."""
    bindings: bytes
    reason: str
    """Of ``undecided``, else empty."""


LATER = Outcome("later", b"", "")


class ExplainRequest(NamedTuple):
    publication: Publication
    steps: int
    subscription: Subscription
    index_decides: bool


_EXPLAIN = b'{"explain":'


def write_request(publication: Publication, steps: int, queries: Sequence[tuple[str, str]]) -> bytes:
    header = {"publication": _stamp(publication), "steps": steps, "queries": [list(query) for query in queries]}
    return json.dumps(header).encode() + b"\n" + publication.quads


def read_request(request: bytes) -> tuple[Publication, int, list[tuple[str, str]]]:
    line, _, quads = request.partition(b"\n")
    header = json.loads(line)
    queries = [(text, language) for text, language in header["queries"]]
    return _publication(header["publication"], quads), header["steps"], queries


def write_explain_request(asked: ExplainRequest) -> bytes:
    subscription = asked.subscription
    query = [subscription.name, subscription.text, subscription.language, asked.index_decides]
    header = {"explain": query, "publication": _stamp(asked.publication), "steps": asked.steps}
    return json.dumps(header).encode() + b"\n" + asked.publication.quads


def read_explain_request(request: bytes) -> ExplainRequest | None:
    """None for a request of another kind."""
    if not request.startswith(_EXPLAIN):
        return None
    line, _, quads = request.partition(b"\n")
    header = json.loads(line)
    name, text, language, index_decides = header["explain"]
    publication = _publication(header["publication"], quads)
    return ExplainRequest(publication, header["steps"], Subscription(name, text, language), index_decides)


def _stamp(publication: Publication) -> list[object]:
    return [publication.position, publication.graph, publication.version, publication.accepted_at, publication.dataset]


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
