"""The frames between a parser and its children (no pickle).

Request: a flags byte, four lengths, then source, media type, graph, data. Answer: counts of drafts and rejects, then
per draft lengths, labels, digest, graph and lines, then the rejects as JSON. Little endian, text in UTF-8.
"""

from __future__ import annotations

import json
import struct
from dataclasses import astuple

from triplecast.ingest.document import Document, ParsedDocument
from triplecast.model.publication import Draft, Reject

_REQUEST = struct.Struct("<BIIIQ")
_HAS_TYPE, _HAS_GRAPH, _DATASET = 1, 2, 4
_COUNTS = struct.Struct("<II")
_DRAFT = struct.Struct("<IQBB32s")
_LABELS = ("none", "canonical", "input")


def pack_document(document: Document) -> bytes:
    source = document.source.encode("utf-8", "surrogateescape")
    media_type = (document.media_type or "").encode("utf-8", "replace")
    graph = (document.graph or "").encode("utf-8", "replace")
    flags = (
        (document.media_type is not None) * _HAS_TYPE
        | (document.graph is not None) * _HAS_GRAPH
        | document.dataset * _DATASET
    )
    header = _REQUEST.pack(flags, len(source), len(media_type), len(graph), len(document.data))
    return b"".join((header, source, media_type, graph, document.data))


def unpack_document(request: bytes) -> Document:
    flags, source, media_type, graph, data = _REQUEST.unpack_from(request)
    parts = []
    start = _REQUEST.size
    for length in (source, media_type, graph, data):
        parts.append(request[start : start + length])
        start += length
    return Document(
        parts[0].decode("utf-8", "surrogateescape"),
        parts[3],
        parts[1].decode() if flags & _HAS_TYPE else None,
        parts[2].decode() if flags & _HAS_GRAPH else None,
        bool(flags & _DATASET),
    )


def pack_parsed(parsed: ParsedDocument) -> bytes:
    parts = [_COUNTS.pack(len(parsed.drafts), len(parsed.rejects))]
    for draft in parsed.drafts:
        graph = draft.graph.encode()
        labels = _LABELS.index(draft.labels)
        parts += (_DRAFT.pack(len(graph), len(draft.quads), labels, draft.dataset, draft.digest), graph, draft.quads)
    if parsed.rejects:
        parts.append(json.dumps([astuple(reject) for reject in parsed.rejects]).encode())
    return b"".join(parts)


def unpack_parsed(payload: bytes) -> ParsedDocument:
    count, rejected = _COUNTS.unpack_from(payload)
    start = _COUNTS.size
    drafts = []
    for _ in range(count):
        graph_length, length, labels, dataset, digest = _DRAFT.unpack_from(payload, start)
        start += _DRAFT.size
        middle, end = start + graph_length, start + graph_length + length
        drafts.append(
            Draft(payload[start:middle].decode(), payload[middle:end], digest, _LABELS[labels], bool(dataset))
        )
        start = end
    rejects = tuple(Reject(*fields) for fields in json.loads(payload[start:])) if rejected else ()
    return ParsedDocument(tuple(drafts), rejects)
