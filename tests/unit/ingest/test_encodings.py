"""XML by the label of its encoding, and the DOCTYPEs that are let through."""

from __future__ import annotations

import pytest

from triplecast.ingest import Document, Parser
from triplecast.ingest.parse import parse_document
from triplecast.ingest.xml_gate import decode

NETSCAPE = '<!DOCTYPE rss PUBLIC "-//Netscape Communications//DTD RSS 0.91//EN" "http://127.0.0.1:9/rss-0.91.dtd">'
XHTML = '<!DOCTYPE rss PUBLIC "-//W3C//DTD XHTML 1.0 Strict//EN"\n "http://127.0.0.1:9/xhtml1-strict.dtd" [ ]>'


def feed(title: str, head: str = "") -> str:
    return (
        f"{head}<rss version='0.91'><channel><item><guid>http://e/1</guid><title>{title}</title></item></channel></rss>"
    )


@pytest.mark.parametrize(
    ("label", "codec", "text"),
    [
        ("windows-874", "cp874", "สวัสดี “ไทย”"),
        ("TIS-620", "cp874", "สวัสดี"),
        ("x-sjis", "cp932", "①日本語"),
        ("Shift_JIS", "cp932", "㈱表示"),
        ("cp949", "cp949", "뷁 한국어"),
        ("ks_c_5601-1987", "cp949", "한국어"),
        ("gb2312", "gbk", "镕基 中文"),
        ("x-gbk", "gbk", "中文"),
        ("big5", "big5hkscs", "中文 嘅"),
        ("x-euc-jp", "euc_jp", "日本語"),
        ("iso-8859-1", "cp1252", "it’s – “é” €"),
        ("latin1", "cp1252", "é"),
        ("ISO_8859-1:1987", "cp1252", "é"),
        ("iso-8859-9", "cp1254", "ğ “ş”"),
        ("l2", "iso8859-2", "łódź"),
        ("iso-8859-8-I", "iso8859-8", "שלום"),
        ("csKOI8R", "koi8-r", "мир"),
        ("x-mac-cyrillic", "mac-cyrillic", "мир"),
        ("macintosh", "mac-roman", "é"),
        ("unicode-1-1-utf-8", "utf-8", "é"),
        ("us-ascii", "utf-8", "é"),
        ("UTF-16", "utf-8", "é, for these bytes are not wide"),
        ("iso-10646-ucs-2", "utf-16", "é"),
        ("utf-32", "utf-32", "é"),
    ],
)
def test_a_label_is_what_browsers_take_it_for(label: str, codec: str, text: str) -> None:
    declared = feed(text, f'<?xml version="1.0" encoding="{label}"?>').encode(codec)
    typed = feed(text).encode(codec)
    with Parser() as parser:  # in the child, which can load no codec any more
        documents = [Document("f.rss", declared), Document("f.rss", typed, f"application/rss+xml; charset={label}")]
        for parsed in parser.parse(documents):
            assert parsed.rejects == ()
            assert f'title> "{text}"' in parsed.drafts[0].quads.decode()


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"])
def test_wide_characters_need_no_mark(codec: str) -> None:
    (draft,) = parse_document(Document("f.rss", feed("é").encode(codec))).drafts
    assert 'title> "é"'.encode() in draft.quads


@pytest.mark.parametrize("label", ["hz-gb-2312", "iso-2022-kr", "utf-7", "x-user-defined", "rot13", "../../etc/passwd"])
def test_an_unknown_label_is_refused_by_name(label: str) -> None:
    (reject,) = parse_document(Document("f.rss", b"<rss/>", f"application/rss+xml; charset={label}")).rejects
    assert (reject.stage, f"{label!r}" in reject.reason) == ("gate", True)


def test_a_byte_that_a_code_page_leaves_open_is_a_control_character_and_others_are_faults() -> None:
    assert decode(b"\x81\x92", "windows-1252") == ("\x81’".encode(), None)
    text, fault = decode(b"a\n\xffb", "windows-1253")
    assert text == "a\n\ufffdb".encode()
    assert fault is not None
    assert (fault.line, fault.column) == (2, 1)


@pytest.mark.parametrize(
    "head",
    [
        NETSCAPE,
        XHTML,
        "<!DOCTYPE rss>",
        "<!DOCTYPE rss SYSTEM 'file:///etc/hostname'>",
        f'<?xml version="1.0"?>\n<!-- a -- <!DOCTYPE b> -->\n<?p q?>{NETSCAPE}'.replace("a --", "a"),
    ],
)
def test_a_document_type_that_only_names_a_dtd_is_passed_over(head: str) -> None:
    parsed = parse_document(Document("f.xml", feed("é", head).encode()))
    assert parsed.rejects == ()
    (draft,) = parsed.drafts
    assert draft.graph == "http://e/1"


def test_entities_of_a_dtd_that_is_not_fetched_cost_a_reject_and_no_item() -> None:
    parsed = parse_document(Document("f.xml", feed("caf&eacute;&nbsp;au lait", f"\n{XHTML}\n").encode()))
    assert [draft.graph for draft in parsed.drafts] == ["http://e/1"]
    assert 'title> "café\xa0au lait"'.encode() in parsed.drafts[0].quads
    (reject,) = parsed.rejects
    assert "undefined entity" in reject.reason
    assert (reject.line, reject.hint) == (4, "write the character itself instead of the entity")


def test_rdf_xml_may_name_a_dtd_and_its_entities_are_faults() -> None:
    head = '<!DOCTYPE rdf:RDF PUBLIC "-//DUBLIN CORE//DCMES DTD 2002/07/31//EN" "http://127.0.0.1:9/dcmes-xml-dtd.dtd">'
    body = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
        '<rdf:Description rdf:about="http://e/s"><e:p>{}</e:p></rdf:Description></rdf:RDF>'
    )
    (draft,) = parse_document(Document("d.rdf", (head + body.format("é")).encode())).drafts
    assert draft.quads == '<http://e/s> <http://e/p> "é" .\n'.encode()
    (reject,) = parse_document(Document("d.rdf", (head + body.format("&eacute;")).encode())).rejects
    assert "undefined entity" in reject.reason


@pytest.mark.parametrize("media_type", ["application/rss+xml", "application/xml", None])
@pytest.mark.parametrize("doctype", ["DOCTYPE", "doctype"])
@pytest.mark.parametrize("body", ["<p>ill-formed", "<p>well-formed</p></body></html>"])
def test_a_page_instead_of_a_feed_is_told_as_such(media_type: str | None, body: str, doctype: str) -> None:
    page = f"<!{doctype} html>\n<html lang='en'><body>{body}".encode()
    (reject,) = parse_document(Document("page", page, media_type)).rejects
    assert "an HTML page" in reject.reason
