"""XML documents: RDF/XML, RSS 1.0, or a feed for the feed parser, as type and root element say."""

from __future__ import annotations

from triplecast.errors import DocumentRejected
from triplecast.ingest import media_types
from triplecast.ingest.document import Document, Parsed
from triplecast.ingest.limits import GateLimits
from triplecast.ingest.rdf import parse_rdf
from triplecast.ingest.xml_gate import RDF_NAMESPACE, pass_xml


def parse_xml(document: Document, media_type: str, charset: str | None, base: str, limits: GateLimits) -> Parsed:
    """Raises DocumentRejected."""
    xml = pass_xml(document.data, charset, limits)
    if media_type == media_types.RDF_XML or (xml.root == "RDF" and xml.namespace == RDF_NAMESPACE):
        if xml.fault:
            raise xml.fault
        return Parsed(parse_rdf(xml.data, media_types.RDF_XML, base, document.dataset, limits))
    raise DocumentRejected(stage="gate", reason="feeds are not read yet", mend="wait")
