"""The function of a parser's child.

The child can open no file once this module is imported, so whatever parsers load late is loaded here: codecs by
`xml_gate`, the one for international host names, and the rest by parsing one small document of each kind.
"""

from __future__ import annotations

from triplecast.ingest.document import Document
from triplecast.ingest.harmless import parse_harmless
from triplecast.ingest.messages import pack_parsed, unpack_document, unpack_packet
from triplecast.ingest.parse import parse_document
from triplecast.sandbox.messages import pack_parts

_SAMPLES = (
    ("application/rss+xml", b"<rss version='2.0'><channel><item><title>a<pubDate>x &nbsp; 1 Jan 2026 1:00</pubDate>"),
    ("application/atom+xml", b"<feed xmlns='http://www.w3.org/2005/Atom'><entry><id>a:b</id></entry></feed>"),
    ("application/ld+json", b'{"@context": "urn:none", "@id": "a:b"}'),
)


def answer(request: bytes) -> bytes:
    """Parse one document; of a packet parse those that are harmless, and answer nothing for each other one."""
    packet = unpack_packet(request)
    if packet is not None:
        results = [parse_harmless(each) for each in packet]
        return pack_parts([b"" if each is None else pack_parsed(each) for each in results])
    return pack_parsed(parse_document(unpack_document(request)))


"é.example".encode("idna")
for _media_type, _data in _SAMPLES:
    parse_document(Document("sample", _data, _media_type))
