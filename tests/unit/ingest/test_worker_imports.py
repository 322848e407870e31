"""The parser's child can open no file: what a parser loads late has to be loaded before."""

from __future__ import annotations

from triplecast.ingest import Document, Parser

FEED = """<feed xmlns="http://www.w3.org/2005/Atom" xml:base="http://www.詹姆斯.com/feed">
<id>http://example.org/</id><title>t</title>
<entry><id>http://example.org/1</id><title>a</title><link href="one"/></entry></feed>"""


def test_a_host_name_beyond_ascii_is_read() -> None:
    with Parser() as parser:
        (parsed,) = parser.parse([Document("feed.atom", FEED.encode(), "application/atom+xml")])
    assert [draft.graph for draft in parsed.drafts] == ["http://example.org/1"]
    assert parsed.rejects == ()
