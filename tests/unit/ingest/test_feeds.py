"""The same item in every feed format, and what each format holds beside it."""

from __future__ import annotations

import json

import pytest
from pyoxigraph import RdfFormat, Store

from triplecast.errors import DocumentRejected
from triplecast.ingest import GATE, Document, GateLimits, Parser
from triplecast.ingest.feed_item import date_time
from triplecast.ingest.parse import parse_document
from triplecast.ingest.rdf import make_draft
from triplecast.model.publication import Draft

NEWS = "http://news.example/"
DC_SUBJECT = "http://purl.org/dc/elements/1.1/subject"
DATE = '"2026-11-21T10:00:00+01:00"^^<http://www.w3.org/2001/XMLSchema#dateTime>'

RSS_2 = """<?xml version="1.0" encoding="UTF-8"?>
<rss version="2.0" xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/">
<channel><title>News</title><link>http://news.example/</link><description>All of it</description>
<item><title>Bees &amp; wasps</title><link>http://news.example/1?a=1&amp;b=2</link><guid>http://news.example/1?a=1&amp;b=2</guid>
<description>Short &lt;b&gt;text&lt;/b&gt;</description><content:encoded><![CDATA[<p>Long é</p>]]></content:encoded>
<dc:creator>Ann</dc:creator><pubDate>Sat, 21 Nov 2026 10:00:00 +0100</pubDate><category>insects</category></item>
</channel></rss>"""
ATOM = """<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom"><title>News</title><id>http://news.example/</id><link href="http://news.example/"/>
<updated>2026-11-21T10:00:00+01:00</updated>
<entry><title>Bees &amp; wasps</title><link href="http://news.example/1?a=1&amp;b=2"/><id>http://news.example/1?a=1&amp;b=2</id>
<summary type="html">Short &lt;b&gt;text&lt;/b&gt;</summary><content type="html">&lt;p&gt;Long é&lt;/p&gt;</content>
<author><name>Ann</name></author><published>2026-11-21T10:00:00+01:00</published><updated>2026-11-22T10:00:00+01:00</updated>
<category term="insects"/></entry></feed>"""
RSS_1 = """<?xml version="1.0" encoding="UTF-8"?>
<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"
  xmlns:content="http://purl.org/rss/1.0/modules/content/" xmlns:dc="http://purl.org/dc/elements/1.1/" xmlns:x="http://x.example/">
<channel rdf:about="http://news.example/"><title>News</title><link>http://news.example/</link><dc:date>2026-11-30</dc:date>
<items><rdf:Seq><rdf:li rdf:resource="http://news.example/1?a=1&amp;b=2"/></rdf:Seq></items></channel>
<item rdf:about="http://news.example/1?a=1&amp;b=2"><title>Bees &amp; wasps</title><link>http://news.example/1?a=1&amp;b=2</link>
<description>Short &lt;b&gt;text&lt;/b&gt;</description><content:encoded><![CDATA[<p>Long é</p>]]></content:encoded>
<dc:creator>Ann</dc:creator><dc:date>2026-11-21T10:00:00+01:00</dc:date><dc:subject>insects</dc:subject>
<x:place rdf:resource="http://x.example/p"/><x:part rdf:parseType="Resource"><x:n>1</x:n></x:part></item>
<rdf:Description rdf:about="http://x.example/p"><x:name>Place</x:name></rdf:Description>
<rdf:Description rdf:about="http://x.example/unrelated"><x:name>Unrelated</x:name></rdf:Description></rdf:RDF>"""
JSON_FEED = """{"version": "https://jsonfeed.org/version/1.1", "title": "News", "home_page_url": "http://news.example/",
"items": [{"id": "http://news.example/1?a=1&b=2", "url": "/1?a=1&b=2", "title": "Bees & wasps",
"summary": "Short <b>text</b>", "content_html": "<p>Long é</p>", "content_text": "Long é", "tags": ["insects"],
"authors": [{"name": "Ann"}], "date_published": "2026-11-21T10:00:00+01:00"}]}"""
FORMATS = {
    "f.json": JSON_FEED,
    "f.jsonld": JSON_FEED,
    "f.rss": RSS_2,
    "f.atom": ATOM,
    "f.rdf": RSS_1,
    "rss2.xml": RSS_2,
    "atom.xml": ATOM,
    "rss1.xml": RSS_1,
    "rss1.rss": RSS_1,
}

QUERY = """PREFIX rss: <http://purl.org/rss/1.0/> PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX content: <http://purl.org/rss/1.0/modules/content/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
SELECT ?item ?link ?date {
  ?item a rss:item ; rss:title "Bees & wasps" ; rss:link ?link ; rss:description "Short <b>text</b>" ;
    content:encoded "<p>Long é</p>" ; dc:creator "Ann" ; dc:date ?date ; dc:subject "insects" .
  FILTER(?date >= "2026-11-21T09:00:00Z"^^xsd:dateTime && ?date < "2026-11-22T00:00:00Z"^^xsd:dateTime) }"""


def items(name: str, text: str | bytes, graph: str | None = None) -> tuple[Draft, ...]:
    data = text if isinstance(text, bytes) else text.encode()
    return parse_document(Document(name, data, None, graph)).drafts


def rss(item: str, channel: str = "") -> str:
    return f'<rss version="2.0"><channel>{channel}{item}</channel></rss>'


def atom(entry: str, feed: str = "") -> str:
    return f'<feed xmlns="http://www.w3.org/2005/Atom">{feed}{entry}</feed>'


def says(draft: Draft, *parts: str) -> bool:
    return any(all(part in line for part in parts) for line in draft.quads.decode().splitlines())


@pytest.mark.parametrize("name", FORMATS)
def test_one_query_finds_the_item_in_every_format(name: str) -> None:
    (draft,) = items(name, FORMATS[name])
    assert draft.graph == f"{NEWS}1?a=1&b=2"
    store = Store()
    store.load(draft.quads, format=RdfFormat.N_TRIPLES)
    rows = [(str(row["item"]), str(row["link"]), str(row["date"])) for row in store.query(QUERY)]
    assert rows == [(f"<{NEWS}1?a=1&b=2>", f'"{NEWS}1?a=1&b=2"', DATE)]
    assert says(draft, "isPartOf")
    assert says(draft, '> <http://purl.org/rss/1.0/title> "News"')


def test_sandboxed_feeds_are_the_same() -> None:
    """The child cannot load anything late."""
    documents = [Document(name, text.encode()) for name, text in FORMATS.items()]
    with Parser() as parser:
        assert parser.parse(documents) == [parse_document(document) for document in documents]


def test_rss_1_keeps_its_triples() -> None:
    (draft,) = items("f.rdf", RSS_1)
    assert says(draft, '<http://purl.org/dc/elements/1.1/date> "2026-11-21T10:00:00+01:00" .')
    assert says(draft, "<http://x.example/p> <http://x.example/name>")
    assert says(draft, "_:c14n0 <http://x.example/n>")
    assert not says(draft, "Unrelated")
    assert not says(draft, "2026-11-30"), "what changes at each fetch is no part of an item"


def test_a_change_elsewhere_in_the_feed_changes_no_item() -> None:
    for text in (RSS_2, ATOM, RSS_1):
        changed = (
            text.replace("All of it", "Others")
            .replace("2026-11-30", "2026-12-01")
            .replace("/>\n<updated>2026-11-21", "/>\n<updated>2026-12-01")
        )
        assert changed != text
        assert items("f.xml", text) == items("f.xml", changed)


@pytest.mark.parametrize(
    ("item", "graph"),
    [
        ("<guid>http://e/1</guid><link>http://e/2</link>", "http://e/1"),
        ("<guid isPermaLink='false'>tag:e,2026:1</guid>", "tag:e,2026:1"),
        ("<guid isPermaLink='false'>no 1/ä#</guid><link>http://e/2</link>", "http://f/#no%201/%C3%A4%23"),
        ("<guid>HTTP://E/../1</guid>", "HTTP://E/../1"),
        ("<link>http://e/2</link>", "http://e/2"),
        ("<guid>http://e/with space</guid>", "http://f/#http://e/with%20space"),
    ],
)
def test_identity_of_an_item(item: str, graph: str) -> None:
    (draft,) = items("f.rss", rss(f"<item><title>t</title>{item}</item>"), "http://f/")
    assert draft.graph == graph


def test_an_item_without_id_and_link_is_known_by_its_text() -> None:
    one, two = items("f.rss", rss("<item><title>a</title></item><item><title>b</title></item>"), "http://f/")
    assert one.graph.startswith("http://f/#item-")
    assert one.graph != two.graph
    assert items("f.rss", rss("<item><title>b</title></item>"), "http://f/")[0].graph == two.graph


def test_a_second_item_of_one_id_is_told_when_it_differs() -> None:
    same = "<item><guid>x:1</guid><title>a</title></item>"
    other = "<item><guid>x:1</guid><title>b</title></item>"
    assert parse_document(Document("f.rss", rss(same + same).encode())).rejects == ()
    parsed = parse_document(Document("f.rss", rss(same + other).encode()))
    assert len(parsed.drafts) == 1
    assert says(parsed.drafts[0], '"a"')
    assert "x:1" in parsed.rejects[0].reason


def test_links_are_resolved_and_otherwise_left_alone() -> None:
    (draft,) = items("f.rss", rss("<item><title>t</title><link>/a?b=c</link></item>"), "http://f/x/feed.xml")
    assert draft.graph == "http://f/a?b=c"
    (draft,) = items("f.rss", rss("<item><title>t</title><link>/a</link></item>"))
    assert draft.graph == "urn:triplecast:document:f.rss#/a"
    assert says(draft, '<http://purl.org/rss/1.0/link> "/a"')
    (draft,) = items("f.atom", atom('<entry xml:base="http://b/c/"><id>i:1</id><link href="d"/></entry>'), "http://f/")
    assert says(draft, "<http://b/c/d> ")


def test_markup_stays_as_published() -> None:
    script = "<script>alert(1)</script><a href='rel' onclick='x()'>y</a>"
    (draft,) = items("f.rss", rss(f"<item><guid>x:1</guid><description><![CDATA[{script}]]></description></item>"))
    assert says(draft, f'"{script}"')


def test_what_the_formats_hold_beside() -> None:
    (draft,) = items(
        "f.rss",
        rss(
            "<item><guid>x:1</guid><author>ann@e.example (Ann B)</author><category domain='http://s/'>c</category>"
            "<enclosure url='http://e/a.mp3' length='12' type='audio/mpeg'/><comments>http://e/c</comments>"
            "<source url='http://o/'>Other</source></item>",
            "<language>de</language>",
        ),
    )
    assert says(draft, "<http://purl.org/dc/elements/1.1/creator>", '"Ann B"')
    assert says(draft, "foaf/0.1/mbox> <mailto:ann@e.example>")
    assert says(draft, "core#inScheme> <http://s/>")
    assert says(draft, "enc#enclosure> <http://e/a.mp3>")
    assert says(draft, "<http://e/a.mp3>", "enc#type>", '"audio/mpeg"')
    assert says(draft, "<http://e/a.mp3>", "enc#length>", '"12"')
    assert says(draft, "relation/replies> <http://e/c>")
    assert says(draft, "terms/source> <http://o/>")
    assert says(draft, '1.1/language> "de"')
    (draft,) = items(
        "f.atom",
        atom(
            "<entry><id>x:1</id><link rel='via' href='http://v/'/><link rel='enclosure' href='http://e/a' type='x/y'/>"
            "<rights>r</rights><contributor><name>C</name></contributor><updated>2026-01-02T03:04:05Z</updated></entry>",
            "<author><name>F</name><uri>http://a/</uri></author>",
        ),
    )
    assert says(draft, '1.1/creator> "F"'), "Atom entries inherit the feed's author"
    assert says(draft, "foaf/0.1/homepage> <http://a/>")
    assert says(draft, "relation/via> <http://v/>")
    assert says(draft, "enc#enclosure> <http://e/a>")
    assert says(draft, '1.1/rights> "r"')
    assert says(draft, '1.1/contributor> "C"')
    assert says(draft, '1.1/date> "2026-01-02T03:04:05Z"^^')
    assert says(draft, 'terms/modified> "2026-01-02T03:04:05Z"^^')
    assert not says(draft, "issued")


def test_ill_formed_feeds_give_what_can_be_saved() -> None:
    text = RSS_2.replace("Bees &amp; wasps", "Bees & wasps&nbsp;!")
    parsed = parse_document(Document("f.rss", text.encode()))
    (draft,) = parsed.drafts
    assert says(draft, "Bees & wasps")
    (reject,) = parsed.rejects
    assert (reject.stage, reject.line) == ("feed", 4)
    assert "items published: 1" in reject.reason
    broken = RSS_1.replace('xmlns:dc="http://purl.org/dc/elements/1.1/"', "")
    assert [d.graph for d in parse_document(Document("f.xml", broken.encode())).drafts] == [f"{NEWS}1?a=1&b=2"]


def test_wrong_bytes_are_read_as_browsers_do() -> None:
    data = rss("<item><guid>x:1</guid><title>caf\u00e9 \u201cquoted\u201d</title></item>").encode("cp1252")
    parsed = parse_document(Document("f.rss", data))
    assert says(parsed.drafts[0], '"café “quoted”"')
    assert "utf-8" in parsed.rejects[0].reason


def test_half_characters_are_replaced() -> None:
    for reference in ("&#55357;", "&#xD83D;", "&#0;", "&#1114112;", f"&#{'9' * 5000};"):
        (draft,) = items("f.rss", rss(f"<item><guid>x:1</guid><title>a{reference}b&#233;</title></item>"))
        assert says(draft, '"a\ufffdbé"'), reference


def test_a_feed_without_items_gives_nothing() -> None:
    empty_rss_1 = RSS_1[: RSS_1.index("<item ")] + "</rdf:RDF>"
    for text in (rss(""), atom(""), empty_rss_1):
        parsed = parse_document(Document("f.xml", text.encode()))
        assert (parsed.drafts, parsed.rejects) == ((), ())


def test_what_the_feed_parser_falls_over_is_a_reject() -> None:
    text = '<rss version="2.0" xmlns:psc="http://podlove.org/simple-chapters"><channel><item><psc:chapters>'
    text += "<psc:chapter/></psc:chapters></item>"
    parsed = parse_document(Document("f.rss", (text + "</channel></rss>").encode()))
    assert parsed.drafts == ()
    assert (parsed.rejects[0].stage, "chapters" in parsed.rejects[0].hint) == ("feed", True)


def test_rss_0_90_is_a_feed() -> None:
    text = (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://my.netscape.com/rdf/simple/0.9/">'
        "<channel><title>c</title></channel><item><title>t</title><link>http://e/1</link></item></rdf:RDF>"
    )
    (draft,) = items("f.xml", text)
    assert draft.graph == "http://e/1"
    assert says(draft, "rss/1.0/title>", '"t"')


def test_rdf_that_mentions_an_item_is_no_feed() -> None:
    text = RSS_1[: RSS_1.index("<channel")] + RSS_1[RSS_1.index("<item ") :]
    (draft,) = items("f.rdf", text)
    assert draft.graph == "urn:triplecast:document:f.rdf"
    assert says(draft, "Unrelated")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-21T10:00:00+01:00", "2026-11-21T10:00:00+01:00"),
        ("2026-11-21T10:00:00.50Z", "2026-11-21T10:00:00.50Z"),
        ("2026-11-21t10:00:00z", "2026-11-21T10:00:00Z"),
        ("2026-11-21 10:00:00 +0100", "2026-11-21T10:00:00+01:00"),
        ("2026-11-21T10:00-05:30", "2026-11-21T10:00:00-05:30"),
        ("2026-11-21T10:00:00", "2026-11-21T10:00:00Z"),
        ("2026-11-21", "2026-11-21T00:00:00Z"),
        ("2026-11", "2026-11-01T00:00:00Z"),
        ("2026", "2026-01-01T00:00:00Z"),
        ("Sat, 21 Nov 2026 10:00:00 +0100", "2026-11-21T10:00:00+01:00"),
        ("Sat, 21 Nov 2026 10:00:00 GMT", "2026-11-21T10:00:00Z"),
        ("21 Nov 26 10:00 EST", "2026-11-21T10:00:00-05:00"),
        ("Sat, 21 Nov 2026 10:00:00 -0000", "2026-11-21T10:00:00Z"),
        ("2026-02-30", None),
        ("2026-13-01T00:00:00Z", None),
        ("2026-11-21T25:00:00Z", None),
        ("2026-11-21T10:00:00+15:00", None),
        ("Fri, 31 Feb 2026 10:00:00 GMT", None),
        ("yesterday", None),
        ("", None),
        ("1" * 1_000_000, None),
    ],
)
def test_dates(text: str, expected: str | None) -> None:
    assert date_time(text) == expected


def test_a_date_that_is_none_stays_a_string() -> None:
    (draft,) = items("f.rss", rss("<item><guid>x:1</guid><pubDate>soon</pubDate></item>"))
    assert says(draft, '1.1/date> "soon" .')


def test_sloppy_dates_are_read_by_the_feed_parser() -> None:
    (draft,) = items("f.rss", rss("<item><guid>x:1</guid><pubDate>Sat Nov 21 10:00:00 2026</pubDate></item>"))
    assert says(draft, '1.1/date> "2026-11-21T10:00:00Z"^^')


def rss_1(items_xml: str) -> str:
    return (
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
        f'<channel rdf:about="http://f/"><title>F</title></channel>{items_xml}</rdf:RDF>'
    )


@pytest.mark.parametrize(
    "item",
    [
        "<title>A</title><link>http://f/a</link><description>a</description>",
        "<title>A</title><description>a</description>",
        "<title>A</title><link>a</link>",
    ],
)
def test_an_rss_1_item_without_about_is_known_by_link_or_text_not_by_its_place(item: str) -> None:
    (alone,) = items("f.rdf", rss_1(f"<item>{item}</item>"), "http://f/")
    top, below = items("f.rdf", rss_1(f"<item><title>New</title></item><item>{item}</item>"), "http://f/")
    assert below == alone
    assert top.graph.startswith("http://f/#item-")
    (of_rss_2,) = items("f.rss", rss(f"<item>{item}</item>"), "http://f/")
    assert of_rss_2.graph == alone.graph


@pytest.mark.parametrize(
    ("name", "text", "graph"),
    [
        ("f.rss", rss("<item><title>A</title></item>"), "http://f/x#item-e61c21ca716b3b1a"),
        ("f.rss", rss("<item><guid>7</guid><title>A</title></item>"), "http://f/x#7"),
        ("f.rdf", rss_1("<item><title>A</title></item>"), "http://f/x#item-e61c21ca716b3b1a"),
        ("d.trig", "_:g { <a:a> <a:b> 1 }", "http://f/x#graph-1"),
    ],
)
def test_the_fragment_of_a_documents_iri_goes_where_a_part_is_named(name: str, text: str, graph: str) -> None:
    assert [draft.graph for draft in items(name, text, "http://f/x#y")] == [graph]


def test_an_identity_that_is_no_iri_is_a_reject() -> None:
    with pytest.raises(DocumentRejected, match="no absolute IRI"):
        make_draft("http://f/#a#b", [], b"", GATE)


SELF = '<link xmlns="http://www.w3.org/2005/Atom" rel="self" href="{}"/>'
CHANNEL_RDF = (
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/">'
    "<channel{}>{}</channel><item><title>a</title></item></rdf:RDF>"
)
ITEM_7 = "<item><guid isPermaLink='false'>7</guid></item>"


@pytest.mark.parametrize(
    ("name", "text", "feed"),
    [
        ("f.rss", rss(ITEM_7, SELF.format("http://f/feed") + "<link>http://f/</link>"), "http://f/feed"),
        ("f.rss", rss(ITEM_7, SELF.format("/feed") + "<link>http://f/</link>"), "http://f/"),
        ("f.rss", rss(ITEM_7, "<link>http://f/</link>"), "http://f/"),
        ("f.rss", rss(ITEM_7, "<link>/</link>"), "urn:triplecast:document:f.rss"),
        (
            "f.atom",
            atom("<entry><id>7</id></entry>", '<id>tag:f,1:x</id><link rel="self" href="http://f/x"/>'),
            "http://f/x",
        ),
        ("f.atom", atom("<entry><id>7</id></entry>", '<id>tag:f,1:x</id><link href="http://f/"/>'), "tag:f,1:x"),
        ("f.atom", atom("<entry><id>7</id></entry>", '<id>x</id><link href="http://f/"/>'), "http://f/"),
        ("f.rdf", CHANNEL_RDF.format(' rdf:about="http://f/r"', "<link>http://f/</link>"), "http://f/r"),
        ("f.rdf", CHANNEL_RDF.format(' rdf:about=""', "<link>http://f/</link>"), "http://f/"),
        ("f.rdf", CHANNEL_RDF.format("", "<link>http://f/</link>"), "http://f/"),
        ("f.rdf", CHANNEL_RDF.format("", ""), "urn:triplecast:document:f.rdf"),
    ],
)
def test_a_feed_without_a_name_is_what_it_says_that_it_is(name: str, text: str, feed: str) -> None:
    (draft,) = items(name, text)
    assert draft.graph.startswith(f"{feed}#")
    assert says(draft, f"<http://purl.org/dc/terms/isPartOf> <{feed}>")
    (named,) = items(name, text, "http://given/")
    assert named.graph.startswith("http://given/#")


def test_the_link_of_an_item_is_completed_by_the_feeds_own_address() -> None:
    (draft,) = items("f.rss", rss("<item><link>a?b=c</link></item>", SELF.format("http://f/x/feed")))
    assert draft.graph == "http://f/x/a?b=c"


@pytest.mark.parametrize("fault", ["", "&nbsp;"])
@pytest.mark.parametrize("place", ["before", "behind"])
def test_what_is_said_of_a_file_is_not_said_of_the_item(fault: str, place: str) -> None:
    file = (
        '<media:content url="http://e/a"><media:title type="plain">of the file</media:title>'
        "<media:description>of the file</media:description></media:content>"
        "<enclosure url='http://e/a'><media:title>of the file</media:title>"
        "</enclosure><media:category>bees</media:category>"
    )
    spaces = 'xmlns:media="http://search.yahoo.com/mrss/"'
    for own in (
        "<description>own</description>",
        "<title>own</title><description>own</description>",
        "<title>own</title>",
    ):
        item = file + own if place == "before" else own + file
        text = rss(f"<item><guid>http://e/1</guid>{item}{fault}</item>").replace("<rss", f"<rss {spaces}")
        (draft,) = items("f.rss", text)
        assert b"of the file" not in draft.quads
        assert draft.quads.count(b'"own"') == own.count("</")
        assert says(draft, f'<{DC_SUBJECT}> "bees"')


def test_a_podcasts_summary_is_its_description_where_it_has_no_other() -> None:
    def of(item: str) -> Draft:
        text = rss(f"<item><guid>http://e/1</guid>{item}<itunes:summary>short</itunes:summary></item>")
        (draft,) = items(
            "f.rss", text.replace("<rss", '<rss xmlns:itunes="http://www.itunes.com/DTDs/PodCast-1.0.dtd"')
        )
        return draft

    assert says(of(""), '<http://purl.org/rss/1.0/description> "short"')
    assert b"short" not in of("<description>own</description>").quads


def test_a_json_feed_gives_what_the_same_atom_feed_gives() -> None:
    """A JSON Feed sent as ``application/json`` was accepted and gave nothing: no test sent JSON that is not JSON-LD."""
    atom = """<feed xmlns="http://www.w3.org/2005/Atom" xml:lang="en"><title>T</title><id>http://e/f</id>
    <link href="http://e/"/><author><name>Ann</name><uri>http://ann.example/</uri></author>
    <entry><id>7</id><title>A</title><link href="http://e/a"/><link rel="related" href="http://other/"/>
    <link rel="enclosure" href="http://e/a.mp3" type="audio/mpeg" length="12"/><content>text</content>
    <published>2026-11-22</published><updated>2026-11-23T00:00:00Z</updated></entry></feed>"""
    feed = {
        "version": "https://jsonfeed.org/version/1",
        "title": "T",
        "feed_url": "http://e/f",
        "home_page_url": "http://e/",
        "language": "en",
        "author": {"name": "Ann", "url": "http://ann.example/"},
        "items": [
            {
                "id": 7,
                "title": "A",
                "url": "a",
                "external_url": "http://other/",
                "attachments": [{"url": "a.mp3", "mime_type": "audio/mpeg", "size_in_bytes": 12}, None, {}],
                "content_text": "text",
                "date_published": "2026-11-22",
                "date_modified": "2026-11-23T00:00:00Z",
            }
        ],
    }
    (expected,) = parse_document(Document("f.atom", atom.encode())).drafts
    for media_type in ("application/json", "application/feed+json", "application/ld+json", None):
        parsed = parse_document(Document("f", json.dumps(feed).encode(), media_type))
        assert parsed.rejects == parsed.warnings == ()
        assert parsed.drafts == (expected,)


@pytest.mark.parametrize("number", ["7", "1e400", "1.50", "-0", "123456789" * 100])
def test_a_number_in_a_json_feed_is_the_text_that_is_written(number: str) -> None:
    """Python made `inf` and `1.5` of some; ids were tested as texts and small numbers."""
    feed = f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{{"id": {number}, "title": {number}}}]}}'
    (draft,) = parse_document(Document("f.json", feed.encode(), graph="http://e/feed")).drafts
    assert f'"{number}"'.encode() in draft.quads
    (as_text,) = parse_document(
        Document("f.json", feed.replace(number, f'"{number}"').encode(), graph="http://e/feed")
    ).drafts
    assert (draft.graph, draft.quads) == (as_text.graph, as_text.quads)


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_what_python_reads_and_json_lacks_is_no_json_feed(constant: str) -> None:
    feed = f'{{"version": "https://jsonfeed.org/version/1.1", "items": [{{"id": {constant}}}]}}'
    parsed = parse_document(Document("f.json", feed.encode()))
    assert (parsed.drafts, [reject.stage for reject in parsed.rejects]) == ((), ["parse"])


@pytest.mark.parametrize(
    ("change", "drafts", "word"),
    [
        ({"items": None}, 0, 'no list "items"'),
        ({"items": [7, {"id": "a"}]}, 1, "no objects are left out: 1"),
        ({"items": [{"id": f"{i}"} for i in range(5)]}, 3, "more than 3 items"),
        ({"items": [{"id": "a", "title": "1"}, {"id": "a", "title": "2"}]}, 1, "a second item has the id"),
        ({"items": [{"id": "\ud800", "title": "\ud800"}]}, 1, ""),
        ({"items": []}, 0, "the feed has no items"),
        ({"@context": {"@vocab": "http://e/"}}, 1, ""),
        ({"version": "https://jsonfeed.org/"}, 1, "holds no triples"),
    ],
)
def test_what_a_json_feed_may_have_wrong(change: dict[str, object], drafts: int, word: str) -> None:
    feed = {"version": "https://jsonfeed.org/version/1.1", "items": [{"id": "a"}]} | change
    parsed = parse_document(Document("f.json", json.dumps(feed).encode()), GateLimits(publications=3))
    assert len(parsed.drafts) == drafts
    assert [word in said for said in (*(reject.reason for reject in parsed.rejects), *parsed.warnings)] == [
        True
    ] * bool(word)
