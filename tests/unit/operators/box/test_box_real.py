"""Operators of the box on real documents: places of schema.org's examples, DBpedia's abstracts, Apache's projects in a
database, schema.org's classes by rules."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import pytest
from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse, serialize

pytest.importorskip("shapely", reason="the extra triplecast[operators] is not installed")

from triplecast.ingest import Document
from triplecast.ingest.parse import parse_document
from triplecast.operators import PublicationView
from triplecast.operators.box import geography, texts
from triplecast.operators.box.lookup import Database
from triplecast.operators.box.places import locate
from triplecast.operators.box.rules import Rules

SUBCLASS = "http://www.w3.org/2000/01/rdf-schema#subClassOf"
DBPEDIA = "http://dbpedia.org/ontology/"
DOAP = "http://usefulinc.com/ns/doap#"


def event(quads: bytes) -> PublicationView:
    return PublicationView(NamedNode("urn:g"), 1, {}, quads)


def examples(shared_data: Path) -> Iterator[object]:
    text = (shared_data / "rdf" / "schemaorg" / "schemaorg-all-examples.txt").read_text("utf-8")
    for block in re.findall(r'<script type="application/ld\+json">(.*?)</script>', text, re.DOTALL):
        try:
            yield json.loads(block)
        except ValueError:
            continue


def test_places_of_schema_orgs_examples(shared_data: Path) -> None:
    """Those of one thing with one ``geo``: it is where the numbers of its JSON say."""
    found = 0
    for example in examples(shared_data):
        if not isinstance(example, dict) or not isinstance(geo := example.get("geo"), dict):
            continue
        if "latitude" not in geo or "longitude" not in geo:
            continue
        example["@id"] = "urn:thing"
        (draft,) = parse_document(Document("e.jsonld", json.dumps(example).encode(), "application/ld+json")).drafts
        where = locate(event(draft.quads), NamedNode("urn:thing"), geography.DRAWN)
        assert where is not None
        assert where.geom_type == "Point"
        assert (where.x, where.y) == (float(geo["longitude"]), float(geo["latitude"]))
        found += 1
    assert found >= 2


def test_abstracts_of_one_class_are_more_alike_than_those_of_two(shared_data: Path) -> None:
    by_class: dict[str, list[Literal]] = {}
    classes: dict[object, str] = {}
    content = (shared_data / "rdf" / "dbpedia" / "abstracts.nt").read_bytes()
    for quad in parse(content, format=RdfFormat.N_TRIPLES):
        assert not isinstance(quad.object, Triple)
        if quad.predicate.value == DBPEDIA + "abstract":
            assert isinstance(quad.object, Literal)
            by_class.setdefault(classes[quad.subject], []).append(quad.object)
        else:
            classes[quad.subject] = quad.object.value
    chosen = [by_class[DBPEDIA + name][:12] for name in ("Plant", "SportsTeam", "Stream")]
    alike, apart = [], []
    for one, first in enumerate(chosen):
        for other, second in enumerate(chosen):
            pairs = [(a, b) for a in first for b in second if a is not b]
            told = texts.similarity([event(b"")] * len(pairs), *map(list, zip(*pairs, strict=True)))
            values = [value for value in told if isinstance(value, float)]
            assert len(values) == len(pairs)
            (alike if one == other else apart).append(mean(values))
    assert min(alike) > 1.3 * max(apart)
    assert texts.similarity([event(b"")], [chosen[0][0]], [chosen[0][0]]) == [1.0]


def test_projects_of_a_database(shared_data: Path, tmp_path: Path) -> None:
    """Each name of Apache's project descriptions, looked up for its page: quotes, umlauts and all."""
    pages: dict[str, set[str]] = {}
    for file in sorted((shared_data / "rdf" / "asf-projects").rglob("*.rdf")):
        for draft in parse_document(Document(file.name, file.read_bytes(), "application/rdf+xml")).drafts:
            said: dict[object, dict[str, str]] = {}
            for quad in parse(draft.quads, format=RdfFormat.N_TRIPLES):
                if quad.predicate.value.startswith(DOAP) and not isinstance(quad.object, Triple):
                    said.setdefault(quad.subject, {})[quad.predicate.value.removeprefix(DOAP)] = quad.object.value
            for values in said.values():
                if {"name", "homepage"} <= values.keys():
                    pages.setdefault(values["name"], set()).add(values["homepage"])
    with sqlite3.connect(tmp_path / "projects.db") as made:
        made.execute("CREATE TABLE projects (name TEXT, page TEXT)")
        made.executemany("INSERT INTO projects VALUES (?, ?)", [(name, page) for name in pages for page in pages[name]])
    made.close()
    database = Database(f"sqlite:///{tmp_path / 'projects.db'}")
    for name, wanted in pages.items():
        found = database.rows("SELECT page FROM projects WHERE name = :name", ["page"], name=Literal(name))
        assert {page.value for page in found} == wanted
        assert not database.holds("SELECT 1 FROM projects WHERE name = :name", name=Literal(name + "' OR '1'='1"))
    assert len(pages) >= 10


def test_classes_of_schema_org_by_rules(shared_data: Path) -> None:
    """All that are above each class, against a walk."""
    content = (shared_data / "rdf" / "schemaorg" / "schemaorg-current-https.ttl").read_bytes()
    above: dict[str, set[str]] = {}
    steps = []
    for quad in parse(content, format=RdfFormat.TURTLE):
        if quad.predicate.value == SUBCLASS and isinstance(quad.object, NamedNode):
            steps.append(quad)
            above.setdefault(str(quad.subject), set()).add(str(quad.object))
    rules = Rules(f"""
        above(X, Y) :- triple(X, "{SUBCLASS}", Y).
        above(X, Z) :- above(X, Y), triple(Y, "{SUBCLASS}", Z).
    """)
    quads = serialize(steps, format=RdfFormat.N_QUADS)
    assert quads is not None
    given = event(quads)
    for start in above:
        reached: set[str] = set()
        waiting = [start]
        while waiting:
            new = above.get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        assert {str(term) for term in rules.rows(given, "above", NamedNode(start[1:-1]))} == reached
    assert len(above) > 700
