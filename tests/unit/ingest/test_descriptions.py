"""Documents that are cut at their roots, against a slow reader of the definition."""

from __future__ import annotations

import gzip
import os
from dataclasses import replace
from random import Random

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, Triple, serialize

from tests.reference.descriptions import RDF, Node, canonical, cut
from triplecast.ingest import GATE, Document, ParsedDocument
from triplecast.ingest.canonical import _Canonicalisation, canonical_names, rename
from triplecast.ingest.harmless import may_be_harmless, parse_harmless
from triplecast.ingest.messages import pack_document, pack_parsed, unpack_document, unpack_parsed
from triplecast.ingest.parse import parse_document
from triplecast.languages.roots import read_split
from triplecast.model.publication import Origin

SEED = int(os.environ.get("TRIPLECAST_SEED", "0"))
E = "https://example.org/"
DOCUMENT = NamedNode(f"{E}0")
"""May be a root as well."""
CLASS = NamedNode(f"{E}Class")
TYPE = NamedNode(f"{RDF}type")
QUERY = f"SELECT ?root {{ ?root <{E}p> [] FILTER NOT EXISTS {{ ?root a <{E}Other> }} }}"
LITERALS = [Literal(f'a _:b0 <{E}Class> . "\n'), Literal("x", language="en"), Literal("1", datatype=NamedNode(f"{E}t"))]


def random_triples(random: Random) -> set[Triple]:
    iris = [NamedNode(f"{E}{number}") for number in range(6)]
    nodes: list[Node] = [*iris, *(BlankNode(f"b{number}") for number in range(random.choice((0, 2, 4))))]
    words = [NamedNode(f"{E}p"), NamedNode(f"{E}q")]
    found: set[Triple] = set()
    for _ in range(random.randrange(1, 25)):
        subject = random.choice(nodes)
        if random.random() < 0.25:
            found.add(Triple(subject, TYPE, random.choice((CLASS, CLASS, NamedNode(f"{E}Other")))))
        else:
            found.add(Triple(subject, random.choice(words), random.choice([*nodes, *LITERALS])))
    for said in random.sample(sorted(found, key=str), random.choice((0, 0, min(3, len(found))))):
        node = random.choice([*nodes, NamedNode(f"{E}statement"), BlankNode("statement")])
        names = ("subject", "predicate", "object")[: random.choice((2, 3, 3, 3))]
        found |= {Triple(node, NamedNode(RDF + name), value) for name, value in zip(names, said, strict=False)}
    return found


def instances(triples: set[Triple]) -> set[NamedNode]:
    found = {each.subject for each in triples if each.predicate == TYPE and each.object == CLASS}
    return {each for each in found if isinstance(each, NamedNode)}


def selected(triples: set[Triple]) -> set[NamedNode]:
    others = {each.subject for each in triples if each.predicate == TYPE and each.object == NamedNode(f"{E}Other")}
    found = {each.subject for each in triples if each.predicate == NamedNode(f"{E}p")} - others
    return {each for each in found if isinstance(each, NamedNode)}


def split(data: bytes | str, media_type: str, by: str = f"<{CLASS.value}>", **fields: object) -> ParsedDocument:
    content = data.encode() if isinstance(data, str) else data
    document = Document("d", content, media_type, DOCUMENT.value, split=read_split(by), **fields)  # type: ignore[arg-type]
    parsed = parse_document(unpack_document(pack_document(document)))
    assert unpack_parsed(pack_parsed(parsed)) == parsed
    return parsed


@pytest.mark.parametrize("seed", range(SEED, SEED + 400))
def test_random_documents_are_cut_as_the_definition_says(seed: int) -> None:
    """Replay: TRIPLECAST_SEED=<seed> pytest tests/unit/ingest/test_descriptions.py"""
    random = Random(seed)
    triples = random_triples(random)
    by, roots = (QUERY, selected(triples)) if seed % 2 else (f"<{CLASS.value}>", instances(triples))
    lines = serialize(random.sample(sorted(triples, key=str), len(triples)), format=RdfFormat.N_TRIPLES)
    assert lines is not None
    parsed = split(lines, "application/n-triples", by)
    expected = {graph: canonical(part) for graph, part in cut(triples, roots, DOCUMENT).items()}
    assert {draft.graph: draft.quads for draft in parsed.drafts} == expected
    assert all(draft.origin == Origin(DOCUMENT.value, len(expected)) for draft in parsed.drafts)
    assert not parsed.rejects


def test_a_ring_that_roots_share_is_named_once_for_each_way_into_it(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    random, size = Random(seed), 12
    ring = [f"_:n{each} <{E}q> _:n{(each + 1) % size} ." for each in range(size)]
    entries = [random.randrange(4) for _ in range(30)]
    roots = [f"<{E}{each}> a <{E}Class> ; <{E}p> _:n{entry} ." for each, entry in enumerate(entries, 1)]
    named, name = list[int](), _Canonicalisation._name_alike
    monkeypatch.setattr(_Canonicalisation, "_name_alike", lambda self, nodes: (named.append(1), name(self, nodes)))
    parsed = split("\n".join(roots + ring), "text/turtle")
    assert len(named) <= 2 * len({*entries})  # its neighbour is alone too
    for draft, entry in zip(sorted(parsed.drafts, key=lambda each: int(each.graph[len(E) :])), entries, strict=True):
        lines = [f"<{draft.graph}> <{RDF}type> <{E}Class> .\n", f"<{draft.graph}> <{E}p> _:n{entry} .\n"]
        alone = [line.encode() for line in lines + [f"{each}\n" for each in ring]]
        names = canonical_names([line for line in alone if b"_:" in line], GATE.canonical_steps)
        assert draft.quads == b"".join(sorted(rename(alone, names)))


CATALOGUE = f"""
@prefix e: <{E}> .
e:0 e:holds e:1, e:2, _:unnamed .
e:2 a e:Class ; e:title "two" ; e:by [ e:name "B" ] .
e:1 a e:Class ; e:title "one" ; e:file e:file .
e:file e:size 1 .
_:unnamed a e:Class ; e:title "three" .
"""
PARTS = [f"{E}1", f"{E}2", f"{E}0"]


def graphs(parsed: ParsedDocument) -> list[str]:
    return [draft.graph for draft in parsed.drafts]


def test_a_catalogue_is_its_roots_in_order_and_the_rest() -> None:
    parsed = split(CATALOGUE, "text/turtle")
    assert graphs(parsed) == PARTS
    two, rest = parsed.drafts[1].quads.decode(), parsed.drafts[2].quads.decode()
    assert '_:c14n0 <https://example.org/name> "B" .' in two
    assert f"<{E}file> <{E}size>" in rest, "an IRI's triples are not its referrer's"
    assert f'_:c14n0 <{E}title> "three" .' in rest
    (warning,) = parsed.warnings
    assert warning.startswith("1 of the roots to cut it at are blank nodes")
    assert split(gzip.compress(CATALOGUE.encode()), "text/turtle") == parsed._replace(drafts=parsed.drafts)


def test_graphs_are_cut_together_and_stay_apart_in_a_dataset() -> None:
    trig = f"@prefix e: <{E}> . e:1 a e:Class . e:g {{ e:1 e:title 'one' . e:3 e:title 'three' }}"
    merged = split(trig, "application/trig")
    assert graphs(merged) == [f"{E}1", DOCUMENT.value]
    assert merged.drafts[0].quads.count(b"\n") == 2
    kept = split(trig, "application/trig", dataset=True)
    assert graphs(kept) == graphs(merged)
    assert kept.drafts[0].dataset
    assert f'<{E}title> "one" <{E}g> .' in kept.drafts[0].quads.decode()


def test_json_ld_and_rdf_xml_are_cut() -> None:
    json = f'{{"@id": "{E}1", "@type": "{E}Class", "{E}by": {{"{E}name": "B"}}}}'
    assert graphs(split(json, "application/ld+json")) == [f"{E}1"]
    xml = (
        f'<rdf:RDF xmlns:rdf="{RDF}" xmlns:e="{E}" xmlns:rss="http://purl.org/rss/1.0/">'
        f'<e:Class rdf:about="{E}1"><e:by rdf:parseType="Resource"><e:name>B</e:name></e:by></e:Class></rdf:RDF>'
    )
    (draft,) = split(xml, "application/rdf+xml").drafts
    assert draft.graph == f"{E}1"
    assert draft.quads.count(b"\n") == 3


def test_a_feed_is_not_cut() -> None:
    feed = "<rss version='2.0'><channel><item><guid>a:b</guid><title>A</title></item></channel></rss>"
    parsed = split(feed, "application/rss+xml")
    assert graphs(parsed) == ["a:b"]
    assert parsed.drafts[0].origin is None
    assert parsed.warnings == ("it is a feed, whose items are publications already: it is not cut at other roots",)


def test_a_document_without_roots_is_one_publication() -> None:
    parsed = split(f"<{E}1> <{E}p> 1 .", "text/turtle")
    assert graphs(parsed) == [DOCUMENT.value]
    assert parsed.warnings == ("it has no root to be cut at, so it is one publication",)
    (empty,) = split("", "text/turtle").drafts
    assert empty.quads == b""


@pytest.mark.parametrize(
    ("by", "reason"),
    [
        ("SELECT ?name { ?x <https://example.org/name> ?name }", 'it gives "B", which is no IRI'),
        ("SELECT ?x { ?x <https://example.org/name> ?name FILTER(ft:contains(?name, '\"b\"')) }", "custom function"),
    ],
)
def test_a_query_that_gives_no_roots_rejects_the_document(by: str, reason: str) -> None:
    parsed = split(CATALOGUE, "text/turtle", by)
    assert parsed.drafts == ()
    (reject,) = parsed.rejects
    assert reject.stage == "split"
    assert reason in reject.reason


def test_what_a_query_selects_is_found_in_a_child() -> None:
    by_class = Document("d", CATALOGUE.encode(), "text/turtle", split="<https://example.org/Class>")
    by_query = replace(by_class, split="SELECT ?x { ?x a <https://example.org/Class> }")
    assert may_be_harmless(by_class)
    assert parse_harmless(by_class) == parse_document(by_class)
    assert not may_be_harmless(by_query)
    assert parse_harmless(by_query) is None


def test_the_limits_are_named() -> None:
    document = Document("d", CATALOGUE.encode(), "text/turtle", split="<https://example.org/Class>")
    (few,) = parse_document(document, replace(GATE, publications=1)).rejects
    assert few.reason == "it has 2 roots to be cut at, 1 are allowed"
    shared = (
        "".join(f"<{E}{n}> a <{E}Class> ; <{E}by> _:all . " for n in range(50)) + f'_:all <{E}text> "{"x" * 999}" .'
    )
    document = replace(document, data=shared.encode())
    assert len(parse_document(document).drafts) == 50
    (much,) = parse_document(document, replace(GATE, expanded_bytes=30_000)).rejects
    assert "the descriptions of its roots repeat so many blank nodes" in much.reason
