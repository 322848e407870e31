"""Requests to an operator's worker, and its answers: calls of one operator, with the publications that they look at.

Both are payloads of several parts (`sandbox.messages`), the first of them JSON. Request: ``{"module": the operator's,
"operator": iri, "version": its version, "publications": [[graph, version, dataset, [attachment's iri, …]], …],
"calls": [[publication, [argument, …]], …]}``, then each publication's quads and attachments. Answer: the seconds of
each call, then each call's answer (`model.answers`); or ``{"absent": why the operator cannot be called there}``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from types import MappingProxyType
from typing import NamedTuple

from pyoxigraph import NamedNode

from triplecast.model.answers import GroundCall
from triplecast.model.operators import Operator
from triplecast.model.publication import Publication
from triplecast.operators.publication_view import PublicationView
from triplecast.sandbox.messages import pack_parts, unpack_parts


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
    """The engine's, under which answers are stored."""
    calls: list[tuple[PublicationView, tuple[str, ...]]]
    """Arguments of each; calls of one publication share a view."""


def write_request(declared: Operator, calls: Sequence[PublicationCall]) -> bytes:
    """Write calls of one operator; without any, the request asks whether the worker has it."""
    numbers: dict[int, int] = {}
    stamps: list[object] = []
    parts: list[bytes] = []
    for publication, _ in calls:
        if id(publication) not in numbers:
            numbers[id(publication)] = len(numbers)
            attached = [iri for iri, _ in publication.attachments]
            stamps.append([publication.graph, publication.version, publication.dataset, attached])
            parts += [publication.quads, *(content for _, content in publication.attachments)]
    numbered = [[numbers[id(publication)], call.arguments] for publication, call in calls]
    names = {"module": declared.module, "operator": declared.iri, "version": declared.version}
    return pack_parts([json.dumps({**names, "publications": stamps, "calls": numbered}).encode(), *parts])


def read_request(request: bytes) -> CallRequest:
    first, *rest = unpack_parts(request)
    header, parts = json.loads(first), iter(rest)
    views: list[PublicationView] = []
    for graph, version, dataset, attached in header["publications"]:
        quads = next(parts)
        attachments = MappingProxyType({iri: next(parts) for iri in attached})
        views.append(PublicationView(NamedNode(graph), version, attachments, quads, dataset))
    calls = [(views[number], tuple(arguments)) for number, arguments in header["calls"]]
    return CallRequest(header["module"], header["operator"], header["version"], calls)


def write_answers(answers: Sequence[tuple[bytes, float]]) -> bytes:
    """Write answers, each with the seconds that it took."""
    return pack_parts([json.dumps([seconds for _, seconds in answers]).encode(), *(each for each, _ in answers)])


def write_absence(reason: str) -> bytes:
    return pack_parts([json.dumps({"absent": reason}).encode()])


def read_answers(written: bytes) -> list[tuple[bytes, float]]:
    """Raises ValueError for bytes that are no answers, `NotThere` where the worker does not have the operator."""
    first, *answers = unpack_parts(written)
    seconds = json.loads(first)
    if isinstance(seconds, dict):
        raise NotThere(seconds.get("absent", "it gives no reason"))
    return list(zip(answers, map(float, seconds), strict=True))
