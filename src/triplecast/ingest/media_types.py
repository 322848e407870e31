"""Decide a document's format: by media type, else by extension, else by its content."""

from __future__ import annotations

import re
from collections.abc import Mapping

from triplecast.errors import DocumentRejected

TURTLE = "text/turtle"
N_TRIPLES = "application/n-triples"
N_QUADS = "application/n-quads"
TRIG = "application/trig"
RDF_XML = "application/rdf+xml"
JSON_LD = "application/ld+json"
RSS = "application/rss+xml"
ATOM = "application/atom+xml"
FEED_JSON = "application/feed+json"
XML = "application/xml"
"""The root element decides between RDF/XML, RSS 1.0, RSS 2.0 and Atom."""

XML_TYPES = frozenset((RDF_XML, RSS, ATOM, XML))

_KNOWN = frozenset((TURTLE, N_TRIPLES, N_QUADS, TRIG, JSON_LD)) | XML_TYPES
_SAME = {
    "text/xml": XML,
    "application/x-turtle": TURTLE,
    "text/x-nquads": N_QUADS,
    "application/x-trig": TRIG,
    "application/json": JSON_LD,
    FEED_JSON: JSON_LD,
    "text/rss+xml": RSS,
}
EXTENSIONS: Mapping[str, str] = {
    ".ttl": TURTLE,
    ".nt": N_TRIPLES,
    ".nq": N_QUADS,
    ".trig": TRIG,
    ".rdf": RDF_XML,
    ".jsonld": JSON_LD,
    ".json": JSON_LD,
    ".rss": RSS,
    ".atom": ATOM,
    ".xml": XML,
}
"""Media type by file extension, in lower case; ``.gz`` may follow it."""
COMPRESSED = ".gz"
_OF_COMPRESSED = frozenset(("application/gzip", "application/x-gzip"))
"""Media types that say nothing of what is compressed."""

_JSON_START = re.compile(rb'\s*(?:\{\s*["}]|\[\s*(?:[\[{"]|\]\s*\Z))')
_XML_START = re.compile(
    rb"\s*<(?:\?xml|!--|![Dd][Oo][Cc][Tt][Yy][Pp][Ee]|(?:[A-Za-z][\w.-]*:)?(?:RDF|rss|feed)[\s>/]|html[\s>])"
)


def media_type_of(name: str) -> str | None:
    """Return the media type of a file name's extension; None for an unknown one."""
    stem, dot, extension = name.lower().removesuffix(COMPRESSED).rpartition(".")
    return EXTENSIONS.get(f".{extension}") if dot and stem else None


def decide_type(media_type: str | None, source: str, data: bytes) -> tuple[str, str | None]:
    """Return one of this module's types, and the charset parameter or None. Raises DocumentRejected."""
    if media_type is None:
        return media_type_of(source) or sniff(data), None
    name, _, parameters = media_type.partition(";")
    name = name.strip().lower()
    name = _SAME.get(name, name)
    if name in _OF_COMPRESSED:
        return media_type_of(source) or sniff(data), None
    if name not in _KNOWN:
        reason = f"the media type {name!r} is not supported"
        raise DocumentRejected("gate", reason, f"send it as one of {', '.join(sorted({*_KNOWN, FEED_JSON}))}")
    return name, _charset(parameters)


def sniff(data: bytes) -> str:
    """Decide by content. What is neither XML nor JSON is read as TriG, which includes Turtle."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<"):
        return XML
    start = data.removeprefix(b"\xef\xbb\xbf")
    if _XML_START.match(start):
        return XML
    return JSON_LD if _JSON_START.match(start) else TRIG


def _charset(parameters: str) -> str | None:
    for parameter in parameters.split(";"):
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset":
            return value.strip().strip("\"'") or None
    return None
