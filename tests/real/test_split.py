"""Real documents that are cut, edited twenty times by script: as many versions and notifications as there are edits."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from random import Random

import pytest
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, Triple, parse, serialize

from tests.reference.descriptions import cut
from triplecast import Engine

RDF_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
EDITS = 20
GRAPH = "https://catalogue.example/all"


def schema_org(data: Path) -> list[Path]:
    return [data / "rdf" / "schemaorg" / "schemaorg-current-https.ttl"]


def dcat_ap(data: Path) -> list[Path]:
    """Examples of one catalogue, as its publishers would merge them."""
    return sorted((data / "rdf" / "dcat-ap" / "releases" / "3.0.1" / "html" / "examples").glob("*.ttl"))


def read(files: Iterable[Path]) -> set[Triple]:
    found: set[Triple] = set()
    for file in files:
        try:
            quads = [*parse(file.read_bytes(), format=RdfFormat.TURTLE, base_iri=GRAPH)]
        except SyntaxError:  # some examples are malformed as published
            continue
        found |= {quad.triple for quad in quads if isinstance(quad, Quad)}
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "split", "word"),
    [
        (schema_org, "http://www.w3.org/2000/01/rdf-schema#Class", "http://www.w3.org/2000/01/rdf-schema#label"),
        (dcat_ap, "http://www.w3.org/ns/dcat#Dataset", "http://purl.org/dc/terms/title"),
    ],
)
def test_twenty_edits_are_told_as_what_they_changed(files, split, word, shared_data: Path) -> None:  # type: ignore[no-untyped-def]
    random = Random(1)
    triples = read(files(shared_data))
    kind, title = NamedNode(split), NamedNode(word)
    roots = {each.subject for each in triples if each.predicate == RDF_TYPE and each.object == kind}
    assert len(roots) > 3
    titles = {root: Literal(f"title of {root}") for root in roots if isinstance(root, NamedNode)}
    triples = {each for each in triples if each.predicate != title or each.subject not in titles}
    with Engine() as engine:

        def publish():  # type: ignore[no-untyped-def]
            now = triples | {Triple(root, title, text) for root, text in titles.items()}
            data = serialize(sorted(now, key=str), format=RdfFormat.N_TRIPLES)
            assert data is not None
            return engine.publish(data, "application/n-triples", GRAPH, split=f"<{split}>")

        first = publish()
        assert len(first.publications) == len(titles) + 1
        engine.subscribe(f"SELECT ?d ?t {{ ?d a <{split}> ; <{word}> ?t }}", id="every", notify="every")
        engine.subscribe(f"SELECT ?d ?t {{ ?d a <{split}> ; <{word}> ?t }}", id="all", scope="repository")
        for edit in range(EDITS):
            changed = random.sample(sorted(titles, key=str), min(3, len(titles) - 1))
            titles.update((root, Literal(f"edit {edit}")) for root in changed)
            gone = random.choice(sorted(titles.keys() - set(changed), key=str))
            own = {each for each in triples if each.subject == gone}
            removed_title = titles.pop(gone)
            triples -= own
            receipt = publish()
            assert {each.graph for each in receipt.removals} == {gone.value}
            assert {each.graph for each in receipt.publications if each.outcome == "accepted"} - {GRAPH} == {
                root.value for root in changed
            }
            assert {(match.subscription, match.publication) for match in receipt.matches} == {
                *((subscription, root.value) for root in changed for subscription in ("every", "all")),
                ("all", gone.value),
            }
            triples |= own
            titles[gone] = removed_title
            back = publish()
            assert [(match.subscription, match.publication) for match in back.matches] == [
                ("every", gone.value),
                ("all", gone.value),
            ]
        expected = cut(triples, titles, NamedNode(GRAPH)) if len(triples) < 1_000 else {}
        for graph, part in expected.items():
            (count,) = engine.query(f"SELECT (COUNT(*) AS ?n) {{ GRAPH <{graph}> {{ ?s ?p ?o }} }}")
            assert int(count["n"].value) == len(part) + (graph != GRAPH)
