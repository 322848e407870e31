"""Pre-parse checks of XML: decode it to UTF-8, refuse DTDs, bound nesting and items, and find the root element.

The text is decoded first and its declaration blanked, so that checks and parsers see the same bytes whatever encoding
is declared. A DOCTYPE that only names a DTD is blanked too; defusedxml refuses any other.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any, NamedTuple
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import DefusedExpatParser

from triplecast.errors import DocumentRejected
from triplecast.ingest.gate import place, too_deep
from triplecast.ingest.limits import GateLimits
from triplecast.ingest.xml_encoding import blank, decode

RDF_NAMESPACE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"

_DECLARES = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)
_PLAIN_DOCTYPE = re.compile(
    rb"(?:\s++|<!--(?:[^-]++|-(?!->))*+-->|<\?(?:[^?]++|\?(?!>))*+\?>)*+"
    rb"(<!(?i:DOCTYPE)\s++[^\s<>\[\]\"'&%]++(?:\s++(?:PUBLIC\s++@(?:\s*+@)?|SYSTEM\s++@))?\s*+(?:\[\s*+\]\s*+)?>)".replace(
        b"@", rb"(?:\"[^\"]*+\"|'[^']*+')"
    )
)
"""A document type at the start that declares nothing itself: at most it names a DTD."""
_ITEMS = frozenset(("item", "entry"))
_ITEM = re.compile(rb"<(?:[^\s<>/:]+:)?(?:item|entry)[\s/>]", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class XmlDocument:
    """XML that passed the checks."""

    data: bytes
    """UTF-8 without declaration and DOCTYPE; places are those of the decoded document."""
    root: str
    """The root element's local name, or empty."""
    namespace: str
    """Its namespace, or empty."""
    fault: DocumentRejected | None
    """Why it is not well formed; a feed may be readable in part."""
    feed: bytes
    """`data` with as many items as a feed may have; well formed if `data` is up to the next item."""
    has_more: bool
    """Whether items were cut off."""


def pass_xml(data: bytes, charset: str | None, limits: GateLimits) -> XmlDocument:
    """Check XML. Raises DocumentRejected for entity or element declarations, unknown encodings, and limits exceeded."""
    text, fault = decode(data, charset)
    text = _without_plain_doctype(text)
    parser = DefusedExpatParser(forbid_dtd=True, forbid_entities=True, forbid_external=True)
    shape = _Shape(limits, lambda: int(parser._parser.CurrentByteIndex))
    parser.setContentHandler(shape)
    try:
        parser.parse(BytesIO(text))
    except DefusedXmlException:
        raise _dtd_refused(parser.getLineNumber(), parser.getColumnNumber() + 1) from None
    except SAXParseException as error:
        fault = fault or _ill_formed(error)
        _refuse_hidden_dtd(text)
        feed = shape.feed or _first_items(text, limits)
    else:
        feed = shape.feed or _Cut(len(text), b"")
    cut = feed.offset < len(text)
    return XmlDocument(
        text, shape.root, shape.namespace, fault, text[: feed.offset] + feed.closing if cut else text, cut
    )


def _first_items(text: bytes, limits: GateLimits) -> _Cut:
    """Cut text that is not well formed by the look of its items, as a tolerant parser finds them."""
    beyond = next(islice(_ITEM.finditer(text), limits.feed_items, None), None)
    return _Cut(len(text) if beyond is None else beyond.start(), b"")


def _without_plain_doctype(text: bytes) -> bytes:
    """Blank the one form of DOCTYPE that is accepted: no parser sees it, and its DTD is never fetched."""
    plain = _PLAIN_DOCTYPE.match(text)
    return text if plain is None else text[: plain.start(1)] + blank(plain[1]) + text[plain.end() :]


class _Cut(NamedTuple):
    """Where to cut a document, and the end tags of the elements that are open there."""

    offset: int
    closing: bytes


class _Shape(ContentHandler):
    """Checks depth and attributes, keeps the root, and counts the items of a feed, none of which is inside another.

    `offset` returns the parser's place in the document, in bytes.
    """

    def __init__(self, limits: GateLimits, offset: Callable[[], int]) -> None:
        super().__init__()
        self.root = ""
        self.namespace = ""
        self._limits = limits
        self.feed: _Cut | None = None
        """Where the first item beyond the limit begins."""
        self._open: list[str] = []
        self._items = 0
        self._item_depth = 0
        """The depth of the open item; 0 outside items."""
        self._offset = offset
        self._locator: Any = None

    def setDocumentLocator(self, locator: Any) -> None:
        self._locator = locator

    def startElement(self, name: str, attrs: Any) -> None:
        prefix, _, local = name.rpartition(":")
        if not self.root:
            self.root = local
            self.namespace = attrs.get(f"xmlns:{prefix}" if prefix else "xmlns", "")
        if local in _ITEMS and not self._item_depth:
            self._count_item()
        self._open.append(name)
        if len(self._open) > self._limits.nesting:
            raise too_deep(self._limits, *self._place())
        if len(attrs) > self._limits.attributes:
            reason = f"the element <{name}> has {len(attrs)} attributes, {self._limits.attributes} are allowed"
            raise DocumentRejected("gate", reason, "write properties as elements", *self._place())

    def _place(self) -> tuple[int, int]:
        return self._locator.getLineNumber(), self._locator.getColumnNumber() + 1

    def _count_item(self) -> None:
        self._items += 1
        self._item_depth = len(self._open) + 1
        if self._items == self._limits.feed_items + 1:
            self.feed = _Cut(self._offset(), "".join(f"</{name}>" for name in reversed(self._open)).encode())

    def endElement(self, name: str) -> None:
        self._open.pop()
        if len(self._open) < self._item_depth:
            self._item_depth = 0


def _refuse_hidden_dtd(text: bytes) -> None:
    """Refuse any DTD, by its look, in text that is not well formed, which only a tolerant parser reads to its end."""
    hidden = _DECLARES.search(text)
    if hidden:
        raise _dtd_refused(*place(text, hidden.start()))


def _dtd_refused(line: int | None, column: int | None) -> DocumentRejected:
    reason = "it has a DOCTYPE with declarations, or one that is not at the start"
    hint = "remove the DOCTYPE and write characters instead of entities"
    return DocumentRejected("gate", reason, hint, line, column)


def _ill_formed(error: SAXParseException) -> DocumentRejected:
    column = error.getColumnNumber()
    message = error.getMessage()
    undefined = message.startswith("undefined entity")
    hint = "write the character itself instead of the entity" if undefined else "repair the XML at this place"
    at = None if column is None else column + 1
    return DocumentRejected("parse", f"not well-formed XML: {message}", hint, error.getLineNumber(), at)
