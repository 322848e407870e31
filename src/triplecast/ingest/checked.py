"""Check a document and parse it in one of the formats that are text: what a parser's child and `harmless` share."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from pyoxigraph import NamedNode

from triplecast.errors import DocumentRejected
from triplecast.ingest import media_types
from triplecast.ingest.document import Document, ParsedDocument, document_iri
from triplecast.ingest.gate import GateLimits, refuse_compressed, refuse_nesting, refuse_size, unpack
from triplecast.ingest.media_types import decide_type
from triplecast.ingest.rdf import parse_rdf, parsed_graphs
from triplecast.model.printable import printable
from triplecast.model.publication import Reject

_HEAD = 4096
_MARK = b"\xef\xbb\xbf"
"""The byte order mark of UTF-8."""
_EXTENSIONS = " ".join(media_types.EXTENSIONS)
_ROOT = re.compile(
    rb"(?>\xef\xbb\xbf|[ \t\r\n]+|<\?(?s:.*?)\?>|<!--(?s:.*?)-->|<!DOCTYPE[^>\[]*>)*+<(rss|feed|rdf:RDF)\b([^>]*)"
)
_VERSION = re.compile(rb"version\s*=\s*[\"']([0-9.]{1,6})[\"']")


Parse = Callable[[Document, str, str | None, str, GateLimits], ParsedDocument]
"""Parses a document of a media type and charset, with a base IRI; may raise DocumentRejected."""


def parse_checked(document: Document, limits: GateLimits, parse: Parse) -> ParsedDocument:
    """Check a document and `parse` it. Raises no DocumentRejected: what fails is a `Reject`."""
    parsed = _parse(document, limits, parse)
    if not parsed.rejects:
        warnings = _warn_of_nothing(parsed, document)
        return parsed._replace(warnings=(*parsed.warnings, *warnings)) if warnings else parsed
    # what parsers quote of a document may hold terminal control characters
    reasons = [printable(reject.reason).replace("\n", "\\n") for reject in parsed.rejects]
    rejects = zip(parsed.rejects, reasons, strict=True)
    return parsed._replace(rejects=tuple(replace(reject, reason=reason) for reject, reason in rejects))


def _parse(document: Document, limits: GateLimits, parse: Parse) -> ParsedDocument:
    media_type = None
    try:
        refuse_size(document.data, limits)
        data = unpack(document.data, limits)
        if data is not document.data:
            document = replace(document, data=data)
        refuse_compressed(data)
        base = _checked(document_iri(document), limits)
        media_type, charset = decide_type(document.media_type, document.source, data)
        return parse(document, media_type, charset, base, limits)
    except DocumentRejected as error:
        meant = _guess_type(document, media_type) if error.stage == "parse" else None
        return ParsedDocument(
            (), (Reject(document.source, error.stage, error.reason, meant or error.hint, error.line, error.column),)
        )


def parse_text(
    document: Document, media_type: str, charset: str | None, base: str, limits: GateLimits
) -> ParsedDocument:
    """Parse Turtle or a relative of it, which are always UTF-8. Raises DocumentRejected."""
    refuse_nesting(document.data.removeprefix(_MARK), limits, json=False)
    return parse_flat(document, media_type, base, limits)


def parse_flat(document: Document, media_type: str, base: str, limits: GateLimits) -> ParsedDocument:
    """As `parse_text`, for a document that cannot nest too deeply."""
    data = document.data.removeprefix(_MARK)
    return parsed_graphs(document, parse_rdf(data, media_type, base, document.dataset, limits, document.split))


def _warn_of_nothing(parsed: ParsedDocument, document: Document) -> tuple[str, ...]:
    """Warn of a document without content, and of a feed that was to be cut."""
    if not parsed.drafts:
        return ("the feed has no items: nothing is published",)
    if document.split is not None and parsed.drafts[0].origin is None:
        return ("it is a feed, whose items are publications already: it is not cut at other roots",)
    for draft in parsed.drafts:
        if draft.quads:
            return ()
    return ("it holds no triples, which only an empty or optional pattern matches; in JSON, keys need a @context",)


def _guess_type(document: Document, media_type: str | None) -> str | None:
    """Return a hint for a document that is empty, whose name tells no format, or whose root element is of another
    format than it was read as; or None."""
    if not document.data.strip():
        return "the document is empty: write it whole before it is read"
    root = _ROOT.match(document.data[:_HEAD])
    if root is None:
        untold = document.media_type is None and media_types.media_type_of(document.source) is None
        return f"give its media type, or a name that ends in one of {_EXTENSIONS}" if untold else None
    if root[1] == b"rdf:RDF":
        name, extension, meant = "RDF/XML", ".rdf", media_types.RDF_XML
    elif root[1] == b"feed":
        name, extension, meant = "an Atom feed", ".atom", media_types.ATOM
    else:
        version = _VERSION.search(root[2])
        name, extension, meant = f"an RSS {version[1].decode() if version else ''}".rstrip(), ".rss", media_types.RSS
        name += " feed"
    if media_type in (meant, media_types.XML, media_types.RSS, media_types.ATOM):
        return None
    return f"this looks like {name}: name it {extension}, or send it as {meant}"


def _checked(base: str, limits: GateLimits) -> str:
    size = len(base.encode("utf-8", "replace"))
    if size > limits.identity_bytes:
        reason = f"its graph IRI has {size} bytes, {limits.identity_bytes} are allowed: {base[:60]!r}…"
        raise DocumentRejected("gate", reason, "name the document's graph by a shorter IRI")
    try:
        return NamedNode(base).value
    except ValueError as error:
        reason = f"the graph {base!r} is not an absolute IRI: {error}"
        raise DocumentRejected("gate", reason, "name the document's graph by an absolute IRI, or omit it") from None
