"""What a curator is told of a feed polled 157 times and of a law collection published twice; ``-s`` prints it.

The catalogue is in `test_split`.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse

from triplecast import Document, Engine
from triplecast.engine import Match

FEED = "http://planet.sympy.org/rss10.xml"
LAW = "https://law.sanipueblo.org"
ONTOLOGY = "https://open.law/us/ngo/oll/_ontology/v0.1/ontology.owl#"
TITLE = {"feed": "http://purl.org/rss/1.0/title", "law": "http://purl.org/dc/terms/title"}
Row = tuple[str, str]
"""A sign, and the title that came or went."""


def rows(matches: Iterator[Match]) -> list[Row]:
    told = [
        (sign, row["title"].value)
        for match in matches
        for sign, changed in (("-", match.removed), ("+", match.added))
        for row in changed
    ]
    print(*(f"{sign} {title[:100]}" for sign, title in told), sep="\n")
    return told


@pytest.mark.slow
def test_articles_on_python_are_told_once(shared_data: Path) -> None:
    seen: dict[str, str] = {}
    with tarfile.open(shared_data / "feeds" / "series" / "planet-series.tar.xz") as states, Engine() as engine:
        engine.subscribe(
            'SELECT ?item ?title { ?item a rss:item ; rss:title ?title FILTER(CONTAINS(?title, "Python")) }',
            id="python",
            scope="repository",
        )
        for state in sorted(states.getmembers(), key=lambda member: member.name):
            file = states.extractfile(state)
            if file is None:
                continue
            content = file.read()
            expected = []
            for quad in parse(content, format=RdfFormat.RDF_XML, base_iri=FEED):
                item, text = str(quad.subject), getattr(quad.object, "value", "")
                if quad.predicate.value == TITLE["feed"] and "planet.sympy.org" not in item and seen.get(item) != text:
                    was, seen[item] = seen.get(item, ""), text
                    expected += [("-", was)] * ("Python" in was) + [("+", text)] * ("Python" in text)
            told = rows(iter(engine.publish(content, "application/rss+xml", FEED).matches))
            assert sorted(told) == sorted(expected)
    assert sum("Python" in title for title in seen.values()) > 3


@pytest.mark.slow
def test_laws_that_changed_between_two_publications_are_told(shared_data: Path) -> None:
    """The collection writes the date of publication into its IRIs; without it, a text keeps its name."""
    told: list[Row] = []
    before: dict[str, str] = {}
    with Engine() as engine:
        engine.subscribe(
            f"SELECT ?title {{ ?text a <{ONTOLOGY}DocumentVersion> ; dct:title ?title }}", id="laws", scope="repository"
        )
        for date in ("2021-04-23", "2021-08-12"):
            folder = shared_data / "rdf" / "law-sanipueblo" / "_publication" / date
            now: dict[str, str] = {}
            documents = []
            for file in sorted(folder.rglob("*.rdf")):
                name = f"{LAW}/{file.relative_to(folder).parent}"
                data = file.read_bytes().replace(f"/_publication/{date}".encode(), b"")
                documents.append(Document(name, data, "application/rdf+xml", graph=name))
                triples = [*parse(data, format=RdfFormat.RDF_XML, base_iri=name)]
                versions = {
                    t.subject for t in triples if getattr(t.object, "value", "") == f"{ONTOLOGY}DocumentVersion"
                }
                for t in triples:
                    if t.predicate.value == TITLE["law"] and t.subject in versions:
                        now[f"{name} {t.subject}"] = t.object.value
            gone = sorted({name.split()[0] for name in before} - {document.graph for document in documents})
            told = rows(match for receipt in engine.publish_many(documents) for match in receipt.matches)
            told += rows(match for name in gone if (r := engine.remove(name)) for match in r.matches)
            expected = [("-", text) for name, text in before.items() if now.get(name) != text]
            expected += [("+", text) for name, text in now.items() if before.get(name) != text]
            assert sorted(told) == sorted(expected)
            before = now
    assert 0 < len(told) < 20
