"""What passes between the evaluator and its child: one request is one publication version with queries.

Request: a JSON line ``{"publication": [position, graph, version, accepted_at, dataset], "steps": n, "queries": [[text,
language], ...]}``, then the version's quads. Answer: a JSON line with ``[outcome, length]`` or ``["undecided",
reason]`` per query, then the bindings of all, joined.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from triplecast.model.publication import Publication


class Outcome(NamedTuple):
    kind: str
    """``matched``, ``unmatched``, ``undecided`` or ``later``."""
    bindings: bytes
    reason: str
    """Of ``undecided``, else empty."""


LATER = Outcome("later", b"", "")


def write_request(publication: Publication, steps: int, queries: Sequence[tuple[str, str]]) -> bytes:
    stamp = [
        publication.position,
        publication.graph,
        publication.version,
        publication.accepted_at,
        publication.dataset,
    ]
    header = {"publication": stamp, "steps": steps, "queries": [list(query) for query in queries]}
    return json.dumps(header).encode() + b"\n" + publication.quads


def read_request(request: bytes) -> tuple[Publication, int, list[tuple[str, str]]]:
    line, _, quads = request.partition(b"\n")
    header = json.loads(line)
    position, graph, version, accepted_at, dataset = header["publication"]
    publication = Publication(position, graph, version, accepted_at, quads, dataset)
    return publication, header["steps"], [(text, language) for text, language in header["queries"]]


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
