"""Whatever a document does to its parser, it ends as a reject with a reason, and its neighbours are published."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from triplecast.ingest import GATE, Document, GateLimits, Parser
from triplecast.ingest.parse import parse_document
from triplecast.ingest.xml_gate import pass_xml
from triplecast.sandbox import Limits

TURTLE, N_TRIPLES, JSON_LD = "text/turtle", "application/n-triples", "application/ld+json"
RDF_XML, RSS, XML = "application/rdf+xml", "application/rss+xml", "application/xml"
GOOD = Document("good.ttl", b"<http://e/s> <http://e/p> <http://e/o> .")
RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'


def entity_bomb(encoding: str) -> bytes:
    entities = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 9))
    return (
        f'<?xml version="1.0"?><!DOCTYPE r [<!ENTITY a0 "xxxxxxxxxx">{entities}]>'
        '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">'
        "<rdf:Description><rdf:value>&a8;</rdf:value></rdf:Description></rdf:RDF>"
    ).encode(encoding)


@pytest.fixture(scope="module")
def parser() -> Iterator[Parser]:
    with Parser() as it:
        yield it


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("media_type", [RDF_XML, RSS, XML])
def test_a_document_type_is_refused_in_every_encoding(encoding: str, media_type: str) -> None:
    (reject,) = parse_document(Document("bomb", entity_bomb(encoding), media_type)).rejects
    assert reject.stage == "gate"
    assert "DOCTYPE" in reject.reason
    assert reject.line == 1


@pytest.mark.parametrize(
    "data",
    [
        b"<rss><channel><item><title>a</title><!DOCTYPE rss></item></channel></rss>",
        b"<rss><channel><item></rss><!doctype x [<!entity a 'b'>]>",
        b"<!DOCTYPE rss><!DOCTYPE rss [<!ENTITY a 'b'>]><rss/>",
        b"<!DOCTYPE rss [<!ELEMENT rss ANY>]><rss/>",
        b"<!DOCTYPE rss SYSTEM 'http://127.0.0.1/dtd' [<!ENTITY % p SYSTEM 'file:///etc/hostname'> %p;]><rss/>",
        b"<!DOCTYPE rss [%p;]><rss/>",
        b"<!-- --><!-- <!DOCTYPE rss> --><?p ?> <!DOCTYPE rss PUBLIC 'a' [<!ENTITY a SYSTEM 'file:///etc/hostname'>]><rss/>",
    ],
)
def test_a_document_type_that_declares_something_or_stands_elsewhere_is_refused(data: bytes) -> None:
    (reject,) = parse_document(Document("feed.rss", data)).rejects
    assert "DOCTYPE" in reject.reason


BOMBS = {
    "triple terms 17,000 deep": (
        N_TRIPLES,
        b"<a:a> <a:b> " + b"<<( <a:a> <a:b> " * 17_000 + b"<a:c>" + b" )>>" * 17_000 + b" .\n",
        "512 levels",
    ),
    "blank nodes in blank nodes": (
        TURTLE,
        b"<a:a> <a:b> " + b"[<a:p> " * 200_000 + b"]" * 200_000 + b".",
        "512 levels",
    ),
    "lists in lists": (TURTLE, b"<a:a> <a:b> " + b"(" * 200_000 + b")" * 200_000 + b".", "512 levels"),
    "brackets behind long strings": (TURTLE, b"\"\"\"[[\"\"\" '''(''' # [\n" * 300 + b"[" * 513, "512 levels"),
    "json in json": (JSON_LD, b'{"http://a/b":' * 100_000 + b"1" + b"}" * 100_000, "512 levels"),
    "elements in elements": (RDF_XML, RDF + b"<rdf:Description><e:p>" * 100_000, "512 levels"),
    "attributes": (
        RDF_XML,
        RDF
        + b"<rdf:Description "
        + b" ".join(b'xmlns:a%d="http://x/%d"' % (i, i) for i in range(5000))
        + b"/></rdf:RDF>",
        "1000 are allowed",
    ),
    "prefix": (
        TURTLE,
        b"@prefix p: <http://e/" + b"x" * 200_000 + b"> .\n" + b"p:a p:b p:c .\n" * 2000,
        "67108864 bytes",
    ),
    "base": (TURTLE, b"@base <http://e/" + b"x" * 200_000 + b"/> .\n" + b"<a> <b> <c> .\n" * 2000, "67108864 bytes"),
    "subject": (
        TURTLE,
        b"<http://e/" + b"x" * 200_000 + b"> <http://p> " + b",".join(b"%d" % i for i in range(20_000)) + b" .",
        "67108864 bytes",
    ),
    "vocabulary": (
        JSON_LD,
        b'{"@context":{"@vocab":"http://e/'
        + b"x" * 200_000
        + b'"},'
        + b",".join(b'"k%d":1' % i for i in range(9000))
        + b"}",
        "memory",
    ),
    "namespace": (
        RDF_XML,
        RDF.replace(b'"http://e/"', b'"http://e/%b"' % (b"x" * 200_000))
        + b"<rdf:Description rdf:about='http://a/'>"
        + b"<e:p>1</e:p>" * 3000
        + b"</rdf:Description></rdf:RDF>",
        "67108864 bytes",
    ),
    "literal": (TURTLE, b'<a:a> <a:b> "' + b"x" * 2_000_000 + b'" .', "1048576 are allowed"),
    "size": (TURTLE, b" " * (GATE.bytes + 1), "16777216 are allowed"),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_are_rejects_and_neighbours_unharmed(parser: Parser, name: str) -> None:
    media_type, data, word = BOMBS[name]
    before, bomb, after = parser.parse([GOOD, Document("bomb", data, media_type), GOOD])
    assert before == after
    assert before.drafts[0].quads == b"<http://e/s> <http://e/p> <http://e/o> .\n"
    assert bomb.drafts == ()
    (reject,) = bomb.rejects
    assert reject.source == "bomb"
    assert word in reject.reason
    assert reject.hint


@pytest.mark.parametrize(
    ("media_type", "data", "word"),
    [
        (RSS, b"http://127.0.0.1:9/feed", "not well-formed XML"),
        (RSS, b"/etc/hostname", "not well-formed XML"),
        (XML, b"file:///etc/hostname", "not well-formed XML"),
        (JSON_LD, b'{"@context": "file:///etc/hostname", "a": 1}', "file:///etc/hostname is not bundled"),
        (JSON_LD, b'{"@context": [{}, "http://127.0.0.1:9/c"], "a": 1}', "http://127.0.0.1:9/c is not bundled"),
        (JSON_LD, b'{"@context": {"@import": "http://127.0.0.1:9/i"}, "a": 1}', "http://127.0.0.1:9/i is not bundled"),
        (JSON_LD, b'{"a": {"\\u0040context": "http://127.0.0.1:9/e"}}', "http://127.0.0.1:9/e is not bundled"),
    ],
)
def test_no_document_reaches_network_or_files(parser: Parser, media_type: str, data: bytes, word: str) -> None:
    (parsed,) = parser.parse([Document("d", data, media_type)])
    assert parsed.drafts == ()
    assert word in parsed.rejects[0].reason


@pytest.mark.parametrize("escape", [b"\\u000A", b"\\u0022", b"\\u0020", b"\\u003C", b"%zz"])
@pytest.mark.parametrize("media_type", [TURTLE, N_TRIPLES])
def test_invalid_iris_are_rejected_with_their_place(media_type: str, escape: bytes) -> None:
    data = b"<http://e/s> <http://e/p> <http://e/o> .\n<http://e/" + escape + b"> <http://e/p> 'x' ."
    (reject,) = parse_document(Document("d", data.replace(b"'", b'"'), media_type)).rejects
    assert (reject.stage, reject.line) == ("parse", 2)


def test_new_syntax_is_refused_by_name() -> None:
    for data, word in (
        (b"<a:s> <a:p> <<( <a:s> <a:p> <a:o> )>> .", "triple term"),
        (b"<a:s> <a:p> <a:o> {| <a:q> 1 |} .", "triple term"),
        (b"<< <a:s> <a:p> <a:o> >> <a:q> 1 .", "triple term"),
        (b'<a:s> <a:p> "x"@ar--rtl .', "base direction"),
    ):
        (reject,) = parse_document(Document("d.ttl", data)).rejects
        assert word in reject.reason


def test_text_that_looks_like_new_syntax_is_text() -> None:
    data = rb"""<a:s> <a:p> "<<( <a:s> <a:p> <a:o> )>> \"@en--rtl " , "\\"@en-gb , "x _:b ." ."""
    (draft,) = parse_document(Document("d.ttl", data)).drafts
    assert draft.quads.count(b"\n") == 3
    assert draft.labels == "none"


@pytest.mark.parametrize(
    ("limits", "data", "word"),
    [
        (GateLimits(bytes=10), b"<a:s> <a:p> <a:o> .", "10 are allowed"),
        (GateLimits(triples=2), b"<a:s> <a:p> 1, 2, 3 .", "more than 2 triples"),
        (GateLimits(expanded_bytes=100), b"<a:s> <a:p> 1, 2, 3 .", "more than 100 bytes"),
        (GateLimits(term_bytes=50), b'<a:s> <a:p> "' + b"x" * 49 + b'" .', "50 are allowed"),
        (GateLimits(nesting=2), b"<a:s> <a:p> [ <a:q> ( ( 1 ) ) ] .", "2 levels"),
    ],
)
def test_each_limit_holds_just_beyond(limits: GateLimits, data: bytes, word: str) -> None:
    (reject,) = parse_document(Document("d.ttl", data), limits).rejects
    assert word in reject.reason
    assert parse_document(Document("d.ttl", data)).rejects == ()


def test_each_limit_lets_through_just_before() -> None:
    data = b'<a:s> <a:p> "x", "y", ( ) .'
    size = len(parse_document(Document("d.ttl", data)).drafts[0].quads)
    exact = GateLimits(bytes=len(data), expanded_bytes=size, triples=3, term_bytes=100, nesting=1)
    assert parse_document(Document("d.ttl", data), exact).rejects == ()


def test_a_dataset_counts_over_all_its_graphs() -> None:
    data = b"".join(b"<a:g%d> { <a:s> <a:p> <a:o> . }\n" % i for i in range(10))
    assert len(parse_document(Document("d.trig", data), GateLimits(triples=10)).drafts) == 10
    (reject,) = parse_document(Document("d.trig", data), GateLimits(triples=9)).rejects
    assert "more than 9" in reject.reason


def test_items_beyond_the_limit_are_told() -> None:
    items = b"".join(b"<item><guid>%d</guid><title>t</title></item>" % i for i in range(5))
    feed = b"<rss version='2.0'><channel>" + items + b"</channel></rss>"
    parsed = parse_document(Document("d.rss", feed), GateLimits(publications=3))
    assert len(parsed.drafts) == 3
    assert "more than 3 items" in parsed.rejects[0].reason


@pytest.mark.parametrize(
    ("name", "data", "media_type", "word"),
    [
        ("d.ttl", b"\x1f\x8b\x08\0\0\0\0\0", None, "the gzip is cut off"),
        ("d.xml", b"PK\x03\x04\x14\0", None, "compressed (zip)"),
        ("d.ttl", "<a:a> <a:b> 1 .".encode("utf-16"), None, "UTF-8"),
        ("d.ttl", b"\0" * 1000, None, "\\u0000"),
        ("d.ttl", b"<a:a> <a:b> \x1b[31mred .", None, "\\u001B"),
        ("d.jsonld", b'{"@context":{"a":"b","b":"c","c":"a"},"a":1}', None, "Cyclic IRI mapping"),
        ("d.rss", b"\x89PNG\r\n\x1a\n", None, "utf-8"),
        ("d.ttl", b"<rss/>", "text/html", "the media type 'text/html'"),
        ("d.rss", b"<a:a> <a:b> 1 .", None, "not well-formed XML"),
        ("d.rss", b"<rss><channel><item " + b"a='1' b='2' " * 600 + b"/>", None, "not well-formed XML"),
    ],
)
def test_what_is_no_document_of_its_type_is_a_reject_that_can_be_printed(
    name: str, data: bytes, media_type: str | None, word: str
) -> None:
    (reject,) = parse_document(Document(name, data, media_type)).rejects
    assert word in reject.reason
    assert reject.hint
    assert reject.reason.isprintable()


def test_an_item_beyond_a_limit_harms_no_other() -> None:
    titles = (b"a", b"x" * 500, b"b")
    items = b"".join(b"<item><guid>http://e/%d</guid><title>%b</title></item>" % entry for entry in enumerate(titles))
    feed = b"<rss version='2.0'><channel>" + items + b"</channel></rss>"
    parsed = parse_document(Document("d.rss", feed), GateLimits(term_bytes=400))
    assert [draft.graph for draft in parsed.drafts] == ["http://e/0", "http://e/2"]
    (reject,) = parsed.rejects
    assert reject.reason.startswith("the item http://e/1 is left out: a term has about")
    many = b"".join(b"<item><guid>http://e/%d</guid><title>%b</title></item>" % (i, b"x" * 500) for i in range(30))
    feed = b"<rss version='2.0'><channel>" + many + b"</channel></rss>"
    rejects = parse_document(Document("d.rss", feed), GateLimits(term_bytes=400, expanded_bytes=4_000)).rejects
    assert len(rejects) == 11, "they are not looked at without end"
    assert "4000 bytes written out" in rejects[-1].reason


@pytest.mark.parametrize("fault", ["abort", "loop", "allocate", "kill", "raise"])
def test_injected_parsers_that_die(fault: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A parser that dies at some documents: these are rejects, all others are parsed, once each."""
    (tmp_path / "deadly.py").write_text(
        "import os, signal\n"
        "from triplecast.ingest.worker import answer as parse\n"
        "def answer(request):\n"
        "    if b'deadly' in request:\n"
        "        if b'abort' in request: os.abort()\n"
        "        while b'loop' in request: pass\n"
        "        held = []\n"
        "        while b'allocate' in request: held.append(bytearray(1 << 20))\n"
        "        if b'kill' in request: os.kill(os.getpid(), signal.SIGKILL)\n"
        "        raise ValueError('on purpose')\n"
        "    return parse(request)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    documents = [
        Document(f"d{i}.ttl", b'<a:s> <a:p> "%b" .' % (f"deadly {fault}".encode() if i in (3, 4) else b"%d" % i))
        for i in range(9)
    ]
    with Parser(
        n=2,
        limits=Limits(seconds=0.7 if fault == "loop" else 60, memory=200 << 20, answer=1 << 20),
        function="deadly:answer",
    ) as parser:
        parsed = parser.parse(documents)
    for i, one in enumerate(parsed):
        if i in (3, 4):
            assert one.drafts == ()
            assert one.rejects[0].stage == "sandbox"
            assert one.rejects[0].source == f"d{i}.ttl"
        else:
            assert one.drafts[0].quads == b'<a:s> <a:p> "%d" .\n' % i


def test_the_parent_loads_no_parser() -> None:
    import subprocess

    code = "import sys, triplecast.ingest; print(sorted({'feedparser', 'pyoxigraph', 'numba'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout
    assert "feedparser" not in shown
    assert "numba" not in shown


@pytest.mark.parametrize(
    ("start", "item", "end"),
    [
        ("<rss><channel>", "<item><title>{}</title><item/></item>", "</channel></rss>"),
        ('<feed xmlns="http://www.w3.org/2005/Atom">', "<entry><id>a:{}</id></entry>", "</feed>"),
        ('<a:feed xmlns:a="http://www.w3.org/2005/Atom">', "<a:entry><a:id>a:{}</a:id></a:entry>", "</a:feed>"),
        ("<rss><channel><title>é&bad;</title>", "<item><title>{}</title></item>", "</channel></rss>"),
    ],
)
def test_items_beyond_the_limit_never_reach_the_feed_parser(start: str, item: str, end: str) -> None:
    limits = GateLimits(publications=3)
    items = [item.format(number) for number in range(5)]
    xml = pass_xml((start + "".join(items) + end).encode(), None, limits)
    closing = "" if "&bad;" in start else end
    assert xml.feed.decode() == start + "".join(items[:3]) + closing
    assert xml.has_more
    parsed = parse_document(Document("d.xml", xml.data), limits)
    assert len(parsed.drafts) == 3
    assert "more than 3 items" in parsed.rejects[-1].reason
    whole = pass_xml((start + "".join(items[:3]) + end).encode(), None, limits)
    assert (whole.feed, whole.has_more) == (whole.data, False)
