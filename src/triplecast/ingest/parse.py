"""A document → its publications and rejects: the pure function that a parser's child runs."""

from __future__ import annotations

from pyoxigraph import NamedNode

from triplecast.errors import DocumentRejected
from triplecast.ingest import media_types
from triplecast.ingest.document import Document, ParsedDocument, document_iri
from triplecast.ingest.gate import refuse_compressed, refuse_nesting, refuse_size
from triplecast.ingest.limits import GATE, GateLimits
from triplecast.ingest.media_types import decide_type
from triplecast.ingest.rdf import parse_rdf
from triplecast.ingest.xml_document import parse_xml
from triplecast.model.printable import printable
from triplecast.model.publication import Reject


def parse_document(document: Document, limits: GateLimits = GATE) -> ParsedDocument:
    """Gate, parse, identity and content hash. Never raises DocumentRejected: what fails is a `Reject`."""
    try:
        refuse_size(document.data, limits)
        refuse_compressed(document.data)
        base = _checked(document_iri(document), limits)
        media_type, charset = decide_type(document.media_type, document.source, document.data)
        if media_type in media_types.XML_TYPES:
            return parse_xml(document, media_type, charset, base, limits)
        data = document.data.removeprefix(b"\xef\xbb\xbf")
        refuse_nesting(data, limits, json=media_type == media_types.JSON_LD)
        return ParsedDocument(parse_rdf(data, media_type, base, document.dataset, limits))
    except DocumentRejected as error:
        return ParsedDocument((), (reject(document.source, error),))


def reject(source: str, error: DocumentRejected) -> Reject:
    """What parsers quote of a document may hold anything, also what a terminal would obey: it is escaped."""
    return Reject(source, error.stage, printable(error.reason), error.mend, error.line, error.column)


def _checked(base: str, limits: GateLimits) -> str:
    size = len(base.encode("utf-8", "replace"))
    if size > limits.term_bytes:
        raise DocumentRejected(
            stage="gate",
            reason=f"its graph IRI has {size} bytes, {limits.term_bytes} are allowed for a term: {base[:60]!r}…",
            mend="name the document's graph by a shorter IRI",
        )
    try:
        return NamedNode(base).value
    except ValueError as error:
        raise DocumentRejected(
            stage="gate",
            reason=f"the graph {base!r} is not an absolute IRI: {error}",
            mend="name the document's graph by an absolute IRI, or by none",
        ) from None
