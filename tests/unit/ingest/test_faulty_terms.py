"""An invalid term rejects no more than its format forces, at its place, in words that say how to write it.

No test saw one bad tag reject a whole file, since each tested a document with one fault and nothing else; the generator
here mixes valid graphs with faulty ones and says what must be left.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import pytest

from triplecast.ingest import Document, GateLimits
from triplecast.ingest.parse import parse_document

RDF = b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:e="http://e/">\n'
FAULTY = ('"x"@toolonglanguage', '"x"@en_US', "<http://a b>", "<relative>", '"x"^^<no iri>', r'"\ud800"')
VALID = ('"x"@en-GB', "<http://a/b>", '"x y <urn:z> ."', '"x"^^<urn:t>', "_:b", r'"\u00e9"')


def test_faulty_lines_of_n_quads_reject_their_graphs_alone(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(30):
        lines: dict[str, int] = {}
        faulty: dict[str, int] = {}
        text = ""
        for number in range(1, rng.randrange(2, 40)):
            graph = rng.choice(("", *(f"urn:g{i}" for i in range(8))))
            bad = rng.random() < 0.15
            name = f"<{graph}>" if graph else ""
            text += f"<urn:s{number}> <urn:p> {rng.choice(FAULTY if bad else VALID)} {name} .\n"
            lines[graph] = lines.get(graph, 0) + 1
            if bad:
                faulty.setdefault(graph, number)
        parsed = parse_document(Document("d.nq", text.encode(), graph="urn:d"))
        found = {draft.graph: draft.quads.count(b"\n") for draft in parsed.drafts}
        assert found == {graph or "urn:d": count for graph, count in lines.items() if graph not in faulty}
        assert sorted(reject.line or 0 for reject in parsed.rejects) == sorted(faulty.values())
        assert all("is left out: not N-Quads: " in reject.reason for reject in parsed.rejects)


@pytest.mark.parametrize(
    "data",
    [b'<urn:s> <urn:p> "x"@en_US <urn:g> .\n<urn:s> <urn:p> "cut o', b"<urn:s> <urn:p> <urn:o> <urn:g> .\nx <urn:g> ."],
)
def test_n_quads_whose_faulty_line_has_no_known_graph_are_rejected_whole(data: bytes) -> None:
    parsed = parse_document(Document("d.nq", data))
    assert parsed.drafts == ()
    assert [reject.line for reject in parsed.rejects] == [2]


@pytest.mark.parametrize(
    ("name", "data", "place", "word"),
    [
        ("d.ttl", b'<urn:s> <urn:p> 1 .\n<urn:s> <urn:p> "x"@en_US .', (2, 23), "@en_US is no language tag"),
        ("d.trig", b'<urn:g> {\n<urn:s> <urn:p> "x"@toolonglanguage }', (2, 21), "is no language tag"),
        ("d.rdf", RDF + b'<e:C><e:p xml:lang="en_US">x</e:p></e:C></rdf:RDF>', (2, 21), "language tag 'en_us'"),
        ("d.rdf", RDF + b'<e:C rdf:about="http://a b"/></rdf:RDF>', (2, 17), "IRI 'http://a b'"),
        ("d.rdf", RDF + b'<e:C>\n<e:p rdf:parseType="Triple"/></e:C></rdf:RDF>', (3, 1), "RDF 1.2"),
        ("d.jsonld", rb'{"@id": "urn:s", "urn:p": "\\ud800 \ud800"}', (1, 36), r"\ud800 is half a character"),
        ("d.jsonld", rb'{"@id": "urn:s", "urn:p": "\ud83d\ude00 \ude00"}', (1, 41), r"\ude00 is half a character"),
    ],
)
def test_a_fault_has_its_place_and_a_word_for_it(name: str, data: bytes, place: tuple[int, int], word: str) -> None:
    (reject,) = parse_document(Document(name, data)).rejects
    assert (reject.line, reject.column) == place
    assert word in reject.reason


@pytest.mark.parametrize("data", [b"<a:s> <a:p> <a:o> .\r<a:s> <a:p> x .\r", b"<a:s> <a:p> <a:o> .\n<a:s>\n"])
@pytest.mark.parametrize("name", ["d.nt", "d.nq", "d.ttl"])
def test_a_fault_after_a_carriage_return_or_at_the_end_has_its_line(name: str, data: bytes) -> None:
    (reject,) = parse_document(Document(name, data)).rejects
    assert reject.stage == "parse"
    assert reject.line == (3 if data.endswith(b"<a:s>\n") else 2)


def test_a_faulty_line_after_carriage_returns_rejects_its_own_graph() -> None:
    data = b'<a:s> <a:p> 1 <a:f> .\r<a:s> <a:p> "x"@en_US <a:g> .\r<a:s> <a:p> <a:o> <a:h> .\r'.replace(b"1", b'"1"')
    parsed = parse_document(Document("d.nq", data))
    assert [draft.graph for draft in parsed.drafts] == ["a:f", "a:h"]
    assert [reject.line for reject in parsed.rejects] == [2]


@pytest.mark.parametrize("graph", ["urn:triplecast:taxonomy", "urn:triplecast:repository", "urn:triplecast:held:urn:a"])
def test_what_triplecast_makes_itself_lends_its_name_to_no_publication(graph: str) -> None:
    documents = (
        Document("d.ttl", b"<urn:s> <urn:p> 1 .", graph=graph),
        Document("d.trig", f"<{graph}> {{ <urn:s> <urn:p> 1 }}".encode()),
        Document("d.ttl", f"<{graph}> a <urn:C> .".encode(), split="<urn:C>"),
    )
    for document in documents:
        parsed = parse_document(document)
        assert parsed.drafts == ()
        assert "cannot be a publication's identity" in parsed.rejects[0].reason


@pytest.mark.parametrize("name", ["d.nq", "d.trig", "d.jsonld"])
def test_graphs_beyond_the_limit_reject_the_dataset(name: str) -> None:
    graphs = {
        "d.nq": lambda n: "".join(f"<a:s> <a:p> 'x' <a:g{i}> .\n" for i in range(n)).replace("'", '"'),
        "d.trig": lambda n: "".join(f"<a:g{i}> {{ <a:s> <a:p> 1 }}\n" for i in range(n)),
        "d.jsonld": lambda n: json.dumps([{"@id": f"a:g{i}", "@graph": {"@id": "a:s", "a:p": 1}} for i in range(n)]),
    }[name]
    limits = GateLimits(publications=20)
    assert len(parse_document(Document(name, graphs(20).encode()), limits).drafts) == 20
    (reject,) = parse_document(Document(name, graphs(21).encode()), limits).rejects
    assert "more than 20 graphs" in reject.reason
    assert len(parse_document(Document(name, graphs(21).encode(), dataset=True), limits).drafts) == 1


def test_an_identity_has_a_limit() -> None:
    longest, long = "urn:" + "x" * 4092, "urn:" + "x" * 5000

    def documents(graph: str) -> Iterator[Document]:
        yield Document("d.ttl", b"<urn:s> <urn:p> 1 .", graph=graph)
        yield Document("d.trig", f"<{graph}> {{ <urn:s> <urn:p> 1 }}".encode())

    for document in documents(longest):
        assert [draft.graph for draft in parse_document(document).drafts] == [longest]
    for document in (*documents(longest + "x"), *documents(long)):
        parsed = parse_document(document)
        assert parsed.drafts == ()
        assert "4096 are allowed" in parsed.rejects[0].reason
        assert len(parsed.rejects[0].reason) < 400
    feed = (
        f"<rss version='2.0'><channel><item><guid>{long}</guid></item><item><guid>urn:a</guid></item></channel></rss>"
    )
    parsed = parse_document(Document("d.rss", feed.encode()))
    assert [draft.graph for draft in parsed.drafts] == ["urn:a"]
    assert "4096 are allowed" in parsed.rejects[0].reason
