"""From bytes to publications: pre-parse checks, RDF parsers, feeds, identity and content hash, in killable children
but for small harmless documents (`harmless`).

The children run `triplecast.ingest.parse.parse_document`, which is not imported here: it loads the feed parser.
"""

from triplecast.ingest.document import Document, ParsedDocument, document_iri
from triplecast.ingest.gate import GATE, GateLimits
from triplecast.ingest.media_types import media_type_of
from triplecast.ingest.parser import Parser

__all__ = ["GATE", "Document", "GateLimits", "ParsedDocument", "Parser", "document_iri", "media_type_of"]
