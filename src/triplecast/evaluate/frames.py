"""What passes between the evaluator and its child: one request is one publication version with queries.

Request: a JSON line ``{"publication": [position, graph, version, accepted_at, dataset], "steps": n, "queries": [[text,
language], ...], "background": [entailment, broader, length]}``, then so many bytes of taxonomy, then the version's
quads. Answer: a JSON line with ``[outcome, length]`` or ``["undecided",
reason]`` per query, then the bindings of all, joined.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from triplecast.evaluate.entailed import NO_BACKGROUND, Background
from triplecast.model.entailment import Entailment
from triplecast.model.publication import Publication


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


def write_request(
    publication: Publication, steps: int, queries: Sequence[tuple[str, str]], background: Background = NO_BACKGROUND
) -> bytes:
    stamp = [
        publication.position,
        publication.graph,
        publication.version,
        publication.accepted_at,
        publication.dataset,
    ]
    header = {
        "publication": stamp,
        "steps": steps,
        "queries": [list(query) for query in queries],
        "background": [background.entailment, background.broader, len(background.taxonomy)],
    }
    return json.dumps(header).encode() + b"\n" + background.taxonomy + publication.quads


def read_request(request: bytes) -> Request:
    line, _, rest = request.partition(b"\n")
    header = json.loads(line)
    position, graph, version, accepted_at, dataset = header["publication"]
    entailment, broader, length = header["background"]
    return Request(
        Publication(position, graph, version, accepted_at, rest[length:], dataset),
        header["steps"],
        [(text, language) for text, language in header["queries"]],
        Background(Entailment(entailment), rest[:length], broader),
    )


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
