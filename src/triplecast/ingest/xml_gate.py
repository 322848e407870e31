"""XML before its parsers: one encoding (UTF-8), no DTD, bounded nesting, and what its root element is.

The text is decoded first and its declaration blanked, so that the check and the parsers behind it see the same bytes
whatever encoding the document claims. A DTD is refused by defusedxml, a parser: in UTF-16 too.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass
from io import BytesIO
from typing import Any
from xml.sax import SAXParseException
from xml.sax.handler import ContentHandler

from defusedxml.common import DefusedXmlException
from defusedxml.expatreader import DefusedExpatParser

from triplecast.errors import DocumentRejected
from triplecast.ingest.gate import place, too_deep
from triplecast.ingest.limits import GateLimits

RDF_NAMESPACE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
ATOM_NAMESPACES = frozenset(("http://www.w3.org/2005/Atom", "http://purl.org/atom/ns#"))

ENCODINGS = (
    *("utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "ascii", "iso8859-1", "cp1252", "cp1250", "cp1251"),
    *("cp1253", "cp1254", "cp1255", "cp1256", "cp1257", "cp1258", "iso8859-2", "iso8859-3", "iso8859-4", "iso8859-5"),
    *("iso8859-6", "iso8859-7", "iso8859-8", "iso8859-9", "iso8859-10", "iso8859-13", "iso8859-14", "iso8859-15"),
    *("koi8-r", "koi8-u", "shift_jis", "euc_jp", "iso2022_jp", "gb2312", "gbk", "gb18030", "big5", "euc_kr"),
    *("cp866", "cp437", "mac-roman", "tis-620"),
)
"""What a document may be encoded in. Looked up at import, because a sandboxed child can open no codec's file later."""
_CODECS = {codecs.lookup(name).name: codecs.lookup(name) for name in ENCODINGS}

_DECLARATION = re.compile(rb"\s*<\?xml\s[^>]*?\?>")
_DECLARED = re.compile(rb"<\?xml\s[^>]*?\bencoding\s*=\s*[\"']([A-Za-z0-9._:-]+)[\"']")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\0?\0", "utf-16-le"),
    (b"\0<\0?", "utf-16-be"),
)
_DOCTYPE = re.compile(rb"<!(?:DOCTYPE|ENTITY)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class XmlDocument:
    """XML that passed the gate."""

    data: bytes
    """UTF-8 without declaration; places are those of the decoded original."""
    root: str
    """Local name of the root element; empty when there is none."""
    namespace: str
    """Its namespace, or empty."""
    fault: DocumentRejected | None
    """Why it is not well formed. Feed parsers may still save something."""


def pass_xml(data: bytes, charset: str | None, limits: GateLimits) -> XmlDocument:
    """Raises DocumentRejected for a DTD, an unknown encoding or too deep nesting."""
    text, fault = decode(data, charset)
    shape = _Shape(limits)
    parser = DefusedExpatParser(forbid_dtd=True, forbid_entities=True, forbid_external=True)
    parser.setContentHandler(shape)
    try:
        parser.parse(BytesIO(text))
    except DefusedXmlException:
        raise _dtd_refused(parser.getLineNumber(), parser.getColumnNumber() + 1) from None
    except SAXParseException as error:
        fault = fault or _ill_formed(error)
        _refuse_hidden_dtd(text)
    return XmlDocument(text, shape.root, shape.namespace, fault)


def decode(data: bytes, charset: str | None) -> tuple[bytes, DocumentRejected | None]:
    """UTF-8 without byte order mark and declaration; the second is the fault when bytes had to be guessed."""
    encoding = _encoding(data, charset)
    fault = None
    if encoding == "utf-8":
        text = data.removeprefix(codecs.BOM_UTF8)
        try:
            text.decode("utf-8")
        except UnicodeDecodeError as error:
            fault = _undecodable(error, encoding)
            text = _guess(text)
    else:
        decoder = _codec(encoding)
        try:
            decoded = decoder.decode(data, "strict")[0]
        except UnicodeDecodeError as error:
            fault = _undecodable(error, encoding)
            decoded = decoder.decode(data, "replace")[0]
        text = decoded.removeprefix("\ufeff").encode("utf-8", "replace")
    declaration = _DECLARATION.match(text)
    if declaration:
        text = re.sub(rb"[^\n]", b" ", declaration[0]) + text[declaration.end() :]
    return text, fault


def _encoding(data: bytes, charset: str | None) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    if charset:
        return charset.lower()
    declared = _DECLARED.match(data.lstrip()[:1024])
    name = declared[1].decode("ascii").lower() if declared else "utf-8"
    return (
        "utf-8" if name in ("utf8", "us-ascii", "utf-16", "utf16", "ucs-2") else name
    )  # it was read as ASCII just now


def _codec(encoding: str) -> codecs.CodecInfo:
    try:
        return _CODECS[codecs.lookup(encoding).name]
    except (LookupError, OSError):
        raise DocumentRejected(
            stage="gate",
            reason=f"the encoding {encoding!r} is not one that can be read",
            mend="save the document as UTF-8",
        ) from None


def _guess(text: bytes) -> bytes:
    """Bytes that claim to be UTF-8 and are not: Windows-1252, as browsers read them."""
    return text.decode("cp1252", "replace").encode()


class _Shape(ContentHandler):
    """Follows depth and remembers the root."""

    def __init__(self, limits: GateLimits) -> None:
        super().__init__()
        self.root = ""
        self.namespace = ""
        self._limits = limits
        self._depth = 0
        self._locator: Any = None

    def setDocumentLocator(self, locator: Any) -> None:
        self._locator = locator

    def startElement(self, name: str, attrs: Any) -> None:
        if not self.root:
            prefix, _, local = name.rpartition(":")
            self.root = local
            self.namespace = attrs.get(f"xmlns:{prefix}" if prefix else "xmlns", "")
        self._depth += 1
        if self._depth > self._limits.nesting:
            raise too_deep(self._limits, self._locator.getLineNumber(), self._locator.getColumnNumber() + 1)
        if len(attrs) > self._limits.attributes:
            raise DocumentRejected(
                stage="gate",
                reason=f"the element <{name}> has {len(attrs)} attributes, {self._limits.attributes} are allowed",
                mend="write properties as elements",
                line=self._locator.getLineNumber(),
                column=self._locator.getColumnNumber() + 1,
            )

    def endElement(self, name: str) -> None:
        self._depth -= 1


def _refuse_hidden_dtd(text: bytes) -> None:
    """Behind the place where XML ends being XML only a tolerant parser looks: any DTD there is refused by its look."""
    hidden = _DOCTYPE.search(text)
    if hidden:
        raise _dtd_refused(*place(text, hidden.start()))


def _dtd_refused(line: int | None, column: int | None) -> DocumentRejected:
    return DocumentRejected(
        stage="gate",
        reason="it declares a document type (DOCTYPE) or entities, which are refused in XML",
        mend="remove the DOCTYPE and write the characters themselves instead of entities",
        line=line,
        column=column,
    )


def _ill_formed(error: SAXParseException) -> DocumentRejected:
    column = error.getColumnNumber()
    return DocumentRejected(
        stage="parse",
        reason=f"not well-formed XML: {error.getMessage()}",
        mend="repair the XML at this place",
        line=error.getLineNumber(),
        column=None if column is None else column + 1,
    )


def _undecodable(error: UnicodeDecodeError, encoding: str) -> DocumentRejected:
    line, column = place(error.object, error.start)
    return DocumentRejected(
        stage="parse",
        reason=f"the bytes are not in the encoding {encoding} that the document claims ({error.reason})",
        mend="save the document as UTF-8 or declare its true encoding",
        line=line,
        column=column,
    )
