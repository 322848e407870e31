"""What passes between an engine and an operator's worker: calls of one operator with the events they look at.

Request: a JSON line ``{"module": the operator's, "operator": iri, "version": its version, "events": [[graph, version,
dataset, length, [[iri, length], …]], …], "calls": [[event, [argument, …]], …]}``, then each event's quads and
attachments. Answer: a JSON line ``[[length, seconds], …]``, then the written answers (`model.answers`), one for
each call; or ``{"absent": why the operator cannot be called there}``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import accumulate, pairwise
from types import MappingProxyType
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.model.answers import GroundCall
from triplecast.model.operators import Operator
from triplecast.model.publication import Publication
from triplecast.operators.publication_view import PublicationView


class PublicationCall(NamedTuple):
    """A ground call of one publication."""

    publication: Publication
    call: GroundCall


class NotThere(LookupError):
    """The worker does not have the operator, or has another version of it."""


class CallRequest(NamedTuple):
    module: str
    operator: str
    version: str
    """That the engine knows, under which answers are kept."""
    calls: list[tuple[PublicationView, tuple[str, ...]]]
    """PublicationView and arguments of each; calls of one publication share an event."""


def write_request(declared: Operator, asked: Sequence[PublicationCall]) -> bytes:
    """For calls of one operator; without any, to see whether the worker has it."""
    numbers: dict[int, int] = {}
    stamps: list[object] = []
    parts: list[bytes] = []
    for publication, _ in asked:
        if id(publication) not in numbers:
            numbers[id(publication)] = len(numbers)
            lengths = [[iri, len(content)] for iri, content in publication.attachments]
            stamps.append(
                [publication.graph, publication.version, publication.dataset, len(publication.quads), lengths]
            )
            parts += [publication.quads, *(content for _, content in publication.attachments)]
    calls = [[numbers[id(publication)], call.arguments] for publication, call in asked]
    names = {"module": declared.module, "operator": declared.iri, "version": declared.version}
    header = {**names, "events": stamps, "calls": calls}
    return b"".join([json.dumps(header).encode(), b"\n", *parts])


def read_request(request: bytes) -> CallRequest:
    line, _, rest = request.partition(b"\n")
    header = json.loads(line)
    events: list[PublicationView] = []
    start = 0
    for graph, version, dataset, length, attached in header["events"]:
        quads = rest[start : start + length]
        start += length
        attachments: dict[str, bytes] = {}
        for iri, size in attached:
            attachments[iri] = rest[start : start + size]
            start += size
        events.append(PublicationView(NamedNode(graph), version, MappingProxyType(attachments), quads, dataset))
    calls = [(events[number], tuple(arguments)) for number, arguments in header["calls"]]
    return CallRequest(header["module"], header["operator"], header["version"], calls)


def write_answers(answers: Sequence[tuple[bytes, float]]) -> bytes:
    """Each with the seconds that it took."""
    stamps = [[len(answer), seconds] for answer, seconds in answers]
    return b"".join([json.dumps(stamps).encode(), b"\n", *(answer for answer, _ in answers)])


def write_absence(reason: str) -> bytes:
    return json.dumps({"absent": reason}).encode() + b"\n"


def read_answers(written: bytes) -> list[tuple[bytes, float]]:
    """Raises ValueError for bytes that are no answers, `NotThere` where the operator cannot be asked."""
    line, _, rest = written.partition(b"\n")
    stamps = json.loads(line)
    if isinstance(stamps, dict):
        raise NotThere(stamps.get("absent", "it says nothing"))
    ends = [0, *accumulate(length for length, _ in stamps)]
    return [
        (rest[start:end], float(seconds)) for (start, end), (_, seconds) in zip(pairwise(ends), stamps, strict=True)
    ]
