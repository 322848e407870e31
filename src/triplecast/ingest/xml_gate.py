"""Pre-parse checks of XML: decode it to UTF-8, refuse DTDs, bound nesting and items, and find the root element.

The text is decoded first and its declaration blanked, so that checks and parsers see the same bytes whatever encoding
is declared. A DOCTYPE that only names a DTD is blanked too; defusedxml refuses any other.

A label of an encoding means what the WHATWG Encoding Standard says (ISO-8859-1 is Windows-1252, GB2312 is GB18030,
Shift_JIS is Windows-31J), for encodings that Python has codecs for. Exceptions: US-ASCII is read as UTF-8, UTF-32 and
IBM437 are known, and those that the standard replaces for safety (HZ, ISO-2022-KR) are unknown.
"""

from __future__ import annotations

import codecs
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
from triplecast.ingest.gate import GateLimits, place, too_deep

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
        hidden = _DECLARES.search(text)  # by its look: only a tolerant parser reads such text to its end
        if hidden:
            raise _dtd_refused(*place(text, hidden.start())) from None
        beyond = next(islice(_ITEM.finditer(text), limits.publications, None), None)  # as a tolerant parser finds them
        feed = shape.feed or _Cut(len(text) if beyond is None else beyond.start(), b"")
    else:
        feed = shape.feed or _Cut(len(text), b"")
    cut = feed.offset < len(text)
    return XmlDocument(
        text, shape.root, shape.namespace, fault, text[: feed.offset] + feed.closing if cut else text, cut
    )


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
        if any(value == "Triple" and key.endswith(":parseType") for key, value in attrs.items()):
            reason = f'the element <{name}> has rdf:parseType="Triple" (RDF 1.2), which is not supported'
            raise DocumentRejected("gate", reason, "use rdf:Statement instead", *self._place())

    def _place(self) -> tuple[int, int]:
        return self._locator.getLineNumber(), self._locator.getColumnNumber() + 1

    def _count_item(self) -> None:
        self._items += 1
        self._item_depth = len(self._open) + 1
        if self._items == self._limits.publications + 1:
            self.feed = _Cut(self._offset(), "".join(f"</{name}>" for name in reversed(self._open)).encode())

    def endElement(self, name: str) -> None:
        self._open.pop()
        if len(self._open) < self._item_depth:
            self._item_depth = 0


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


_LABELS = {
    "utf-8": "utf8 unicode11utf8 unicode20utf8 xunicode20utf8 ascii usascii ansix341968 csascii",
    "utf-16-le": "utf16 utf16le ucs2 iso10646ucs2 csunicode unicode unicodefeff",
    "utf-16-be": "utf16be unicodefffe",
    "utf-32": "utf32",
    "utf-32-le": "utf32le",
    "utf-32-be": "utf32be",
    "cp1252": "cp1252 windows1252 xcp1252 iso88591 iso885911987 latin1 l1 isoir100 csisolatin1 cp819 ibm819",
    "iso8859-2": "iso88592 iso885921987 latin2 l2 isoir101 csisolatin2",
    "iso8859-3": "iso88593 iso885931988 latin3 l3 isoir109 csisolatin3",
    "iso8859-4": "iso88594 iso885941988 latin4 l4 isoir110 csisolatin4",
    "iso8859-5": "iso88595 iso885951988 cyrillic isoir144 csisolatincyrillic",
    "iso8859-6": "iso88596 iso885961987 iso88596e iso88596i arabic asmo708 ecma114 isoir127 csiso88596e csiso88596i "
    "csisolatinarabic",
    "iso8859-7": "iso88597 iso885971987 greek greek8 ecma118 elot928 suneugreek isoir126 csisolatingreek",
    "iso8859-8": "iso88598 iso885981988 iso88598e iso88598i hebrew visual logical isoir138 csiso88598e csiso88598i "
    "csisolatinhebrew",
    "iso8859-10": "iso885910 latin6 l6 isoir157 csisolatin6",
    "iso8859-13": "iso885913",
    "iso8859-14": "iso885914",
    "iso8859-15": "iso885915 latin9 l9 csisolatin9",
    "iso8859-16": "iso885916",
    "cp874": "windows874 dos874 cp874 iso885911 tis620",
    "cp1250": "cp1250 windows1250 xcp1250",
    "cp1251": "cp1251 windows1251 xcp1251",
    "cp1253": "cp1253 windows1253 xcp1253",
    "cp1254": "cp1254 windows1254 xcp1254 iso88599 iso885991989 latin5 l5 isoir148 csisolatin5",
    "cp1255": "cp1255 windows1255 xcp1255",
    "cp1256": "cp1256 windows1256 xcp1256",
    "cp1257": "cp1257 windows1257 xcp1257",
    "cp1258": "cp1258 windows1258 xcp1258",
    "cp437": "cp437 ibm437 437 cspc8codepage437",
    "cp866": "cp866 ibm866 866 csibm866",
    "koi8-r": "koi8r koi8 koi cskoi8r",
    "koi8-u": "koi8u koi8ru",
    "mac-roman": "macintosh macroman mac xmacroman csmacintosh",
    "mac-cyrillic": "maccyrillic xmaccyrillic xmacukrainian",
    "gb18030": "gb18030 gbk xgbk cp936 ms936 windows936 gb2312 gb231280 euccn chinese isoir58 csgb2312 csiso58gb231280",
    "big5hkscs": "big5 big5hkscs cnbig5 xxbig5 xbig5 csbig5 cp950 ms950 windows950",
    "euc-jp": "eucjp xeucjp ujis cseucpkdfmtjapanese",
    "iso2022-jp": "iso2022jp csiso2022jp",
    "cp932": "shiftjis sjis xsjis mskanji ms932 cp932 windows932 windows31j cswindows31j csshiftjis",
    "cp949": "euckr cp949 ms949 uhc windows949 xwindows949 korean ksc5601 ksc56011987 ksc56011989 isoir149 cseuckr "
    "csksc56011987",
}
"""Labels by codec, in lower case, letters and digits only."""
_CODECS = {label: codecs.lookup(codec) for codec, labels in _LABELS.items() for label in labels.split()}
"""Looked up at import, since a sandboxed child cannot open a codec's file later."""
_WIDE = frozenset(label for codec in _LABELS if codec[:6] in ("utf-16", "utf-32") for label in _LABELS[codec].split())

_DECLARATION = re.compile(rb"\s*<\?xml\s[^>]*?\?>")
_DECLARED = re.compile(rb"<\?xml\s[^>]*?\bencoding\s*=\s*[\"']\s*([A-Za-z0-9._: -]+)[\"']")
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
    (b"<\0\0\0", "utf-32-le"),
    (b"\0\0\0<", "utf-32-be"),
    (b"<\0", "utf-16-le"),
    (b"\0<", "utf-16-be"),
)
"""Byte order marks, and the first character of XML in a wide encoding without one."""
_UNASSIGNED = "triplecast-unassigned"
"""The name of the error handler below."""


def decode(data: bytes, charset: str | None) -> tuple[bytes, DocumentRejected | None]:
    """Return UTF-8 without byte order mark and declaration, and the error if bytes had to be guessed.

    A byte order mark goes before `charset`, which goes before the document's declaration. Raises DocumentRejected for
    an unknown label.
    """
    encoding = _encoding(data, charset)
    decoder = _codec(encoding)
    fault = None
    try:
        text = decoder.decode(data, _UNASSIGNED)[0]
    except UnicodeDecodeError as error:
        reason = f"the bytes are not in the encoding {encoding} ({error.reason})"
        hint = "save the document as UTF-8 or declare its true encoding"
        fault = DocumentRejected("parse", reason, hint, *place(error.object, error.start))
        guess = "cp1252" if decoder.name == "utf-8" else decoder.name
        text = data.removeprefix(codecs.BOM_UTF8).decode(guess, "replace")
    encoded = text.removeprefix("\ufeff").encode("utf-8", "replace")
    declaration = _DECLARATION.match(encoded)
    if declaration:
        encoded = blank(declaration[0]) + encoded[declaration.end() :]
    return encoded, fault


def blank(text: bytes) -> bytes:
    """Replace all but newlines by spaces, so that later places stay the same."""
    return re.sub(rb"[^\n]", b" ", text)


def _encoding(data: bytes, charset: str | None) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return encoding
    declared = _DECLARED.match(data.lstrip()[:1024])
    for label in (charset, declared[1].decode("ascii") if declared else None):
        if label and _letters(label) not in _WIDE:
            return label.strip().lower()
    return "utf-8"  # a wide label is wrong if the first character is not wide


def _letters(label: str) -> str:
    return re.sub(r"[^a-z0-9]", "", label.lower())


def _codec(encoding: str) -> codecs.CodecInfo:
    found = _CODECS.get(_letters(encoding))
    if found is None:
        raise DocumentRejected("gate", f"the encoding {encoding!r} is not supported", "save the document as UTF-8")
    return found


def _keep_control(error: UnicodeError) -> tuple[str, int]:
    """Decode a byte from 80 to 9F that a Windows code page does not assign as the control character of that number."""
    if isinstance(error, UnicodeDecodeError) and error.encoding == "charmap":
        kept = error.object[error.start : error.end]
        if all(0x80 <= byte < 0xA0 for byte in kept):
            return kept.decode("latin-1"), error.end
    raise error


codecs.register_error(_UNASSIGNED, _keep_control)
