"""Which publications a document gives: identity, lines, content hash, base, media type."""

from __future__ import annotations

import hashlib
import json
import random

import pytest

from triplecast.ingest import Document, ParsedDocument, Parser, document_iri, media_type_of
from triplecast.ingest.messages import pack_document, pack_parsed, unpack_document, unpack_parsed
from triplecast.ingest.parse import parse_document
from triplecast.model.publication import Draft, Reject

TRIPLE = b"<http://e/s> <http://e/p> <http://e/o> .\n"
RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">'
SAME = {
    "d.ttl": b"@prefix e: <http://e/> . e:s e:p e:o .",
    "d.nt": TRIPLE,
    "d.nq": TRIPLE,
    "d.trig": b"<http://e/s> <http://e/p> <http://e/o> .",
    "d.rdf": RDF
    + b'<rdf:Description rdf:about="http://e/s"><e:p rdf:resource="http://e/o"/></rdf:Description></rdf:RDF>',
    "d.jsonld": b'{"@id": "http://e/s", "http://e/p": {"@id": "http://e/o"}}',
}
SAME["d.xml"] = SAME["d.rdf"]


def only(document: Document) -> Draft:
    parsed = parse_document(document)
    assert parsed.rejects == ()
    (draft,) = parsed.drafts
    return draft


@pytest.mark.parametrize("name", SAME)
def test_one_graph_is_one_publication_in_every_format(name: str) -> None:
    draft = only(Document(name, SAME[name]))
    assert draft.graph == f"urn:triplecast:document:{name}"
    assert draft.quads == TRIPLE
    assert draft.digest == hashlib.sha256(TRIPLE).digest()
    assert (draft.labels, draft.dataset) == ("none", False)
    assert only(Document("elsewhere", SAME[name], graph="http://e/doc")).graph == "http://e/doc"


@pytest.mark.parametrize("name", SAME)
def test_a_silent_name_is_sniffed(name: str) -> None:
    assert only(Document("silent", SAME[name])).quads == TRIPLE
    assert only(Document("silent", b"\xef\xbb\xbf" + SAME[name])).quads == TRIPLE


def test_type_beats_name_and_name_beats_content() -> None:
    assert only(Document("d.rdf", TRIPLE, "text/turtle; charset=utf-8")).quads == TRIPLE
    (reject,) = parse_document(Document("d.jsonld", TRIPLE)).rejects
    assert "not JSON-LD" in reject.reason
    (reject,) = parse_document(Document("d.ttl", TRIPLE, "text/html")).rejects
    assert "'text/html'" in reject.reason
    assert "text/turtle" in reject.hint


def test_media_type_of() -> None:
    assert media_type_of("a/b.TTL") == "text/turtle"
    assert media_type_of("a.b/c.atom") == "application/atom+xml"
    assert [media_type_of(name) for name in ("a", ".ttl", "a.txt", "ttl")] == [None] * 4


def test_identity_is_escaped_and_never_collides() -> None:
    sources = ["a b.ttl", "a%20b.ttl", "a/b.ttl", "ä.ttl", "a#b.ttl", "a?b.ttl", "a\nb.ttl", "\udce4.ttl"]
    iris = [document_iri(Document(source, b"")) for source in sources]
    assert iris[0] == "urn:triplecast:document:a%20b.ttl"
    assert len(set(iris)) == len(sources)
    for source, iri in zip(sources, iris, strict=True):
        assert only(Document(source, TRIPLE, "text/turtle")).graph == iri


def test_relative_iris_resolve_against_base_then_identity() -> None:
    data = b"<> <#p> <../o> . @base <http://b/c/d> . <x> <http://p> <//h/y> ."
    draft = only(Document("d.ttl", data, graph="http://e/a/b/doc"))
    assert draft.quads == (
        b"<http://b/c/x> <http://p> <http://h/y> .\n<http://e/a/b/doc> <http://e/a/b/doc#p> <http://e/a/o> .\n"
    )
    assert only(Document("f/d.ttl", b"<> <#p> 1 .")).quads.startswith(
        b"<urn:triplecast:document:f/d.ttl> <urn:triplecast:document:f/d.ttl#p> "
    )


def test_an_identity_that_is_no_iri_is_a_reject() -> None:
    for graph in ("doc", "http://e/a b", ""):
        (reject,) = parse_document(Document("d.ttl", TRIPLE, graph=graph)).rejects
        assert "absolute IRI" in reject.reason


def test_literals_are_kept_as_written_and_tags_lower_case() -> None:
    data = (
        '<a:s> <a:p> "01"^^<http://www.w3.org/2001/XMLSchema#integer>, "e\u0301", "é", "x"@EN-GB, 1.50, '
        '"t"^^<http://www.w3.org/2001/XMLSchema#boolean>, "a\\u0000\\t\\"\\r", '
        '"z"^^<http://www.w3.org/2001/XMLSchema#string> .'
    ).encode()
    assert only(Document("d.ttl", data)).quads.decode().splitlines() == sorted(
        f"<a:s> <a:p> {term} ."
        for term in (
            '"01"^^<http://www.w3.org/2001/XMLSchema#integer>',
            '"e\u0301"',
            '"é"',
            '"x"@en-gb',
            '"1.50"^^<http://www.w3.org/2001/XMLSchema#decimal>',
            '"t"^^<http://www.w3.org/2001/XMLSchema#boolean>',
            '"a\\u0000\\t\\"\\r"',
            '"z"',
        )
    )


def test_order_and_repetition_make_no_other_content() -> None:
    one = only(Document("d.ttl", b"<a:s> <a:p> 1, 2, 10, 1 ."))
    two = only(Document("d.ttl", b"<a:s> <a:p> 10, 2 . <a:s> <a:p> 1 ."))
    assert one == two
    assert one.quads.splitlines() == sorted(one.quads.splitlines())


DATASETS = {
    "d.trig": b"<a:s> <a:p> 1 . <a:g> { <a:s> <a:p> 2 } _:g { <a:s> <a:p> 3 } <a:h> { <a:s> <a:p> _:g }",
    "d.nq": b"<a:s> <a:p> 1 .\n<a:s> <a:p> 2 <a:g> .\n<a:s> <a:p> 3 _:g .\n<a:s> <a:p> _:g <a:h> .\n".replace(
        b" 1 ", b' "1"^^<http://www.w3.org/2001/XMLSchema#integer> '
    )
    .replace(b" 2 ", b' "2"^^<http://www.w3.org/2001/XMLSchema#integer> ')
    .replace(b" 3 ", b' "3"^^<http://www.w3.org/2001/XMLSchema#integer> '),
    "d.jsonld": json.dumps(
        [
            {"@id": "a:s", "a:p": 1},
            {"@id": "a:g", "@graph": [{"@id": "a:s", "a:p": 2}]},
            {"@id": "_:g", "@graph": [{"@id": "a:s", "a:p": 3}]},
            {"@id": "a:h", "@graph": [{"@id": "a:s", "a:p": {"@id": "_:g"}}]},
        ]
    ).encode(),
}


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_is_one_publication_per_graph(name: str) -> None:
    parsed = parse_document(Document(name, DATASETS[name]))
    base = f"urn:triplecast:document:{name}"
    assert [draft.graph for draft in parsed.drafts] == [base, "a:g", f"{base}#graph-3", "a:h"]
    assert [draft.labels for draft in parsed.drafts] == ["none", "none", "none", "canonical"]
    assert parsed.drafts[3].quads == b"<a:s> <a:p> _:c14n0 .\n"
    assert not any(draft.dataset for draft in parsed.drafts)


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_may_stay_together(name: str) -> None:
    draft = only(Document(name, DATASETS[name], dataset=True))
    assert draft.dataset
    assert draft.graph == f"urn:triplecast:document:{name}"
    assert [line.split(b" ")[-2] for line in draft.quads.splitlines()][-1] == b"<a:h>"
    assert draft.quads.count(b"_:c14n0 .\n") == 1
    assert draft.quads.count(b"_:c14n0 <a:h> .\n") == 1


def test_an_empty_document_is_an_empty_publication() -> None:
    for name, data in (("d.ttl", b"# nothing"), ("d.nq", b""), ("d.jsonld", b"{}"), ("d.rdf", RDF + b"</rdf:RDF>")):
        assert only(Document(name, data)).quads == b""
    assert [draft.graph for draft in parse_document(Document("d.nq", b"<a:s> <a:p> <a:o> <a:g> .")).drafts] == ["a:g"]


@pytest.mark.parametrize(
    ("name", "data", "line", "column", "word"),
    [
        ("d.ttl", b"<a:s> <a:p> <a:o> .\n<a:s> <a:p> .", 2, None, "Turtle"),
        ("d.nt", b"<a:s> <a:p> <a:o> .\n\n<a:s> <p> <a:o> .", 3, 7, "N-Triples"),
        ("d.nq", b'<a:s> <a:p> "x', 1, 13, "N-Quads"),
        ("d.trig", b"<a:g> { <a:s> <a:p> }", 1, 21, "TriG"),
        ("d.jsonld", b'{"a":\n nope}', 2, None, "JSON-LD"),
        ("d.rdf", RDF + b"\n<rdf:Description>\n</rdf:RDF>", 3, None, "well-formed"),
        ("d.xml", b"<html/>", None, None, "<html>"),
        ("d.ttl", b'<a:s> <a:p> "\xff" .', 1, None, "UTF-8"),
        ("d.rdf", b'<?xml version="1.0"?>\n<a>\xff</a>', 2, 4, "utf-8"),
        ("d.rdf", b'<?xml version="1.0" encoding="klingon"?><a/>', None, None, "'klingon'"),
    ],
)
def test_what_cannot_be_read_says_where_and_what(
    name: str, data: bytes, line: int | None, column: int | None, word: str
) -> None:
    parsed = parse_document(Document(name, data))
    assert parsed.drafts == ()
    (reject,) = parsed.rejects
    assert reject.source == name
    assert word in reject.reason
    assert reject.hint
    assert reject.line == line
    if column is not None:
        assert reject.column == column


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-16-le", "iso-8859-1", "windows-1252", "shift_jis"])
def test_xml_is_read_in_its_encoding(encoding: str) -> None:
    text = "\u30c6" if encoding == "shift_jis" else "é"
    mark = "\ufeff" if encoding == "utf-16-le" else ""
    data = (
        f'{mark}<?xml version="1.0" encoding="{encoding}"?>\n<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"'
        f' xmlns:e="http://e/"><rdf:Description rdf:about="a:s"><e:p>{text}</e:p></rdf:Description></rdf:RDF>'
    ).encode(encoding)
    expected = f'<a:s> <http://e/p> "{text}" .\n'.encode()
    assert only(Document("d.rdf", data)).quads == expected
    with Parser() as parser:  # where codecs can be loaded no more
        (parsed,) = parser.parse([Document("d.rdf", data)])
    assert parsed.drafts[0].quads == expected


def test_the_charset_of_the_type_counts() -> None:
    data = b"<a:s> <a:p> <a:o> ."
    assert only(Document("d", data, "text/turtle; charset=UTF-8")).quads == b"<a:s> <a:p> <a:o> .\n"
    xml = RDF + '<rdf:Description rdf:about="a:s"><e:p>é</e:p></rdf:Description></rdf:RDF>'.encode("latin-1")
    assert only(Document("d", xml, 'application/rdf+xml; charset="iso-8859-1"')).quads.endswith('"é" .\n'.encode())


def test_base_directions_of_json_ld_are_left_out() -> None:
    data = b'{"@id": "a:s", "a:p": {"@value": "x", "@language": "AR", "@direction": "rtl"}}'
    assert only(Document("d.jsonld", data)).quads == b'<a:s> <a:p> "x"@ar .\n'


@pytest.mark.parametrize(
    "address", ["https://schema.org", "http://schema.org/", "https://www.schema.org/docs/jsonldcontext.jsonld#"]
)
def test_the_context_of_schema_org_is_bundled(address: str) -> None:
    event = {
        "@context": [address, {"ex": "http://e/"}],
        "@type": "Event",
        "@id": "http://e/1",
        "name": "N",
        "url": "u",
        "startDate": "2026-01-01",
        "ex:price": 1.10,
        "ex:count": 10**15,
    }
    assert only(Document("d.jsonld", json.dumps(event).encode(), graph="http://e/d/")).quads.decode().splitlines() == [
        '<http://e/1> <http://e/count> "1000000000000000"^^<http://www.w3.org/2001/XMLSchema#integer> .',
        '<http://e/1> <http://e/price> "1.1E0"^^<http://www.w3.org/2001/XMLSchema#double> .',
        '<http://e/1> <http://schema.org/name> "N" .',
        '<http://e/1> <http://schema.org/startDate> "2026-01-01"^^<http://schema.org/Date> .',
        "<http://e/1> <http://schema.org/url> <http://e/d/u> .",
        "<http://e/1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://schema.org/Event> .",
    ]


def test_the_context_of_activity_streams_is_bundled() -> None:
    note = {
        "@context": "https://www.w3.org/ns/activitystreams",
        "type": "Create",
        "id": "http://e/1",
        "actor": "http://e/ann",
        "published": "2026-11-21T10:00:00Z",
        "to": ["as:Public"],
        "unknown": "left out",
        "object": {"type": "Note", "id": "http://e/2", "contentMap": {"en": "Hello"}, "orderedItems": ["http://e/3"]},
    }
    draft = only(Document("d.jsonld", json.dumps(note).encode()))
    streams = "https://www.w3.org/ns/activitystreams#"
    lines = draft.quads.decode().splitlines()
    assert f'<http://e/2> <{streams}content> "Hello"@en .' in lines
    assert f"<http://e/1> <{streams}to> <{streams}Public> ." in lines
    assert f"<http://e/1> <{streams}actor> <http://e/ann> ." in lines
    assert (
        f'<http://e/1> <{streams}published> "2026-11-21T10:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .'
        in lines
    )
    assert f"<http://e/2> <{streams}items> _:c14n0 ." in lines
    assert len(lines) == 10


def test_a_context_inside_is_bundled_too_and_another_refused() -> None:
    inner = {"@id": "a:1", "http://e/p": {"@context": "https://schema.org", "@id": "a:2", "name": "N"}}
    assert b'<a:2> <http://schema.org/name> "N" .' in only(Document("d.jsonld", json.dumps(inner).encode())).quads
    for context in (
        "https://schema.org/other",
        "//schema.org",
        "https://w3id.org/x",
        {"@import": "https://schema.org"},
    ):
        (reject,) = parse_document(Document("d.jsonld", json.dumps({"@context": context, "a": 1}).encode())).rejects
        assert "is not bundled" in reject.reason
        assert "replace the address in the document" in reject.hint
    many = json.dumps([{"@context": "https://schema.org", "name": "N"}] * 1001)
    (reject,) = parse_document(Document("d.jsonld", many.encode())).rejects
    assert "1000 places" in reject.reason


def test_big_documents_are_written_in_steps() -> None:
    """Enough quads for several turns of the writer, duplicates across them included."""
    data = (
        b"@prefix e: <http://e/"
        + b"x" * 20_000
        + b"/> .\n"
        + b"".join(b"e:s e:p %d .\n" % (i % 700) for i in range(1400))
    )
    draft = only(Document("d.ttl", data))
    assert draft.quads.count(b"\n") == 700


def test_frames_carry_everything() -> None:
    rng = random.Random(7)
    for _ in range(200):
        words = ["".join(rng.choice("aé\n\udc80/#") for _ in range(rng.randrange(5))) for _ in range(2)]
        document = Document(
            words[0],
            rng.randbytes(rng.randrange(50)),
            rng.choice([None, "", "a/b"]),
            rng.choice([None, "", "a:ü"]),
            rng.random() < 0.5,
        )
        assert unpack_document(pack_document(document)) == document
        parsed = ParsedDocument(
            tuple(
                Draft(
                    f"a:{i}ü",
                    rng.randbytes(rng.randrange(9)),
                    rng.randbytes(32),
                    rng.choice(["none", "canonical", "input"]),
                    i > 1,
                )
                for i in range(rng.randrange(4))
            ),
            tuple(Reject(words[1], "gate", "r", "m", rng.choice([None, 3]), None) for _ in range(rng.randrange(3))),
        )
        assert unpack_parsed(pack_parsed(parsed)) == parsed


@pytest.mark.parametrize("n", [1, 2])
def test_a_parser_keeps_the_order(n: int) -> None:
    documents = [Document(f"{i}.ttl", b'<a:s> <a:p> "%d" .' % i) for i in range(700)]
    with Parser(n) as parser:
        parsed = parser.parse(documents)
        assert parser.parse([]) == []
        assert parser.parse(documents[:1]) == parsed[:1]
    assert [one.drafts[0].quads for one in parsed] == [b'<a:s> <a:p> "%d" .\n' % i for i in range(700)]
