"""Decode XML in any encoding to UTF-8 without declaration, so that checks and parsers see the same bytes.

A label means what the WHATWG Encoding Standard says (ISO-8859-1 is Windows-1252, GB2312 is GB18030, Shift_JIS is
Windows-31J), for encodings that Python has codecs for. Exceptions: US-ASCII is read as UTF-8, UTF-32 and IBM437 are
known, and those that the standard replaces for safety (HZ, ISO-2022-KR) are unknown.
"""

from __future__ import annotations

import codecs
import re

from triplecast.errors import DocumentRejected
from triplecast.ingest.gate import place

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
        fault = _undecodable(error, encoding)
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


def _undecodable(error: UnicodeDecodeError, encoding: str) -> DocumentRejected:
    line, column = place(error.object, error.start)
    reason = f"the bytes are not in the encoding {encoding} ({error.reason})"
    return DocumentRejected("parse", reason, "save the document as UTF-8 or declare its true encoding", line, column)
