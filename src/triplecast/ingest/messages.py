"""The requests of a parser's children, and their answers: documents, and what parsing them gave."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import astuple

from triplecast.ingest.document import Document, ParsedDocument
from triplecast.model.publication import Draft, Origin, Reject
from triplecast.sandbox.messages import pack_parts, unpack_parts

_HAS_TYPE, _HAS_GRAPH, _DATASET, _SPLIT = 1, 2, 4, 16
_PACKET = b"\x08"
_LABELS = ("none", "canonical", "input")


def pack_document(document: Document) -> bytes:
    """Pack flags, source, media type, graph, split and data."""
    media_type, graph = document.media_type, document.graph
    flags = (media_type is not None) * _HAS_TYPE | (graph is not None) * _HAS_GRAPH | bool(document.dataset) * _DATASET
    flags |= (document.split is not None) * _SPLIT
    source = document.source.encode("utf-8", "surrogateescape")
    texts = (each.encode() for each in (media_type or "", graph or "", document.split or ""))
    return pack_parts((bytes((flags,)), source, *texts, document.data))


def unpack_document(request: bytes) -> Document:
    (flags,), source, media_type, graph, split, data = unpack_parts(request)
    return Document(
        source.decode("utf-8", "surrogateescape"),
        data,
        media_type.decode() if flags & _HAS_TYPE else None,
        graph.decode() if flags & _HAS_GRAPH else None,
        bool(flags & _DATASET),
        split=split.decode() if flags & _SPLIT else None,
    )


def pack_packet(documents: Sequence[Document]) -> bytes:
    """Pack several documents as one request."""
    return pack_parts((_PACKET, *map(pack_document, documents)))


def unpack_packet(request: bytes) -> list[Document] | None:
    """Return the documents of a packet; None for a request of one document."""
    first, *documents = unpack_parts(request)
    return [unpack_document(each) for each in documents] if first == _PACKET else None


def pack_parsed(parsed: ParsedDocument) -> bytes:
    """Pack rejects, warnings and what it was cut from as JSON, then labels, whether it is a dataset, digest, graph and
    lines of each draft."""
    rejects = [astuple(reject) for reject in parsed.rejects]
    cut = parsed.drafts[0].origin if parsed.drafts else None
    parts = [json.dumps((rejects, parsed.warnings, cut)).encode() if rejects or parsed.warnings or cut else b""]
    for draft in parsed.drafts:
        kind = bytes((_LABELS.index(draft.labels), draft.dataset))
        parts += (kind + draft.digest, draft.graph.encode(), draft.quads)
    return pack_parts(parts)


def unpack_parsed(payload: bytes) -> ParsedDocument:
    first, *drafts = unpack_parts(payload)
    rejects, warnings, cut = json.loads(first) if first else ((), (), None)
    origin = None if cut is None else Origin(*cut)
    return ParsedDocument(
        tuple(
            Draft(graph.decode(), quads, kind[2:], _LABELS[kind[0]], bool(kind[1]), origin=origin)
            for kind, graph, quads in zip(drafts[::3], drafts[1::3], drafts[2::3], strict=True)
        ),
        tuple(Reject(*fields) for fields in rejects),
        warnings=tuple(warnings),
    )
