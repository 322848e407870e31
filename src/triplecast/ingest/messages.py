"""The requests of a parser's children, and their answers: documents, and what parsing them gave."""

from __future__ import annotations

from dataclasses import astuple

from triplecast.ingest.document import Document, ParsedDocument
from triplecast.model.publication import Draft, Reject
from triplecast.sandbox.messages import pack_parts, unpack_parts


def pack_document(document: Document) -> bytes:
    header = (document.source, document.media_type, document.graph, document.dataset)
    return pack_parts(header, (document.data,))


def unpack_document(request: bytes) -> Document:
    (source, media_type, graph, dataset), (data,) = unpack_parts(request)
    return Document(source, data, media_type, graph, dataset)


def pack_parsed(parsed: ParsedDocument) -> bytes:
    drafts = [(draft.graph, draft.digest.hex(), draft.labels, draft.dataset) for draft in parsed.drafts]
    rejects = [astuple(reject) for reject in parsed.rejects]
    return pack_parts((drafts, rejects), [draft.quads for draft in parsed.drafts])


def unpack_parsed(payload: bytes) -> ParsedDocument:
    (drafts, rejects), quads = unpack_parts(payload)
    return ParsedDocument(
        tuple(
            Draft(graph, lines, bytes.fromhex(digest), labels, dataset)
            for (graph, digest, labels, dataset), lines in zip(drafts, quads, strict=True)
        ),
        tuple(Reject(*fields) for fields in rejects),
    )
