"""Parse a document of any format to publications and rejects: the pure function that a parser's child runs."""

from __future__ import annotations

from triplecast.ingest import media_types
from triplecast.ingest.checked import parse_checked, parse_text
from triplecast.ingest.document import Document, ParsedDocument
from triplecast.ingest.gate import GATE, GateLimits, refuse_nesting
from triplecast.ingest.json_feed import parse_json_feed
from triplecast.ingest.rdf import parse_rdf, parsed_graphs
from triplecast.ingest.xml_document import parse_xml


def parse_document(document: Document, limits: GateLimits = GATE) -> ParsedDocument:
    """Check and parse a document. Raises no DocumentRejected: what fails is a `Reject`."""
    return parse_checked(document, limits, _parse_format)


def _parse_format(
    document: Document, media_type: str, charset: str | None, base: str, limits: GateLimits
) -> ParsedDocument:
    if media_type in media_types.XML_TYPES:
        return parse_xml(document, media_type, charset, base, limits)
    if media_type != media_types.JSON_LD:
        return parse_text(document, media_type, charset, base, limits)
    data = document.data.removeprefix(b"\xef\xbb\xbf")
    refuse_nesting(data, limits, json=True)
    feed = parse_json_feed(document, data, base, limits)
    return feed or parsed_graphs(document, parse_rdf(data, media_type, base, document.dataset, limits, document.split))
