"""What passes between the evaluator and its child: one request is one publication version with queries.

Request: a JSON line ``{"publication": [position, graph, version, accepted_at, dataset], "steps": n, "queries": [[text,
language], ...], "background": [entailment, broader, length]}``, then so many bytes of taxonomy, then the version's
quads. Answer: a JSON line with ``[outcome, length]`` or ``["undecided",
reason]`` per query, then the bindings of all, joined.

A request for an explanation has ``"explain": [name, text, language, index_decides]`` in the place of queries; its
answer is the explanation's JSON.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from triplecast.evaluate.entailed import NO_BACKGROUND, Background
from triplecast.model.entailment import Entailment
from triplecast.model.publication import Publication
from triplecast.model.subscription import Subscription


class Request(NamedTuple):
    publication: Publication
    steps: int
    queries: list[tuple[str, str]]
    background: Background


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
    background: Background = NO_BACKGROUND


_EXPLAIN = b'{"explain":'


def write_request(
    publication: Publication, steps: int, queries: Sequence[tuple[str, str]], background: Background = NO_BACKGROUND
) -> bytes:
    header: dict[str, object] = {"queries": [list(query) for query in queries]}
    return _write(header, publication, steps, background)


def read_request(request: bytes) -> Request:
    line, _, rest = request.partition(b"\n")
    header = json.loads(line)
    queries = [(text, language) for text, language in header["queries"]]
    background, quads = _background(header["background"], rest)
    return Request(_publication(header["publication"], quads), header["steps"], queries, background)


def write_explain_request(asked: ExplainRequest) -> bytes:
    subscription = asked.subscription
    query = [subscription.name, subscription.text, subscription.language, asked.index_decides]
    return _write({"explain": query}, asked.publication, asked.steps, asked.background)


def read_explain_request(request: bytes) -> ExplainRequest | None:
    """None for a request of another kind."""
    if not request.startswith(_EXPLAIN):
        return None
    line, _, rest = request.partition(b"\n")
    header = json.loads(line)
    name, text, language, index_decides = header["explain"]
    background, quads = _background(header["background"], rest)
    publication = _publication(header["publication"], quads)
    subscription = Subscription(name, text, language)
    return ExplainRequest(publication, header["steps"], subscription, index_decides, background)


def _write(header: dict[str, object], publication: Publication, steps: int, background: Background) -> bytes:
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
